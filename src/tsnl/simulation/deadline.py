"""Calling a function that must come back in time."""

import faulthandler
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

GRACE = 2.0  # seconds, beside twice the limit, after which a worker process that hangs ends itself


class TimedOutError(BaseException):
    """The time is up; no `Exception`, so that the function itself does not catch it by chance."""


class _Kind:
    """What this process is; a worker of `Processes` may end itself, others may not."""

    may_exit = False


def may_exit() -> None:
    """Say that this process may be ended when a call hangs: somebody will start another."""
    _Kind.may_exit = True


def within(seconds: float | int | None, call: Callable[[], Any]) -> Any:
    """Call, and raise `TimedOutError` when it takes longer.

    In the main thread of a process an alarm interrupts the call. In another thread (of Dask, or of a
    pool of threads) nothing can: the call is left to itself there, and its result dropped.
    """
    if seconds is None:
        return call()
    if threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer"):
        return _by_alarm(seconds, call)
    return _by_thread(seconds, call)


def _by_alarm(seconds: float | int, call: Callable[[], Any]) -> Any:
    def ring(*_: Any) -> None:
        raise TimedOutError

    before = signal.signal(signal.SIGALRM, ring)
    try:
        with Path(os.devnull).open("w") as nowhere:
            if _Kind.may_exit:  # for compiled code that holds Python, where the alarm cannot ring
                faulthandler.dump_traceback_later(2 * seconds + GRACE, exit=True, file=nowhere)
            signal.setitimer(signal.ITIMER_REAL, seconds)
            try:
                return call()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                if _Kind.may_exit:
                    faulthandler.cancel_dump_traceback_later()
    finally:
        signal.signal(signal.SIGALRM, before)


def _by_thread(seconds: float | int, call: Callable[[], Any]) -> Any:
    found: list[Any] = []
    raised: list[BaseException] = []

    def run() -> None:
        try:
            found.append(call())
        except BaseException as error:  # handed on to the thread that waits
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    if raised:
        raise raised[0]
    if not found:
        raise TimedOutError
    return found[0]
