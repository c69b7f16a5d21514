"""Shapes and types of the package's functions are checked while the tests run.

Only numba's kernels are left out: it compiles source, not wrappers around it.
"""

import os
from pathlib import Path

import hypothesis
import jax
import jaxtyping
import pytest

ROOT = Path(__file__).parents[1]
MODULES = [
    ".".join(path.relative_to(folder).with_suffix("").parts)
    for folder, package in ((ROOT / "src", "tsnl"), (ROOT, "paper"))
    for path in (folder / package).rglob("*.py")
    if path.stem not in ("__init__", "__main__", "gillespie")
]
jaxtyping.install_import_hook(MODULES, "beartype.beartype")

# Most of the time of the tests is compilation: do without what makes programs fast (XLA's emitters of
# fused loops alone are more than half of it), do not cut programs up to compile the pieces side by
# side, and keep what was compiled for the next run.
FLAGS = ("--xla_cpu_use_fusion_emitters=false", "--xla_cpu_parallel_codegen_split_count=1")
os.environ["XLA_FLAGS"] = " ".join((os.environ.get("XLA_FLAGS", ""), *FLAGS))
jax.config.update("jax_disable_most_optimizations", True)
jax.config.update("jax_compilation_cache_dir", str(ROOT / ".pytest_cache" / "jax"))
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)

hypothesis.settings.register_profile("tsnl", deadline=None, derandomize=True, max_examples=30)
hypothesis.settings.load_profile("tsnl")


@pytest.fixture
def unchecked():
    """Switch the type checks off: to see the errors that a user sees without them."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)
