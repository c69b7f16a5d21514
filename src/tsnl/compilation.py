"""A compilation cache on disk, so that a second process does not compile what the first one did."""

import os
from pathlib import Path

import jax

SWITCH = "TSNL_COMPILATION_CACHE"


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
