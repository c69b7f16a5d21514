"""Code in the documents runs, and examples do too."""

import re
import runpy
from dataclasses import replace
from pathlib import Path

import pytest
import typer

import tsnl
from tsnl.cli.entry import commands as all_commands
from tsnl.kernel import Mixture

ROOT = Path(__file__).parents[1]
FAST = ("README.md", "data.md", "methods.md", "models.md", "priors.md", "quickstart-cli.md")
SMALL = {
    "budget": 16,
    "head": Mixture(num_components=2, width=4, depth=1),
    "training": tsnl.Training(num_members=2, min_steps=60, max_steps=60),
    "sampler": tsnl.MCMC(num_chains=4, num_warmup=100, num_draws=150, max_extensions=0),
}
PATHS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
DOCUMENTS = [
    pytest.param(
        path,
        marks=() if path.name in FAST or "```python" not in path.read_text() else pytest.mark.slow,
        id=path.name,
    )
    for path in PATHS
]


@pytest.fixture
def small_fits(monkeypatch):
    """Fits of T-SNL that simulate and learn little: here they need only run."""
    infer = tsnl.infer

    def small(model, prior, series, method=None, **options):
        method = tsnl.TSNL() if method is None else method
        method = replace(method, **SMALL) if isinstance(method, tsnl.TSNL) else method
        return infer(model, prior, series, method, **options)

    monkeypatch.setattr(tsnl, "infer", small)


@pytest.mark.parametrize("path", DOCUMENTS)
@pytest.mark.usefixtures("small_fits")
def test_python_blocks_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    text = path.read_text()
    if path.name == "README.md":  # 20 rows in the place of 100: programs that other tests compile too
        text = re.sub(r"\b10([02])\b", r"2\1", text)
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(block, str(path), "exec"), names)


@pytest.mark.slow
def test_demo(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / "demo.py"), run_name="__main__")
    assert (tmp_path / "out" / "demo.png").stat().st_size > 10_000
    rows = dict(re.findall(r"(Kalman|T-SNL)[^\n]*?(0\.\d+)", capsys.readouterr().out))
    assert abs(float(rows["Kalman"]) - float(rows["T-SNL"])) < 0.03  # an exact sd


def commands():
    """Every command line of tsnl in the documents."""
    for path in PATHS:
        for block in re.findall(r"```(?:console)?\n(.*?)```", path.read_text(), re.DOTALL):
            for line in re.findall(r"^(?:\$ )?tsnl (.*?)(?: +#.*)?$", block, re.MULTILINE):
                yield pytest.param(line, id=f"{path.name}: tsnl {line}")


@pytest.mark.parametrize("line", list(commands()))
def test_commands_parse(line):
    """Commands, arguments and options are all known, though nothing is run."""
    group = typer.main.get_command(all_commands())
    name, *rest = line.split()
    group.commands[name].make_context(name, rest)
