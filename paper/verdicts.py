"""Measurements of the other claims: a sentence with figures, and whether they agree with the claim."""

import numpy as np

from paper.compare import MissingTrialsError, Tables, means, setting_means
from paper.lag import LAGS
from paper.problems import PROBLEMS
from paper.ranks import NUM_RANKED, method_ranks
from paper.table import numbers, values, where
from paper.trial import Row
from paper.verdicts_costs import Measured
from tsnl.checks.uniformity import rank_ecdf
from tsnl.evaluate.metrics import kde_error_bounds


def loss_grows(tables: Tables) -> Measured:
    """SNL's loss against T, and T-SNL's."""
    rows = tables["val-loss"]
    ends = {}
    for method in ("SNL", "T-SNL"):
        found = means(rows, method, "loss")
        ends[method] = (found[min(found)], found[max(found)], min(found), max(found))
    (a, b, low, high), (c, d, *_) = ends["SNL"], ends["T-SNL"]
    text = f"from T = {low} to {high}: SNL {a:.2f} to {b:.1f}, T-SNL {c:.3f} to {d:.3f}"
    return text, bool(b > 2 * abs(a) and d <= c + 0.05)


def autocorrelation_fades(tables: Tables) -> Measured:
    """The lags that the rule picks, and how far the norms have fallen."""
    parts, fades = [], []
    for problem in values(tables["acf"], "problem"):
        rows = where(tables["acf"], problem=problem)
        first, last = numbers(rows, "norm_1").mean(), numbers(rows, "norm_25").mean()
        parts.append(f"{problem} lag {np.median(numbers(rows, 'lag')):.0f}, {first:.2f} to {last:.2f}")
        fades.append(last < first)
    return "norm at lag 1 to lag 25: " + "; ".join(parts), all(fades)


def ranks_even(tables: Tables) -> Measured:
    """The p-value of each method's ranks."""
    rows: list[Row] = tables["ranks"]
    p = {m: rank_ecdf(method_ranks(rows, m), NUM_RANKED).p_value for m in values(rows, "method")}
    text = ", ".join(f"{m} p = {x:.2g}" for m, x in p.items())
    return text, all(p["T-SNL"] >= x for x in p.values())


def kde_bounded(tables: Tables) -> Measured:
    r"""The lower bound E_min^2 / 2 + d / 2 log 2 pi of E_KDE, in all rows of the cost experiments."""
    held = total = 0
    for name in ("lgssm", "svssm", "lvssm"):
        for row in tables.get(name, []):
            low, _ = kde_error_bounds(float(row["min"]), 1, PROBLEMS[row["problem"]].prior.size)
            held, total = held + (float(row["kde"]) >= low - 1e-6), total + 1
    if not total:
        raise MissingTrialsError("no trial")
    return f"the lower bound holds in {held} of {total} trials", held == total


def one_run_enough(tables: Tables) -> Measured:
    """One simulation in all, against SNL with ten times as many."""
    ours = means(tables["single"], "T-SNL", "distance")
    snl = means(tables["lgssm"], "SNL", "distance")
    text = f"T-SNL {ours[min(ours)]:.3f} with one simulation, SNL {snl[min(snl)]:.3f} at {min(snl):,}"
    return f"{text} calls", ours[min(ours)] < snl[min(snl)]


def one_a_round_enough(tables: Tables) -> Measured:
    """One simulation a round, against SNL at equal cost."""
    ours = means(tables["single"], "T-SNL", "distance")
    snl = means(tables["lgssm"], "SNL", "distance")
    shared = [budget for budget in ours if budget in snl]
    if not shared:
        raise MissingTrialsError("no budget that both have")
    text = ", ".join(f"{x:.3f} at {b:,}" for b, x in ours.items())
    text = f"T-SNL {text} calls; SNL " + ", ".join(f"{snl[b]:.3f} at {b:,}" for b in shared)
    return text, all(ours[b] < snl[b] for b in shared)


def streams(tables: Tables) -> Measured:
    """The distance to the exact posterior while rows arrive, and the time of an update."""
    rows = tables["streaming"]
    found = means(rows, "T-SNL", "distance")
    text = ", ".join(f"{x:.3f} after {b}" for b, x in found.items())
    seconds = float(np.nanmedian(numbers(rows, "update_seconds")))
    training = float(np.median(numbers(rows, "train_seconds")))
    text = f"total variation {text} new rows; an update takes 1/{training / seconds:.0f} of the training"
    return text, found[max(found)] <= found[min(found)] + 0.05


def strategies_differ(tables: Tables) -> Measured:
    """The distance of each strategy."""
    parts = []
    for problem in values(tables["strategies"], "problem"):
        found = setting_means(where(tables["strategies"], problem=problem), "distance")
        parts.append(f"{min(found, key=lambda s: found[s])} on {problem}")
    return "the best is " + ", ".join(parts), None


def acf_rule(tables: Tables) -> Measured:
    """The distance with the autocorrelation rule's lag, against the best and the worst given lag."""
    parts, good = [], []
    for problem in values(tables["lag"], "problem"):
        rows = where(tables["lag"], problem=problem)
        found = setting_means(rows, "distance")
        given = {lag: found[lag] for lag in LAGS if lag in found}
        least, most = min(given, key=lambda k: given[k]), max(given, key=lambda k: given[k])
        parts.append(
            f"{problem}: rule {found['acf']:.3f}, lag {least} {given[least]:.3f}, "
            f"lag {most} {given[most]:.3f}"
        )
        good.append(found["acf"] <= 1.25 * given[least])
    return "; ".join(parts), all(good)


def paper_recipe(tables: Tables) -> Measured:
    """The paper's density and training against the default ones, at one cost."""
    parts, good = [], []
    for problem in values(tables["ablation"], "problem"):
        found = setting_means(where(tables["ablation"], problem=problem), "distance")
        parts.append(f"{found['paper']:.3f} and {found['default']:.3f} on {problem}")
        good.append(found["paper"] <= found["default"])
    return "the paper's recipe and the default have " + ", ".join(parts), all(good)
