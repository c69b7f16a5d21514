"""On a real cluster of worker processes."""

import os
import signal
import threading
import time
from pathlib import Path

import jax
import numpy as np
import pytest

from tsnl.simulation import BlackBox, load_file, simulate

distributed = pytest.importorskip("distributed")
pytestmark = pytest.mark.filterwarnings("default")  # of Dask's own sockets and loops

black = load_file(Path(__file__).with_name("simulators.py"))
SOURCE = Path(__file__).with_name("simulators.py")


def slowly(rng, theta):
    """A walk that takes its time."""
    time.sleep(0.05)
    return rng.normal(size=20) * theta["Q"]


def test_a_killed_worker_changes_nothing():
    theta = {"Q": np.linspace(0.1, 1.0, 40)}
    serial = simulate(jax.random.key(3), _boxed(None), theta, 20)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "processes": True}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        pids = list(client.run(os.getpid).values())
        assert len(set(pids) | {os.getpid()}) == 3
        threading.Timer(0.3, os.kill, (pids[0], signal.SIGKILL)).start()
        found = simulate(jax.random.key(3), _boxed(client.get_executor()), theta, 20)
        after = list(client.run(os.getpid).values())
    assert pids[0] not in after
    np.testing.assert_array_equal(found.series, serial.series)
    assert found.failures == ()


def _boxed(executor):
    import cloudpickle

    here = __import__("sys").modules[__name__]
    cloudpickle.register_pickle_by_value(here)  # the workers have no tests to import
    return BlackBox(slowly, executor=executor, chunk=2)
