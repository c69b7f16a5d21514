"""The tables of docs/exact.md, from what correction.py and evidence.py have written.

    python benchmarks/exact_tables.py

Figures come from correction.csv, correction_pmmh.csv, correction_ranks.csv and evidence.csv, and stand
between two marks in the document. PMMH's cost at equal distance is read off the line through its mean
distances at several budgets, both in logarithms; where it is farther away even with the largest budget,
that is a lower bound.
"""

import csv
from pathlib import Path

import numpy as np

from tsnl.checks.uniformity import rank_ecdf

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "exact.md"
BEGIN, END = "<!-- measured: benchmarks/exact_tables.py -->", "<!-- end of measured -->"
AIM = 5  # times fewer calls than PMMH
WANTED = 10  # series of each problem
PROBLEMS = ("linear", "volatility", "predator-prey", "leverage", "student_ar", "poisson_ar", "ricker")
RANKS, EVIDENCES = 200, 20  # rows of a whole run
NUM_RANKED = 39  # as in correction.py


def read(name):
    """Rows of a file beside this one, none where it is not there."""
    path = HERE / name
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def mean(rows, name):
    """Of one column."""
    return float(np.mean([float(row[name]) for row in rows]))


def equal_distance(times, distances, wanted):
    """At how many times the cost a line through distances falls to one, and whether that is a bound.

    The line falls: a larger budget that came to be farther away by chance counts as the smaller one.

    Returns:
        The factor, and "" where it was met within the budgets, ">" or "<" where not.
    """
    distances = np.minimum.accumulate(distances)
    if distances[-1] > wanted:
        return times[-1], ">"
    if distances[0] <= wanted:
        return times[0], "<"
    after = next(i for i, value in enumerate(distances) if value <= wanted)
    x, y = np.log(times[after - 1 : after + 1]), np.log(distances[after - 1 : after + 1])
    return float(np.exp(np.interp(-np.log(wanted), -y, x))), ""


def correction_lines():
    """One line for each problem, and in words where the aim is missed."""
    corrected, rivals = read("correction.csv"), read("correction_pmmh.csv")
    lines = [
        "| problem | series | before | after | effective size | k-hat | calls | PMMH, equal distance |",
        "|---|---|---|---|---|---|---|---|",
    ]
    short, missed = [], []
    for name in dict.fromkeys(row["name"] for row in corrected):
        rows = [row for row in corrected if row["name"] == name]
        factor, bound, used = against_pmmh(rows, [row for row in rivals if row["name"] == name])
        calls = mean(rows, "cost_first") + mean(rows, "cost_correction")
        told = f"{bound} {factor:.3g} times ({used} series)".strip() if used else "not run"
        size = f"{mean(rows, 'ess'):.0f} of {mean(rows, 'draws'):.0f}"
        worst = max(float(row["k_hat"]) for row in rows)
        lines.append(
            f"| {name} | {len(rows)} | {mean(rows, 'before'):.3f} | {mean(rows, 'after'):.3f} | "
            f"{size} | {worst:.2f} | {calls:.2g} | {told} |"
        )
        short += [name] if len(rows) < WANTED else []
        missed += [name] if used and (factor < AIM or bound == "<") else []
    lines += ["", _words(corrected, short, missed)]
    return lines


def against_pmmh(rows, rivals):
    """PMMH's cost at equal distance in that of T-SNL and the correction, and on how many series."""
    times = sorted({int(row["times"]) for row in rivals})
    seeds = {row["seed"] for row in rows}
    for one in times:
        seeds &= {row["seed"] for row in rivals if int(row["times"]) == one}
    if not times or not seeds:
        return float("nan"), "", 0
    of = [row for row in rivals if row["seed"] in seeds]
    distances = [mean([row for row in of if int(row["times"]) == one], "distance") for one in times]
    wanted = mean([row for row in rows if row["seed"] in seeds], "after")
    return *equal_distance(times, distances, wanted), len(seeds)


