"""Results as text in columns."""

from tsnl.result import Result
from tsnl.show.report.facts import summary_table

SHOWN = 7  # columns up to R-hat; Monte-Carlo errors are in the report


def summary_text(result: Result) -> str:
    """The summary, a line for each free entry of theta."""
    table = summary_table(result)
    rows = [row[: SHOWN + 1] for row in (table.head, *table.rows)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for first, *rest in rows:
        cells = [f"{cell:>{width}}" for cell, width in zip(rest, widths[1:], strict=True)]
        lines.append("  ".join([f"{first:<{widths[0]}}", *cells]))
    return "\n".join(lines)


def sentence(status: str) -> str:
    """What happened, as a sentence without its full stop."""
    return status[:1].upper() + status[1:]
