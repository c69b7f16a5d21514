"""Tables of a report: plain text in rows, made from a result."""

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from tsnl.methods.api import Inference
from tsnl.methods.sequential.options import Sequential
from tsnl.runtime.reader import remedy
from tsnl.runtime.table import Table
from tsnl.runtime.text import as_text, law
from tsnl.simulation.failures import FailureLog
from tsnl.store.codec import Unsaved

MOST_FAILURES = 10
SUMMED = ("simulations", "failed")
# Of a record of a round or generation: key, heading, and how a number is written.
COLUMNS = (
    ("phase", "phase", "{}"),
    ("stage", "phase", "{}"),
    ("simulations", "simulations", "{:,}"),
    ("failed", "failed", "{:,}"),
    ("particles", "particles", "{:,}"),
    ("num_particles", "particles", "{:,}"),
    ("tolerance", "tolerance", "{:.4g}"),
    ("draws", "draws", "{:,}"),
    ("k_hat", "k-hat", "{:.2f}"),
    ("mean_shift", "means moved by, sd", "{:.2f}"),
    ("acceptance", "acceptance", "{:.2f}"),
    ("steps", "steps", "{:,}"),
    ("loss", "held-out loss", "{:.3f}"),
    ("power", "likelihood to the power", "{:.2f}"),
    ("shift", "moved by, sd", "{:.2f}"),
    ("r_hat", "R-hat", "{:.3f}"),
    ("ess", "ESS", "{:.0f}"),
    ("cost", "cost so far", "{:,}"),
    ("seconds", "seconds", "{:.1f}"),
)


def number(value: Any, form: str = "{:.4g}") -> str:
    """A figure as text; a dash where there is none."""
    if (
        value is None
        or isinstance(value, dict)
        or (isinstance(value, float | np.floating) and not np.isfinite(value))
    ):
        return "–"
    return form.format(value)


def percent(share: float) -> str:
    """A share, its sign on the same line as its number."""
    return f"{100 * share:.0f}\u00a0%"


def summary_table(result: Inference) -> Table:
    """What `Result.summary` says."""
    from tsnl.show.summary import summary  # takes seconds to import

    found = summary(result)
    forms = {"ess_bulk": "{:,.0f}", "ess_tail": "{:,.0f}", "r_hat": "{:.3f}"}
    rows = [
        [str(label), *(number(float(row[name]), forms.get(name, "{:.4g}")) for name in found.columns)]
        for label, row in found.iterrows()
    ]
    heads = {"ess_bulk": "ESS", "ess_tail": "tail ESS", "r_hat": "R-hat"}
    heads |= {"mcse_mean": "error of mean", "mcse_sd": "error of sd"}
    names = [heads.get(name, _interval(name)) for name in found.columns]
    return Table("Posterior of each free entry", ["", *names], rows)


def _interval(name: str) -> str:
    """`eti89_lb` as `89 % from`."""
    for kind in ("eti", "hdi"):
        for end, word in (("_lb", "from"), ("_ub", "to")):
            if name.startswith(kind) and name.endswith(end):
                return f"{name[len(kind) : -len(end)]} % {word}"
    return name


def left_out(shown: int, count: int, what: str, *, more: bool = True) -> str:
    """A sentence on what a picture leaves out, and how to see it; empty where it shows all.

    Args:
        shown: how many of them it shows, the first ones.
        count: how many there are.
        what: they are.
        more: whether a report of everything shows them.
    """
    if count <= shown:
        return ""
    how = remedy(python="report(path, everything=True)", command="tsnl report RUN --everything")
    return f" {shown} of {count} {what} are drawn{f'; all of them: {how}' if more else ''}."


def history_table(result: Inference) -> Table:
    """One row for each round, generation or phase."""
    there = [c for c in COLUMNS if any(not isinstance(r.get(c[0]), dict | None) for r in result.history)]
    rows = [
        [str(i + 1), *(number(record.get(key), form) for key, _, form in there)]
        for i, record in enumerate(_each_round(result))
    ]
    return Table("What each round did", ["round", *(head for _, head, _ in there)], rows)


