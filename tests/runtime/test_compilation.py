"""Compiled programs are kept, and forgotten in time."""

import jax
import jax.numpy as jnp
import pytest

from tsnl.runtime import compilation
from tsnl.runtime.compilation import MAPS, make_room


def pieces():
    return MAPS.read_bytes().count(b"\n")


@pytest.mark.skipif(not MAPS.exists(), reason="not Linux")
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
