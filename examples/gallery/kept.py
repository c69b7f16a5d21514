"""Figures that runs have left: one JSON file a page, and whether it is still of today's code."""

import hashlib
import importlib
import json
from pathlib import Path
from typing import Any

from examples.gallery.analysis import FOLDER, Analysis
from examples.gallery.facts import rounded

HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
DOCS = ROOT / "docs" / "gallery"
# In the order of the index.
NAMES = (
    "nile",
    "lynx_hare",
    "influenza",
    "measles",
    "volatility",
    "nutria",
    "earthquakes",
    "neuron",
    "rivals",
)
SHARED = ("analysis.py", "laws.py", "hawkes.c")


def analysis_of(name: str) -> Analysis:
    """The analysis behind a page."""
    return importlib.import_module(f"examples.gallery.{name}").ANALYSIS


def path_of(name: str) -> Path:
    """Where the figures of a page are kept."""
    return DOCS / "figures" / f"{name}.json"


def load(name: str) -> dict[str, Any]:
    """The figures of a page."""
    return json.loads(path_of(name).read_text())


def save(name: str, figures: dict[str, Any]) -> None:
    """Keep the figures of a page, with the mark of the code that made them."""
    path_of(name).parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(rounded({"code": mark(name), **figures}), allow_nan=False)
    path_of(name).write_text(text.replace('], "', '],\n"').replace('}, "', '},\n"') + "\n")


def current(name: str) -> bool:
    """Whether the figures are there, and were made by the library and the analysis as they are."""
    return path_of(name).exists() and load(name)["code"] == mark(name)


def run_folder(name: str) -> Path:
    """Where the inferences of a page are kept while it runs, apart from those of other code."""
    return ROOT / "out" / "gallery" / f"{name}-{mark(name)}"


def mark(name: str) -> str:
    """A hash of everything that figures come from: the library, the analysis, the data."""
    files = [*sorted((ROOT / "src" / "tsnl").rglob("*.py")), *sorted(FOLDER.glob("*.csv"))]
    files += [HERE / file for file in (*SHARED, f"{name}.py")]
    found = hashlib.sha256()
    for file in files:
        found.update(file.read_bytes())
    return found.hexdigest()[:16]
