"""Files that are no kernel, or not the one that they say."""

import time
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tsnl.kernel import Decays, Kernel, KernelSpec, Lags, Mixture, Region, Scaling
from tsnl.kernel.member import fresh_members
from tsnl.store.files import read_tensors, write_tensors

SPEC = KernelSpec(Mixture(num_components=2, width=2, depth=1), (Lags(1), Decays((0.5,))), 1, 0, 1, 2)


@cache
def kernel():
    one = jnp.ones(1)
    scaling = Scaling(one, one, one, one, one, ("asinh",), low=-jnp.inf * one)
    members = fresh_members(jax.random.key(0), SPEC)
    return Kernel(members, scaling, Region.unknown(1, SPEC.groups()), SPEC)


@pytest.fixture
def saved(tmp_path):
    kernel().save(tmp_path / "kernel.safetensors")
    return tmp_path / "kernel.safetensors"


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
def test_a_file_that_was_cut_off(saved, share):
    data = saved.read_bytes()
    saved.write_bytes(data[: int(share * len(data))])
    with pytest.raises(ValueError, match="is damaged"):
        Kernel.load(saved)


def test_something_else(saved):
    saved.write_bytes(np.random.default_rng(0).bytes(200))
    with pytest.raises(ValueError, match="is damaged"):
        Kernel.load(saved)


def test_tensors_without_facts(saved):
    from safetensors.numpy import save_file

    save_file({"0000": np.zeros(2)}, saved)
    with pytest.raises(ValueError, match="is damaged"):
        Kernel.load(saved)


def changed(**fields):
    def change(tensors, facts):
        facts["spec"]["fields"] |= fields

    return change


def without_a_tensor(tensors, facts):
    tensors.pop("0003")


def with_one_more(tensors, facts):
    tensors["9999"] = np.zeros(3, np.float32)


def of_another_shape(tensors, facts):
    tensors["0000"] = tensors["0000"][..., :1]


def of_another_class(tensors, facts):
    facts["spec"] = {"class": "Lags", "fields": {"lag": 2}}


def of_no_class(tensors, facts):
    facts["spec"]["class"] = "Nobody"


def without_a_spec(tensors, facts):
    facts.pop("spec")


CHANGES = {
    "members": changed(num_members=3),
    "columns": changed(d_y=2),
    "inputs": changed(d_u=1),
    "parameters": changed(size=2),
    "memory": changed(memory={"tuple": []}),
    "lag": changed(memory={"tuple": [{"class": "Lags", "fields": {"lag": -1}}]}),
    "field": changed(colour="red"),
    "no memory": changed(memory=None),
    "tensor": without_a_tensor,
    "more": with_one_more,
    "shape": of_another_shape,
    "kind": of_another_class,
    "class": of_no_class,
    "spec": without_a_spec,
}


@pytest.mark.parametrize("what", CHANGES)
@pytest.mark.usefixtures("unchecked")
def test_a_file_that_does_not_fit(saved, what):
    tensors, facts = read_tensors(saved)
    CHANGES[what](tensors, facts)
    write_tensors(saved, tensors, facts)
    with pytest.raises(ValueError, match=r"."):
        Kernel.load(saved)


def of_depth(depth):
    return {"head": {"class": "Mixture", "fields": {"num_components": 2, "width": 2, "depth": depth}}}


@pytest.mark.parametrize(
    "fields",
    [{"num_members": 10**9}, {"num_members": 999}, of_depth(10**9), of_depth(999), of_depth(99)],
)
@pytest.mark.usefixtures("unchecked")
def test_absurd_options_are_refused_at_once(saved, fields):
    tensors, facts = read_tensors(saved)
    changed(**fields)(tensors, facts)
    write_tensors(saved, tensors, facts)
    begin = time.perf_counter()
    with pytest.raises(ValueError, match=r"fewer weights|no kernel|do not fit"):
        Kernel.load(saved)
    assert time.perf_counter() - begin < 10


def test_a_file_written_again_is_the_same(saved):
    again = saved.with_name("again")
    Kernel.load(saved).save(again)
    assert again.read_bytes() == saved.read_bytes()
