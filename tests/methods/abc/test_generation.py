import numpy as np
from scipy import stats

from tsnl.methods.abc.generation import Generation, importance, perturbation


def test_weights_are_prior_over_proposal():
    rng = np.random.default_rng(0)
    last = Generation(rng.normal(size=(30, 2)), rng.dirichlet(np.ones(30)), np.ones(30), 1.0, 30, 30)
    factor = perturbation(last)
    covariance = np.cov(last.z.T, aweights=last.weights, ddof=0)
    np.testing.assert_allclose(factor @ factor.T, 2 * covariance, rtol=1e-6)
    z = rng.normal(size=(7, 2))
    log_prior = stats.norm.logpdf(z).sum(axis=1)
    pdf = stats.multivariate_normal(cov=2 * covariance).pdf
    proposal = [last.weights @ pdf(x - last.z) for x in z]
    expected = np.exp(log_prior) / proposal
    np.testing.assert_allclose(
        importance(z, log_prior, last, factor), expected / expected.sum(), rtol=1e-6
    )
