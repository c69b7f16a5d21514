"""The cores of this machine that a process may use, and calls spread over them."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


def visible_cores() -> int:
    """Threads that compiled programs are cut up for; the last bits of their sums depend on it."""
    asked = os.environ.get("NPROC", "")
    if asked.isdecimal() and int(asked) > 0:
        return int(asked)
    mine = getattr(os, "sched_getaffinity", None)  # not everywhere
    return len(mine(0)) if mine is not None else os.cpu_count() or 1


def on_all_cores(fn: Callable[[A], B], each: Iterable[A]) -> list[B]:
    """What a function gives for each, in order: one on each core, where programs run outside Python."""
    with ThreadPoolExecutor(visible_cores()) as pool:
        return list(pool.map(fn, each))
