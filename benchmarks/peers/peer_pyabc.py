"""pyABC: SMC-ABC with the adaptive distance, a median tolerance and its default transition.

As its tutorial on adaptive distances has it, on the whole series: `AdaptivePNormDistance`, tolerances by
`MedianEpsilon`, populations of a tenth of the budget and at least 20, until the budget is spent. One
series is asked of the simulator at a time, as its single-core sampler works; that costs it little.
The generation that the budget ends in is finished, so it may use more than it was given: `simulations`.
"""

import logging
import warnings

import numpy as np
import pyabc
from task import DRAWS, Task


def main() -> None:
    """Run generations until the budget is spent."""
    warnings.simplefilter("ignore")
    logging.getLogger("ABC").setLevel(logging.ERROR)
    task = Task()
    rng = np.random.default_rng(task.seed)
    np.random.seed(task.seed)  # noqa: NPY002  the package draws from the global generator
    names = [f"w{i}" for i in range(task.size)]

    def simulate(parameter: dict[str, float]) -> dict[str, np.ndarray]:
        y = task.simulate(np.array([parameter[name] for name in names]))[0]
        return {"y": np.nan_to_num(y.astype(float), nan=1e9).ravel()}

    task.start()
    abc = pyabc.ABCSMC(
        simulate,
        pyabc.Distribution(**{name: pyabc.RV("norm", 0.0, 1.0) for name in names}),
        pyabc.AdaptivePNormDistance(p=2),
        population_size=max(task.budget // 10, 20),
        eps=pyabc.MedianEpsilon(),
        sampler=pyabc.SingleCoreSampler(),
    )
    abc.new("sqlite://", {"y": task.observed.astype(float).ravel()})
    history = abc.run(max_total_nr_simulations=task.budget)
    frame, weights = history.get_distribution()
    chosen = rng.choice(len(frame), DRAWS, p=weights / weights.sum())
    task.finish(w=frame[names].to_numpy()[chosen])


if __name__ == "__main__":
    main()
