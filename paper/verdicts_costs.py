"""Measurements of claims on error against cost.

Each gives a sentence with figures, and whether they agree with the claim. Figures are means over series;
in brackets, T-SNL's difference over the series that both methods have, with its standard error.
"""

from collections.abc import Callable

from paper import compare
from paper.compare import Tables, best, means, paired, reached
from paper.figures import kde_floor
from paper.table import numbers, where

Measured = tuple[str, bool | None]
EQUAL_COST = 100_000  # up to which methods are compared at equal cost


def ahead(name: str, problem: str) -> Callable[[Tables], Measured]:
    """T-SNL's distance against the others' at each cost up to 100,000 calls."""

    def measure(tables: Tables) -> Measured:
        rows = where(tables[name], problem=problem)
        ours = means(rows, "T-SNL", "distance")
        gaps = []
        for method in ("SNL", "SMC-ABC", "PMMH"):
            shared = set(means(rows, method, "distance")) & {b for b in ours if b <= EQUAL_COST}
            for budget in sorted(shared):
                gap, error = paired(rows, ("T-SNL", method), budget, "distance")
                gaps.append((gap / max(error, 1e-12), gap, error, method, budget))
        if not gaps:
            raise compare.MissingTrialsError("no budget that T-SNL and another method have")
        wins = sum(gap < 0 for _, gap, *_ in gaps)
        _, gap, error, method, budget = max(gaps)
        text = f"T-SNL is closer in {wins} of {len(gaps)} comparisons up to {EQUAL_COST:,} calls"
        closest = f"most narrowly against {method} at {budget:,} ({gap:+.3f} ± {error:.3f})"
        return f"{text}, {closest}", wins == len(gaps)

    return measure


def cheaper_than_snl(name: str, problem: str) -> Callable[[Tables], Measured]:
    """The cost at which T-SNL is as good as SNL ever is."""

    def measure(tables: Tables) -> Measured:
        rows = where(tables[name], problem=problem)
        theirs, budget = best(rows, "SNL", "distance")
        cost = reached(rows, "T-SNL", "distance", theirs)
        text = f"SNL's best {theirs:.3f} at {budget:,} calls; T-SNL gets there "
        return text + (f"at {cost:,}" if cost else "never"), cost is not None and 3 * cost <= budget

    return measure


def particle_best(tables: Tables) -> Measured:
    """The best of each method in the kernel density error, and in distance."""
    rows = tables["lgssm"]
    found = {m: best(rows, m, "distance") for m in ("T-SNL", "SNL", "SMC-ABC", "PMMH")}
    text = ", ".join(f"{m} {x:.3f} at {b:,}" for m, (x, b) in found.items())
    kde = {m: best(rows, m, "kde")[0] - kde_floor("linear") for m in found}
    shown = ", ".join(f"{m} {1e4 * x:.1f}" for m, x in kde.items())
    text = f"best E_KDE above its least, in 1e-4: {shown}; best distance: {text}"
    return text, min(kde, key=lambda m: kde[m]) == "PMMH"


def abc_improves(
    name: str, problem: str, metric: str, similar: float = float("inf")
) -> Callable[[Tables], Measured]:
    """SMC-ABC's metric from its least to its largest budget: a tenth less, `similar` to T-SNL's best."""

    def measure(tables: Tables) -> Measured:
        rows = where(tables[name], problem=problem)
        found = means(rows, "SMC-ABC", metric)
        floor = kde_floor(problem) if metric == "kde" else 0.0
        ours = best(rows, "T-SNL", metric)[0] - floor
        low, high = found[min(found)] - floor, found[max(found)] - floor
        label = "E_KDE above its least" if metric == "kde" else metric
        text = f"SMC-ABC's {label}: {low:.3f} at {min(found):,}, {high:.3f} at {max(found):,}"
        return f"{text}; T-SNL's best {ours:.3f}", high < 0.9 * low and high <= similar * ours

    return measure


def particle_biased(name: str, problem: str) -> Callable[[Tables], Measured]:
    """PMMH's bias and spread at its largest budget, against exact draws of the same posteriors."""

    def measure(tables: Tables) -> Measured:
        rows = where(tables[name], problem=problem)
        figures = {}
        for method in ("PMMH", compare.EXACT):
            here = compare.largest(where(rows, method=method))
            figures[method] = numbers(here, "bias").mean(), numbers(here, "sd").mean()
        (bias, sd), (bias_0, sd_0) = figures["PMMH"], figures[compare.EXACT]
        text = f"bias {bias:.3f}, sd {sd:.3f}; exact posteriors {bias_0:.3f} and {sd_0:.3f}"
        return text, bool(bias > 1.2 * bias_0 and sd < 0.8 * sd_0)

    return measure


def abc_wider(tables: Tables) -> Measured:
    """Spreads of the three at the largest budget of each."""
    rows = where(tables["svssm"], problem="volatility")
    sd = {
        m: numbers(compare.largest(where(rows, method=m)), "sd").mean()
        for m in ("SMC-ABC", "SNL", "T-SNL", compare.EXACT)
    }
    text = ", ".join(f"{m} {x:.3f}" for m, x in sd.items())
    return f"sd: {text}", bool(sd["SMC-ABC"] > 1.2 * max(sd["SNL"], sd["T-SNL"]))


def snl_stuck(tables: Tables) -> Measured:
    """SNL's distance at its budgets."""
    found = means(tables["lvssm"], "SNL", "distance")
    text = ", ".join(f"{x:.2f} at {b:,}" for b, x in found.items())
    return f"SNL's distance {text}", bool(found[max(found)] > 0.8 * found[min(found)])
