"""On a real cluster of worker processes, one of which is killed in the middle."""

import os
import signal
import threading
import time
from contextlib import contextmanager

import jax
import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from tsnl import MCMC, TSNL, BlackBox, Training
from tsnl.kernel import Mixture
from tsnl.simulation import simulate

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("default")  # of Dask's own sockets and loops


def make(seconds):
    """A black box inside a function: Dask sends it to its workers by value."""

    def walk(rng, theta, length):
        import time

        time.sleep(seconds)
        return np.cumsum(rng.normal(size=length)) * np.sqrt(theta["Q"])

    return walk


@contextmanager
def cluster(num_workers):
    options = {"n_workers": num_workers, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as local, distributed.Client(local) as client:
        yield client


def kill_one(client, after):
    """Kill a worker process a little later; its id."""
    pids = sorted(set(client.run(os.getpid).values()) - {os.getpid()})
    assert len(pids) > 1
    threading.Timer(after, os.kill, (pids[0], signal.SIGKILL)).start()
    return pids[0]


def test_a_killed_worker_changes_nothing():
    theta, key = {"Q": np.linspace(0.1, 1.0, 24)}, jax.random.key(3)
    serial = simulate(key, make(0.0), theta, 20)
    with cluster(2) as client:
        victim = kill_one(client, 0.3)
        begin = time.perf_counter()
        found = simulate(key, BlackBox(make(0.06), executor=client.get_executor(), chunk=2), theta, 20)
        assert time.perf_counter() - begin > 0.3
        assert victim not in client.run(os.getpid).values()
    np.testing.assert_array_equal(found.series, serial.series)
    assert found.failures == ()


@pytest.mark.slow
def test_a_run_ends_with_the_same_draws():
    prior = tsnl.Prior(Q=dist.LogNormal(-1.0, 0.7))
    series = make(0.0)(np.random.default_rng(1), {"Q": 0.3}, 20)
    method = TSNL(
        states=False,
        rounds=2,
        simulations=16,
        head=Mixture(num_components=2, width=4, depth=1),
        training=Training(num_members=2, min_steps=50, max_steps=50),
        sampler=MCMC(num_chains=2, num_warmup=50, num_draws=50, max_extensions=0),
    )
    serial = tsnl.infer(make(0.0), prior, series, method, seed=0)
    with cluster(3) as client:
        victim = kill_one(client, 0.3)
        box = BlackBox(make(0.1), executor=client.get_executor(), chunk=1)
        found = tsnl.infer(box, prior, series, method, seed=0)
        assert victim not in client.run(os.getpid).values()
    np.testing.assert_array_equal(found.draws["Q"], serial.draws["Q"])
