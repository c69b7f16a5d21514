import numpy as np
import pytest

import tsnl
from tsnl.cli.model_file import read_model, working

PRIOR = "import numpyro.distributions as dist\nimport tsnl\nprior = tsnl.Prior(Q=dist.HalfNormal(1.0))\n"


def test_black_box_and_model(tmp_path):
    box = tmp_path / "box.py"
    box.write_text(PRIOR + "def simulate(rng, theta):\n    return rng.normal(size=5)\n")
    found = read_model(box)
    assert isinstance(found.model, tsnl.BlackBox)
    assert found.prior.names == ("Q",)
    with working(found, workers=1, timeout=2.0) as model:
        assert model.timeout == 2.0
        assert model.executor is None
        assert np.shape(model.simulate_fn(np.random.default_rng(0), {})) == (5,)
    with working(found, workers=2, timeout=None) as model:
        assert model.executor.workers == 2
    laws = tmp_path / "laws.py"
    laws.write_text(PRIOR + "model = tsnl.models.LinearGaussian()\n")
    found = read_model(laws)
    with working(found, workers=2, timeout=None) as model:
        assert model is found.model
    with pytest.raises(ValueError, match="--timeout and --dask are for others"), working(found, 1, 1.0):
        pass


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
