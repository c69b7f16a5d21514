"""docs/peers.md and its figure, from the table of trials alone.

    python -m benchmarks.peers.page [trials.csv]

Of several seeds the median is shown; a trial that failed counts as infinitely far.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.peers.prose import FOOT, HEAD, WHY
from benchmarks.peers.table import BUDGETS, METHODS, OUT, SEEDS, read, trials
from benchmarks.peers.table import NAMES as PROBLEMS

DOCS = Path(__file__).parents[2] / "docs"
OURS = "tsnl TSNL"
NEAR = 0.25  # sliced Wasserstein, in the reference's standard deviations
NAMES = [f"{package} {method}" for package, methods in METHODS.items() for method in methods]
Cells = dict[tuple[str, str, int], dict[str, float]]  # (name, problem, budget) to medians


def collect(rows: list[dict[str, str]]) -> Cells:
    """Medians over seeds."""
    groups = defaultdict(list)
    for row in rows:
        groups[f"{row['package']} {row['method']}", row["problem"], int(row["budget"])].append(row)
    return {
        key: {
            figure: float(np.median([float(row[figure] or np.inf) for row in some]))
            for figure in ("sliced_wasserstein", "c2st", "cpu_seconds", "simulations", "peak_mb")
        }
        | {"seeds": len(some), "failures": sum(bool(row["error"]) for row in some)}
        for key, some in groups.items()
    }


def table(head: list[str], lines: list[list[str]]) -> str:
    """In markdown, the first column to the left."""
    rule = ["---", *(["---:"] * (len(head) - 1))]
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, rule, *lines])


def text(value: float) -> str:
    return "failed" if np.isinf(value) else f"{value:.3g}"


def accuracy(cells: Cells, budget: int) -> str:
    """Distance of every method on every problem with one budget."""
    problems = list(dict.fromkeys(p for _, p, n in cells if n == budget))
    lines = []
    for name in NAMES:
        found = [cells.get((name, problem, budget)) for problem in problems]
        if any(found):
            lines.append([name, *(text(c["sliced_wasserstein"]) if c else "" for c in found)])
    return table(["", *problems], lines)


def near(cells: Cells) -> str:
    """Least simulations, and seconds, with which each method came within NEAR of the reference."""
    problems = list(dict.fromkeys(problem for _, problem, _ in cells))
    lines = []
    for name in NAMES:
        line = []
        for problem in problems:
            tried = sorted(n for of, p, n in cells if (of, p) == (name, problem))
            good = [n for n in tried if cells[name, problem, n]["sliced_wasserstein"] <= NEAR]
            if good:
                cell = cells[name, problem, good[0]]
                line.append(f"{good[0]:,}; {cell['cpu_seconds']:.0f} s")
            else:
                line.append(f"not by {tried[-1]:,}" if tried else "")
        if any(line):
            lines.append([name, *line])
    return table(["", *problems], lines)


def costs(cells: Cells) -> str:
    """Seconds and memory over all problems, for each method and budget."""
    lines = []
    for name in NAMES:
        for budget in sorted({n for of, _, n in cells if of == name}):
            some = [c for (of, _, n), c in cells.items() if (of, n) == (name, budget)]
            figures = [np.median([c[f] for c in some]) for f in ("cpu_seconds", "peak_mb", "c2st")]
            failures = sum(c["failures"] for c in some)
            lines.append([name, f"{budget:,}", *map(text, figures), str(len(some)), f"{failures:.0f}"])
    head = ["", "simulations", "seconds", "peak MB", "C2ST", "problems", "failed trials"]
    return table(head, lines)


def better(cells: Cells) -> str:
    """Where somebody else came nearer than tsnl with as many simulations, or in less time."""
    if not any(name == OURS for name, _, _ in cells):
        return "tsnl has no rows yet: nothing can be said."
    found = defaultdict(list)
    for (name, problem, budget), cell in sorted(cells.items()):
        ours = cells.get((OURS, problem, budget))
        if ours and name != OURS and cell["sliced_wasserstein"] < ours["sliced_wasserstein"]:
            pair = f"{text(cell['sliced_wasserstein'])} against {text(ours['sliced_wasserstein'])}"
            found[name].append(f"nearer on {problem} at {budget:,} ({pair})")
    for name, problem, pair in sooner(cells):
        found[name].append(f"nearer and sooner on {problem} ({pair})")
    lines = [f"- **{name}**: {'; '.join(where)}. For it: {WHY[name]}" for name, where in found.items()]
    return "\n".join(lines) or "Nobody was, on the trials so far."


def sooner(cells: Cells) -> Iterator[tuple[str, str, str]]:
    """Trials that came nearer than one of tsnl's in less time, however many simulations they used."""
    for (of, problem, few), ours in sorted(cells.items()):
        for (name, other, budget), cell in sorted(cells.items()):
            keys = ("sliced_wasserstein", "cpu_seconds")
            if of == OURS and other == problem and all(cell[key] < ours[key] for key in keys):
                theirs = f"{text(cell[keys[0]])} in {cell[keys[1]]:.0f} s with {budget:,} simulations"
                own = f"{text(ours[keys[0]])} in {ours[keys[1]]:.0f} s with {few:,}"
                yield name, problem, f"{theirs} against {own}"


