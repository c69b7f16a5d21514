r"""Lagged windows of series: the only room that knows lags, padding, masks and the split by series.

The target of time t is y_t; its context is what came before: the L near lags y_{t-1}, ..., y_{t-L}, a
mark for each entry that is absent (before the start, or not observed), and coarse summaries of the whole
past, exponentially weighted averages of y and of \(\log |y|\). The summaries let a short lag see far:
they are recursions, one pass over a series, a fixed cost for each new row. Known inputs, where there are
any, are part of the context: those of time t and of the near lags.
"""

from tsnl.kernel.memory.gather import Windows, pick, pick_evenly
from tsnl.kernel.memory.past import Context, Past, Sums, far_past, summaries
from tsnl.kernel.memory.recent import Recent
from tsnl.kernel.split import split

__all__ = [
    "Context",
    "Past",
    "Recent",
    "Sums",
    "Windows",
    "far_past",
    "pick",
    "pick_evenly",
    "split",
    "summaries",
]
