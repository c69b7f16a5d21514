"""Two thousand damaged folders, and runs that are killed at any moment."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from tsnl import MCMC, TSNL, BlackBox, Training
from tsnl.kernel import Mixture
from tsnl.models import LinearGaussian
from tsnl.problem import Problem
from tsnl.simulation import Processes, load_file
from tsnl.store.folder import RunFolder

SIMULATORS = Path(__file__).parents[1] / "simulation" / "simulators.py"
PRIOR = tsnl.Prior(Q=dist.LogNormal(-1.0, 1.0))
SERIES = LinearGaussian().simulate(seed=1, length=20).astype(float)
METHOD = TSNL(
    states=False,
    rounds=4,
    simulations=4,
    head=Mixture(num_components=2, width=4, depth=1),
    training=Training(num_members=2, min_steps=60, max_steps=60),
    sampler=MCMC(num_chains=4, num_warmup=100, num_draws=150, max_extensions=0),
)
NUM_DAMAGED = 2000
NUM_KILLS = 20
LONGEST = 8.0  # seconds until a kill, about as long as a run takes


def damage(rng, data):
    """The same bytes, but for something."""
    place, count = int(rng.integers(len(data))), int(rng.integers(1, 9))
    kind = rng.choice(["flip", "cut", "insert", "overwrite", "zero", "swap", "empty", "noise"])
    if kind == "flip":
        return data[:place] + bytes([data[place] ^ int(rng.integers(1, 256))]) + data[place + 1 :]
    if kind == "cut":
        return data[:place]
    if kind == "insert":
        return data[:place] + rng.bytes(count) + data[place:]
    if kind == "overwrite":
        return data[:place] + rng.bytes(count) + data[place + count :]
    if kind == "zero":
        return data[:place] + bytes(min(64, len(data) - place)) + data[place + 64 :]
    if kind == "swap":
        return data[place:] + data[:place]
    return b"" if kind == "empty" else rng.bytes(len(data))


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzzed") / "run"
    return folder, tsnl.infer(LinearGaussian(), PRIOR, SERIES, METHOD, seed=0, folder=folder)


def read_all(folder):
    """Everything that loading or going on would read: the result, and what of it must be as it was."""
    problem = Problem.of(LinearGaussian(), PRIOR, SERIES)
    store = RunFolder.open(folder, problem, METHOD, 0, resume=True)
    rounds = [saved.draws.z for saved in store.rounds()]
    chunks = [store.get(4 * i, 4) for i in range(4)]
    assert None not in chunks
    result = tsnl.load(folder)
    log_prob = result.posterior.log_prob({"Q": 0.3})
    return [result.draws["Q"], *rounds, *(chunk.series for chunk in chunks), np.asarray(log_prob)]


@pytest.mark.slow
def test_a_damaged_folder_is_refused_or_is_as_it_was(kept):
    folder, _ = kept
    rng, whole = np.random.default_rng(0), read_all(folder)
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "data.npz")
    contents = {path: path.read_bytes() for path in files}
    refused = unchanged = 0
    for _ in range(NUM_DAMAGED):
        path = files[rng.integers(len(files))]
        if rng.uniform() < 0.1:  # another file of the same kind in its place
            others = [other for other in files if other.suffix == path.suffix]
            changed = contents[others[rng.integers(len(others))]]
        else:
            changed = damage(rng, contents[path])
        path.write_bytes(changed)
        begin = time.perf_counter()
        try:
            found = read_all(folder)
            assert all(np.array_equal(a, b) for a, b in zip(found, whole, strict=True)), path
            unchanged += 1
        except (ValueError, FileNotFoundError) as error:
            refused += str(folder) in str(error)  # it says where
        assert time.perf_counter() - begin < 10
        path.write_bytes(contents[path])
    assert refused + unchanged == NUM_DAMAGED
    assert refused > 0.9 * NUM_DAMAGED


CHILD = """
import sys
import jax
jax.config.update("jax_disable_most_optimizations", True)
jax.config.update("jax_compilation_cache_dir", {cache!r})
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
sys.path.insert(0, {tests!r})
import test_fuzzing as t
if __name__ == "__main__":
    print("ready", flush=True)
    t.infer_in({folder!r}, {workers})
"""


def infer_in(folder, workers):
    """A run on a black box, in this process or on workers."""
    box = BlackBox(load_file(SIMULATORS).walk, chunk=1)
    given = {"seed": 0, "folder": folder, "resume": True, "progress": False}
    if not workers:
        return tsnl.infer(box, PRIOR, SERIES, METHOD, **given)
    with Processes(workers, file=SIMULATORS) as executor:
        return tsnl.infer(replace(box, executor=executor), PRIOR, SERIES, METHOD, **given)


def killed(code, seconds):
    """Start the run, and kill it so long after it has begun; whether it was still running."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", code]
    child = subprocess.Popen(command, stdout=pipe, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        assert child.stdout.readline() == b"ready\n"
        time.sleep(seconds)
        alive = child.poll() is None
        child.kill()
        return alive
    finally:
        child.wait()
        child.stdout.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)  # its workers, where they have not gone with it


@pytest.mark.slow
@pytest.mark.parametrize("workers", [0, 2])
def test_runs_that_are_killed_at_any_moment_come_to_the_same_draws(tmp_path, workers):
    whole = infer_in(tmp_path / "whole", workers=0)
    rng, kills, folder = np.random.default_rng(workers), 0, tmp_path / "run"
    code = CHILD.format(
        cache=jax.config.jax_compilation_cache_dir,
        tests=str(Path(__file__).parent),
        folder=str(folder),
        workers=workers,
    )
    while kills < NUM_KILLS:
        alive = killed(code, float(rng.uniform(0.0, LONGEST)))
        kills += alive
        if not alive or kills == NUM_KILLS:  # it came to its end: look, and begin again
            found = infer_in(folder, workers=0)
            np.testing.assert_array_equal(found.draws["Q"], whole.draws["Q"])
            np.testing.assert_array_equal(found.log_density, whole.log_density)
            shutil.rmtree(folder)
