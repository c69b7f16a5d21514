from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import jax
import numpy as np
import pytest

from tsnl.simulation import BlackBox, Table, TooManyFailuresError, load_file, simulate

black = load_file(Path(__file__).with_name("simulators.py"))
KEY = jax.random.key(3)
THETA = {"Q": np.linspace(0.1, 1.0, 11)}


def run(model, theta=THETA, length=black.LENGTH, **options):
    return simulate(KEY, model, theta, length, **options)


@pytest.mark.parametrize("chunk", [1, 3, 64])
def test_values_depend_on_key_and_number_alone(chunk):
    whole = run(black.walk).series
    assert whole.shape == (11, 20, 1)
    part = run(BlackBox(black.walk, chunk=chunk), {"Q": THETA["Q"][4:9]}, first=4).series
    np.testing.assert_array_equal(part, whole[4:9])
    assert not np.array_equal(simulate(jax.random.key(4), black.walk, THETA, 20).series, whole)
    assert len(np.unique(whole[:, 0, 0])) == 11


class OneBuffer:
    """Writes every series to the same memory."""

    def __init__(self):
        self.buffer = np.zeros(5)

    def __call__(self, rng, theta):
        self.buffer[:] = theta["Q"]
        return self.buffer


def test_a_simulator_may_use_its_buffer_again():
    found = run(BlackBox(OneBuffer(), chunk=4), length=5).series
    np.testing.assert_array_equal(found[:, 0, 0], THETA["Q"])
    box = BlackBox(OneBuffer())
    first, _ = (box.simulate(seed=0, length=5, theta={"Q": q}) for q in (1.0, 2.0))
    assert (first == 1.0).all()


def test_a_table_keeps_its_own_numbers():
    theta, series = {"Q": np.ones(2)}, np.zeros((2, 5))
    table = Table(theta, series)
    theta["Q"][:], series[:] = 9.0, 9.0
    assert table.series.max() == 0
    assert table.theta["Q"].max() == 1


def test_a_masked_value_is_no_value():
    """What is under a mask is not passed on as if it had been simulated."""
    masked = np.ma.array([1.0, -999.0, 3.0], mask=[False, True, False])
    found = run(BlackBox(lambda rng, theta: masked, max_failures=1.0), length=3)
    assert found.failures[0].reason == "not finite from row 2 on"


def test_threads_give_the_same():
    whole = run(black.walk)
    with ThreadPoolExecutor(3) as executor:
        threaded = run(BlackBox(black.walk, executor=executor, chunk=2, in_flight=2))
    np.testing.assert_array_equal(threaded.series, whole.series)
    assert threaded.cost == 11 * 20


def test_arguments_by_name():
    inputs = np.ones((5, 1))
    theta = {"Q": np.zeros(2), "offset": np.array([[1.0, 2.0], [3.0, 4.0]])}
    found = run(black.flexible, theta, 5, inputs=inputs).series
    np.testing.assert_array_equal(found[1], np.tile([4.0, 5.0], (5, 1)))
    fixed = BlackBox(black.flexible, parameters={"offset": 7.0})
    np.testing.assert_array_equal(run(fixed, {"Q": np.zeros(2)}, 5, inputs=inputs).series, 8.0)


def test_one_series():
    box = BlackBox(black.flexible, parameters={"offset": 7.0, "Q": 0.0})
    found = box.simulate(seed=0, length=3, inputs=np.ones((3, 1)))
    np.testing.assert_array_equal(found, np.full((3, 2), 8.0))
    with pytest.raises(ValueError, match="no root"):
        BlackBox(black.moody).simulate(seed=0, length=20, theta={"Q": 1.5})


def test_failures_have_reasons():
    box = BlackBox(black.moody, timeout=0.2, max_failures=1.0)
    found = run(box, {"Q": np.array([0.5, 1.5, 2.5, 3.5, 4.5, 5.5])}, first=10, num_columns=1)
    assert [failure.number for failure in found.failures] == [11, 12, 13, 14, 15]
    reasons = [failure.reason for failure in found.failures]
    assert reasons[:3] == [
        "raised ValueError: no root at 1.5",
        "timed out after 0.2 s",
        "not finite from row 8 on",
    ]
    assert "shape (19,), expected (20, 1)" in reasons[3]
    assert reasons[4] == "raised SystemExit: 3"
    assert found.num_failed == 5
    assert np.isfinite(found.series[0]).all()
    assert np.isfinite(found.series[3, :7]).all()
    assert np.isnan(found.series[3, 7:]).all()
    assert np.isnan(found.series[[1, 2, 4, 5]]).all()


