"""Error against cost: T-SNL, SNL, SMC-ABC and particle MCMC at growing budgets.

The paper's figures for the linear, the volatility and the predator-prey model, with the distance to the
reference posterior beside its four metrics. Budgets are calls of the dynamics. Series are shared by all
methods, so that differences between them are paired.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from paper.figures import cost_panels
from paper.measures import exact_row, solve
from paper.problems import PROBLEMS
from paper.trial import Row, Trial
from tsnl.kernel import MAF
from tsnl.kernel.training import Training
from tsnl.methods import PMMH, SMCABC, SNL, TSNL
from tsnl.methods.api import Method
from tsnl.methods.sequential.options import Sequential
from tsnl.sampling import MCMC

STOPPING = Training(
    patience=4
)  # the default when the tables were made; decision 0010 says what it costs
T_SNL = TSNL(training=STOPPING)
ROUNDS, SNL_ROUNDS = 5, 2  # a round of SNL trains for long
EXACT = "exact draws"
NUM_EXACT = 1000
QUICK_FLOW = MAF(num_layers=1, num_hidden=1, width=8)
QUICK_TRAINING = Training(num_members=2, min_steps=50, max_steps=50)
QUICK_SAMPLER = MCMC(num_chains=2, num_warmup=50, num_draws=50, max_extensions=0)

NEURAL = (1_000, 3_000, 10_000, 100_000, 1_000_000)
ABC = (10_000, 30_000, 100_000, 1_000_000, 10_000_000)
PARTICLE = (100_000, 300_000, 1_000_000, 10_000_000, 100_000_000)
PREDATORS: dict[str, tuple[int, ...]] = {  # shorter series, slower dynamics
    "SMC-ABC": (5_000, 10_000, 100_000, 1_000_000, 5_000_000),
    "PMMH": (50_000, 100_000, 1_000_000, 10_000_000, 50_000_000),
}
BUDGETS: dict[str, tuple[int, ...]] = {"T-SNL": NEURAL, "SNL": NEURAL, "SMC-ABC": ABC, "PMMH": PARTICLE}
FIVE_ASSETS: dict[str, tuple[int, ...]] = {  # minutes for a trial of the neural methods
    "T-SNL": (1_000, 10_000, 100_000),
    "SNL": (1_000, 10_000, 100_000),
    "SMC-ABC": (10_000, 100_000, 1_000_000),
    "PMMH": (100_000, 1_000_000, 10_000_000),
}
QUICK_BUDGETS: dict[str, dict[str, tuple[int, ...]]] = {  # few, since most of the time is compilation
    "linear": {"T-SNL": (1_000,), "SMC-ABC": (30_000,), "PMMH": (100_000,)},
    "volatility": {"SMC-ABC": (30_000,)},
    "predator-prey": {"T-SNL": (500,), "SMC-ABC": (30_000,)},
}


def budgets_of(problem: str, quick: bool) -> dict[str, tuple[int, ...]]:
    """Method to budgets."""
    if quick:
        return QUICK_BUDGETS[problem]
    return BUDGETS | {"predator-prey": PREDATORS, "volatility-5": FIVE_ASSETS}.get(problem, {})


def neural(method: Sequential, budget: int, problem: str, quick: bool) -> Sequential:
    """A sequential method that spends a budget in equal rounds."""
    setting = PROBLEMS[problem]
    rounds = SNL_ROUNDS if quick or isinstance(method, SNL) else ROUNDS
    method = replace(
        method,
        rounds=rounds,
        simulations=max(budget // setting.length // rounds, 1),
        transform="asinh" if problem == "predator-prey" else "none",
        max_cost=budget,
    )
    return replace(method, training=QUICK_TRAINING, sampler=QUICK_SAMPLER) if quick else method


def num_particles(budget: int, problem: str) -> int:
    """Particles of SMC-ABC: few enough for several generations, enough for a histogram.

    With a twentieth of the series in place of a fiftieth, predator-prey ends in its second generation.
    """
    num_series = budget // PROBLEMS[problem].length
    return min(max(num_series // 50, min(num_series // 5, 40)), 1000)


def make_method(name: str, budget: int, problem: str, quick: bool = False) -> Method:
    """A method that keeps to a budget, its other options the defaults but for T-SNL's `STOPPING`."""
    if name in ("T-SNL", "SNL"):
        return neural(T_SNL if name == "T-SNL" else SNL(), budget, problem, quick)
    if name == "SMC-ABC":
        return SMCABC(max_cost=budget, particles=num_particles(budget, problem), stop="never")
    return PMMH(max_cost=budget, num_steps=4000)


@dataclass(frozen=True)
class Costs:
    """Error against cost on one or more problems.

    Attributes:
        name: of the experiment.
        problems: names of the problems.
        seeds: observed series of each.
        columns: `detail`, the status of the run in plain words.
    """

    name: str
    problems: tuple[str, ...]
    seeds: int = 10
    columns: tuple[str, ...] = ("detail",)

    def trials(self, count: int | None, quick: bool) -> list[Trial]:
        """References first, so that no two processes compute one; then seed by seed."""
        problems = self.problems[:1] if quick else self.problems
        seeds = range(count or (1 if quick else self.seeds))
        exact = [Trial(p, EXACT, 0, s, quick=quick) for p in problems for s in seeds]
        return exact + [
            Trial(problem, method, budget, seed, quick=quick)
            for seed in seeds
            for problem in problems
            for method, allowed in budgets_of(problem, quick).items()
            for budget in allowed
        ]

    def run(self, trial: Trial, references: Path) -> Row:
        """Infer at the budget, or measure draws of the reference itself."""
        if trial.method == EXACT:
            return exact_row(trial, references, NUM_EXACT)
        method = make_method(trial.method, trial.budget, trial.problem, trial.quick)
        found = solve(trial, method, references)
        return {**found.row, "detail": found.result.status}

    def draw(self, rows: list[Row]) -> Any:
        """Each metric against cost: a row of panels for each problem."""
        return cost_panels(rows)


LGSSM = Costs("lgssm", ("linear",))
SVSSM = Costs("svssm", ("volatility", "volatility-3", "volatility-5"))
LVSSM = Costs("lvssm", ("predator-prey",))
