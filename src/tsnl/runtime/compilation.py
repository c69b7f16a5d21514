"""Compiled programs: kept on disk for the next process, forgotten before they fill this one."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import equinox as eqx
import jax

F = TypeVar("F", bound=Callable[..., Any])
SWITCH = "TSNL_COMPILATION_CACHE"
LIGHTLY = {"xla_backend_optimization_level": 1}
MAPS, MOST_MAPS = Path("/proc/self/maps"), Path("/proc/sys/vm/max_map_count")  # of Linux


def compiled_lightly(fn: F) -> F:
    """A program that runs once or a few times on little: the compiler is not to polish it.

    Much of what the first run after an installation waits for is LLVM at work on random numbers; see
    docs/decisions/0014-cold-start.md for what this saves.
    """
    jit: Any = eqx.filter_jit
    return jit(fn, compiler_options=LIGHTLY)


def cache_compilations() -> None:
    """Keep compiled programs on disk, unless the user has a cache of their own or wants none.

    The folder is that of the environment variable TSNL_COMPILATION_CACHE, by default `tsnl/jax` in the
    user's cache folder; "off" turns it off. Called by `infer`, not by the import.
    """
    wanted = os.environ.get(SWITCH, "")
    if wanted.lower() == "off" or getattr(jax.config, "jax_compilation_cache_dir", None) is not None:
        return
    from jax.experimental.compilation_cache import compilation_cache

    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = Path(wanted) if wanted else home / "tsnl" / "jax"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return  # a read-only home: compile anew each time
    jax.config.update("jax_compilation_cache_dir", str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    compilation_cache.reset_cache()  # JAX may have looked for a folder before there was one


def make_room() -> None:
    """Forget all compiled programs where they are about to be too many.

    XLA maps each of them into memory, some in dozens of pieces. Linux allows a process 65,530 pieces and
    no more, and XLA aborts the process at the next ("Unable to allocate section memory"): a loop over
    many questions of different shapes would get there. What is forgotten comes back from the disk.
    """
    try:
        pieces, most = MAPS.read_bytes().count(b"\n"), int(MOST_MAPS.read_text())
    except (OSError, ValueError):
        return  # another system, or hidden
    if pieces > most // 2:
        jax.clear_caches()
