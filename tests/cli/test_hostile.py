"""Hostile inputs to the command line: one table of what is typed, and what must come of it.

Every row is refused, or fails, with one line that says why: never a traceback, an exit code of 0, or a
folder that is left behind.
"""

from pathlib import Path

import pytest

from tsnl.cli.entry import run

pytestmark = pytest.mark.slow

HEAD = "import numpy as np\nimport numpyro.distributions as dist\nimport tsnl\n"
PRIOR = "prior = tsnl.Prior(Q=dist.HalfNormal(1.0))\n"
GOOD = (
    HEAD
    + PRIOR
    + "def simulate(rng, theta, length):\n    return np.cumsum(theta['Q'] * rng.normal(size=length))\n"
)
ROWS = "y\n" + "\n".join(str((7 * i % 11) / 4 + 0.1) for i in range(12)) + "\n"

# The text (or bytes) of a data file, and a part of the line that it gets.
DATA = {
    "empty": ("", "is empty"),
    "blank": ("\n \n\t\n", "is empty"),
    "comment alone": ("# nothing\n", "is empty"),
    "header alone": ("a,b\n", "has a header and no rows"),
    "words": ("a\nx\n", "'x' in column a is no finite number"),
    "infinity": ("a\n1\ninf\n", "is no finite number"),
    "minus infinity": ("a\n1\n-Infinity\n", "is no finite number"),
    "overflow": ("a\n1\n1e999\n", "is no finite number"),
    "hexadecimal": ("a\n1\n0x1F\n", "is no finite number"),
    "a date": ("a\n1\n2020-01-01\n", "is no finite number"),
    "ragged": ("a,b\n1,2\n3\n", "1 cells, expected 2"),
    "more cells": ("a\n1,2,3\n", "3 cells, expected 1"),
    "trailing comma in rows": ("a,b\n1,2,\n", "at the end of the line"),
    "trailing comma everywhere": ("y,\n" + "".join(f"{i * i / 7:.2f},\n" for i in range(8)), "is empty"),
    "index": ("i,y\n" + "".join(f"{i},{i * i % 5 / 3:.2f}\n" for i in range(8)), "i counts the rows"),
    "year": ("t,y\n" + "".join(f"{1990 + i},{i * i % 5}\n" for i in range(8)), "t counts the rows"),
    "too many": ("a,b,c\n" + "1.5,2.5,0.5\n0.1,0.2,0.9\n" * 3, "choose with --columns"),
    "decimal comma": ("y\n1,5\n2,5\n", "give --decimal ,"),
    "both decimals": ("a;b\n1,5;1.5\n", "decimal commas"),
    "thousands": ('y\n"1,234.5"\n', "separators of thousands"),
    "numeric header": ("2020\n" + "1.5\n2.5\n" * 4, "--header or --no-header"),
    "quote over lines": ('y\n1\n"2\n3"\n', "over several lines"),
    "open quote": ('y\n1\n"2\n', ""),
    "constant": ("y\n" + "3\n" * 12, "is constant"),
    "all missing": ("y\n" + "NA\n" * 12, "missing"),
    "one row": ("y\n1.5\n", ""),
    "zero bytes": (b"y\n1\x00\n2\n", "is no text"),
    "random bytes": (bytes(range(256)) * 4, "is no text"),
    "latin": ("größe\n1\n".encode("latin-1"), "--encoding latin-1"),
    "utf-16 without a mark": ("größe\n1\n2\n".encode("utf-16-le"), "--encoding utf-16-le"),
    "a spreadsheet": (b"PK\x03\x04" + bytes(50), "is a spreadsheet"),
    "a huge line": ("y\n" + "1" * 200_000 + "\n", ""),
    "a shell": ("y\n$(touch owned)\n", "is no finite number"),
    "a formula": ("y\n=1+1\n", "is no finite number"),
    "markup": ("y\n<script>alert(1)</script>\n", "is no finite number"),
}

