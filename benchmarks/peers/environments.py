"""A virtual environment for each package, made on the first run from its pins."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parent.parent
NEWER = {"sbijax": (3, 12)}  # the Python that a package needs, where this one may be too old
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "KERAS_BACKEND": "jax",
    "JAX_PLATFORMS": "cpu",
}


def python_of(package: str) -> Path:
    """The interpreter of a package's environment; tsnl's is this one.

    Raises:
        subprocess.CalledProcessError: it cannot be installed; the next call tries again.
        FileNotFoundError: it needs a newer Python than there is.
    """
    if package == "tsnl":
        return Path(sys.executable)
    folder = BENCHMARKS.parent / f".venv-{package}"
    python, done = folder / "bin" / "python", folder / "installed"
    if not done.exists():
        make = [_interpreter(package), "-m", "venv", str(folder)]
        subprocess.run(make, check=True, capture_output=True, text=True)
        command = [python, "-m", "pip", "install", "--quiet", "-r", BENCHMARKS / f"{package}.txt"]
        subprocess.run(command, check=True, capture_output=True, text=True, cwd=BENCHMARKS.parent)
        done.touch()
    return python


def _interpreter(package: str) -> str:
    newer = NEWER.get(package)
    if newer is None or sys.version_info >= newer:
        return sys.executable
    name = f"python{newer[0]}.{newer[1]}"
    found = shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"{package} needs {name}, which is not on the path")
    return found


def settings() -> dict[str, str]:
    """The environment variables of a trial: one thread for every library."""
    paths = [str(BENCHMARKS.parent / "src"), str(BENCHMARKS.parent)]
    return {**os.environ, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(paths)}