def _each_round(result: Inference) -> list[dict[str, Any]]:
    """The records, with counts of each round alone: those of `Sequential` count from the first on."""
    if not isinstance(result.method, Sequential):
        return result.history
    rows, before = [], dict.fromkeys(SUMMED, 0)
    for record in result.history:
        counts = {key: record[key] for key in SUMMED if key in record}
        rows.append({**record, **{key: value - before[key] for key, value in counts.items()}})
        before |= counts
    return rows


def seconds_table(result: Inference) -> Table | None:
    """Seconds of each round, phase by phase; None where a round is not told apart into phases."""
    records = [record.get("seconds") for record in result.history]
    phases = list(dict.fromkeys(phase for one in records if isinstance(one, dict) for phase in one))
    if not phases:
        return None
    rows = []
    for i, one in enumerate(records):
        parts = [one.get(phase) for phase in phases] if isinstance(one, dict) else [None] * len(phases)
        rows.append([str(i + 1), *(number(x, "{:.1f}") for x in (*parts, sum(x or 0.0 for x in parts)))])
    return Table("Seconds of each round", ["round", *phases, "together"], rows)


def total_seconds(result: Inference) -> float | None:
    """Of all records together; None where none says."""
    parts = []
    for record in result.history:
        seconds = record.get("seconds")
        parts += list(seconds.values()) if isinstance(seconds, dict) else [seconds]
    known = [float(x) for x in parts if isinstance(x, int | float) and np.isfinite(x)]
    return sum(known) if known else None


def failures(result: Inference) -> tuple[str, Table | None]:
    """How many simulations failed, and the first of them with their reasons; empty where none did."""
    found = FailureLog.of_arrays(result.arrays).records(result.problem.prior.constrain_all)
    if not found:
        failed = sum(int(record.get("failed", 0)) for record in result.history)
        return (f"{failed:,} simulations did not reach their end." if failed else ""), None
    text = f"{len(found):,} simulations did not reach their end."
    prior = result.problem.prior
    chosen = found[:MOST_FAILURES]
    theta = {name: np.stack([one["theta"][name] for one in chosen]) for name in prior.names}
    values = np.asarray(prior.coordinates(theta))
    rows = [
        [f"{one['number'] + 1:,}", *(number(float(x)) for x in value), one["reason"]]
        for one, value in zip(chosen, values, strict=True)
    ]
    return text, Table("The first that failed", ["simulation", *prior.labels, "reason"], rows)


def configuration(result: Inference) -> list[tuple[str, str]]:
    """The question, the method, the seed and the lag."""
    problem = result.problem
    rows = [("method", type(result.method).__name__), ("seed", str(result.seed))]
    if result.lag is not None:
        rows.append(("lag", f"{result.lag[0]}: {result.lag[1]}"))
    rows += [(f"transform of {k}", f"{name}: {why}") for k, (name, why) in result.transforms.items()]
    weights = result.history[-1].get("weights") if result.history else None
    if weights:
        mixtures, networks = (percent(weight) for weight in weights)
        rows.append(("kernel", f"mixtures {mixtures}, networks {networks}, by their held-out log-score"))
    sizes = ", ".join(f"{len(one):,}" for one in problem.panel)
    rows.append(("series", f"{len(problem.panel)} of {sizes} rows, {problem.d_y} column(s)"))
    if problem.columns:
        rows.append(("columns", ", ".join(problem.columns)))
    for times, series in zip(problem.times, problem.panel, strict=False):
        rows += [] if times is None else [("times", times.span(len(series)))]
    rows.append(("model", type(problem.model).__name__))
    rows += [(f"model, {k}", _text(v)) for k, v in getattr(problem.model, "parameters", {}).items()]
    rows += [(f"prior, {', '.join(names)}", law(d)) for names, d in problem.prior.distributions]
    return rows


def options(value: Any, before: str = "") -> list[tuple[str, str]]:
    """Fields of options and of options inside them, by their dotted names."""
    rows: list[tuple[str, str]] = []
    for field in fields(value):
        item, name = getattr(value, field.name), before + field.name
        if is_dataclass(item) and not isinstance(item, type | Unsaved):
            rows.append((name, type(item).__name__))
            rows += options(item, f"{name}.")
        else:
            rows.append((name, _text(item)))
    return rows


def _text(value: Any) -> str:
    if isinstance(value, Unsaved):
        return f"{value.name} (a function)"
    return as_text(value)
