"""Methods side by side at equal cost, and models by their runs."""

import time
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np

from tsnl.cli.options import method_kind, with_options
from tsnl.cli.runs import read_run
from tsnl.evaluate.models import Comparison, compare_models
from tsnl.inference import infer
from tsnl.methods import MCMCABC, PMMH, SMCABC, SNL, TSNL, ExactMCMC, RejectionABC
from tsnl.methods.particle.second import Second
from tsnl.models.base import Filterable, StateSpaceModel
from tsnl.models.linear_gaussian import LinearGaussian
from tsnl.problem.prior import Prior

NUM_SIMULATIONS = 1000  # where no cost is given: what every method needs at least
ROUNDS = 5
FEWEST = 20  # draws


def applicable(model: Any) -> list[Any]:
    """The methods that can work on a model."""
    found: list[Any] = [TSNL, SNL, SMCABC, RejectionABC, MCMCABC]
    if isinstance(model, StateSpaceModel) and isinstance(model, Filterable):
        found.append(PMMH)
    return [*found, ExactMCMC] if isinstance(model, LinearGaussian) else found


def method_table(
    model: Any,
    prior: Prior,
    rows: np.ndarray,
    inputs: np.ndarray | None,
    *,
    max_cost: int | None,
    names: list[str] | None,
    options: Mapping[str, Any] | None = None,
    seed: int,
) -> str:
    """A table: what each method found, what it cost, how long it took.

    Args:
        model: the simulator.
        prior: the prior.
        rows: the observed series.
        inputs: its known inputs, or None.
        max_cost: calls of the dynamics that each may make; None for 1,000 simulations.
        names: of methods; None for all that apply.
        options: by name, each for the methods that have it.
        seed: of each.

    Raises:
        RuntimeError: none of them came to an end, and why.
    """
    limit = NUM_SIMULATIONS * len(rows) if max_cost is None else max_cost
    kinds = applicable(model) if names is None else [method_kind(name) for name in names]
    known = {field.name for kind in kinds for field in fields(kind)}
    if unknown := sorted(set(options or {}) - known):
        raise ValueError(f"No method here has an option {', '.join(unknown)}: tsnl options shows all.")
    failed = 0
    lines = [f"{'method':14}{'cost':>10}{'seconds':>9}  posterior mean ± sd"]
    for kind in kinds:
        begin = time.perf_counter()
        try:
            method = _with_options(_with_cost(kind, limit, len(rows)), options or {})
            result = infer(model, prior, rows, method, inputs=inputs, seed=seed)
        except (ValueError, TypeError, ArithmeticError) as error:
            lines.append(f"{kind.__name__:14}{'–':>10}{'–':>9}  {error}")
            failed += 1
            continue
        seconds = time.perf_counter() - begin
        found = [f"{name} {x.mean():.3g} ± {x.std():.2g}" for name, x in result.coordinates().items()]
        lines.append(f"{kind.__name__:14}{result.cost:10,}{seconds:9.1f}  {', '.join(found)}")
    table = "\n".join([*lines, f"At most {limit:,} calls of the dynamics for each."])
    if failed == len(kinds):
        why = "; ".join(" ".join(line.split()) for line in lines[1:])
        raise RuntimeError(f"No method came to an end. {why}")
    return table


def compare_runs(folders: list[Path], names: list[str] | None, scores: bool, seed: int) -> Comparison:
    """The models behind several runs; their folders' names are theirs where none are given.

    Raises:
        ValueError: too few or too many names, or one twice.
    """
    names = [folder.name for folder in folders] if names is None else names
    if len(names) != len(folders) or len(set(names)) < len(names):
        raise ValueError(
            f"The names are {names}: give one for each of {len(folders)} runs, all apart, by --names."
        )
    results = {name: read_run(folder)[0] for name, folder in zip(names, folders, strict=True)}
    return compare_models(results, scores=scores, seed=seed)


def _with_options(method: Any, options: Mapping[str, Any]) -> Any:
    """A method with those options that it has."""
    own = {field.name for field in fields(method)}
    mine = {name: value for name, value in options.items() if name in own}
    return with_options(method, mine, type(method).__name__)


def _with_cost(kind: Any, limit: int, length: int) -> Any:
    """A method that uses the whole of a budget and no more."""
    if kind is ExactMCMC:
        return ExactMCMC()
    if issubclass(kind, Second):  # a tenth to learn from, the rest to correct by
        return kind(first=_with_cost(TSNL, limit // 10, length), max_cost=limit - limit // 10)
    if kind in (TSNL, SNL):
        return kind(max_cost=limit, rounds=ROUNDS, simulations=max(limit // (ROUNDS * length), 1))
    if kind is RejectionABC:  # a twentieth of the simulations, and enough of them for a spread
        count = max(limit // length, 1)
        kept = min(max(count // 20, FEWEST), count)
        return RejectionABC(max_cost=limit, draws=kept, fraction=kept / count)
    if kind is SMCABC:
        return SMCABC(max_cost=limit, stop="never")
    return kind(max_cost=limit)
