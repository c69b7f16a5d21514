"""tsnl with its defaults: `TSNL(budget=n)` and nothing else; its simulations are inside its clock."""

import warnings

import numpy as np

import tsnl
from benchmarks.peers.problems import question
from benchmarks.peers.task import Task


def main() -> None:
    """Infer."""
    warnings.simplefilter("ignore")
    task = Task()
    asked = question(task.problem, task.seed)
    task.start()
    method = tsnl.TSNL(budget=task.budget)
    result = tsnl.infer(asked.model, asked.prior, asked.series, method, seed=task.seed, progress=False)
    z = np.asarray(result.posterior.z, dtype=np.float64).reshape(-1, asked.prior.size)
    task.used = round(result.cost / len(asked.series))
    task.finish(z=z)


if __name__ == "__main__":
    main()
