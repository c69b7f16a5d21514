"""Live progress of a run, behind a callback: nothing in a method knows of terminals."""

import sys
import time
from dataclasses import dataclass
from html import escape
from typing import Any, Protocol, runtime_checkable

EVERY = 0.2  # seconds between two changes of a notebook


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


class NotebookBar:
    """The same in a notebook: one output that changes in its place and stays as it was last."""

    def __init__(self) -> None:
        from IPython.display import display  # there, where a notebook is

        self._display: Any = display
        self._output: Any = None
        self._begin = self._shown = time.monotonic()
        self._title, self._total, self._state = "", 1, (0.0, "starting")

    def start(self, title: str, total: int) -> None:
        """Show an empty bar."""
        self._title, self._total = title, total
        self._output = self._display(self._page(), display_id=True)

    def now(self, done: int | float, text: str) -> None:
        """Show it, a few times a second at most."""
        self._state = (float(done), text)
        if time.monotonic() - self._shown > EVERY:
            self._show()

    def close(self) -> None:
        """Show the last of it."""
        if self._output is not None:
            self._show()

    def _show(self) -> None:
        self._shown = time.monotonic()
        self._output.update(self._page())

    def _page(self) -> "Page":
        done, text = self._state
        elapsed = time.monotonic() - self._begin
        return Page(
            self._title, min(done / self._total, 1.0), f"{text} {_clock(elapsed, done, self._total)}"
        )


@dataclass(frozen=True)
class Page:
    """A bar as a notebook draws it, or writes it where it cannot draw.

    Attributes:
        title: of the run.
        share: of it that is done.
        text: what is going on.
    """

    title: str
    share: float
    text: str

    def __repr__(self) -> str:
        return f"{self.title} {self.share:.0%} {self.text}"

    def _repr_html_(self) -> str:
        bar = f"<progress value='{self.share:.4f}' max='1' style='vertical-align:middle'></progress>"
        return f"<div class='tsnl'>{escape(self.title)} {bar} {escape(self.text)}</div>"


def _clock(elapsed: float, done: float, total: int) -> str:
    """Seconds since the start, and a guess at those left."""
    left = f", {elapsed / done * (total - done):.0f} s left" if 0 < done < total else ""
    return f"({elapsed:.0f} s{left})"


def in_notebook() -> bool:
    """Whether a kernel of Jupyter runs this: it shows more than a terminal, and is none."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


def progress_for(wanted: bool) -> Progress:
    """A bar where somebody watches a terminal or a notebook and wants one, silence elsewhere."""
    if not wanted:
        return Silent()
    if in_notebook():
        return NotebookBar()
    return Bar() if sys.stderr.isatty() and sys.stdout.isatty() else Silent()
