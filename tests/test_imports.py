"""Imports point one way, and `import tsnl` stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import tsnl

SOURCE = Path(tsnl.__file__).parent

# A room may import from the rooms before it, and from itself.
ROOMS = [
    "sites",
    "prior",
    "series",
    "models",
    "simulation",
    "lag",
    "windows",
    "density",
    "training",
    "likelihood",
    "sampling",
    "problem",
    "posterior",
    "progress",
    "compilation",
    "methods",
    "codec",
    "storage",
    "folder",
    "draws",
    "uniformity",
    "diagnostics",
    "classifier",
    "metrics",
    "plots",
    "states",
    "track",
    "refining",
    "summaries",
    "futures",
    "forecast",
    "report",
    "result",
    "inference",
    "calibration",
    "experiments",
    "cli",
    "__main__",
]


def imported_rooms(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
            if node.module == "tsnl":
                names = [f"tsnl.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.startswith("tsnl."):
                yield name.split(".")[1]


def test_imports_point_one_way():
    wrong = []
    for path in SOURCE.rglob("*.py"):
        room = path.relative_to(SOURCE).with_suffix("").parts[0]
        if room == "__init__":
            continue
        assert room in ROOMS, f"{room} has no place in the order of rooms"
        for other in imported_rooms(path):
            if ROOMS.index(other) > ROOMS.index(room):
                wrong.append(f"{path.relative_to(SOURCE)} imports {other}")
    assert not wrong


def test_import_is_light():
    heavy = ["matplotlib", "numba", "dask", "distributed", "typer", "rich", "pandas", "arviz_base"]
    heavy += ["blackjax", "flowjax", "safetensors", "xarray", "jinja2"]
    code = f"import sys, tsnl; print([name for name in {heavy} if name in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_import_leaves_precision_alone():
    code = "import jax; before = jax.config.jax_enable_x64; import tsnl; "
    code += "assert jax.config.jax_enable_x64 == before"
    subprocess.run([sys.executable, "-c", code], check=True)
