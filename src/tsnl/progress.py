"""Live progress of a run, behind a callback: nothing in a method knows of terminals."""

import sys
import time
from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class Progress(Protocol):
    """What a method tells while it runs."""

    def start(self, total: int) -> None:
        """A run of `total` rounds begins."""

    def phase(self, round_: int, name: str) -> None:
        """A phase of a round begins: simulate, train or sample."""

    def round_done(self, round_: int, record: dict[str, Any]) -> None:
        """A round ended, with its record."""

    def close(self) -> None:
        """The run ended, well or not."""


class Silent:
    """Tell nobody."""

    def start(self, total: int) -> None:
        """Nothing."""

    def phase(self, round_: int, name: str) -> None:
        """Nothing."""

    def round_done(self, round_: int, record: dict[str, Any]) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class Bar:
    """One line in the terminal: rounds done, the phase at work, loss, cost and time left."""

    def __init__(self) -> None:
        from rich import progress as rich_progress  # a terminal is not always there

        self._rich = rich_progress.Progress(
            rich_progress.TextColumn("T-SNL"),
            rich_progress.BarColumn(bar_width=24),
            rich_progress.TextColumn("{task.description}"),
            rich_progress.TimeElapsedColumn(),
            rich_progress.TextColumn("{task.fields[left]}"),
            transient=False,
        )
        self._begin = time.monotonic()
        self._total = 1
        self._facts = ""

    def start(self, total: int) -> None:
        """Show an empty bar."""
        self._total = total
        self._rich.start()
        self._task = self._rich.add_task("starting", total=3 * total, left="")

    def phase(self, round_: int, name: str) -> None:
        """Show the phase; each round has three."""
        done = 3 * round_ + ("simulate", "train", "sample").index(name)
        text = f"round {round_ + 1}/{self._total} {name:8} {self._facts}"
        self._rich.update(self._task, completed=done, description=text)

    def round_done(self, round_: int, record: dict[str, Any]) -> None:
        """Show loss and cost so far, and guess the time left from the rounds done."""
        self._facts = f"loss {record['loss']:.3f} cost {record['cost']:,}"
        elapsed = time.monotonic() - self._begin
        left = elapsed / (round_ + 1) * (self._total - round_ - 1)
        self._rich.update(self._task, completed=3 * (round_ + 1), left=f"{left:.0f} s left")

    def close(self) -> None:
        """Leave the line as it is."""
        self._rich.stop()


def progress_for(wanted: bool) -> Progress:
    """A bar where somebody watches a terminal and wants one, silence elsewhere."""
    return Bar() if wanted and sys.stderr.isatty() and sys.stdout.isatty() else Silent()
