"""MCMC with the exact likelihood of a linear-Gaussian model."""

from dataclasses import dataclass
from time import perf_counter
from typing import ClassVar

import jax
from jaxtyping import Array, Key

from tsnl.likelihood.exact import ExactLikelihood
from tsnl.methods.api import Method, Outcome
from tsnl.models.linear_gaussian import LinearGaussian
from tsnl.posterior import Posterior, sample_posterior
from tsnl.problem import Problem
from tsnl.runtime.checked import check_fields
from tsnl.runtime.progress import Progress
from tsnl.sampling import MCMC
from tsnl.store.registry import register


@register
@dataclass(frozen=True)
class ExactMCMC(Method):
    r"""Sample \(p(\theta) \, p(y_{1:T} \mid \theta)\) with the Kalman filter's likelihood, in 64 bit.

    For `LinearGaussian` alone. Its cost is 0: the filter computes moments and never calls the dynamics.

    Attributes:
        sampler: how theta is sampled.
    """

    takes_missing: ClassVar[bool] = True  # the filter knows rows and entries that are NaN

    sampler: MCMC = MCMC(transition="nuts", num_chains=4, num_warmup=400, num_draws=1000)

    def __post_init__(self) -> None:
        check_fields(self)

    def run(self, key: Key[Array, ""], problem: Problem, progress: Progress) -> Outcome:
        """Infer; see `tsnl.infer`.

        Raises:
            TypeError: the model is not linear and Gaussian.
        """
        posterior = self.exact_posterior(problem)
        progress.start("Exact MCMC", 1)
        progress.now(0, f"sample by {self.sampler.transition_for(problem.prior.size)}")
        begin = perf_counter()
        with jax.enable_x64(True):
            draws = sample_posterior(key, posterior, None, self.sampler)
        record = draws.record() | {"seconds": perf_counter() - begin}
        num_chains, num_draws = draws.log_density.shape
        status = f"finished: {num_chains} chains of {num_draws:,} draws, exact likelihood"
        status += draws.health_note
        progress.now(1, status)
        return Outcome(draws.z, draws.log_density, 0, status, [record], posterior)

    def exact_posterior(self, problem: Problem) -> Posterior:
        """The exact posterior as a function.

        Raises:
            TypeError: the model is not linear and Gaussian.
        """
        model = problem.model
        if not isinstance(model, LinearGaussian):
            raise TypeError(
                f"model is a {type(model).__name__}, but ExactMCMC is for LinearGaussian alone, whose "
                f"likelihood the Kalman filter knows. Use PMMH, or a method that only simulates."
            )
        likelihood = ExactLikelihood(problem.prior, model, problem.series)
        return Posterior(problem.prior, likelihood, problem.panel)
