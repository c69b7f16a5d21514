"""Live progress of a run, behind a callback: nothing in a method knows of terminals."""

import sys
import time
from typing import Protocol, runtime_checkable


@runtime_checkable
class Progress(Protocol):
    """What a method tells while it runs."""

    def start(self, title: str, total: int) -> None:
        """A run of `total` parts of about equal length begins."""

    def now(self, done: int | float, text: str) -> None:
        """So many parts are done, and this is going on."""

    def close(self) -> None:
        """The run ended, well or not."""


class Silent:
    """Tell nobody."""

    def start(self, title: str, total: int) -> None:
        """Nothing."""

    def now(self, done: int | float, text: str) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class Bar:
    """One line in the terminal: how much is done, what is going on, and the time left."""

    def __init__(self) -> None:
        from rich import progress as rich_progress  # a terminal is not always there

        self._rich = rich_progress.Progress(
            rich_progress.TextColumn("{task.fields[title]}"),
            rich_progress.BarColumn(bar_width=24),
            rich_progress.TextColumn("{task.description}"),
            rich_progress.TimeElapsedColumn(),
            rich_progress.TextColumn("{task.fields[left]}"),
            transient=False,
        )
        self._begin = time.monotonic()
        self._total = 1

    def start(self, title: str, total: int) -> None:
        """Show an empty bar."""
        self._total = total
        self._rich.start()
        self._task = self._rich.add_task("starting", total=total, title=title, left="")

    def now(self, done: int | float, text: str) -> None:
        """Show it, and guess the time left from the parts done."""
        left = ""
        if done > 0:
            elapsed = time.monotonic() - self._begin
            left = f"{elapsed / done * (self._total - done):.0f} s left"
        self._rich.update(self._task, completed=done, description=text, left=left)

    def close(self) -> None:
        """Leave the line as it is."""
        self._rich.stop()


def progress_for(wanted: bool) -> Progress:
    """A bar where somebody watches a terminal and wants one, silence elsewhere."""
    return Bar() if wanted and sys.stderr.isatty() and sys.stdout.isatty() else Silent()