def _words(corrected, short, missed):
    text = "Distances are sliced Wasserstein, in sds of the reference, means over series; k-hat is the "
    text += "worst. Calls are those of T-SNL and of the correction together. "
    farther = sum(float(row["after"]) > float(row["before"]) for row in corrected)
    text += f"In {farther} of {len(corrected)} runs the draws were farther away after it than before. "
    text += f"At least {AIM} times fewer calls than PMMH are aimed at: "
    text += f"missed, or not shown by these budgets, on {', '.join(missed)}. " if missed else "met. "
    if short:
        text += f"Fewer than {WANTED} series were run of {', '.join(short)}. "
    none = [name for name in PROBLEMS if name not in {row["name"] for row in corrected}]
    if none:
        text += f"Not run yet: {', '.join(none)}."
    return text.strip()


def rank_lines():
    """Ranks of truths among corrected draws."""
    rows = read("correction_ranks.csv")
    if not rows:
        return []
    found = rank_ecdf(np.array([int(row["rank"]) for row in rows]), NUM_RANKED)
    text = f"Ranks of {len(rows)} truths of the linear model are uniform with p = {found.p_value:.2f}"
    return [f"{text}{_of(len(rows), RANKS)}."]


def _of(count, wanted):
    """That a run is not whole yet."""
    return "" if count >= wanted else f" (a whole run has {wanted})"


def evidence_lines():
    """Evidences against exact ones, and how often the true model is preferred."""
    rows, lines = read("evidence.csv"), []
    linear = [row for row in rows if row["kind"] == "linear"]
    if linear:
        gaps = {
            name: np.array([float(row[name]) - float(row["exact"]) for row in linear])
            for name in ("kernel", "corrected")
        }
        errors = np.array([float(row["corrected_se"]) for row in linear])
        inside = int((np.abs(gaps["corrected"]) < 2 * errors).sum())
        lines.append(
            f"Corrected log-evidences of {len(linear)} linear series"
            f"{_of(len(linear), EVIDENCES)} are within two standard errors of "
            f"the exact ones in {inside}, off by {np.abs(gaps['corrected']).mean():.2f} in the mean; "
            f"those of the kernel alone are off by {np.abs(gaps['kernel']).mean():.2f}, "
            f"{np.abs(gaps['kernel']).max():.2f} at most. {_kernel_words(linear, gaps['kernel'])}"
        )
    for kind, words in (
        ("nested", "an AR(1) plus noise against white noise"),
        ("volatility", "two assets with a correlation against none"),
    ):
        some = [row for row in rows if row["kind"] == kind]
        note = _of(len(some), EVIDENCES)
        lines.append(_preferred(some, words + note) if some else f"Not run yet: {words}.")
    return lines


def _kernel_words(rows, gaps):
    told = np.array([[float(row["kernel_error"]), float(row["kernel_error_se"])] for row in rows])
    known = np.isfinite(told[:, 0])
    inside = np.abs(told[known, 0] - gaps[known]) < 2 * told[known, 1]
    return (
        f"What 64 filter runs say of that error is within two of its standard errors, "
        f"{told[known, 1].mean():.2f} nats in the mean, in {inside.sum()} of {known.sum()}."
    )


def _preferred(rows, words):
    p = np.array([float(row["probability"]) for row in rows])
    truth = np.array([row["truth"] == "full" for row in rows])
    right = int(((p > 0.5) == truth).sum())
    sure = np.maximum(p, 1 - p)
    se = float(np.sqrt((sure * (1 - sure)).sum()))
    return (
        f"Of {len(rows)} series, {words}, the true model has the larger probability in {right}; the "
        f"probabilities themselves say {sure.sum():.1f} ± {se:.1f}."
    )


def page(text, lines):
    """The document with these lines between its marks."""
    before, rest = text.split(BEGIN)
    return "\n".join([before + BEGIN, *lines, END + rest.split(END)[1]])


def all_lines():
    """Everything that was measured."""
    parts = [correction_lines(), rank_lines(), evidence_lines()]
    return ["", *(line for part in parts if part for line in [*part, ""])]


def main():
    """Write the tables into the document."""
    lines = all_lines()
    PAGE.write_text(page(PAGE.read_text(), lines))
    print("\n".join(lines))


if __name__ == "__main__":
    main()
