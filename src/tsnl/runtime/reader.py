"""Who reads a message: somebody in Python, or at the command line. A remedy is given in their words."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_AT_COMMAND_LINE: ContextVar[bool] = ContextVar("tsnl_at_command_line", default=False)


@contextmanager
def at_command_line() -> Iterator[None]:
    """Inside this context messages are for somebody at the command line."""
    token = _AT_COMMAND_LINE.set(True)
    try:
        yield
    finally:
        _AT_COMMAND_LINE.reset(token)


def remedy(*, python: str, command: str) -> str:
    """The same remedy in the words of who reads it now.

    Args:
        python: what to write in Python.
        command: what to type at the command line, or to change in the model file.
    """
    return command if _AT_COMMAND_LINE.get() else python


def option(name: str, value: int | str) -> str:
    """An option of the method as its reader sets it: `lag=8`, or `--set lag=8`."""
    return remedy(python=f"{name}={value!r}", command=f"--set {name}={value}")
