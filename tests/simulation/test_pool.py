import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import jax
import numpy as np
import pytest

import tsnl
from tsnl.simulation import BlackBox, Processes, load_file, simulate

FILE = Path(__file__).with_name("simulators.py")
black = load_file(FILE)
KEY = jax.random.key(3)


@pytest.fixture(scope="module")
def processes():
    with Processes(2, file=FILE) as executor:
        yield executor


def run(fn, q, **options):
    return simulate(KEY, BlackBox(fn, **options), {"Q": np.asarray(q)}, black.LENGTH, num_columns=1)


def test_processes_give_the_same(processes):
    q = np.linspace(0.1, 1.0, 23)
    serial = run(black.walk, q)
    np.testing.assert_array_equal(run(black.walk, q, executor=processes).series, serial.series)


def test_one_that_dies_is_a_failure_and_the_others_are_not(processes):
    q = np.linspace(0.1, 0.9, 14)
    serial = run(black.walk, q).series
    q[5] = 1.5
    found = run(black.mortal, q, executor=processes)
    assert found.failures == ((5, "died with its worker process"),)
    others = np.arange(14) != 5
    np.testing.assert_array_equal(found.series[others], serial[others])
    assert np.isnan(found.series[5]).all()


def test_a_worker_killed_once_changes_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("TSNL_TEST_MARK", str(tmp_path / "mark"))
    q = np.linspace(0.1, 0.9, 9)
    with Processes(1, file=FILE) as executor:
        found = run(black.mortal_once, q, executor=executor)
    assert (tmp_path / "mark").exists()
    assert found.failures == ()
    np.testing.assert_array_equal(found.series, run(black.walk, q).series)


def test_a_file_imports_what_lies_beside_it_also_later(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "beside_first.py").write_text("import numpy as np\nROWS = np.ones(20)\n")
    (tmp_path / "beside_later.py").write_text("SCALE = 3.0\n")
    path = tmp_path / "needs_others.py"
    path.write_text(
        "from beside_first import ROWS\n"
        "def simulate(rng, theta):\n    from beside_later import SCALE\n    return SCALE * ROWS\n"
    )
    with Processes(1, file=path) as executor:
        box = BlackBox(load_file(path).simulate, executor=executor)
        found = simulate(KEY, box, {"Q": np.ones(2)}, 20)
    np.testing.assert_array_equal(found.series, np.full((2, 20, 1), 3.0))


SCRIPT = """
import sys
from tsnl.simulation.pool import Processes

def work(x):
    return x + 1

def begin():
    with Processes(1) as executor:
        print(executor.submit(work, 1).result())

if sys.argv[1] == "plain":
    begin()
if __name__ == "__main__":
    begin()
"""


@pytest.mark.parametrize(("how", "out"), [("plain", ""), ("guarded", "2\n")])
def test_a_script_without_a_guard_is_told_at_once(tmp_path, how, out):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(Path(tsnl.__file__).parents[1])}
    asked = [sys.executable, str(path), how]
    found = subprocess.run(asked, capture_output=True, text=True, env=environment, check=False)
    assert found.stdout == out
    assert (found.returncode == 0) == (how == "guarded"), found.stderr
    said = "script.py, line 13: worker processes import this script"
    assert (said in found.stderr) == (how == "plain")
    assert ("__name__" in found.stderr) == (how == "plain")


def test_processes_time_out(processes):
    found = run(black.moody, [0.5, 2.5, 0.6], executor=processes, timeout=0.2, chunk=1)
    assert found.failures == ((1, "timed out after 0.2 s"),)


def test_what_cannot_be_sent_says_so(processes):
    with pytest.raises(TypeError, match="top level of a file"):
        run(lambda rng, theta: np.zeros(20), [0.5], executor=processes)
    here = sys.modules["tsnl_file_simulators"].walk
    name = here.__qualname__
    try:
        here.__qualname__ = here.__name__ = "gone"
        black.gone = here
        with pytest.raises(TypeError, match="cannot find the simulator"):
            run(here, [0.5], executor=processes)
    finally:
        here.__qualname__ = here.__name__ = name
        del black.gone


def test_an_executor_that_is_broken_for_good():
    kept = {}

    class Kept:
        def get(self, first, count):
            return None

        def put(self, first, chunk):
            kept[first] = chunk

    q = np.full(6, 0.5)
    q[3] = 1.5
    with ProcessPoolExecutor(1, get_context("spawn"), initializer=load_file, initargs=(FILE,)) as pool:
        box = BlackBox(black.mortal, executor=pool, chunk=1, in_flight=1)
        with pytest.raises(RuntimeError, match=r"takes no more work .* 3 of 6 chunks"):
            simulate(KEY, box, {"Q": q}, black.LENGTH, store=Kept())
    assert sorted(kept) == [0, 1, 2]


@pytest.mark.slow
def test_one_that_no_alarm_reaches_is_ended(processes):
    found = run(black.deaf, [0.5, 1.5], executor=processes, timeout=0.1, chunk=1)
    assert found.failures == ((1, "died with its worker process"),)


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="Windows")
def test_ctrl_c_does_not_reach_a_worker_that_starts():
    with Processes(1) as workers:
        future = workers.submit(abs, -3)
        for _ in range(20):
            for pid in list(workers._pools[0]._processes):
                os.kill(pid, signal.SIGINT)
            time.sleep(0.02)
        assert future.result() == 3


def test_workers_start_without_jax():
    code = "import sys, tsnl.simulation; sys.exit('jax' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_workers_end_with_their_parent(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import os, time\n"
        "from tsnl.simulation import Processes\n"
        "if __name__ == '__main__':\n"
        "    pool = Processes(1)\n"
        "    print(pool.submit(os.getpid).result(), flush=True)\n"
        "    time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    worker = int(parent.stdout.readline())
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    for _ in range(100):
        if not Path(f"/proc/{worker}").exists():
            return
        time.sleep(0.1)
    pytest.fail("the worker outlived its parent")
