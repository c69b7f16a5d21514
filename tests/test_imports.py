"""Imports point one way, by layers, and `import tsnl` stays light."""

import ast
import subprocess
import sys
from pathlib import Path

import tsnl

SOURCE = Path(tsnl.__file__).parent

# A layer may import from itself and from the layers above it in this list; docs/architecture.md draws
# them. A layer is one or several rooms, or modules of a room.
LAYERS = {
    "runtime": ["runtime"],
    "plain files": ["store.registry", "store.files", "store.codec"],
    "models": ["models"],
    "simulation": ["simulation"],
    "problem": ["problem"],
    "sampling": ["sampling"],
    "kernel": ["kernel"],
    "likelihood": ["likelihood"],
    "posterior": ["posterior"],
    "methods": ["methods"],
    "metrics": ["evaluate.metrics", "evaluate.classifier"],
    "uniformity": ["checks.uniformity"],
    "plots": ["show.plots"],
    "predictions and checks": ["predict", "checks"],
    "saved runs": ["store"],
    "show": ["show"],
    "result": ["follow_up", "result", "inference"],
    "calibration": ["evaluate.calibration", "evaluate.models"],
    "command line": ["cli", "__main__"],
}


def layer_of(module):
    """The number of the layer with the longest name that begins the module's."""
    found = [
        (len(name), number)
        for number, names in enumerate(LAYERS.values())
        for name in names
        if module == name or module.startswith(f"{name}.")
    ]
    assert found, f"{module} has no place in the layers"
    return max(found)[1]


def module_of(path):
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path):
    """The modules of tsnl that a file imports, at its top or inside a function."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
            if (SOURCE.parent / (node.module or "").replace(".", "/")).is_dir():
                names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name.removeprefix("tsnl.") for name in names if name.startswith("tsnl."))


def test_imports_point_one_way():
    wrong = []
    for path in SOURCE.rglob("*.py"):
        module = module_of(path)
        if module in ("", "store", "evaluate"):  # names alone, no imports when they load
            continue
        for other in imported(path):
            if layer_of(other) > layer_of(module):
                wrong.append(f"{module} imports {other}")
    assert not wrong


def test_import_is_light():
    heavy = ["matplotlib", "numba", "dask", "distributed", "typer", "rich", "pandas", "arviz_base"]
    heavy += ["blackjax", "flowjax", "safetensors", "xarray", "jinja2", "polars", "IPython"]
    code = f"import sys, tsnl; print([name for name in {heavy} if name in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_import_leaves_precision_alone():
    code = "import jax; before = jax.config.jax_enable_x64; import tsnl; "
    code += "assert jax.config.jax_enable_x64 == before"
    subprocess.run([sys.executable, "-c", code], check=True)
