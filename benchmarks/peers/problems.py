"""The problems: model, prior, an observed series and draws of its reference posterior.

The paper's three have a series and a reference of its own for every seed. Those of the zoo (all of its
reporting half, which tsnl's defaults were not chosen on) and the real one have one series with one
reference: there the seeds are the methods' alone. The real series are the world's major earthquakes
(magnitude 7 and above) of each year from 1900 to 2006, with the two-regime Poisson model of Zucchini and
MacDonald (2009), whose likelihood is exact.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpyro.distributions as dist

import tsnl
from benchmarks.peers.whiten import Law
from benchmarks.zoo import ZOO, Entry
from benchmarks.zoo.models_counts import PoissonHMM, two_regimes
from benchmarks.zoo.references import compute, load
from paper.problems import LINEAR, PREDATOR_PREY, VOLATILITY, linear_reference
from paper.references import LINEAR_GRID, VOLATILITY_GRID, Reference

HERE = Path(__file__).parent
QUAKES = (
    13, 14, 8, 10, 16, 26, 32, 27, 18, 32, 36, 24, 22, 23, 22, 18, 25, 21, 21, 14, 8, 11, 14, 23,
    18, 17, 19, 20, 22, 19, 13, 26, 13, 14, 22, 24, 21, 22, 26, 21, 23, 24, 27, 41, 31, 27, 35, 26,
    28, 36, 39, 21, 17, 22, 17, 19, 15, 34, 10, 15, 22, 18, 15, 20, 15, 22, 19, 16, 30, 27, 29, 23,
    20, 16, 21, 21, 25, 16, 18, 15, 18, 14, 10, 15, 8, 15, 6, 11, 8, 7, 18, 16, 13, 12, 13, 20, 15,
    16, 12, 18, 15, 16, 13, 15, 16, 11, 11,
)  # fmt: skip
KINDS = {"Normal": "normal", "LogNormal": "lognormal", "Uniform": "uniform", "Beta": "beta"}


class Real(Entry):
    """An entry whose series was measured, not simulated."""

    @property
    def series(self) -> np.ndarray:
        """The annual counts, (107, 1)."""
        return np.array(QUAKES, dtype=np.float32)[:, None]

    @property
    def path(self) -> Path:
        """Where the reference is kept."""
        return HERE / "data" / f"{self.name}.npz"


EARTHQUAKES = Real(
    "earthquakes",
    "report",
    "real counts, regimes",
    "Zucchini and MacDonald (2009), Hidden Markov Models for Time Series",
    PoissonHMM(15.0, 12.0, 0.9, 0.9),
    tsnl.Prior(
        calm=dist.LogNormal(np.log(15), 0.5),
        more=dist.LogNormal(np.log(10), 0.7),
        stay_calm=dist.Beta(4, 1),
        stay_busy=dist.Beta(4, 1),
    ),
    length=len(QUAKES),
    exact=two_regimes,
)
PAPER = {"linear": LINEAR, "volatility": VOLATILITY, "predator_prey": PREDATOR_PREY}


@dataclass(frozen=True, eq=False)
class Question:
    """What every package is asked.

    Attributes:
        name: of the problem.
        series_seed: which of its series.
        model: the laws that simulate.
        prior: of tsnl.
        series: (T, d_y).
        reference: draws of z, (n, size).
    """

    name: str
    series_seed: int
    model: tsnl.StateSpaceModel
    prior: tsnl.Prior
    series: np.ndarray
    reference: np.ndarray

    @property
    def laws(self) -> list[Law]:
        """The prior's coordinates, for `whiten`."""
        return [_law(names[0], law) for names, law in self.prior.distributions]


def _law(name: str, law: dist.Distribution) -> Law:
    if isinstance(law, dist.LKJ):  # of two columns and concentration 1: the correlation is uniform
        return name, "correlation", -1.0, 1.0
    kind = KINDS[type(law).__name__]
    a, b = {
        "uniform": lambda: (law.low, law.high),
        "beta": lambda: (law.concentration1, law.concentration0),
    }.get(kind, lambda: (law.loc, law.scale))()
    return name, kind, float(a), float(b)


@cache
def question(name: str, seed: int) -> Question:
    """The question that trials of a seed are asked."""
    if name not in PAPER:
        entry = EARTHQUAKES if name == "earthquakes" else ZOO[name]
        draws = _quakes() if name == "earthquakes" else load(name).draws
        return Question(name, entry.seed, entry.model, entry.prior, entry.series, draws)
    setting = PAPER[name]
    if name == "linear":
        asked = setting.observe(seed)
        reference = Reference.of_grid(LINEAR_GRID, linear_reference(asked, LINEAR_GRID)).draws
        return Question(name, seed, setting.model, setting.prior, asked.series, reference)
    with np.load(HERE.parent / "data" / f"{name}.npz", allow_pickle=False) as stored:
        series = stored[f"series_{seed}"]
        if name == "volatility":
            reference = Reference.of_grid(VOLATILITY_GRID, stored[f"log_posterior_{seed}"]).draws
        else:
            reference = np.log(stored[f"draws_{seed}"].astype(float))
    return Question(name, seed, setting.model, setting.prior, series, reference)


def _quakes() -> np.ndarray:
    if not EARTHQUAKES.path.exists():
        compute(EARTHQUAKES, minutes=10, num_draws=1000).save(EARTHQUAKES)
    with np.load(EARTHQUAKES.path, allow_pickle=False) as stored:
        return stored["draws"]
