"""Code in the documents runs, and examples do too."""

import re
import runpy
from pathlib import Path

import pytest
import typer

import tsnl
from tsnl import MCMC, TSNL, Training
from tsnl.cli.entry import commands as all_commands
from tsnl.kernel import Mixture

ROOT = Path(__file__).parents[1]
FAST = ("README.md", "data.md", "methods.md", "models.md", "priors.md", "quickstart-cli.md")
PATHS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
DOCUMENTS = [
    pytest.param(path, marks=() if path.name in FAST else pytest.mark.slow, id=path.name)
    for path in PATHS
    if "```python\n" in path.read_text()
]
QUICK = {
    "head": Mixture(num_components=2, width=4, depth=1),
    "states": False,
    "training": Training(num_members=2, min_steps=60, max_steps=60),
    "sampler": MCMC(num_chains=4, num_warmup=100, num_draws=150, max_extensions=0),
}


def quick(*, rounds=2, simulations=8, budget=None, **options):
    """What a document asks of T-SNL, with few simulations, small networks and short chains."""
    few = {"rounds": min(rounds, 2), "simulations": min(simulations, 8)}
    return TSNL(**few, budget=budget and min(budget, 16), **{**QUICK, **options})


@pytest.mark.parametrize("path", DOCUMENTS)
def test_python_blocks_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tsnl, "TSNL", quick)
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
