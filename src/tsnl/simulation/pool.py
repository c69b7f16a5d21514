"""Worker processes that may die."""

import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
)
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tsnl.simulation.deadline import may_exit
from tsnl.simulation.guard import check_guard
from tsnl.simulation.worker import load_file


class Processes(Executor):
    """An executor of worker processes, each started anew when it dies.

    Every worker is a pool of its own, so that it is known which call a dead one was at. Workers are
    spawned, not forked: JAX has threads, which do not survive a fork. They do without JAX unless the
    simulator's file imports it, and end with the process that started them, however it ends.

    Use it in a `with` block, or call `shutdown`. In a script, start it under
    `if __name__ == "__main__":`, since workers import the script.

    Args:
        workers: how many.
        file: the Python file of the simulator, where `tsnl.simulation.load_file` loaded it.
    """

    def __init__(self, workers: int, *, file: str | Path | None = None):
        if workers < 1:
            raise ValueError(f"workers is {workers}, expected at least 1.")
        check_guard()
        self.workers = workers
        self._file = None if file is None else str(Path(file).resolve())
        self._pools: list[ProcessPoolExecutor | None] = [None] * workers
        self._load = [0] * workers
        self._lock = threading.RLock()
        self._closed = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Hand a call to the worker that has least to do.

        Raises:
            TypeError: it cannot be sent to another process.
            RuntimeError: the workers were ended.
        """
        try:
            payload = pickle.dumps((fn, args, kwargs))
        except Exception as error:
            raise TypeError(
                f"The simulator cannot be sent to a worker process ({error}): define it at the top "
                f"level of a file, or run it with threads, with Dask, or with executor=None."
            ) from error
        future: Future = Future()
        with self._lock:
            if self._closed:
                raise RuntimeError("the worker processes were ended")
            self._send(future, payload)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers."""
        with self._lock:
            self._closed = True
        for pool in self._pools:
            if pool is not None:
                pool.shutdown(wait=wait, cancel_futures=cancel_futures)

    def kill(self) -> None:
        """End the workers at once, whatever they are at."""
        with self._lock:
            self._closed = True
        for pool in self._pools:
            for process in list(((pool and pool._processes) or {}).values()):
                process.kill()
        self.shutdown(cancel_futures=True)

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        """Wait for the workers, or end them at once after an error or Ctrl-C."""
        if kind is None:
            self.shutdown()
        else:
            self.kill()

    def _send(self, future: Future, payload: bytes) -> None:
        """To the worker that has least to do; one that died while it was idle is started anew."""
        place = self._load.index(min(self._load))
        with _uninterrupted():
            try:
                pool = self._pool(place)
                inner = pool.submit(_call, payload, self._file)
            except BrokenExecutor:
                self._pools[place] = None
                pool = self._pool(place)
                inner = pool.submit(_call, payload, self._file)
        self._load[place] += 1
        inner.add_done_callback(lambda done: self._settle(place, pool, done, future, payload))

    def _settle(
        self, place: int, pool: ProcessPoolExecutor, done: Future, future: Future, payload: bytes
    ) -> None:
        """Pass on what came of a call.

        Of the calls that a dead worker had, the oldest, which is told first, is the one that it was at;
        the others never began, and go to another worker.
        """
        error = CancelledError() if done.cancelled() else done.exception()
        with self._lock:
            self._load[place] -= 1
            if isinstance(error, BrokenExecutor) and not self._closed:
                if self._pools[place] is not pool:
                    self._send(future, payload)
                    return
                self._pools[place] = None
        if not future.set_running_or_notify_cancel():
            return
        if error is None:
            future.set_result(done.result())
        else:
            future.set_exception(error)

    def _pool(self, place: int) -> ProcessPoolExecutor:
        pool = self._pools[place]
        if pool is None:
            context = multiprocessing.get_context("spawn")
            pool = self._pools[place] = ProcessPoolExecutor(1, context, initializer=_begin)
        return pool


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold Ctrl-C back from here and from processes that start here: they would die at their imports."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin() -> None:
    """What a worker does first: leave Ctrl-C to its parent, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    may_exit()
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)


def _call(payload: bytes, file: str | None) -> Any:
    """Unpack a call and make it; the bytes come from this run's own process, never from a file."""
    try:
        if file is not None:
            load_file(file)
        fn, args, kwargs = pickle.loads(payload)
    except Exception as error:
        raise TypeError(
            f"A worker process cannot find the simulator ({type(error).__name__}: {error}): define it "
            f"at the top level of a file that can be imported, or give that file to Processes."
        ) from error
    return fn(*args, **kwargs)
