"""The commands on tiny problems, in this process but for the few that need one of their own."""

import json
import os
import re
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import tsnl
from tsnl import MCMCABC, PMMH
from tsnl.cli.comparing import NUM_SIMULATIONS
from tsnl.cli.entry import run
from tsnl.cli.fitting import finish
from tsnl.methods.particle.budget import Ledger, allot

# Of the same shapes as in the tests of the checks: compiled once for both.
TINY = """
[options]
states = false
rounds = 2
simulations = 8
lag = 3
[options.training]
num_members = 2
min_steps = 60
max_steps = 60
[options.head]
num_components = 2
width = 4
depth = 1
[options.sampler]
num_chains = 4
num_warmup = 100
num_draws = 150
max_extensions = 0
"""


def call(*arguments):
    """The exit code of a command."""
    return run([str(one) for one in arguments])


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a new model, its data and tiny options, and a run."""
    folder = tmp_path_factory.mktemp("work")
    before = Path.cwd()
    os.chdir(folder)
    try:
        assert call("new", "tank.py") == 0
        text = Path("tank.py").read_text().replace('theta["noise"]', "0.3")
        Path("tank.py").write_text(text.replace("    noise=dist.HalfNormal(0.5),\n", ""))
        runpy.run_path("tank.py", run_name="__main__")
        lines = (folder / "data.csv").read_text().splitlines()
        (folder / "data.csv").write_text("\n".join(lines[:21]))
        (folder / "more.csv").write_text("\n".join(lines[21:23]))
        dated = [f"2024-03-{day:02d},{line}" for day, line in enumerate(lines[1:21], 1)]
        (folder / "dated.csv").write_text("\n".join(["day,level", *dated]))
        (folder / "tiny.toml").write_text(TINY)
        yield folder
    finally:
        os.chdir(before)


@pytest.fixture(scope="module")
def fitted(place):
    code = call(
        "fit", "tank.py", "dated.csv", "--out", "run", "--config", "tiny.toml", "--lag", 4, "--seed", 5,
        "--in-process", "--replicates", 99, "--no-refit", "--time", "day",
    )  # fmt: skip
    assert code == 0
    return place / "run"


def test_fit_makes_a_run_with_a_report(fitted, place):
    files = {path.name for path in fitted.iterdir()}
    assert {"result.json", "checks.json", "config.toml", "report.html"} <= files
    result = tsnl.load(fitted, model=lambda rng, theta: None)
    assert result.lag[0] == 4
    assert result.seed == 5
    assert result.cost == 2 * 8 * 20
    page = (fitted / "report.html").read_text()
    assert "leak from dated.csv, tank.py" in page
    assert "2024-03-01 to 2024-03-20, every 1D" in page
    assert result.problem.columns == ("level",)
    assert result.problem.when.text([0, 20]) == ["2024-03-01", "2024-03-21"]
    config = (fitted / "config.toml").read_text()
    assert "lag = 4" in config
    assert 'time = "day"' in config
    assert "max_steps = 60" in config
    names = [verdict["name"] for verdict in json.loads((fitted / "checks.json").read_text())["verdicts"]]
    assert "replicates" in names


def test_the_configuration_is_there_before_the_run_ends(place, monkeypatch):
    """A run that is killed has it too; of one that never simulated nothing is kept."""

    class KilledError(BaseException):
        pass

    def killed(*_, **__):
        assert "max_steps = 60" in (place / "killed" / "config.toml").read_text()
        raise KilledError

    monkeypatch.setattr("tsnl.cli.runs.infer", killed)
    with pytest.raises(KilledError):
        call("fit", "tank.py", "data.csv", "--out", "killed", "--config", "tiny.toml", "--in-process")
    assert not (place / "killed").exists()


@pytest.mark.slow
def test_a_corrected_command_begins_anew(place, capsys):
    """After a simulator that always fails; where some simulations were made, with --force."""
    tiny = ("--config", "tiny.toml", "--in-process", "--replicates", 0, "--no-refit", "--out", "again")
    text = (place / "tank.py").read_text()
    mostly = "level = 2.0\n    if rng.uniform() < 0.8: raise OverflowError"
    begin, codes = "level = 2.0", []
    for line in ("raise OverflowError", mostly, begin):
        (place / "mended.py").write_text(text.replace(begin, line))
        sys.modules.pop("tsnl_file_mended", None)
        codes.append(call("fit", "mended.py", "data.csv", *tiny))
        if line == mostly:
            (place / "again" / "mine.txt").write_text("keep")
    assert codes == [1, 1, 2]
    assert "go on with --resume, replace it with --force, or choose" in capsys.readouterr().err
    assert call("fit", "mended.py", "data.csv", *tiny, "--resume") == 2
    assert re.search(
        r"another model \(at simulate\): .* or replace it with --force", capsys.readouterr().err
    )
    assert call("fit", "mended.py", "data.csv", *tiny, "--resume", "--force") == 2
    assert "choose one" in capsys.readouterr().err
    assert call("fit", "mended.py", "data.csv", *tiny, "--force") == 0
    assert re.search(r"Deleted the run in again: 0 rounds and \d files", capsys.readouterr().err)
    assert (place / "again" / "mine.txt").read_text() == "keep"


def test_a_run_is_not_overwritten(fitted, capsys):
    assert call("fit", "tank.py", "data.csv", "--out", "run", "--config", "tiny.toml") == 2
    assert (
        "run holds a run already: read it with --resume, replace it with --force, or choose another"
        in capsys.readouterr().err
    )


def test_resume_of_a_finished_run_keeps_its_checks(fitted, place):
    before = (fitted / "checks.json").read_bytes()
    asked = ("fit", "tank.py", "data.csv", "--out", "run", "--config", "tiny.toml", "--lag", 4)
    assert call(*asked, "--seed", 5, "--in-process", "--replicates", 0, "--resume") == 0
    assert (fitted / "checks.json").read_bytes() == before


def test_ctrl_c_during_the_checks_says_how_to_go_on(fitted, place, capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("tsnl.cli.fitting.check_run", interrupted)
    monkeypatch.setattr("tsnl.cli.fitting.read_checks", lambda folder: None)
    result = tsnl.load(fitted, model=lambda rng, theta: None)
    with pytest.raises(KeyboardInterrupt):
        finish(Path("run"), result, 1.0, "title", 0, False)
    assert "go on by tsnl check run, then tsnl report run" in capsys.readouterr().err


def test_what_cannot_be_checked_is_refused_before_the_run(place, capsys):
    assert call("fit", "tank.py", "data.csv", "--out", "few", "--replicates", 5) == 2
    assert "--replicates is 5: fewer than 99" in capsys.readouterr().err
    assert not (place / "few").exists()
    assert call("fit", "tank.py", "data.csv", "--out", "") == 2
    assert "a path with no letters in it" in capsys.readouterr().err


def test_check_and_forecast(fitted, capsys):
    assert call("check", "run", "--no-refit") == 0
    out = capsys.readouterr().out
    assert "sampler" in out
    assert "replicates " not in out
    assert "give it with --model" in out

    assert call("forecast", "run", "--horizon", 3) == 0
    out = capsys.readouterr().out
    assert re.search(r"^t,time,column,mean,q05", out, re.MULTILINE)
    assert re.search(r"^21,2024-03-21,level,", out, re.MULTILINE)
    assert (fitted / "forecast.png").stat().st_size > 5000
    assert len((fitted / "forecast.csv").read_text().splitlines()) == 4


def test_a_black_box_cannot_be_corrected(fitted, capsys):
    assert call("correct", "run") == 2
    assert "run does not hold its model: give the file with --model" in capsys.readouterr().err
    assert call("correct", "run", "--model", "tank.py") == 2
    assert "A BlackBox only gives series" in capsys.readouterr().err


LAWS = """
import numpyro.distributions as dist
import tsnl