def failures(rows: list[dict[str, str]]) -> str:
    """What failed, and of what."""
    facts = ("package", "method", "problem", "budget", "seed", "error")
    lines = [[row[fact] for fact in facts] for row in rows if row["error"]]
    return table(list(facts), lines) if lines else "Nothing, on the trials so far."


def draw(cells: Cells, path: Path) -> None:
    """Distance against simulations and seconds: medians over the problems that all have answered."""
    answered = [{p for of, p, _ in cells if of == name} for name in NAMES]
    shared = set.intersection(*filter(None, answered))
    figure, panels = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained", sharey=True)
    for i, name in enumerate(NAMES):
        if not answered[i]:
            continue
        budgets = sorted({n for of, p, n in cells if of == name and p in shared})
        some = [[cells[name, p, n] for p in sorted(shared) if (name, p, n) in cells] for n in budgets]
        far = [np.median([c["sliced_wasserstein"] for c in at]) for at in some]
        style = {"marker": "o" if i else "*", "lw": 1 if i else 2.5, "color": f"C{i}" if i < 10 else "k"}
        panels[0].plot(
            [np.median([c["simulations"] for c in at]) for at in some], far, label=name, **style
        )
        panels[1].plot([np.median([c["cpu_seconds"] for c in at]) for at in some], far, **style)
    for panel, label in zip(panels, ("simulations", "seconds on one core"), strict=True):
        panel.set(xscale="log", yscale="log", xlabel=label)
        panel.axhline(NEAR, color="grey", ls=":", lw=1)
    panels[0].set_ylabel("sliced Wasserstein to the reference")
    figure.legend(loc="outside right upper", fontsize=8)
    figure.suptitle(f"Median over {', '.join(sorted(shared))}", fontsize=9)
    figure.savefig(path, dpi=110)


def main() -> None:
    """Write the page and the figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("trials", nargs="?", type=Path, default=OUT)
    rows = read(parser.parse_args().trials)
    cells = collect(rows)
    draw(cells, DOCS / "images" / "peers.png")
    planned = len(list(trials(list(METHODS), list(PROBLEMS), list(BUDGETS), SEEDS)))
    parts = [HEAD.format(rows=len(rows), planned=planned)]
    parts += [f"## Within {NEAR} of the reference", near(cells)]
    for budget in sorted({n for _, _, n in cells}):
        parts += [f"## Distance with {budget:,} simulations", accuracy(cells, budget)]
    parts += ["## Where others are better", better(cells), "## Seconds and memory", costs(cells)]
    parts += ["## What failed", failures(rows), FOOT]
    (DOCS / "peers.md").write_text("\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
