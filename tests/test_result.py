import io
import pickle
import zipfile
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from tsnl import MCMC, TSNL, Training
from tsnl.kernel import Mixture
from tsnl.models import LinearGaussian
from tsnl.store.files import read_json, read_npz, read_tensors, write_json, write_npz, write_tensors
from tsnl.store.results import digests

PRIOR = tsnl.Prior(
    {("Q", "R"): dist.MultivariateNormal(np.zeros(2), 0.2 * np.eye(2))}, A=dist.Beta(9.0, 1.0)
)
METHOD = TSNL(
    states=False,
    rounds=1,
    simulations=8,
    head=Mixture(num_components=2, width=2, depth=1),
    training=Training(num_members=2, min_steps=20, max_steps=20),
    sampler=MCMC(num_chains=4, num_warmup=80, num_draws=50, max_extensions=0),
)
FILES = ("result.json", "draws.npz", "kernel.safetensors")


class Own(tsnl.StateSpaceModel):
    Q: float = 1.0

    def sample_initial(self, key, theta):
        return jnp.zeros(())

    def sample_transition(self, key, state, theta, t, u):
        return state

    def sample_observation(self, key, state, theta, t, u):
        return state


class OwnPrior(dist.Normal):
    pass


@pytest.fixture(scope="module")
def result():
    prior = tsnl.Prior(A=dist.Uniform(0.0, 1.0), Q=dist.LogNormal(-1.0, np.array([0.5, 0.5])))
    model = LinearGaussian(Q=[0.1, 0.1], H=[[1.0, 0.5]])
    return tsnl.infer(model, prior, model.simulate(seed=1, length=15), METHOD, seed=3)


@pytest.fixture
def folder(result, tmp_path):
    result.save(tmp_path / "run")
    return tmp_path / "run"


def test_coordinates_are_labelled(result):
    found = result.coordinates()
    assert list(found) == ["A", "Q[0]", "Q[1]"]
    np.testing.assert_array_equal(found["Q[1]"], result.draws["Q"][:, :, 1])


def test_summary_has_a_row_for_each_entry(result):
    table = result.summary()
    assert list(table.index) == ["A", "Q[0]", "Q[1]"]
    assert {"mean", "sd"} <= set(table.columns)


def test_arviz_groups(result):
    tree = result.to_arviz()
    assert {"posterior", "sample_stats", "observed_data"} <= set(tree.children)
    np.testing.assert_array_equal(tree["posterior"]["Q"], result.draws["Q"])
    np.testing.assert_array_equal(tree["sample_stats"]["lp"], result.log_density)
    assert tree["observed_data"]["y"].shape == (15, 1)


def test_round_trip_to_the_bit(result, folder):
    again = tsnl.load(folder)
    for name, value in result.draws.items():
        np.testing.assert_array_equal(again.draws[name], value)
    np.testing.assert_array_equal(again.log_density, result.log_density)
    np.testing.assert_array_equal(again.problem.series, result.problem.series)
    assert again.method == result.method
    assert (again.cost, again.status, again.lag, again.seed) == (
        result.cost, result.status, result.lag, result.seed,
    )  # fmt: skip
    assert len(again.history) == len(result.history)
    assert again.problem.prior.labels == result.problem.prior.labels
    theta = {"A": 0.8, "Q": np.array([0.2, 0.4])}
    assert again.posterior.log_prob(theta) == result.posterior.log_prob(theta)


def test_saving_again_gives_the_same_files(result, folder, tmp_path):
    tsnl.load(folder).save(tmp_path / "again")
    for name in ("result.json", "kernel.safetensors"):
        assert (folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def edit(folder, **changes):
    """What a forger would do, who mends the seal too."""
    path = folder / "result.json"
    write_json(path, {**read_json(path), **changes})


def forge(folder, name, change):
    """Other arrays, under seals and hashes that are right."""
    if name == "draws.npz":
        write_npz(folder / name, change(read_npz(folder / name)))
    else:
        tensors, facts = read_tensors(folder / name)
        write_tensors(folder / name, change(tensors), facts)
    edit(folder, files={**read_json(folder / "result.json")["files"], **digests(folder / name)})


@pytest.mark.parametrize("part", ["model", "prior"])
def test_what_could_not_be_saved_must_be_given(result, folder, part):
    edit(folder, **{part: None})
    with pytest.raises(
        ValueError, match=rf"its {part} could not be saved; give it, as in load\(path, {part}="
    ):
        tsnl.load(folder)
    given = getattr(result.problem, part)
    assert getattr(tsnl.load(folder, **{part: given}).problem, part) is given


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": 99}, "format 99, newer than"),
        ({"method": {"class": "os.system", "fields": {}}}, "unknown class 'os.system'"),
        ({"method": {"class": "TSNL", "fields": {"rounds": 0}}}, "rounds is 0"),
        ({"method": {"class": "TSNL", "fields": {"nothing": 1}}}, "nothing"),
        ({"method": None}, "no readable run"),
        (
            {"prior": [{"names": ["A"], "distribution": "Distribution.x", "arguments": {}}]},
            "unknown dist",
        ),
        ({"prior": [{"names": ["A"], "distribution": "Beta", "arguments": {"x": 1.0}}]}, "unknown arg"),
        ({"kernel": "Mixture"}, "do not fit"),
        ({"kernel": {"class": "Lags", "fields": {"lag": 5}}}, "do not fit"),
        ({"names": ["Z"]}, "Z"),
        ({"format": "one"}, "no readable run"),
    ],
)
def test_damaged_facts(folder, changes, message):
    edit(folder, **changes)
    with pytest.raises(ValueError, match=message):
        tsnl.load(folder)


