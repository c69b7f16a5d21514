r"""Is the kernel right where the posterior is? For simulators without densities.

Series simulated at draws of the posterior are asked two things. Can a classifier tell them from series
that the kernel itself draws there? And does the kernel find the theta that each was simulated at? With
\(\theta^* \sim p(\theta \mid y)\) and \(y^* \sim p(y \mid \theta^*)\), the rank of \(\theta^*\) among
draws of \(p(\theta \mid y, y^*)\) is uniform (Säilynoja et al., 2025); those draws are the posterior's
own, weighed by the kernel's likelihood of \(y^*\).
"""

from collections.abc import Mapping
from functools import partial

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.special import bdtrc

from tsnl.checks.draws import log_likelihoods
from tsnl.checks.replicates import SUMMARIES, Summary, autocorrelation, summarise
from tsnl.checks.uniformity import pit_ecdf
from tsnl.checks.verdict import Verdict, adjusted, by_p_value, spoken
from tsnl.evaluate.classifier import told_apart
from tsnl.kernel.fitted import Kernel
from tsnl.posterior import Posterior
from tsnl.predict.draws import each_draw
from tsnl.predict.futures import KernelFuture
from tsnl.problem import Problem
from tsnl.problem.draws import evenly
from tsnl.runtime.reader import remedy
from tsnl.sampling import resampling

# A classifier that is right in so many pairs: a shift of one of two normals by about one sd. Below it a
# difference that is certain is to be looked at; what is called certain is by p-values alone.
FAIL_SHARE = 0.75
FEWEST = 50  # series below which nothing can be said
NUM_RANKED = 300  # draws that each theta is ranked among
NARROW, WIDE = 1.1, 0.9  # sds of z-scores beyond which a posterior is called so
LAGS = (2, 3, 4)
QUANTILES = (0.1, 0.5, 0.9)


def kernel_series(
    key: Key[Array, ""], problem: Problem, kernel: Kernel, z: Float[np.ndarray, "n size"]
) -> Float[np.ndarray, "n T d_y"]:
    """One series by the kernel's own law from its beginning, at each z; no simulation."""
    nothing = np.zeros((0, problem.d_y)), np.zeros((0, problem.d_u))
    inputs = jnp.asarray(problem.all_inputs(0, 1)[0], dtype=float)
    law = KernelFuture(problem.prior, kernel, kernel.remember(*nothing), inputs, jnp.asarray(0))
    return each_draw(key, law, problem.prior.constrain_all(z))


def features(series: Float[np.ndarray, "n T d_y"]) -> Float[np.ndarray, "n features"]:
    """What a classifier sees of whole series: moments, quantiles, steps and autocorrelations."""
    more: dict[str, Summary] = {f"lag {k}": partial(autocorrelation, lag=k) for k in LAGS}
    more |= {f"quantile {q}": partial(_quantile, q=q) for q in QUANTILES}
    more |= {f"step {q}": partial(_step_quantile, q=q) for q in QUANTILES}
    chosen: Mapping[str, Summary] = {**SUMMARIES, **more}
    found = summarise(series.astype(np.float64), chosen)
    return np.arcsinh(np.stack(list(found.values()), axis=1))


def _quantile(y: Float[np.ndarray, " T"], q: float) -> float:
    return float(np.quantile(y, q))


def _step_quantile(y: Float[np.ndarray, " T"], q: float) -> float:
    return float(np.quantile(np.diff(y), q))


