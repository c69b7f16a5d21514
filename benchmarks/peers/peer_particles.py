"""particles: PMMH and SMC^2 with bootstrap filters, which need the density of an observation.

A simulation is T calls of the dynamics, so a filter of 100 particles costs as much as 100 simulations.
PMMH as its tutorial has it: adaptive random walk, 100 particles, a start from the prior, the first fifth
of the chain left out. SMC^2: 50 particles of the state, waste-free with chains of its default length 10,
and as many starting points as let it come out near the budget; what it used is counted.
"""

import warnings

import numpy as np
import particles
from particle_models import MODELS
from particles import distributions as dists
from particles import mcmc, smc_samplers
from particles import state_space_models as ssm
from task import DRAWS, Task
from whiten import to_theta

FILTER, INNER = 100, 50  # particles of PMMH's filter, and of SMC^2's
PASSES = 4  # filters that SMC^2 runs for each particle of theta, rejuvenations included


class Law:
    """What the package asks of a distribution."""

    dim = 1

    def __init__(self, rvs=None, logpdf=None):
        self.rvs, self.logpdf = rvs, logpdf


def model_of(task: Task, rng: np.random.Generator) -> type[ssm.StateSpaceModel]:
    """The problem as the package's class of models, with parameters w0, w1, ..."""
    start, move, density = MODELS[task.problem]

    class Model(ssm.StateSpaceModel):
        moves = 0  # calls of the dynamics

        def __init__(self, **w):
            super().__init__(**w)
            point = np.array([[float(w[f"w{i}"]) for i in range(task.size)]])
            self.theta = {name: value[0] for name, value in to_theta(task.laws, point).items()}

        def PX0(self):  # noqa: N802
            return Law(rvs=lambda size: self._move(start(self.theta, size, rng), 0))

        def PX(self, t, xp):  # noqa: N802
            return Law(rvs=lambda size: self._move(xp, t))

        def PY(self, t, xp, x):  # noqa: N802
            return Law(logpdf=lambda y: density(self.theta, y, x))

        def _move(self, x, t):
            Model.moves += len(x)
            return move(self.theta, x, t + 1, rng)

    return Model


def pmmh(task: Task, model: type, prior: dists.StructDist, data: np.ndarray) -> np.ndarray:
    """Draws of a chain as long as the budget allows."""
    steps = task.budget // FILTER
    chain = mcmc.PMMH(niter=steps, ssm_cls=model, prior=prior, data=data, Nx=FILTER)
    chain.run()
    return chain.chain.theta[steps // 5 :]


def smc2(task: Task, model: type, prior: dists.StructDist, data: np.ndarray, rng) -> np.ndarray:
    """Weighted particles of theta, resampled."""
    starts = max(task.budget // (INNER * PASSES * 10), 2)
    kernel = smc_samplers.SMC2(ssm_cls=model, prior=prior, data=data, init_Nx=INNER)
    run = particles.SMC(fk=kernel, N=starts, verbose=False)
    run.run()
    return run.X.theta[rng.choice(len(run.W), DRAWS, p=run.W)]


def main() -> None:
    """Run one of the two."""
    warnings.simplefilter("ignore")
    task = Task()
    rng = np.random.default_rng(task.seed)
    np.random.seed(task.seed)  # noqa: NPY002  the package draws from the global generator
    names = [f"w{i}" for i in range(task.size)]
    prior = dists.StructDist({name: dists.Normal() for name in names})
    model = model_of(task, rng)
    data = task.observed.astype(float)
    data = data[:, 0] if data.shape[1] == 1 else data
    task.start()
    if task.method == "PMMH":
        theta = pmmh(task, model, prior, data)
    else:
        theta = smc2(task, model, prior, data, rng)
    task.used = round(model.moves / len(data))
    task.finish(w=np.stack([theta[name] for name in names], axis=1))


if __name__ == "__main__":
    main()
