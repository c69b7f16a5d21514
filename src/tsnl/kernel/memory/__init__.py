r"""What is kept of the past of a series.

    q(y_t | y_{1:t-1}, theta)  =  head( y_t | features of memory_{t-1}, theta )
    memory_t                   =  push( memory_{t-1}, y_t, seen_t, u_t )

A memory never sees theta: its features along a series are computed once for all theta, a new row costs
one `push`, and a gap is a `push` of what was not seen.
"""

from tsnl.kernel.memory.base import Beside, Group, Memory, MemoryFamily, after, along
from tsnl.kernel.memory.decays import Decays
from tsnl.kernel.memory.lags import Lags
from tsnl.kernel.memory.recurrent import Recurrent

__all__ = ["Beside", "Decays", "Group", "Lags", "Memory", "MemoryFamily", "Recurrent", "after", "along"]
