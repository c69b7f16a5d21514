"""Results as text in columns."""

from tsnl.result import Result
from tsnl.show.card import summary


def summary_text(result: Result) -> str:
    """The summary, a line for each free entry of theta."""
    return summary(result).text()


def sentence(status: str) -> str:
    """What happened, as a sentence without its full stop."""
    return status[:1].upper() + status[1:]