def check_law(
    simulated: Float[np.ndarray, "n T d_y"], by_kernel: Float[np.ndarray, "n T d_y"]
) -> Verdict:
    """Whether a classifier tells simulated series from those of the kernel's own law.

    Args:
        simulated: one at each of some draws of the posterior.
        by_kernel: one at each of the same draws: a right kernel makes exchangeable pairs of them.
    """
    finite = np.isfinite(simulated).all(axis=(1, 2)) & np.isfinite(by_kernel).all(axis=(1, 2))
    n = int(finite.sum())
    if n < FEWEST:
        sentence = f"Only {n} series of the kernel and of the simulator are finite."
        advice = "Look at the simulator, and at forecasts of the kernel, at draws of the posterior."
        return Verdict("kernel's law", "look", sentence, advice, {"series": n})
    right, asked = told_apart(features(simulated[finite]), features(by_kernel[finite]))
    p = float(bdtrc(right - 1, asked, 0.5)) if right else 1.0
    share = right / max(asked, 1)
    level = by_p_value(p)
    if level == "fail" and share < FAIL_SHARE:
        level = "look"
    sentence = f"A classifier tells the kernel's series from the simulated one in {100 * share:.0f} of "
    sentence += f"100 pairs, 50 being chance ({spoken(p)})."
    advice = "" if level == "pass" else f"Learn from more simulations there: {_how()}."
    figures = {"share": share, "p_value": p, "pairs": asked, "series": n}
    return Verdict("kernel's law", level, sentence, advice, figures)


def local_ranks(
    posterior: Posterior,
    draws: Float[np.ndarray, "m size"],
    z: Float[np.ndarray, "n size"],
    series: Float[np.ndarray, "n T d_y"],
) -> tuple[Float[np.ndarray, "n size"], Float[np.ndarray, "n size"], Float[np.ndarray, " n"]]:
    """Ranks and z-scores of each z given the observed and its own series, and effective draws.

    Args:
        posterior: by the kernel, of the observed series.
        draws: of it.
        z: where the series were simulated.
        series: NaN where the observed one is missing.
    """
    among = draws[evenly(len(draws), min(NUM_RANKED, len(draws)))]
    ranks, scores, sizes = [], [], []
    for point, one in zip(z, series, strict=True):
        likelihood = posterior.given((one.astype(np.float64),), posterior.inputs).likelihood
        log_w = log_likelihoods(likelihood, among).astype(np.float64)
        weights = np.exp(np.where(np.isnan(log_w), -np.inf, log_w) - np.nanmax(log_w))
        weights /= weights.sum()
        mean = weights @ among
        sd = np.sqrt(weights @ (among - mean) ** 2) + 1e-12
        equal = 0.5 * (weights @ (among == point))
        ranks.append(weights @ (among < point) + equal)
        scores.append((point - mean) / sd)
        sizes.append(float(resampling.ess(weights)))
    return np.array(ranks), np.array(scores), np.array(sizes)


def check_local(
    posterior: Posterior,
    draws: Float[np.ndarray, "m size"],
    z: Float[np.ndarray, "n size"],
    series: Float[np.ndarray, "n T d_y"],
) -> Verdict:
    """Calibration at the posterior: uniform ranks, z-scores of mean 0 and sd 1."""
    whole = np.isfinite(series).all(axis=(1, 2))
    gaps = np.isnan(posterior.panel[0])
    series = np.where(gaps, np.nan, series)[whole]
    ranks, scores, sizes = local_ranks(posterior, draws, z[whole], series)
    p = adjusted(pit_ecdf(column.clip(0.0, 1.0)).p_value for column in ranks.T)
    bias = float(np.abs(scores.mean(axis=0)).max())
    spread = scores.std(axis=0)
    worst = float(spread[np.argmax(np.abs(np.log(spread)))])
    level = by_p_value(p)
    sentence = f"Series simulated at the posterior give back their parameters: ranks {spoken(p)}, "
    sentence += f"bias {bias:.2f} sd, errors {worst:.2f} times as large as they should be."
    advice = ""
    if level != "pass":
        how = "too narrow" if worst > NARROW else "too wide" if worst < WIDE else "off centre"
        advice = f"The posterior is {how}: learn from more simulations there, {_how()}."
    figures = {
        "p_value": p,
        "bias": scores.mean(axis=0).tolist(),
        "spread": spread.tolist(),
        "ess": float(np.median(sizes)),
        "series": int(whole.sum()),
    }
    return Verdict("local calibration", level, sentence, advice, figures)


def _how() -> str:
    return remedy(python="result.refine(simulations=..., seed=...)", command="tsnl refine RUN")
