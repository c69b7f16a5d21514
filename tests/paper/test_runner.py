"""The runner resumes, records failures, and survives a worker that dies."""

import os
from dataclasses import dataclass

import pytest

from paper import table
from paper.runner import run_experiment
from paper.trial import Trial
from tsnl.runtime.progress import Silent


@dataclass(frozen=True)
class Small:
    """Writes down where each trial ran; some raise, some kill their process."""

    name: str = "small"
    columns: tuple[str, ...] = ("process",)
    raising: int = -1
    dying: int = -1

    def trials(self, count, quick):
        return [Trial("linear", "none", 0, seed, quick=quick) for seed in range(count or 4)]

    def run(self, trial, references):
        if trial.seed == self.raising:
            raise ValueError("the rows do not\nfit")
        if trial.seed == self.dying:
            os._exit(3)
        return {"cost": 10 * trial.seed, "process": os.getpid()}

    def draw(self, rows):
        raise NotImplementedError


class Told(Silent):
    def __init__(self):
        self.texts = []

    def now(self, done, text):
        self.texts.append((done, text))


def run(experiment, out, trials=None, workers=1, progress=None):
    path = run_experiment(
        experiment, out, trials=trials, quick=False, workers=workers, progress=progress or Silent()
    )
    return table.read(path)


def test_trials_that_are_there_are_not_run_again(tmp_path):
    run(Small(), tmp_path, trials=2)
    lines = (tmp_path / "small.csv").read_text()
    told = Told()
    rows = run(Small(), tmp_path, trials=4, progress=told)
    assert [row["seed"] for row in rows] == ["0", "1", "2", "3"]
    assert (tmp_path / "small.csv").read_text().startswith(lines)
    assert told.texts[0] == (2, "2 of 4 trials are there")
    assert told.texts[-1][0] == 4


def test_a_torn_trial_is_run_again(tmp_path):
    run(Small(), tmp_path)
    path = tmp_path / "small.csv"
    path.write_bytes(path.read_bytes()[:-5])
    rows = run(Small(), tmp_path)
    assert [row["seed"] for row in rows] == ["0", "1", "2", "3"]


def test_a_failed_trial_has_its_reason_and_stops_nothing(tmp_path):
    rows = run(Small(raising=1), tmp_path)
    assert [row["status"] for row in rows] == ["ok", "failed", "ok", "ok"]
    assert rows[1]["reason"] == "ValueError: the rows do not fit"
    assert rows[1]["cost"] == ""


def test_ids_are_unique_and_say_what_they_are():
    trial = Trial("linear", "T-SNL", 1000, 3, "last")
    assert trial.id == "linear/T-SNL/1000/last/3"


@pytest.mark.slow
def test_processes_on_cores_of_their_own(tmp_path):
    rows = run(Small(dying=2, raising=0), tmp_path, trials=5, workers=2)
    by_seed = {row["seed"]: row for row in rows}
    assert sorted(by_seed) == ["0", "1", "2", "3", "4"]
    assert "process died" in by_seed["2"]["reason"]
    assert by_seed["0"]["status"] == "failed"
    assert str(os.getpid()) not in {row["process"] for row in rows}
