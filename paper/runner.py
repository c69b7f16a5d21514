"""Runs the trials of an experiment that its table does not have yet, several at a time."""

import os
import queue
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path

import tsnl
from paper import table
from paper.trial import COMMON, Experiment, Row, Trial
from tsnl.runtime.compilation import cache_compilations
from tsnl.runtime.progress import Progress

REFERENCES = "references"  # the folder beside the tables


def run_experiment(
    experiment: Experiment,
    out: Path,
    *,
    trials: int | None,
    quick: bool,
    workers: int,
    progress: Progress,
) -> Path:
    """Fill the experiment's table; the table's path.

    Every row is written as soon as its trial is done, and trials that have one are not run again: a
    killed run loses the trials in flight and goes on where it was. A trial that raises gets a row with
    the reason.

    Args:
        experiment: what to run.
        out: folder of the tables.
        trials: seeds of each combination; the experiment's own number where None.
        quick: the shrunk experiment.
        workers: processes side by side, each on a core of its own; 1 runs in this process.
        progress: who is told.
    """
    path, columns = out / f"{experiment.name}.csv", COMMON + experiment.columns
    rows = table.read(path)
    if rows:
        table.check(path, columns)
    done = {row["id"] for row in rows}
    wanted = experiment.trials(trials, quick)
    left = [trial for trial in wanted if trial.id not in done]
    progress.start(experiment.name, len(wanted))
    try:
        count = len(wanted) - len(left)
        progress.now(count, f"{count} of {len(wanted)} trials are there")

        def keep(trial: Trial, row: Row) -> None:
            nonlocal count
            table.append(path, columns, row)
            count += 1
            text = f"{trial.id} {row['status']}, {row['trial_seconds']:.0f} s"
            progress.now(count, text)

        if min(workers, len(left)) > 1:
            _in_processes(experiment, left, out / REFERENCES, min(workers, len(left)), keep)
        else:
            for trial in left:
                keep(trial, perform(experiment, trial, out / REFERENCES))
    finally:
        progress.close()
    return path


def perform(experiment: Experiment, trial: Trial, references: Path) -> Row:
    """Run one trial; its row, also where it fails."""
    cache_compilations()
    start, cpu = time.perf_counter(), time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a small budget warns of being small, in every trial
            found = {"status": "ok", **experiment.run(trial, references)}
    except Exception as error:  # the other trials go on
        found = failure(f"{type(error).__name__}: {error}")
    found["trial_seconds"] = time.perf_counter() - start
    return describe(trial) | found | {"cpu_seconds": time.process_time() - cpu}


def describe(trial: Trial) -> Row:
    """What a trial says of itself."""
    names = ("id", "problem", "method", "budget", "setting", "seed")
    return {name: getattr(trial, name) for name in names} | {"version": tsnl.__version__}


def failure(reason: str) -> Row:
    """The rest of the row of a trial that failed."""
    return {"status": "failed", "reason": reason, "trial_seconds": 0.0}


def _in_processes(
    experiment: Experiment,
    trials: list[Trial],
    references: Path,
    workers: int,
    keep: Callable[[Trial, Row], None],
) -> None:
    """A process for each worker, fed by a thread: one that dies takes only its own trial along."""
    waiting: queue.SimpleQueue[Trial] = queue.SimpleQueue()
    for trial in trials:
        waiting.put(trial)
    errors: list[BaseException] = []
    one_at_a_time = threading.Lock()

    def feed(index: int) -> None:
        pool = _process(index)
        try:
            while not errors:
                try:
                    trial = waiting.get_nowait()
                except queue.Empty:
                    return
                try:
                    row = pool.submit(perform, experiment, trial, references).result()
                except BrokenProcessPool:
                    row = describe(trial) | failure("the process died: out of memory, or killed")
                    pool = _process(index)
                with one_at_a_time:
                    keep(trial, row)
        except BaseException as error:
            errors.append(error)
        finally:
            pool.shutdown(cancel_futures=True)

    threads = [threading.Thread(target=feed, args=(i,), daemon=True) for i in range(workers)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt as error:
        errors.append(error)
        raise
    if errors:
        raise errors[0]


def _process(index: int) -> ProcessPoolExecutor:
    """A fresh process on a core of its own."""
    return ProcessPoolExecutor(1, get_context("spawn"), initializer=pin, initargs=(index,))


def pin(index: int) -> None:
    """Keep this process on one core: XLA's threads on shared cores slow each other badly."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[index % len(cores)]})
    one = "--xla_cpu_multi_thread_eigen=false"
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {one}".strip()


def num_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
