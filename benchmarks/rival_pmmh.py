"""Seconds of a chain of `particles.mcmc.PMMH` on the linear model: run in its own environment.

python rival_pmmh.py NUM_STEPS NUM_PARTICLES < series.json
"""

import json
import sys
import time

import numpy as np
from particles import distributions as dists
from particles import mcmc
from particles import state_space_models as ssm


class Linear(ssm.StateSpaceModel):
    """x_t = 0.9 x_{t-1} + N(0, Q), y_t = x_t + N(0, 0.1), z = log Q; the first law is that of x_1."""

    def PX0(self):  # noqa: D102, N802
        return dists.Normal(scale=np.sqrt(0.81 + np.exp(self.z)))

    def PX(self, t, xp):  # noqa: D102, N802
        return dists.Normal(loc=0.9 * xp, scale=np.sqrt(np.exp(self.z)))

    def PY(self, t, xp, x):  # noqa: D102, N802
        return dists.Normal(loc=x, scale=np.sqrt(0.1))


np.random.seed(0)  # noqa: NPY002  the package draws from the global generator
num_steps, num_particles = int(sys.argv[1]), int(sys.argv[2])
chain = mcmc.PMMH(
    niter=num_steps,
    ssm_cls=Linear,
    prior=dists.StructDist({"z": dists.Normal(loc=np.log(0.3), scale=1.0)}),
    data=np.array(json.load(sys.stdin)),
    Nx=num_particles,
    smc_options={"ESSrmin": 0.5, "resampling": "systematic"},
)
start, start_cpu = time.perf_counter(), time.process_time()
chain.run()
seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
z = chain.chain.theta["z"][num_steps // 5 :]
facts = {"acceptance": chain.acc_rate, "mean": z.mean(), "sd": z.std()}
print(json.dumps({"seconds": seconds, "cpu_seconds": cpu, **facts}))
