"""Did the sampler do its work?"""

import numpy as np
from jaxtyping import Float

from tsnl.diagnostics.verdict import Level, Verdict
from tsnl.sampling.diagnostics import effective_sizes, split_r_hat

# R-hat as in Vehtari et al. (2021), with room for the noise of short chains; an effective size of 100
# puts the error of a mean at a tenth of an sd, 400 at a twentieth.
LOOK_R_HAT, FAIL_R_HAT = 1.03, 1.1
LOOK_EFFECTIVE, FAIL_EFFECTIVE = 400, 100


def check_sampler(z: Float[np.ndarray, "chain draw size"]) -> Verdict:
    """R-hat and effective size of the draws; draws that are copies of each other do not count twice."""
    r_hat = float(split_r_hat(z).max()) if z.shape[1] >= 4 else 1.0
    distinct = len(np.unique(z.reshape(-1, z.shape[-1]), axis=0))
    effective = float(min(effective_sizes(z).min(), distinct))
    level: Level = "pass"
    if not (r_hat <= LOOK_R_HAT and effective >= LOOK_EFFECTIVE):
        level = "look"
    if not (r_hat <= FAIL_R_HAT and effective >= FAIL_EFFECTIVE):
        level = "fail"
    sentence = f"R-hat is {r_hat:.3f} and the effective size {effective:.0f}."
    draws = 2 * z.shape[1]
    remedy = "" if level == "pass" else f"Sample for longer: {draws:,} draws a chain."
    return Verdict("sampler", level, sentence, remedy, {"r_hat": r_hat, "effective": effective})