# The text of a model file, and a part of the line that it gets.
MODELS = {
    "empty": ("", "defines neither `model`"),
    "no prior": (HEAD + "def simulate(rng, theta):\n    pass\n", "defines no `prior`"),
    "a prior that is none": (HEAD + "prior = {}\ndef simulate(rng, theta):\n    pass\n", "no `prior`"),
    "no simulator": (HEAD + PRIOR, "defines neither"),
    "a number": (HEAD + PRIOR + "model = 3\n", "model is a int"),
    "a class": (HEAD + PRIOR + "class model:\n    pass\n", "model is a type"),
    "syntax": ("def (:\n", "SyntaxError"),
    "indentation": ("def f():\nx = 1\n", "IndentationError"),
    "an import": ("import no_such_module\n", "ModuleNotFoundError"),
    "an error": ("1 / 0\n", "ZeroDivisionError"),
    "an exit": ("import sys\nsys.exit(0)\n", "SystemExit"),
    "recursion": ("def f():\n    f()\nf()\n", "RecursionError"),
    "zero bytes": ("x = 1\0\n", "null bytes"),
    "no arguments": (HEAD + PRIOR + "def simulate():\n    pass\n", "expected (rng, theta)"),
    "more arguments": (
        HEAD + PRIOR + "def simulate(rng, theta, n):\n    pass\n",
        "expected (rng, theta",
    ),
    "a model of nothing": (HEAD + PRIOR + "model = tsnl.StateSpaceModel\n", "model is a"),
    "an unknown name": (
        HEAD + "prior = tsnl.Prior(zz=dist.HalfNormal(1.0))\nmodel = tsnl.models.LinearGaussian()\n",
        "zz",
    ),
    "a discrete prior": (GOOD.replace("HalfNormal(1.0)", "Poisson(1.0)"), "continuous"),
    "a prior of nothing": (HEAD + "prior = tsnl.Prior()\n", "The prior is empty"),
}

# A simulator's body; each fails on the way, in every simulation.
BODIES = {
    "raises": ("raise OverflowError('too full')", "too full"),
    "exits": ("raise SystemExit(3)", "SystemExit"),
    "nan": ("return np.full(length, np.nan)", "not finite from row 1 on"),
    "infinity": ("return np.full(length, np.inf)", "not finite"),
    "none": ("return None", "failed"),
    "words": ("return ['x'] * length", "returned no numbers"),
    "too short": ("return np.ones(length - 1)", "returned shape"),
    "too long": ("return np.ones(length + 1)", "returned shape"),
    "a number": ("return 1.0", "returned shape"),
    "three axes": ("return np.ones((length, 1, 1))", "returned shape"),
    "complex": ("return np.ones(length) * 1j", "failed"),
}

# What is typed after `fit model.py data.csv`, and a part of the line that it gets.
FLAGS = {
    "--method guess": "expected one of TSNL",
    "--method os.system": "expected one of TSNL",
    "--lag long": "lag is 'long'",
    "--lag 0": "lag is 0",
    "--lag -3": "lag is -3",
    "--lag 50": "Choose a lag below 12",
    "--rounds 0": "rounds is 0",
    "--rounds -1": "rounds is -1",
    "--rounds 2.5": "valid integer",
    "--rounds x": "valid integer",
    "--simulations 0": "simulations is 0",
    "--max-cost 5": "max_cost is 5",
    "--columns z": "no column 'z'",
    "--columns 9": "no column '9'",
    "--columns 0": "no column '0'",
    "--workers 0": "greater than or equal to 1",
    "--workers -1": "greater than or equal to 1",
    "--workers 1 --in-process": "--in-process runs without workers",
    "--timeout 0": "timeout is 0",
    "--timeout -1": "timeout is -1",
    "--timeout x": "valid number",
    "--decimal x": "decimal is 'x'",
    "--encoding utf-99": "which is not known",
    "--replicates 5": "fewer than 99",
    "--replicates -1": "fewer than 99",
    "--resume --force": "choose one",
    "--config absent.toml": "absent.toml",
    "--config data.csv": "is no TOML",
    "--inputs absent.csv": "absent.csv",
    "--inputs data.csv --no-such": "No such option",
    "--set": "",
    "--set x": "expected name=value",
    "--set =3": "expected name=value",
    "--set x=3": "has no option x",
    "--set training.x=3": "has no option x",
    "--set lag.x=3": "has no options inside it",
    "--set head.class=os.system": "is unknown",
    "--set head.class=TSNL": "is unknown",
    "--set widen=0.5": "widen is 0.5",
    "--set stop=maybe": "stop is 'maybe'",
    "--set transform=sqrt": "transform is 'sqrt'",
    "--set strategy=worst": "strategy is 'worst'",
    "--set decays=[2.0]": "expected rates between 0 and 1",
    "--set training.learning_rate=-1": "learning_rate is -1",
    "--set sampler.transition=guess": "transition is 'guess'",
    "--set sampler.num_chains=0": "num_chains is 0",
    "--out model.py": "model.py",
    "--out /proc/nowhere": "/proc",
}

