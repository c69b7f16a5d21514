"""How often regions of the posterior hold the truth, against how often they should.

Each answer is an `Ecdf`: the nominal levels, the shares of trials found in regions of that level, a band
that holds at all levels at once, and a p-value.
"""

import numpy as np
from jaxtyping import Float, Int

from tsnl.checks.uniformity import Ecdf, count_ecdf, rank_ecdf
from tsnl.evaluate.calibration.trials import Trials


def central_coverage(ranks: Int[np.ndarray, " trial"], num_draws: int, level: float = 0.95) -> Ecdf:
    r"""Coverage of the central intervals of one coordinate.

    The rank r lies in the interval of the middle ranks, \(|2 r - L| \le j\), with probability
    \((j + 1) / (L + 1)\), for j of the parity of L. Shares below say that the posteriors are too narrow
    or off centre, above that they are too wide.

    Args:
        ranks: of the truth among L draws.
        num_draws: L.
        level: of the simultaneous band.
    """
    steps = np.arange(num_draws % 2, num_draws, 2)
    return count_ecdf(np.abs(2 * ranks - num_draws), steps, (steps + 1) / (num_draws + 1), level)


def density_coverage(trials: Trials, level: float = 0.95) -> Ecdf:
    r"""Coverage of the regions of highest posterior density, all coordinates together.

    The region of level c holds the truth where at most the share c of the draws has a higher density.
    Shares below say that the posteriors are too narrow or off centre (Hermans et al., 2022).

    Args:
        trials: of a method that gives the posterior as a function.
        level: of the simultaneous band.

    Raises:
        ValueError: the method gave draws alone.
    """
    if trials.density_ranks is None:
        raise ValueError("These trials have draws alone, no density: use tarp or central_coverage.")
    return rank_ecdf(trials.num_draws - trials.density_ranks, trials.num_draws, level)


def tarp(
    trials: Trials, level: float = 0.95, references: Float[np.ndarray, "trial size"] | None = None
) -> Ecdf:
    """Coverage of balls around random points, all coordinates together; see `tarp_ranks`.

    Args:
        trials: truths and draws.
        level: of the simultaneous band.
        references: the points; those of the trials, drawn from the prior, where None.
    """
    return rank_ecdf(tarp_ranks(trials, references), trials.num_draws, level)


def tarp_ranks(
    trials: Trials, references: Float[np.ndarray, "trial size"] | None = None
) -> Int[np.ndarray, " trial"]:
    r"""How many draws lie nearer to a random point than the truth does (Lemos et al., 2023).

    .. math::
        r = \#\{l : d(\theta_l, \theta_r) < d(\theta_0, \theta_r)\},

    d the Euclidean distance in units of the prior's spread. Uniform on 0..L where the posteriors are
    right, whatever the law of the points, which may depend on the series but not on the truth. Points
    that do not depend on the series cannot tell the prior itself from a posterior.

    Args:
        trials: truths and draws.
        references: the points; those of the trials, drawn from the prior, where None.
    """
    references = trials.references if references is None else references
    if references.shape != trials.truth.shape:
        raise ValueError(f"references has shape {references.shape}, expected {trials.truth.shape}.")
    of_truth = np.linalg.norm((trials.truth - references) / trials.scale, axis=-1)
    of_draws = np.linalg.norm((trials.draws - references[:, None]) / trials.scale, axis=-1)
    return np.sum(of_draws < of_truth[:, None], axis=1)
