import jax
import numpy as np
import numpyro.distributions as dist
from scipy import stats

import tsnl
from tsnl.methods.abc.trials import Trials
from tsnl.models import LinearGaussian
from tsnl.problem import Problem

LENGTH = 10
MODEL = LinearGaussian()
PRIOR = tsnl.Prior(q_0=dist.Normal(0.0, 1.0))
SERIES = MODEL.simulate(seed=1, length=LENGTH)


def test_trials_draw_anew_and_count():
    problem = Problem.of(MODEL, PRIOR, SERIES)
    trials = Trials.of(jax.random.key(0), problem, "euclidean", None, 1000)
    one, two = trials.draw_prior(5), trials.draw_prior(5)
    assert len(np.unique(np.concatenate([one, two]))) == 10
    trials.fit(one)
    trials.run(two)
    assert (trials.count, trials.cost, trials.affordable(100)) == (10, 100, 90)
    np.testing.assert_allclose(trials.log_prior(one), stats.norm.logpdf(one[:, 0]), rtol=1e-5)


def test_one_batch_or_many_give_the_same_distances():
    problem = Problem.of(MODEL, PRIOR, SERIES)
    z = np.linspace(-1, 1, 100)[:, None]
    found = []
    for cuts in ([], [37], [1, 64]):
        trials = Trials.of(jax.random.key(0), problem, "euclidean", None, None)
        found.append(np.concatenate([trials.run(part) for part in np.split(z, cuts)]))
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
