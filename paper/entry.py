"""The one door to the experiments: run, resume, draw."""

from pathlib import Path
from typing import Any

from paper import table
from paper.registry import EXPERIMENTS
from paper.runner import num_cores, run_experiment
from paper.trial import Experiment
from tsnl.runtime.progress import Progress, progress_for

ALL = "all"
OUT = Path("out") / "experiments"


def reproduce(
    name: str,
    *,
    trials: int | None = None,
    quick: bool = False,
    out: Path | str = OUT,
    workers: int | None = None,
    progress: bool | Progress = True,
) -> list[Path]:
    """Run an experiment of the paper, or go on with it, and draw its figure.

    Args:
        name: one of `EXPERIMENTS`, or "all".
        trials: observed series (or seeds) of each combination; the published number where None.
        quick: a shrunk version in seconds, to see that everything works.
        out: folder of NAME.csv, NAME.svg and `references/`; a quick run has its own, `out/quick`.
        workers: processes side by side, each pinned to a core; the cores there are where None, 1 for
            this process alone.
        progress: show a bar where there is a terminal, or who is told instead.

    Returns:
        The tables.

    Raises:
        ValueError: an unknown name, or fewer than one trial or worker.
    """
    if name != ALL and name not in EXPERIMENTS:
        raise ValueError(f"There is no experiment {name!r}: choose one of {[*EXPERIMENTS, ALL]}.")
    for label, value in (("trials", trials), ("workers", workers)):
        if value is not None and value < 1:
            raise ValueError(f"{label} is {value}, expected at least 1.")
    folder = Path(out) / "quick" if quick else Path(out)
    tables = []
    for one in EXPERIMENTS.values() if name == ALL else [EXPERIMENTS[name]]:
        watcher = progress_for(progress) if isinstance(progress, bool) else progress
        path = run_experiment(
            one,
            folder,
            trials=trials,
            quick=quick,
            workers=workers or num_cores(),
            progress=watcher,
        )
        draw(one, path)
        tables.append(path)
    return tables


def draw(experiment: Experiment, path: Path) -> Path | None:
    """The figure beside a table, from the table alone; None where no trial is finished."""
    rows = table.finished(table.read(path))
    if not rows:
        return None
    return save(experiment.draw(rows), path.with_suffix(".svg"))


def save(figure: Any, path: Path) -> Path:
    """Write a figure and close it; the same figure gives the same file."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    with mpl.rc_context({"svg.hashsalt": "tsnl"}):
        figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    return path
