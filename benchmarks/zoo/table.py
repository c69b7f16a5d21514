"""One table of all trials: markdown for people, a summary in JSON for comparisons.

    python -m benchmarks.zoo.table [trials.csv] [--out benchmarks/zoo/table]

Writes OUT.md and OUT.json. Of several seeds of one entry and budget the median is shown. A trial that
failed counts as infinitely far, so that a median or a worst value cannot look better for it. "By chance"
is the distance of two exact samples of the reference's size, found from its halves: no method can be
expected below it.
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.zoo.references import load
from benchmarks.zoo.run import OUT, read
from tsnl.evaluate.metrics import sliced_wasserstein

FIGURES = ("sliced_wasserstein", "c2st", "worst_bias", "worst_sd_ratio", "seconds")
FEW, MANY = 500, 10_000  # budgets to compare
Cells = dict[tuple[str, str, str, int], dict[str, Any]]  # (half, name, form, simulations) to figures


def collect(rows: list[dict[str, str]]) -> Cells:
    """The median over seeds of each figure, and the number of failures."""
    groups = defaultdict(list)
    for row in rows:
        groups[row["half"], row["name"], row["form"], int(row["simulations"])].append(row)
    return {
        key: {figure: float(np.median([_value(row, figure) for row in some])) for figure in FIGURES}
        | {"failures": sum(bool(row["error"]) for row in some)}
        for key, some in groups.items()
    }


def _value(row: dict[str, str], figure: str) -> float:
    return float(row[figure]) if row[figure] else np.inf


def by_chance(name: str, num_splits: int = 5) -> float:
    """Sliced Wasserstein distance of two exact samples as large as the reference."""
    draws, rng = load(name).draws, np.random.default_rng(0)
    half, sd, found = len(draws) // 2, draws.std(axis=0), []
    for _ in range(num_splits):
        mixed = rng.permutation(draws)
        found.append(sliced_wasserstein(mixed[:half], mixed[half:], scale=sd))
    return float(np.mean(found)) / np.sqrt(2)  # it falls like one over the root of the size


def markdown(cells: Cells) -> str:
    """One line for each entry and budget."""
    lines = [
        "| half | model | given as | simulations | sliced Wasserstein | by chance | C2ST | worst bias "
        "| worst sd ratio | seconds | failures |",
        "|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    chance = {name: by_chance(name) for _, name, _, _ in cells}
    for (half, name, form, simulations), found in sorted(cells.items()):
        distance, *others = (_text(found[figure]) for figure in FIGURES)
        figures = " | ".join([distance, _text(chance[name]), *others])
        lines.append(f"| {half} | {name} | {form} | {simulations:,} | {figures} | {found['failures']} |")
    return "\n".join(lines)


def _text(value: float) -> str:
    return "failed" if np.isinf(value) else f"{value:.3g}"


def summarise(cells: Cells) -> dict[str, Any]:
    """Of each half, form and budget, median and worst; and how many entries gain by more simulations."""
    found: dict[str, Any] = {}
    for half, form in sorted({(half, form) for half, _, form, _ in cells}):
        here = {(name, n): c for (of, name, as_, n), c in cells.items() if (of, as_) == (half, form)}
        part = {
            str(n): _over_entries([c for (_, m), c in here.items() if m == n])
            for n in sorted({n for _, n in here})
        }
        pairs = [
            [here[name, n]["sliced_wasserstein"] for n in (FEW, MANY)]
            for name in sorted({name for name, _ in here})
            if all((name, n) in here for n in (FEW, MANY))
        ]
        better = sum(many < few for few, many in pairs)
        part[f"better_at_{MANY}_than_at_{FEW}"] = f"{better} of {len(pairs)}"
        found.setdefault(half, {})[form] = part
    return found


def _over_entries(cells: list[dict[str, Any]]) -> dict[str, Any]:
    summary: dict[str, Any] = {
        "entries": len(cells),
        "failures": sum(cell["failures"] for cell in cells),
    }
    for figure in ("sliced_wasserstein", "c2st", "worst_bias", "seconds"):
        values = [cell[figure] for cell in cells]
        for word, value in (("median", np.median(values)), ("worst", np.max(values))):
            summary[f"{word}_{figure}"] = round(float(value), 4) if np.isfinite(value) else None
    return summary


def main() -> None:
    """Print and write the table and its summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("trials", nargs="?", type=Path, default=OUT)
    parser.add_argument("--out", type=Path, default=OUT.with_name("table"))
    options = parser.parse_args()
    cells = collect(read(options.trials))
    text, summary = markdown(cells), json.dumps(summarise(cells), indent=2)
    options.out.with_suffix(".md").write_text(text + "\n")
    options.out.with_suffix(".json").write_text(summary + "\n")
    print(text, summary, sep="\n\n")


if __name__ == "__main__":
    main()