model = tsnl.models.LinearGaussian()
prior = tsnl.Prior(Q=dist.LogNormal({}, 1.0))
"""


@pytest.mark.slow
def test_correct_and_compare_models(place, capsys):
    series = tsnl.models.LinearGaussian().simulate(seed=1, length=20)
    Path("linear.csv").write_text("\n".join(["y", *map(str, series[:, 0])]))
    given = ("--config", "tiny.toml", "--replicates", 0, "--no-refit")
    for name, mean in (("near", -1.0), ("far", 3.0)):
        Path(f"{name}.py").write_text(LAWS.format(mean))
        assert call("fit", f"{name}.py", "linear.csv", "--out", name, *given) == 0
        capsys.readouterr()
        assert call("correct", name) == 0
        out = capsys.readouterr().out
        assert re.search(r"Corrected: (600|1,200) draws weighed by the exact likelihood", out)
        page = (place / f"{name}-corrected" / "report.html").read_text()
        assert "Marginals before and after the correction" in page
    assert call("correct", "near") == 2
    assert "holds a run already" in capsys.readouterr().err
    assert call("correct", "near", "--resume", "--force") == 2
    assert "choose one" in capsys.readouterr().err
    assert call("correct", "near", "--resume") == 0
    runs = ("near-corrected", "far-corrected")
    assert call("compare-models", *runs, "--names", "a,b", "--no-scores") == 0
    out = capsys.readouterr().out
    assert "Bayes factors and scores are against a." in out
    assert re.search(r"^b .* ± ", out, re.MULTILINE)
    assert (place / "models.png").stat().st_size > 5000
    assert call("check", "near", "--no-refit", "--correct", 100) == 0
    assert "Corrected by the exact likelihood, the means moved" in capsys.readouterr().out


@pytest.mark.slow
def test_report_and_update(fitted, place, capsys):
    (fitted / "report.html").unlink()
    assert call("report", "run", "--title", "<b>Anew</b>") == 0
    assert "&lt;b&gt;Anew&lt;/b&gt;" in (fitted / "report.html").read_text()
    capsys.readouterr()
    assert call("update", "run", "more.csv") == 0
    out = capsys.readouterr().out
    assert "Updated with 2 new rows" in out
    longer = tsnl.load(place / "run-updated", model=lambda rng, theta: None)
    assert len(longer.problem.series) == 22
    assert call("update", "run", "more.csv") == 2
    (place / "whole.csv").write_text((place / "data.csv").read_text() + "\n2.5\n2.4\n")
    capsys.readouterr()
    assert call("update", "run", "whole.csv", "--out", "run-whole") == 0
    out = capsys.readouterr().out
    assert "The first 20 of 22 rows are in the run already" in out
    assert "Updated with 2 new rows" in out
    assert call("update", "run", "data.csv", "--out", "run-again") == 2
    assert "All 20 rows are in the run already" in capsys.readouterr().err
    later = (place / "dated.csv").read_text() + "\n2024-03-21,2.5\n2024-03-22,2.4\n"
    (place / "later.csv").write_text(later)
    assert call("update", "run", "later.csv", "--time", "day", "--out", "run-later") == 0
    assert "The first 20 of 22 rows are in the run already" in capsys.readouterr().out
    longer = tsnl.load(place / "run-later", model=lambda rng, theta: None)
    assert len(longer.problem.series) == 22
    assert longer.problem.when.text([21]) == ["2024-03-22"]


def test_what_goes_wrong_is_one_line(place, capsys, unchecked):
    (place / "bad.csv").write_text("level\n1\ntwo\n")
    (place / "broken.py").write_text("import nothing_of_that_name\n")
    wrong = {
        ("fit", "tank.py", "absent.csv"): "absent.csv: No such file or directory.",
        ("fit", "tank.py", "bad.csv"): "bad.csv, line 3: 'two'",
        ("fit", "absent.py", "data.csv"): "tsnl new absent.py writes one",
        ("fit", "broken.py", "data.csv"): "broken.py, line 1: ModuleNotFoundError",
        ("fit", "tank.py", "data.csv", "--method", "guess"): "expected one of TSNL",
        ("fit", "tank.py", "data.csv", "--lag", "long"): "lag is 'long'",
        ("fit", "tank.py", "data.csv", "--columns", "height"): "no column 'height'",
        ("fit", "tank.py"): "Missing argument",
        ("new", "tank.py"): "is there already",
        ("new", "tank.txt"): "does not end in .py",
        ("report", "nowhere"): "is no finished run",
        ("correct", "nowhere"): "is no finished run",
        ("correct", "run", "--draws", 10): "--draws is 10, expected at least 50",
        ("correct", "run", "--particles", 1): "--particles is 1, expected at least 2",
        ("correct", "run", "--max-cost", 0): "--max-cost is 0, expected",
        ("compare-models", "nowhere", "nowhere"): "The names are ['nowhere', 'nowhere']",
        ("compare-models", "a", "b"): "a is no finished run",
        ("forecast",): "Missing argument",
        ("guess",): "No such command",
    }
    for arguments, message in wrong.items():
        assert call(*arguments) == 2, arguments
        out, err = capsys.readouterr()
        assert message in err
        assert err.count("\n") == 1
        assert "Traceback" not in err
        assert out == ""


def test_one_column_too_many_is_said_before_the_run(place, capsys):
    lines = (place / "data.csv").read_text().splitlines()
    rows = [f"{i},{line}" for i, line in enumerate(lines[1:])]
    (place / "indexed.csv").write_text("\n".join(["day,level", *rows]))
    for command in (("fit", "--out", "indexed"), ("compare-methods", "--methods", "RejectionABC")):
        assert call(command[0], "tank.py", "indexed.csv", *command[1:], "--in-process") == 2
        assert "day counts the rows: take the others with --columns level" in capsys.readouterr().err
    assert not (place / "indexed").exists()


def test_debug_shows_the_traceback(place, capsys):
    assert call("fit", "tank.py", "absent.csv", "--debug") == 2
    assert "Traceback" in capsys.readouterr().err


def test_what_fails_on_the_way(place, capsys):
    text = (place / "tank.py").read_text().replace("level = 2.0", "raise OverflowError('too full')")
    (place / "failing.py").write_text(text)
    code = call(
        "fit", "failing.py", "data.csv", "--out", "failing", "--config", "tiny.toml", "--in-process"
    )
    err = capsys.readouterr().err
    assert code == 1
    assert "TooManyFailuresError" in err
    assert "too full" in err


def test_shell_completion():
    """As bash asks for it after `tsnl co`."""
    asked = {"_TSNL_COMPLETE": "complete_bash", "COMP_WORDS": "tsnl co", "COMP_CWORD": "1"}
    environment = {**os.environ, "PYTHONPATH": str(Path(tsnl.__file__).parents[1]), **asked}
    command = [sys.executable, "-m", "tsnl"]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert set(found.stdout.split()) == {"correct", "compare-methods", "compare-models"}


def test_version_and_help(capsys):
    assert call("--version") == 0
    assert capsys.readouterr().out == f"tsnl {tsnl.__version__}\n"
    assert call("--help") == 0
    out = capsys.readouterr().out
    names = (
        "new",
        "fit",
        "refine",
        "update",
        "report",
        "forecast",
        "check",
        "correct",
        "compare-methods",
        "compare-models",
        "options",
        "demo",
    )
    for name in names:
        assert re.search(rf"^  {name} ", out, re.MULTILINE)
    for same in ((), ("-h",)):
        assert call(*same) == 0
        assert capsys.readouterr().out == out


def test_options_are_shown(capsys):
    assert call("options", "rejection-abc") == 0
    assert 'method = "RejectionABC"' in capsys.readouterr().out


def test_compare_takes_options(place, capsys):
    asked = ("compare-methods", "tank.py", "data.csv", "--methods", "RejectionABC", "--in-process")
    assert call(*asked, "--set", "draws=5", "--set", "fraction=0.5", "--max-cost", 400) == 0
    assert "RejectionABC" in capsys.readouterr().out
    assert call(*asked, "--set", "lag=3") == 2
    assert "No method here has an option lag" in capsys.readouterr().err


def test_refine_goes_on_from_a_run(fitted, place, capsys):
    """As the remedy of the budget says, end to end."""
    given = ("--simulations", 8, "--in-process", "--replicates", 0, "--no-refit")
    assert call("refine", "run", *given) == 2
    assert "give the file with --model" in capsys.readouterr().err
    assert call("refine", "run", "--model", "tank.py", *given) == 0
    assert "Run: run-refined" in capsys.readouterr().out
    before, after = (tsnl.load(one, model=lambda rng, theta: None) for one in ("run", "run-refined"))
    assert len(after.history) == len(before.history) + 1
    assert after.cost == before.cost + 8 * 20
    assert (place / "run-refined" / "report.html").exists()
    assert call("refine", "run", "--model", "tank.py", *given) == 2  # its place is taken
    assert call("check", "run-refined", "--no-refit") == 0


def test_compare_where_nothing_works_fails(place, capsys):
    given = ("tank.py", "data.csv", "--methods", "PMMH,ExactMCMC", "--in-process")
    assert call("compare-methods", *given) == 1
    err = capsys.readouterr().err
    assert "No method came to an end" in err
    assert "PMMH" in err


@pytest.mark.parametrize("length", [20, 100, 1000])
def test_the_default_budget_of_compare_is_enough_for_every_method(length):
    limit = NUM_SIMULATIONS * length
    MCMCABC(max_cost=limit)._phases(length)
    allot(PMMH().num_chains, PMMH().num_warmup, "auto", Ledger(length, limit))


def test_methods_and_models_have_commands_apart(capsys):
    assert call("--help") == 0
    out = capsys.readouterr().out
    assert re.search(r"^  compare-methods .*methods", out, re.MULTILINE)
    assert re.search(r"^  compare-models .*models", out, re.MULTILINE)
    assert call("compare", "a.py", "b.csv") == 2
    assert "No such command" in capsys.readouterr().err


def test_compare_at_equal_cost(place, capsys):
    given = ("tank.py", "data.csv", "--methods", "RejectionABC,PMMH", "--in-process")
    assert call("compare-methods", *given) == 0
    lines = capsys.readouterr().out.splitlines()
    assert re.match(r"RejectionABC +20,000 .*leak .* ± ", lines[1])
    assert "PMMH" in lines[2]  # a black box has no density to filter by
    assert lines[-1] == "At most 20,000 calls of the dynamics for each."
    assert call("compare-methods", "tank.py", "data.csv", "--methods", "Guess") == 2


def test_jax_template_fits_too(place, capsys):
    assert call("new", "laws.py", "--jax") == 0
    names = runpy.run_path("laws.py")
    assert isinstance(names["model"], tsnl.StateSpaceModel)
    assert names["model"].simulate(seed=0, length=5).shape == (5, 1)
    assert "log_observation" in dir(names["model"])


@pytest.mark.slow
def test_ctrl_c_leaves_a_run_that_goes_on(place, fitted):
    """A real process, stopped in the middle: exit code 130, and --resume comes to the same draws."""
    text = (place / "tank.py").read_text().replace("import numpy", "import time\n\nimport numpy")
    (place / "slow.py").write_text(text.replace("level = 2.0", "level = 2.0; time.sleep(0.2)"))
    command = [sys.executable, "-m", "tsnl", "fit", "slow.py", "data.csv", "--config", "tiny.toml"]
    command += ["--lag", "4", "--seed", "5", "--workers", "2", "--replicates", "0", "--no-refit"]
    command += ["--out", "slow"]
    environment = {**os.environ, "PYTHONPATH": str(Path(tsnl.__file__).parents[1])}
    apart = {"cwd": place, "stderr": subprocess.PIPE, "text": True, "env": environment}
    process = subprocess.Popen(command, **apart, start_new_session=True)
    while not list((place / "slow").glob("simulations/*.npz")):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    err = process.communicate(timeout=60)[1]
    assert process.returncode == 130, err
    assert "go on by the same command with --resume" in err
    assert "Traceback" not in err
    assert call(*command[3:-2], "--out", "slow") == 2  # there is something to go on with
    again = subprocess.run([*command, "--resume"], **apart, check=False)
    assert again.returncode == 0, again.stderr
    assert (place / "slow" / "report.html").exists()
    whole = subprocess.run([*command[:-1], "whole"], **apart, check=False)
    assert whole.returncode == 0, whole.stderr
    one, other = (tsnl.load(place / name, model=lambda rng, theta: None) for name in ("slow", "whole"))
    np.testing.assert_array_equal(one.draws["leak"], other.draws["leak"])


@pytest.mark.slow
def test_known_inputs(place, capsys):
    Path("pump.py").write_text(
        "import numpy as np\nimport numpyro.distributions as dist\nimport tsnl\n"
        "prior = tsnl.Prior(gain=dist.Normal(0.0, 1.0))\n"
        "def simulate(rng, theta, length, inputs):\n"
        "    return theta['gain'] * inputs + 0.1 * rng.normal(size=(length, 1))\n"
    )
    rng = np.random.default_rng(3)
    u = rng.normal(size=25)
    y = 0.7 * u + 0.1 * rng.normal(size=25)
    for name, x in (("u", u), ("y", y)):
        for label, rows in (("", x[:20]), ("_new", x[20:22]), ("_next", x[22:])):
            Path(f"{name}{label}.csv").write_text("\n".join([name, *map(str, rows)]))
    given = ("--out", "pump", "--config", "tiny.toml", "--in-process", "--replicates", 0, "--no-refit")
    assert call("fit", "pump.py", "y.csv", "--inputs", "u.csv", *given) == 0
    result = tsnl.load("pump", model=tsnl.BlackBox(runpy.run_path("pump.py")["simulate"]))
    assert abs(result.draws["gain"].mean() - 0.7) < 0.3
    assert call("update", "pump", "y_new.csv") == 2
    assert "give inputs here too" in capsys.readouterr().err
    assert call("update", "pump", "y_new.csv", "--inputs", "u_new.csv") == 0
    assert call("forecast", "pump-updated", "--horizon", 3, "--inputs", "u_new.csv") == 2
    assert "3" in capsys.readouterr().err
    assert call("forecast", "pump-updated", "--horizon", 3, "--inputs", "u_next.csv") == 0
    rows = np.genfromtxt("pump-updated/forecast.csv", delimiter=",", names=True)
    assert len(rows) == 3
    assert np.corrcoef(rows["mean"], u[22:])[0, 1] > 0.5


@pytest.mark.slow
def test_demo(tmp_path, capsys):
    assert call("demo", "--out", tmp_path / "demo") == 0
    out = capsys.readouterr().out
    exact, ours = (float(x) for x in re.findall(r"(?:filter|only) +(0\.\d+)", out))
    assert abs(exact - ours) < 0.03  # an exact sd
    assert (tmp_path / "demo" / "report.html").exists()


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of Dask's own sockets and loops
def test_on_a_cluster_the_draws_are_the_same(fitted, place):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        code = call(
            "fit", "tank.py", "data.csv", "--out", "far", "--config", "tiny.toml", "--lag", 4,
            "--seed", 5, "--dask", cluster.scheduler_address, "--replicates", 0, "--no-refit",
        )  # fmt: skip
    assert code == 0
    one, other = (tsnl.load(place / name, model=lambda rng, theta: None) for name in ("run", "far"))
    np.testing.assert_array_equal(one.draws["leak"], other.draws["leak"])
