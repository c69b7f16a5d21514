"""State-space models from the literature with reference posteriors: does tsnl hold on any of them?

    python -m benchmarks.zoo.references [names]    the reference posteriors, in benchmarks/zoo/data
    python -m benchmarks.zoo.run --half report     infer with default options, one row for each trial
    python -m benchmarks.zoo.table                 one table of all rows

Half of the entries are for tuning defaults and half for reporting only: tune on nothing else.
"""

from benchmarks.zoo.entry import Entry
from benchmarks.zoo.registry import ZOO

__all__ = ["ZOO", "Entry"]
