"""Runs that are cut off and go on, and folders that are not what they should be."""

import contextlib
import json
import shutil
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import numpyro.distributions as dist
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tsnl
from tsnl import MCMC, TSNL, RejectionABC, Training
from tsnl.kernel import Mixture
from tsnl.methods.sequential import rounds
from tsnl.models import LinearGaussian
from tsnl.store.files import read_json, read_npz, write_json, write_npz

MODEL = LinearGaussian()
PRIOR = tsnl.Prior(Q=dist.LogNormal(-1.0, 1.0))
SERIES = MODEL.simulate(seed=1, length=20).astype(float)
METHOD = TSNL(
    states=False,
    rounds=4,
    simulations=4,
    head=Mixture(num_components=2, width=4, depth=1),
    training=Training(num_members=2, min_steps=60, max_steps=60),
    sampler=MCMC(num_chains=4, num_warmup=100, num_draws=150, max_extensions=0),
)
SLOWLY = partial(pytest.param, marks=pytest.mark.slow)
MOMENTS = {"simulate": "simulate_at", "train": "learn_stacked", "sample": "sample_posterior"}


class CutOffError(BaseException):
    """What Ctrl-C does, at a chosen moment."""


def run(folder, resume=False, method=METHOD, **changed):
    question = {"model": MODEL, "prior": PRIOR, "series": SERIES, "method": method, "seed": 0, **changed}
    return tsnl.infer(**question, folder=folder, resume=resume)


@cache
def whole():
    return tsnl.infer(MODEL, PRIOR, SERIES, METHOD, seed=0)


def same(a, b):
    np.testing.assert_array_equal(a.draws["Q"], b.draws["Q"])
    np.testing.assert_array_equal(a.log_density, b.log_density)
    assert a.cost == b.cost
    assert a.status == b.status
    assert [r["loss"] for r in a.history] == [r["loss"] for r in b.history]


def cut_off(monkeypatch, name, call):
    """Stop at the n-th call of a function of the rounds."""
    real, calls = getattr(rounds, name), []

    def once(*args, **kwargs):
        calls.append(1)
        if len(calls) == call:
            raise CutOffError
        return real(*args, **kwargs)

    monkeypatch.setattr(rounds, name, once)


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("call", [1, 3])
def test_a_run_that_was_cut_off_comes_to_the_same_draws(tmp_path, monkeypatch, moment, call):
    with monkeypatch.context() as patch:
        cut_off(patch, MOMENTS[moment], call)
        with pytest.raises(CutOffError):
            run(tmp_path / "run")
    with monkeypatch.context() as patch:
        cut_off(patch, MOMENTS[moment], 2)  # and once more, a round later at most
        with contextlib.suppress(CutOffError):
            run(tmp_path / "run", resume=True)
    same(run(tmp_path / "run", resume=True), whole())
    same(run(tmp_path / "run", resume=True), whole())  # it is finished: read, not run
    same(tsnl.load(tmp_path / "run"), whole())


def test_finished_rounds_are_not_run_again(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        cut_off(patch, "learn_stacked", 4)
        with pytest.raises(CutOffError):
            run(tmp_path / "run")
    learned = []
    real = rounds.learn_stacked
    monkeypatch.setattr(rounds, "learn_stacked", lambda *a, **k: learned.append(1) or real(*a, **k))
    monkeypatch.setattr("tsnl.simulation.batch._chunk", None)  # nothing is simulated again either
    run(tmp_path / "run", resume=True)
    assert len(learned) == 1


CHILD = """
import os, signal, sys
import jax
jax.config.update("jax_disable_most_optimizations", True)
jax.config.update("jax_compilation_cache_dir", {cache!r})
sys.path.insert(0, {tests!r})
import test_folder as t
name = t.MOMENTS[{moment!r}]
real, calls = getattr(t.rounds, name), []
def once(*args, **kwargs):
    calls.append(1)
    if len(calls) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return real(*args, **kwargs)
setattr(t.rounds, name, once)
t.run({folder!r}, resume=True)
"""


@pytest.mark.parametrize("moment", [SLOWLY("train"), SLOWLY("simulate"), SLOWLY("sample")])
def test_a_killed_process_loses_nothing(tmp_path, moment):
    import jax

    folder = str(tmp_path / "run")
    code = CHILD.format(
        cache=jax.config.jax_compilation_cache_dir,
        tests=str(Path(__file__).parent),
        moment=moment,
        folder=folder,
    )
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert child.returncode == -signal.SIGKILL, child.stderr
    assert len(list((Path(folder) / "rounds").iterdir())) == 3  # of one round
    same(run(folder, resume=True), whole())


def test_other_methods_use_the_simulations_that_are_there(tmp_path, monkeypatch):
    method = RejectionABC(draws=20, fraction=0.1)
    first = run(tmp_path / "run", method=method)
    (tmp_path / "run" / "result.json").unlink()  # as if it had been cut off at the end
    monkeypatch.setattr("tsnl.simulation.batch._chunk", None)
    same_draws = run(tmp_path / "run", resume=True, method=method).draws["Q"]
    np.testing.assert_array_equal(first.draws["Q"], same_draws)


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"seed": 1}, "another seed"),
        ({"series": SERIES + 1}, "another series"),
        ({"prior": tsnl.Prior(Q=dist.LogNormal(0.0, 1.0))}, "another prior"),
        ({"model": LinearGaussian(A=0.8)}, "another model"),
        ({"method": TSNL(rounds=2)}, "another method"),
    ],
)
def test_another_question_needs_another_folder(kept, changed, what):
    with pytest.raises(ValueError, match=f"{what}.*choose another folder"):
        run(kept, resume=True, **changed)


