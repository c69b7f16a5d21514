"""The table of trials: which there are, in which order, and the file that keeps their rows."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

OUT = Path(__file__).parent / "trials.csv"
NAMES = (
    "linear", "volatility", "predator_prey", "earthquakes", "zero_inflated", "seir", "ricker",
    "leverage", "shares", "switching",
)  # fmt: skip
BUDGETS, SEEDS = (1000, 100, 10_000), 3
DEAR, FEWEST = 100_000, 1000  # particle filters have no use for fewer, and are given many in their place
METHODS = {
    "tsnl": ("TSNL",),
    "sbi": ("NPE", "NLE", "SNPE", "SNLE"),
    "bayesflow": ("NPE",),
    "pyabc": ("SMC-ABC",),
    "particles": ("PMMH", "SMC2"),
    "sbijax": ("SNLE",),
    "pypomp": ("PMCMC",),
}
FILTERS = {"particles", "pypomp"}


@dataclass(frozen=True)
class Trial:
    """What tells one row from another."""

    package: str
    method: str
    problem: str
    budget: int
    seed: int


FIELDS = (
    *(f.name for f in fields(Trial)), "series", "simulations", "sliced_wasserstein", "c2st",
    "worst_bias", "worst_sd_ratio", "seconds", "cpu_seconds", "peak_mb", "cores", "draws", "version",
    "error",
)  # fmt: skip


def trials(packages: list[str], problems: list[str], budgets: list[int], seeds: int) -> Iterator[Trial]:
    """All trials, the most telling first."""
    for seed in range(seeds):
        for budget in budgets:
            for problem in problems:
                for package in packages:
                    own = DEAR if package in FILTERS and budget < FEWEST else budget
                    for method in METHODS[package]:
                        yield Trial(package, method, problem, own, seed)


def read(path: Path) -> list[dict[str, str]]:
    """The rows of a file, none where it is not there."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, rows: list[dict[str, Any]], mode: str) -> None:
    """Add rows to a file, or write it anew, with its header where it begins."""
    new = mode == "w" or not path.exists()
    with path.open(mode, newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if new:
            writer.writeheader()
        writer.writerows(rows)


def key_of(row: dict[str, Any]) -> tuple[str, ...]:
    """What tells a row from another."""
    return tuple(str(row[f.name]) for f in fields(Trial))
