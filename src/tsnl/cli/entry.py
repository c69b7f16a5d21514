"""From arguments to an exit code: what goes wrong is one line on stderr."""

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

import typer

BAD_INPUT, FAILED, INTERRUPTED = 2, 1, 130
# What tsnl and the operating system raise where the user gave something that cannot be used.
USER_ERRORS = (
    *(ValueError, TypeError, FileNotFoundError, FileExistsError),
    *(IsADirectoryError, NotADirectoryError, PermissionError),
)
USAGE_ERROR: Any = typer.BadParameter.__bases__[0]  # of the parser that typer has under it


def main() -> None:
    """The entry point."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run a command and give its exit code.

    Args:
        arguments: those after the program's name; `--debug` may stand anywhere among them.

    Returns:
        0 where all went well, 2 for usage and input that cannot be used, 1 for what failed on the way,
        130 after Ctrl-C.
    """
    from tsnl.runtime.reader import at_command_line

    app = commands()
    os.environ.setdefault("MPLBACKEND", "Agg")  # pictures go to files
    debug = "--debug" in arguments
    rest = [one for one in arguments if one != "--debug"] or ["--help"]
    try:
        with at_command_line(), warnings.catch_warnings():
            warnings.showwarning = _show_warning
            code = app(args=rest, prog_name="tsnl", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except typer.Exit as done:
        return done.exit_code
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except Exception as error:
        if debug:
            traceback.print_exc()
        if isinstance(error, USAGE_ERROR):
            _say(f"{error.format_message()} See tsnl --help.")
            return BAD_INPUT
        return _explain(error)


def commands() -> typer.Typer:
    """All commands."""
    from tsnl.cli import commands, comparisons, run_commands  # noqa: F401 (which add themselves)
    from tsnl.cli.app import app

    return app


def _explain(error: Exception) -> int:
    if isinstance(error, USER_ERRORS):
        _say(_one_line(error))
        return BAD_INPUT
    _say(f"{type(error).__name__}: {_one_line(error)} (--debug shows where)")
    return FAILED


def _one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}."
    return " ".join(str(error).split())


def _say(text: str) -> None:
    sys.stderr.write(f"tsnl: {text}\n")


def _show_warning(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    _say(f"warning: {' '.join(str(message).split())}")
