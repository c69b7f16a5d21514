"""Did the sampler do its work?"""

import numpy as np
from jaxtyping import Float

from tsnl.checks.verdict import Level, Verdict
from tsnl.runtime.reader import remedy
from tsnl.sampling.diagnostics import ess as sampler_ess
from tsnl.sampling.diagnostics import r_hat as sampler_r_hat

# R-hat as in Vehtari et al. (2021), with room for the noise of short chains; an effective sample size of
# 100 puts the error of a mean at a tenth of an sd, 400 at a twentieth.
LOOK_R_HAT, FAIL_R_HAT = 1.03, 1.1
LOOK_EFFECTIVE, FAIL_EFFECTIVE = 400, 100
FAIL_DIVERGENT = 0.01


def check_sampler(z: Float[np.ndarray, "chain draw size"], num_divergent: int = 0) -> Verdict:
    """R-hat and effective sample size of the draws, and divergences; copies do not count twice.

    Any divergence of NUTS is worth a look, more than one in a hundred steps a failure: the draws may
    miss where the posterior bends sharply.
    """
    r_hat = float(sampler_r_hat(z).max()) if z.shape[1] >= 4 else 1.0
    distinct = len(np.unique(z.reshape(-1, z.shape[-1]), axis=0))
    effective = float(min(sampler_ess(z).min(), distinct))
    level: Level = "pass"
    share = num_divergent / (z.shape[0] * z.shape[1])
    if not (r_hat <= LOOK_R_HAT and effective >= LOOK_EFFECTIVE and share == 0):
        level = "look"
    if not (r_hat <= FAIL_R_HAT and effective >= FAIL_EFFECTIVE and share <= FAIL_DIVERGENT):
        level = "fail"
    sentence = f"R-hat is {r_hat:.3f} and the effective sample size {effective:.0f}"
    sentence += f"; {num_divergent} steps diverged." if num_divergent else "."
    what_to_do = ""
    if share > 0:
        other = _sampler("transition", "elliptical_slice")
        what_to_do = f"Use another sampler ({other}), or look at the prior's tails."
    elif level != "pass":
        more = 2 * z.shape[1]
        what_to_do = f"Draw more, {more:,} per chain: {_sampler('num_draws', more)}."
    figures = {"r_hat": r_hat, "ess": effective, "divergences": num_divergent}
    return Verdict("sampler", level, sentence, what_to_do, figures)


def _sampler(name: str, value: int | str) -> str:
    return remedy(python=f"sampler=MCMC({name}={value!r})", command=f"--set sampler.{name}={value}")
