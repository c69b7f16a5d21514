"""A long series: checks and report in bounded memory."""

import json
import subprocess
import sys

import pytest

LENGTH = 20_000
CODE = """
import json, resource, sys
import numpyro.distributions as dist
import tsnl
from tsnl import MCMC, TSNL, Training
from tsnl.models import LinearGaussian

model = LinearGaussian()
method = TSNL(
    rounds=1,
    simulations=20,
    transform="none",
    training=Training(min_steps=50, max_steps=50),
    sampler=MCMC(num_chains=4, num_warmup=50, num_draws=50, max_extensions=0),
)
series = model.simulate(seed=1, length={length})
result = tsnl.infer(
    model, tsnl.Prior(Q=dist.LogNormal(-1.0, 1.0)), series, method, seed=0, progress=False
)
peaks = [resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]
checks = result.check(refit=False)
peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
result.report({path!r}, checks=checks)
peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
print(json.dumps(peaks))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux")
def test_a_long_series_stays_under_a_gigabyte(tmp_path):
    code = CODE.format(length=LENGTH, path=str(tmp_path / "report.html"))
    child = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert child.returncode == 0, child.stderr
    peaks = [kilobytes / 1e6 for kilobytes in json.loads(child.stdout.splitlines()[-1])]
    assert max(peaks) < 1.0, peaks
