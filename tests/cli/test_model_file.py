import numpy as np
import numpyro.distributions as dist
import pytest

import tsnl
from tsnl.cli.columns import num_columns
from tsnl.cli.model_file import Crew, ModelFile, read_model, working
from tsnl.simulation import load_file

PRIOR = "import numpyro.distributions as dist\nimport tsnl\nprior = tsnl.Prior(Q=dist.HalfNormal(1.0))\n"


def test_black_box_and_model(tmp_path):
    box = tmp_path / "box.py"
    box.write_text(PRIOR + "def simulate(rng, theta):\n    return rng.normal(size=5)\n")
    found = read_model(box)
    assert isinstance(found.model, tsnl.BlackBox)
    assert found.prior.names == ("Q",)
    with working(found, Crew(timeout=2.0, in_process=True)) as model:
        assert model.timeout == 2.0
        assert model.executor is None
        assert np.shape(model.simulate_fn(np.random.default_rng(0), {})) == (5,)
    for count in (1, 2):
        with working(found, Crew(workers=count)) as model:
            assert model.executor.workers == count
    laws = tmp_path / "laws.py"
    laws.write_text(PRIOR + "model = tsnl.models.LinearGaussian()\n")
    found = read_model(laws)
    with working(found, Crew(workers=2)) as model:
        assert model is found.model
    with (
        pytest.raises(ValueError, match="--timeout and --dask are for others"),
        working(found, Crew(timeout=1.0)),
    ):
        pass
    with pytest.raises(ValueError, match="--in-process runs without workers"):
        Crew(workers=1, in_process=True)


def test_a_program_has_a_process_of_its_own_as_it_is(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PRIOR + "model = tsnl.Program(['true'])\n")
    with working(read_model(path), Crew(workers=1)) as model:
        assert model.executor is None


@pytest.mark.parametrize("end", ["os._exit(3)", "os.kill(os.getpid(), signal.SIGSEGV)"])
def test_a_simulator_that_ends_its_process_is_a_clear_error(tmp_path, end):
    path = tmp_path / "deadly.py"
    path.write_text(
        "import os, signal\nimport numpy as np\n"
        f"def simulate(rng, theta):\n    if theta['Q'] > 0:\n        {end}\n    return np.ones(5)\n"
    )
    prior = tsnl.Prior(Q=dist.HalfNormal(1.0))
    file = ModelFile(path, tsnl.BlackBox(load_file(path).simulate), prior)
    with (
        working(file, Crew(workers=1)) as model,
        pytest.raises(RuntimeError, match="ended its process, by a crash or an exit, in 3 of 3 trials"),
    ):
        num_columns(model, prior, 5, None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\n", "defines neither `model`"),
        ("def simulate(rng, theta):\n    pass\n", "defines no `prior`"),
        ("def simulate(rng, theta):\n    pass\nprior = {}\n", "defines no `prior`"),
        ("x = 1\ny = 1 / 0\n", r"wrong\d\.py, line 2: ZeroDivisionError"),
        ("x = (\n", r"wrong\d\.py, line 1: SyntaxError"),
        (PRIOR + "model = 3\n", "model is a int"),
    ],
)
def test_files_that_do_not_fit(tmp_path, text, message, request):
    path = tmp_path / "wrong0.py"
    path.write_text(text)
    with pytest.raises((ValueError, TypeError), match=message):
        read_model(path)


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"tsnl new .* writes one"):
        read_model(tmp_path / "absent.py")
