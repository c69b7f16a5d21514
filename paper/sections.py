"""The sections of the results page: for each experiment its tables, its claims and its figure."""

from typing import Any

from paper import table
from paper.claims import CLAIMS, Claim
from paper.compare import EXACT, MissingTrialsError, Tables
from paper.headline import METHODS, SHOWN
from paper.reasons import REASONS
from paper.registry import EXPERIMENTS
from paper.trial import Row

FOLDER = "results"  # of tables and figures, beside the page
VERDICTS = {True: "Agrees", False: "Differs", None: "No claim"}
TITLES = {
    "lgssm": "The linear model",
    "svssm": "Stochastic volatility",
    "lvssm": "Predator and prey",
    "ranks": "Calibration",
    "val-loss": "Loss against the length of the series",
    "acf": "Autocorrelation",
    "lag": "The lag",
    "single": "One simulation a round",
    "streaming": "New rows",
    "strategies": "Which simulations to learn from",
    "ablation": "What each part of the recipe brings",
}
SETTINGS = ("strategies", "lag", "ablation")  # experiments whose trials differ in a setting
NAMES = {"volatility-3": "volatility, three assets", "volatility-5": "volatility, five assets"}


def section(name: str, rows: Tables, finished: Tables) -> str:
    """One experiment: tables, claims, figure."""
    parts = [f"## {TITLES[name]}", *_tables(name, finished.get(name, []))]
    claims = [claim for claim in CLAIMS if claim.experiment == name]
    parts.append("\n".join(_claim(claim, finished, _missing(claim, rows)) for claim in claims))
    if finished.get(name):
        parts.append(f"![{TITLES[name]}]({FOLDER}/{name}.svg)")
    return "\n\n".join(parts)


def verdicts(finished: Tables) -> list[bool | None]:
    """The verdict of each claim that has been measured."""
    found = []
    for claim in CLAIMS:
        try:
            found.append(claim.measure(finished)[1])
        except (MissingTrialsError, KeyError, ValueError):
            continue
    return found


def cost_table(rows: list[Row]) -> str:
    """Mean distance to the reference: methods down, costs across, the least of a cost in bold."""
    costs = sorted({int(row["budget"]) for row in rows if row["method"] in METHODS})
    means = {
        (method, cost): table.numbers(here, "distance").mean()
        for method in METHODS
        for cost in costs
        if (here := table.where(rows, method=method, budget=cost))
    }
    least = {cost: _least(means, cost) for cost in costs}
    lines = [f"| | {' | '.join(map(_short, costs))} |", "|---|" + "---:|" * len(costs)]
    for method in METHODS:
        cells = [_cell(means.get((method, cost)), least[cost]) for cost in costs]
        lines.append(f"| {method} | {' | '.join(cells)} |")
    return "\n".join(lines)


def setting_table(rows: list[Row]) -> str:
    """Mean distance to the reference: settings down, problems across, the least of a problem in bold."""
    problems, settings = table.values(rows, "problem"), table.values(rows, "setting")
    means = {
        (setting, problem): table.numbers(here, "distance").mean()
        for setting in settings
        for problem in problems
        if (here := table.where(rows, setting=setting, problem=problem))
    }
    least = {problem: _least(means, problem) for problem in problems}
    lines = [f"| | {' | '.join(problems)} |", "|---|" + "---:|" * len(problems)]
    for setting in settings:
        cells = [_cell(means.get((setting, problem)), least[problem]) for problem in problems]
        lines.append(f"| {setting} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _tables(name: str, rows: list[Row]) -> list[str]:
    if not rows:
        return []
    if name in SETTINGS:
        return ["Mean distance to the reference posterior.", setting_table(rows)]
    if name not in SHOWN:
        return []
    found = []
    for problem in table.values(rows, "problem"):
        here = table.where(rows, problem=problem)
        kind, exact = here[0]["distance_kind"], table.where(here, method=EXACT)
        floor = f" Draws of the reference itself have {table.numbers(exact, 'distance').mean():.2g}."
        title = NAMES.get(problem, problem)
        words = f"**{title[0].upper()}{title[1:]}**: {kind}, against calls of the dynamics."
        found += [words + (floor if exact else ""), cost_table(here)]
    return found


def _claim(claim: Claim, tables: Tables, missing: str) -> str:
    """One claim as a line of the page, with the reason where it differs."""
    text, verdict = "not measured yet", "Open"
    if tables.get(claim.experiment):
        try:
            text, agrees = claim.measure(tables)
            verdict = VERDICTS[agrees] + (" so far" if missing else "")
        except (MissingTrialsError, KeyError, ValueError) as error:
            text = f"not enough trials yet ({error})"
        text += missing
    said = f"{claim.text[0].upper()}{claim.text[1:]}"
    why = " ".join(REASONS[claim.key].split()) if claim.key in REASONS else ""
    return f"- **{verdict}.** {said}. *Measured:* {text}." + (f" *Why:* {why}" if why else "")


def _missing(claim: Claim, tables: Tables) -> str:
    """What is not there of the full run; a trial that failed is there."""
    trials = EXPERIMENTS[claim.experiment].trials(None, False)
    wanted = {trial.id for trial in trials if claim.problem in ("", trial.problem)}
    there = len(wanted & {row["id"] for row in tables.get(claim.experiment, [])})
    return "" if there == len(wanted) else f" (incomplete: {there} of {len(wanted)} trials)"


def _cell(value: float | None, least: float) -> str:
    if value is None:
        return ""
    text = f"{value:#.2g}".rstrip(".")
    return f"**{text}**" if value == least else text


def _least(means: dict[tuple[str, Any], float], place: Any) -> float:
    """The least of a column; NaN, which no cell is, where there is nothing to compare."""
    found = [x for (_, other), x in means.items() if other == place]
    return min(found) if len(found) > 1 else float("nan")


def _short(cost: int) -> str:
    """10,000 as 10k."""
    return f"{cost // 10**6}M" if cost >= 10**6 else f"{cost // 1000}k"