def test_a_run_is_not_overwritten(kept):
    with pytest.raises(FileExistsError, match=r"holds a run already: read it with resume=True"):
        run(kept)


RESULT_FILES = ("result.json", "draws.npz", "kernel.safetensors")


def test_a_saved_result_is_no_run_of_another_question(kept, tmp_path):
    folder = copied(kept, tmp_path)
    other = tsnl.load(kept)
    with pytest.raises(FileExistsError, match="the folder of a run, which keeps its own result"):
        other.save(folder)
    other.save(tmp_path / "saved")
    for resume in (False, True):
        with pytest.raises(FileExistsError, match=r"was saved there.*tsnl.load, delete it, or"):
            run(tmp_path / "saved", resume=resume, seed=1)
    for name in RESULT_FILES:  # by hand
        shutil.copy(tmp_path / "saved" / name, folder / name)
    for read in (tsnl.load, partial(run, resume=True)):
        with pytest.raises(ValueError, match=r"result.json and .*run.json are of different runs"):
            read(folder)


@pytest.mark.parametrize("name", ["simulations/00000000.npz", "rounds/0001.json"])
def test_a_file_of_another_run_is_refused(kept, tmp_path, name):
    """The same thetas, from the same prior and seed, of another simulator: values alone show nothing."""
    run(tmp_path / "other", model=LinearGaussian(A=0.8), method=replace(METHOD, rounds=1))
    folder = copied(kept, tmp_path)
    (folder / "result.json").unlink()
    for path in (tmp_path / "other").glob(f"{name[:-5]}*"):
        shutil.copy(path, folder / path.relative_to(tmp_path / "other"))
    with pytest.raises(ValueError, match=f"{name} is damaged .it is of another run.*delete it"):
        run(folder, resume=True)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept") / "run"
    run(folder)
    return folder


def copied(kept, tmp_path):
    return Path(shutil.copytree(kept, tmp_path / "copy", dirs_exist_ok=True))


def test_a_newer_version_and_damaged_files(kept, tmp_path):
    folder = copied(kept, tmp_path)
    facts = read_json(folder / "run.json")
    write_json(folder / "run.json", facts | {"format": 99})
    with pytest.raises(ValueError, match="has format 99, this tsnl reads 6"):
        run(folder, resume=True)
    (folder / "run.json").write_text(json.dumps(facts)[:50])
    with pytest.raises(ValueError, match=r"run.json is damaged"):
        run(folder, resume=True)
    write_json(folder / "run.json", facts)
    (folder / "result.json").unlink()
    chunk = folder / "simulations" / "00000000.npz"
    whole_bytes = chunk.read_bytes()
    chunk.write_bytes(whole_bytes[:100])
    with pytest.raises(ValueError, match=r"00000000.npz is damaged.*delete it to make it again"):
        run(folder, resume=True)
    chunk.unlink()
    same(run(folder, resume=True), whole())


FILES = ["result.json", "draws.npz", "kernel.safetensors", "run.json", "rounds/0002.npz"]