# Whole commands.
COMMANDS = {
    "guess": "No such command",
    "fit": "Missing argument",
    "fit model.py": "Missing argument",
    "fit absent.py data.csv": "tsnl new absent.py writes one",
    "fit . data.csv": "There is no file",
    "fit data.csv data.csv": "data.csv",
    "fit model.py absent.csv": "No such file",
    "fit model.py .": ". is no plain file",
    "fit model.py data.csv more.csv": "unexpected",
    "new": "Missing argument",
    "new model.py": "is there already",
    "new model.txt": "does not end in .py",
    "new nowhere/model.py": "nowhere/model.py",
    "check": "Missing argument",
    "check nowhere": "is no finished run",
    "check .": "is no finished run",
    "check model.py": "is no finished run",
    "check nowhere --replicates 5": "fewer than 99",
    "report nowhere": "is no finished run",
    "forecast nowhere": "is no finished run",
    "update nowhere data.csv": "is no finished run",
    "update nowhere absent.csv": "is no finished run",
    "refine nowhere": "is no finished run",
    "refine nowhere --rounds 0": "greater than or equal to 1",
    "compare-methods model.py": "Missing argument",
    "compare-methods model.py data.csv --methods Guess": "expected one of TSNL",
    "compare-methods model.py data.csv --set zz=1": "No method here has an option zz",
    "compare-methods model.py absent.csv": "No such file",
    "options Guess": "expected one of TSNL",
    "options TSNL more": "unexpected",
}


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch, unchecked):
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(GOOD)
    Path("data.csv").write_text(ROWS)
    return tmp_path


def listed():
    """What lies in the folder, beside what Python leaves of a file that it imported."""
    return sorted(path.name for path in Path().iterdir() if path.name != "__pycache__")


def refused(capsys, line, message, codes=(2,)):
    """Run a command that must end with one of some codes, one line on stderr and nothing else."""
    before = listed()
    code = run(line if isinstance(line, list) else line.split())
    out, err = capsys.readouterr()
    assert code in codes, (code, err)
    assert message in err
    assert err.startswith("tsnl: ")
    assert "Traceback" not in err
    lines = [one for one in err.splitlines() if not one.startswith("tsnl: warning")]
    assert len(lines) == 1, err
    assert out == ""
    assert listed() == before


@pytest.mark.parametrize("name", DATA)
def test_data(name, capsys):
    data, message = DATA[name]
    Path("data.csv").write_bytes(data if isinstance(data, bytes) else data.encode())
    refused(capsys, "fit model.py data.csv --in-process", message, (1, 2))


@pytest.mark.parametrize("name", MODELS)
def test_models(name, capsys):
    text, message = MODELS[name]
    Path("other.py").write_text(text)
    refused(capsys, "fit other.py data.csv --in-process", message)


@pytest.mark.parametrize("name", BODIES)
def test_simulators_that_always_fail(name, capsys):
    body, message = BODIES[name]
    Path("other.py").write_text(f"{HEAD}{PRIOR}def simulate(rng, theta, length):\n    {body}\n")
    refused(capsys, "fit other.py data.csv --in-process --simulations 20 --rounds 1", message, (1, 2))


@pytest.mark.parametrize("end", ["os._exit(0)", "os.abort()", "os.kill(os.getpid(), signal.SIGSEGV)"])
def test_simulators_that_end_their_process(end, capsys):
    body = f"import os, signal\n    {end}"
    Path("other.py").write_text(f"{HEAD}{PRIOR}def simulate(rng, theta, length):\n    {body}\n")
    refused(capsys, "fit other.py data.csv --workers 1", "ended its process", (1,))


@pytest.mark.parametrize("flags", FLAGS)
def test_flags(flags, capsys):
    given = "" if "--workers" in flags or "--timeout" in flags else " --in-process"
    message = FLAGS[flags]
    refused(capsys, f"fit model.py data.csv{given} {flags}", message, (1, 2))


@pytest.mark.parametrize("line", COMMANDS)
def test_commands(line, capsys):
    refused(capsys, line, COMMANDS[line])


@pytest.mark.parametrize("out", ["", "  "])
def test_folders_without_a_name(out, capsys):
    refused(capsys, ["fit", "model.py", "data.csv", "--out", out], "a path with no letters")
