"""A long series: checks and report in bounded memory."""

import subprocess
import sys

import pytest

LENGTH = 20_000
FIT = """
import numpyro.distributions as dist
import tsnl
from tsnl import MCMC, TSNL, Training
from tsnl.models import LinearGaussian

model = LinearGaussian()
method = TSNL(
    states=False,
    rounds=1,
    simulations=20,
    transform="none",
    training=Training(min_steps=50, max_steps=50),
    sampler=MCMC(num_chains=4, num_warmup=50, num_draws=50, max_extensions=0),
)
series = model.simulate(seed=1, length={length})
prior = tsnl.Prior(Q=dist.LogNormal(-1.0, 1.0))
tsnl.infer(model, prior, series, method, seed=0, progress=False).save({saved!r})
"""
LOOK = """
import resource
import tsnl
from tsnl.checks import Report

result = tsnl.load({saved!r})
{what}
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def run(code):
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert child.returncode == 0, child.stderr
    return child.stdout


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux")
def test_a_long_series_stays_under_a_gigabyte(tmp_path):
    saved, page = str(tmp_path / "saved"), str(tmp_path / "report.html")
    run(FIT.format(length=LENGTH, saved=saved))
    for what in ("result.check(refit=False)", f"result.report({page!r}, checks=Report([], 0))"):
        kilobytes = int(run(LOOK.format(what=what, saved=saved)).splitlines()[-1])
        assert kilobytes < 1_000_000, (what, kilobytes)
