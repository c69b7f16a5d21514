"""Seconds of one bootstrap filter of `particles` on the linear model: run in its own environment."""

import sys
import time

import numpy as np
import particles
from particles import distributions as dists
from particles import state_space_models as ssm


class Linear(ssm.StateSpaceModel):
    """x_t = 0.9 x_{t-1} + N(0, 0.1), y_t = x_t + N(0, 0.1); the first law is that of x_1."""

    def PX0(self):  # noqa: D102, N802
        return dists.Normal(scale=np.sqrt(0.81 + 0.1))

    def PX(self, t, xp):  # noqa: D102, N802
        return dists.Normal(loc=0.9 * xp, scale=np.sqrt(0.1))

    def PY(self, t, xp, x):  # noqa: D102, N802
        return dists.Normal(loc=x, scale=np.sqrt(0.1))


np.random.seed(0)  # noqa: NPY002  the package draws from the global generator
model = Linear()
_, series = model.simulate(100)
feynman_kac = ssm.Bootstrap(ssm=model, data=series)
seconds = np.inf
for _ in range(40):
    start = time.perf_counter()
    particles.SMC(fk=feynman_kac, N=int(sys.argv[1]), ESSrmin=0.5, resampling="systematic").run()
    seconds = min(seconds, time.perf_counter() - start)
print(seconds)
