"""Compiled programs are kept, and forgotten in time."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tsnl.checks import draws, one_step
from tsnl.checks.checks import NUM_WEIGHTED
from tsnl.checks.one_step import NUM_THINNED
from tsnl.runtime import compilation
from tsnl.runtime.compilation import LIGHTLY, MAPS, compiled_lightly, make_room


def pieces():
    return MAPS.read_bytes().count(b"\n")


@pytest.mark.skipif(not MAPS.exists(), reason="not Linux")
@pytest.mark.slow
def test_programs_are_forgotten_before_they_are_too_many(monkeypatch, tmp_path):
    functions = [jax.jit(lambda x, i=i: jnp.cumsum(jnp.cos(x)) * i) for i in range(40)]
    for function in functions:
        function(jnp.arange(10.0)).block_until_ready()
    before = pieces()
    make_room()
    assert pieces() >= before - 5  # far from the limit
    most = tmp_path / "most"
    most.write_text(f"{before}\n")
    monkeypatch.setattr(compilation, "MOST_MAPS", most)
    make_room()
    assert pieces() < before - 40
    assert functions[3](jnp.arange(10.0))[0] == 3.0


def test_other_systems_have_no_such_limit(monkeypatch, tmp_path):
    monkeypatch.setattr(compilation, "MAPS", tmp_path / "nothing")
    make_room()


def test_light_programs_are_the_same_functions(monkeypatch):
    asked = []
    plain = eqx.filter_jit
    monkeypatch.setattr(
        "equinox.filter_jit", lambda fn, **given: asked.append(given) or plain(fn, **given)
    )
    found = compiled_lightly(lambda x: x @ x.T)(jnp.eye(3))
    np.testing.assert_array_equal(found, np.eye(3))
    assert asked == [{"compiler_options": LIGHTLY}]


def test_batches_divide_the_draws_that_the_checks_take():
    """A remainder would be a second copy of the program."""
    assert NUM_THINNED % one_step.BATCH == 0
    assert NUM_WEIGHTED % draws.BATCH == 0