@settings(max_examples=30)
@given(
    name=st.sampled_from(FILES),
    place=st.floats(0, 1, exclude_max=True),
    new=st.binary(min_size=0, max_size=8),
    cut=st.booleans(),
)
def test_a_hostile_folder_can_at_worst_fail_to_load(kept, tmp_path_factory, name, place, new, cut):
    folder = copied(kept, tmp_path_factory.mktemp("fuzz"))
    if name.startswith("rounds"):
        (folder / "result.json").unlink()
    data = (folder / name).read_bytes()
    at = int(place * len(data))
    (folder / name).write_bytes(data[:at] + new + (b"" if cut else data[at + len(new) :]))
    load = partial(run, resume=True) if name in ("run.json", "rounds/0002.npz") else tsnl.load
    try:
        found = load(folder)
    except ValueError as error:
        found = error
    # it is as it was, or there is a plain error that says where
    if isinstance(found, tsnl.Result):
        same(found, whole())
    else:
        assert str(folder) in str(found)


@pytest.mark.parametrize("name", ["series", "views", "states"])
def test_a_chunk_without_its_values_is_refused(kept, tmp_path, name):
    folder = copied(kept, tmp_path)
    (folder / "result.json").unlink()
    chunk = folder / "simulations" / "00000000.npz"
    arrays = read_npz(chunk)
    assert arrays["views"].ndim == 4
    arrays["states"] = np.zeros((len(arrays["series"]), arrays["series"].shape[1] + 1, 1))
    arrays[name][1, 1] = np.nan
    write_npz(chunk, arrays)
    with pytest.raises(ValueError, match=r"did not fail\): delete it to make it again"):
        run(folder, resume=True)


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_files_of_rounds_that_were_swapped_are_noticed(kept, tmp_path, suffix):
    folder = copied(kept, tmp_path)
    (folder / "result.json").unlink()
    one, other = (folder / "rounds" / f"000{i}{suffix}" for i in (1, 2))
    one.write_bytes(other.read_bytes())
    with pytest.raises(ValueError, match=r"0001.json is damaged.*not the file that was written with it"):
        run(folder, resume=True)


def test_a_name_in_a_file_cannot_call_anything(kept, tmp_path):
    folder = copied(kept, tmp_path)
    facts = read_json(folder / "result.json")
    system = {"class": "os.system", "fields": {"command": "true"}}
    for hostile in (system, {"distribution": "os", "arguments": {}}):
        write_json(folder / "result.json", facts | {"method": hostile})
        with pytest.raises(ValueError, match="no readable run of tsnl: the unknown"):
            tsnl.load(folder)


class Scaled:
    """A simulator with a state."""

    def __init__(self, scale):
        self.scale = scale

    def __call__(self, rng, theta):
        return self.scale * rng.normal(size=20) * theta["Q"]


def test_an_unchanged_object_goes_on_and_a_changed_one_does_not(tmp_path):
    method = RejectionABC(draws=20, fraction=0.1)
    first = run(tmp_path / "run", model=Scaled(1.0), method=method)
    (tmp_path / "run" / "result.json").unlink()
    again = run(tmp_path / "run", resume=True, model=Scaled(1.0), method=method)
    np.testing.assert_array_equal(again.draws["Q"], first.draws["Q"])
    with pytest.raises(ValueError, match=r"another model \(at Scaled.scale\)"):
        run(tmp_path / "run", resume=True, model=Scaled(2.0), method=method)


def test_another_number_of_cores_is_noticed(tmp_path, monkeypatch):
    """The last bits of compiled sums depend on it."""
    given = {"model": Scaled(1.0), "method": RejectionABC(draws=20, fraction=0.1)}
    monkeypatch.setenv("NPROC", "2")
    run(tmp_path / "run", **given)
    monkeypatch.setenv("NPROC", "3")
    run(tmp_path / "run", resume=True, **given)  # it is finished: nothing is computed
    (tmp_path / "run" / "result.json").unlink()
    with pytest.warns(UserWarning, match=r"began with 2 visible cores and goes on with 3.*NPROC"):
        run(tmp_path / "run", resume=True, **given)


def test_a_run_says_what_it_could_not_see(tmp_path):
    method, model = RejectionABC(draws=20, fraction=0.1), Scaled(1.0)
    model.lock = threading.Lock()
    run(tmp_path / "run", model=model, method=method)
    with pytest.warns(UserWarning, match=r"cannot be seen: Scaled.lock"):
        run(tmp_path / "run", resume=True, model=model, method=method)