def test_threads_time_out_too():
    with ThreadPoolExecutor(1) as executor:
        box = BlackBox(partial(_slow, seconds=0.5), executor=executor, timeout=0.05, max_failures=1)
        found = run(box, {"Q": np.ones(1)}, 3)
    assert found.failures[0].reason == "timed out after 0.05 s"


def _slow(rng, theta, seconds):
    import time

    time.sleep(seconds)
    return np.zeros(3)


def test_too_many_failures_say_what_and_where():
    q = np.concatenate([np.full(10, 0.5), np.linspace(1.1, 1.9, 30)])
    with pytest.raises(TooManyFailuresError) as caught:
        run(BlackBox(black.moody, max_failures=0.5), {"Q": q})
    text = str(caught.value)
    assert text.startswith("12 of 22 simulations failed") or "of 24 simulations failed" in text
    assert "raised ValueError: no root at 1.1" in text
    assert "They lie at Q from 1.1 to" in text
    assert "the others from 0.5 to 0.5" in text
    few = run(BlackBox(black.moody, max_failures=0.5), {"Q": np.full(4, 1.5)})
    assert few.num_failed == 4  # too few to judge
    with pytest.raises(TooManyFailuresError, match="5 of 5"):
        run(BlackBox(black.moody), {"Q": np.full(5, 1.5)})


def test_theta_is_the_simulations_own():
    def spoils(rng, theta):
        theta["v"] += 1
        return theta["v"]

    values = np.zeros((3, 2))
    found = run(spoils, {"v": values}, 2)
    np.testing.assert_array_equal(values, 0.0)
    np.testing.assert_array_equal(found.series, 1.0)
    np.testing.assert_array_equal(found.theta["v"], 0.0)


class Kept:
    """Chunks in memory."""

    def __init__(self):
        self.chunks = {}
        self.gets = []

    def get(self, first, count):
        self.gets.append((first, count))
        return self.chunks.get(first)

    def put(self, first, chunk):
        assert first not in self.chunks
        self.chunks[first] = chunk


@pytest.mark.parametrize("kind", ["function", "laws"])
def test_a_store_spares_what_is_there(kind):
    from tsnl.models import LinearGaussian

    model = BlackBox(black.moody, chunk=4, timeout=1) if kind == "function" else LinearGaussian()
    theta = {"Q": np.append(np.linspace(0.1, 0.9, 70), 1.5)}
    store = Kept()
    whole = run(model, theta, store=store)
    size = 4 if kind == "function" else 64
    assert sorted(store.chunks) == list(range(0, 71, size))
    np.testing.assert_array_equal(whole.series, run(model, theta).series)

    kept = dict(store.chunks)
    del store.chunks[0]
    again = run(model, theta, store=store)
    np.testing.assert_array_equal(again.series, whole.series)
    assert again.failures == whole.failures
    assert set(store.chunks) == set(kept)
    with pytest.raises(ValueError, match="belong to another run"):
        run(model, {"Q": theta["Q"] + 1}, store=store)


def test_what_is_finished_is_kept_before_it_is_judged():
    store = Kept()
    with pytest.raises(TooManyFailuresError):
        run(BlackBox(black.moody), {"Q": np.full(40, 1.5)}, store=store)
    assert sum(chunk.count for chunk in store.chunks.values()) == 20
    assert all(len(chunk.failures) == 4 for chunk in store.chunks.values())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BlackBox(3), "expected a function"),
        (lambda: BlackBox(lambda theta: theta), r"takes \['theta'\]"),
        (lambda: BlackBox(lambda rng, theta, other: 0), "length and inputs"),
        (lambda: BlackBox(black.walk, executor="processes"), "expected a concurrent.futures.Executor"),
    ],
)
def test_bad_functions(make, message, unchecked):
    with pytest.raises(TypeError, match=message):
        make()


@pytest.mark.parametrize(
    ("options", "message"),
    [({"timeout": 0.0}, "timeout"), ({"max_failures": 2.0}, "share"), ({"chunk": 0}, "chunk")],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        BlackBox(black.walk, **options)


def test_no_simulator():
    with pytest.raises(TypeError, match=r"expected a tsnl\.StateSpaceModel"):
        run(BlackBox)
    with pytest.raises(TypeError, match="model is a int"):
        run(3)