@pytest.mark.parametrize("name", FILES)
def test_missing_files(folder, name):
    (folder / name).unlink()
    with pytest.raises(ValueError, match="no readable run of tsnl"):
        tsnl.load(folder)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_truncated_files(folder, name, share):
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[: int(share * len(data))])
    with pytest.raises(ValueError, match="no readable run of tsnl"):
        tsnl.load(folder)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("seed", range(3))
def test_random_bytes(folder, name, seed):
    (folder / name).write_bytes(np.random.default_rng(seed).bytes(200))
    with pytest.raises(ValueError, match="no readable run of tsnl"):
        tsnl.load(folder)


@pytest.mark.parametrize("name", FILES)
def test_every_flipped_byte_is_noticed(folder, name):
    """Also one in a weight, which would change the posterior and nothing else."""
    data = (folder / name).read_bytes()
    rng = np.random.default_rng(0)
    for place in rng.integers(0, len(data), 12):
        broken = bytearray(data)
        broken[place] ^= 1 + int(rng.integers(255))
        (folder / name).write_bytes(broken)
        with pytest.raises(ValueError, match="no readable run of tsnl"):
            tsnl.load(folder)


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_result_is_noticed(result, folder, tmp_path, name):
    draws = {label: value[:, ::-1] for label, value in result.draws.items()}
    replace(result, draws=draws).save(tmp_path / "other")
    other = (tmp_path / "other" / name).read_bytes()
    if other == (folder / name).read_bytes():  # the same kernel
        return
    (folder / name).write_bytes(other)
    with pytest.raises(ValueError, match="is not the file that was written with it"):
        tsnl.load(folder)


@pytest.mark.parametrize(
    ("name", "key", "value", "message"),
    [
        ("draws.npz", "draws.A", np.nan, "its draws of A are not finite"),
        ("draws.npz", "draws.A", np.inf, "its draws of A are not finite"),
        ("draws.npz", "series.0", np.inf, "infinite"),
        ("kernel.safetensors", "0000", np.nan, "weights that are not finite"),
    ],
)
def test_forged_values_are_refused(folder, name, key, value, message):
    def change(arrays):
        changed = np.array(arrays[key])
        changed.ravel()[0] = value
        return {**arrays, key: changed}

    forge(folder, name, change)
    with pytest.raises(ValueError, match=message):
        tsnl.load(folder)


@pytest.mark.parametrize("text", ["[]", "3", "null", '"run"', "{}", "[" * 100_000])
def test_json_of_another_kind(folder, text):
    (folder / "result.json").write_text(text)
    with pytest.raises(ValueError, match="no readable run of tsnl"):
        tsnl.load(folder)


BURNT = []


class Bomb:
    def __reduce__(self):
        return BURNT.append, (1,)


def test_nothing_is_unpickled(folder):
    stream = io.BytesIO()
    np.save(stream, np.array([Bomb()], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(folder / "draws.npz", "w") as file:
        file.writestr("series.npy", stream.getvalue())
    with pytest.raises(ValueError, match="no readable run of tsnl"):
        tsnl.load(folder)
    for name in FILES:
        (folder / name).write_bytes(pickle.dumps(Bomb()))
        with pytest.raises(ValueError, match="no readable run of tsnl"):
            tsnl.load(folder)
    assert not BURNT


@pytest.mark.parametrize("width", [60, 80, 100])
def test_the_summary_prints_every_column(result, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    table = result.summary()
    text = repr(table)
    assert "..." not in text
    assert all(name in text for name in table.columns)
    assert max(len(line) for line in text.splitlines()) <= width
