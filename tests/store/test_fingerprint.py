"""What counts as the same simulator."""

import ctypes
import functools
import linecache
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import tsnl
from tsnl.simulation import Program, Table, load_file
from tsnl.store.fingerprint import difference, fingerprint

RATE = 2.0
LIBRARY = ctypes.pythonapi


def with_global(rng, theta):
    return RATE * rng.normal(size=3)


def calls_another(rng, theta):
    return np.sin(with_global(rng, theta))


def with_closure(rate):
    def simulate(rng, theta):
        return rate * rng.normal(size=3)

    return simulate


def with_options(rng, theta, scale=None):
    return scale


def compiled(rng, theta):
    return LIBRARY.something(theta)


@dataclass
class Machine:
    rate: float

    def __call__(self, rng, theta):
        return self.rate

    def run(self, rng, theta):
        return self.step()

    def step(self):
        return self.rate * RATE


class Laws(tsnl.StateSpaceModel):
    Q: float = 1.0

    def sample_initial(self, key, theta):
        return jnp.zeros(())

    def sample_transition(self, key, state, theta, t, u):
        return RATE * state

    def sample_observation(self, key, state, theta, t, u):
        return state


def of(function):
    return fingerprint(tsnl.BlackBox(function))


PAIRS = {
    "closure": (lambda: with_closure(1.0), lambda: with_closure(2.0), "simulate.rate"),
    "partial": (
        lambda: functools.partial(with_options, scale=np.ones(3)),
        lambda: functools.partial(with_options, scale=np.zeros(3)),
        "keywords",
    ),
    "callable": (lambda: Machine(1.0), lambda: Machine(2.0), "rate"),
    "bound": (lambda: Machine(1.0).run, lambda: Machine(2.0).run, "self.rate"),
    "compiled": (lambda: jax.jit(with_closure(1.0)), lambda: jax.jit(with_closure(2.0)), "rate"),
    "lambda": (lambda: lambda rng, theta: 1.0, lambda: lambda rng, theta: 2.0, "<lambda>"),
}


@pytest.mark.parametrize("name", PAIRS)
def test_what_a_function_carries_along_counts(name):
    one, other, place = PAIRS[name]
    assert of(one()) == of(one())
    assert of(one()) != of(other())
    found = difference(of(one()), of(other()))
    assert any(place in where for where in found), found


@pytest.mark.parametrize(
    "function", [with_global, calls_another, Machine(1.0).run, functools.partial(with_global)]
)
def test_a_changed_global_counts(monkeypatch, function):
    before = of(function)
    monkeypatch.setitem(globals(), "RATE", 3.0)
    (place,) = difference(before, of(function))
    assert place.endswith(".RATE")


def test_the_laws_of_a_model_count(monkeypatch):
    before = fingerprint(Laws())
    assert before == fingerprint(Laws())
    assert before != fingerprint(Laws(Q=2.0))
    monkeypatch.setitem(globals(), "RATE", 3.0)
    assert difference(before, fingerprint(Laws())) == ["Laws.class.sample_transition.RATE"]


def test_how_a_simulator_is_run_does_not_count():
    box = tsnl.BlackBox(with_global)
    assert fingerprint(box) == fingerprint(replace(box, timeout=5.0, chunk=9, max_failures=1.0))
    assert fingerprint(box) != fingerprint(replace(box, parameters={"A": 1.0}))
    assert fingerprint(Program(["one"])) != fingerprint(Program(["two"]))
    tables = [Table({"Q": np.ones(2)}, np.full((2, 3), value)) for value in (0.0, 0.0, 1.0)]
    assert fingerprint(tables[0]) == fingerprint(tables[1]) != fingerprint(tables[2])


def test_tables_count_and_deep_things_are_not_followed_for_ever():
    frames = [pd.DataFrame({"a": [1.0, value]}) for value in (2.0, 2.0, 3.0)]
    found = [of(functools.partial(with_options, scale=frame)) for frame in frames]
    assert found[0] == found[1] != found[2]
    deep = []
    for _ in range(5000):
        deep = [deep]
    assert of(functools.partial(with_options, scale=deep))["unseen"]
    itself = []
    itself.append(itself)
    assert not of(functools.partial(with_options, scale=itself))["unseen"]


def test_what_cannot_be_seen_is_said():
    assert of(compiled)["unseen"] == ["compiled.LIBRARY"]
    assert not of(with_global)["unseen"]
    assert not of(Machine(1.0))["unseen"]
    assert not fingerprint(Laws())["unseen"]


def write_model(folder, step=1, rate=1):
    folder.mkdir(exist_ok=True)
    (folder / "beside.py").write_text(f"RATE = {rate}\n\n\ndef helper(x):\n    return RATE * x\n")
    text = f"import beside\n\n\ndef step(x):\n    return {step} * beside.helper(x)\n\n\n"
    (folder / "walk.py").write_text(f"{text}def simulate(rng, theta):\n    return step(rng)\n")


def loaded(folder):
    for name in ("tsnl_file_walk", "beside"):
        sys.modules.pop(name, None)
    linecache.clearcache()
    return of(load_file(folder / "walk.py").simulate)


@pytest.mark.parametrize("change", [{"step": 2}, {"rate": 2}])
def test_a_changed_model_file_or_helper_is_noticed(tmp_path, monkeypatch, change):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    write_model(tmp_path)
    before, again = loaded(tmp_path), loaded(tmp_path)
    write_model(tmp_path, **change)
    assert before == again != loaded(tmp_path)


SEEN = """
import json, sys
sys.path.insert(0, {!r})
import test_fingerprint as t
found = [t.of(make()) for make, _, _ in t.PAIRS.values()]
print(json.dumps([*found, t.fingerprint(t.Laws()), t.of(t.calls_another)]))
"""


def test_another_process_sees_the_same():
    found = [
        subprocess.run(
            [sys.executable, "-c", SEEN.format(str(Path(__file__).parent))],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert found[0] == found[1] != ""
