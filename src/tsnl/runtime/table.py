"""Rows of text under headings: printed in columns, or shown in a notebook."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """Headings and rows of text; the first cell of a row is its heading."""

    caption: str
    head: list[str]
    rows: list[list[str]]

    def text(self) -> str:
        """In columns: the first to the left, the others to the right."""
        rows = [self.head, *self.rows]
        widths = [max(len(row[i]) for row in rows) for i in range(len(self.head))]
        lines = []
        for first, *rest in rows:
            cells = [f"{cell:>{width}}" for cell, width in zip(rest, widths[1:], strict=True)]
            lines.append("  ".join([f"{first:<{widths[0]}}", *cells]))
        return "\n".join(lines)

    def up_to(self, columns: int) -> "Table":
        """The first columns alone."""
        return Table(self.caption, self.head[:columns], [row[:columns] for row in self.rows])
