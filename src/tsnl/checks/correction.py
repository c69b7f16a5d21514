"""How far is it from the exact posterior, where the model can tell?"""

from typing import Any

from jaxtyping import Array, Key

from tsnl.checks.verdict import Level, Verdict, by_shift
from tsnl.likelihood.target import has_target
from tsnl.methods.api import Inference
from tsnl.methods.particle.correct import FEWEST, Correct, moved_words
from tsnl.methods.particle.second import BEFORE, draft_of
from tsnl.runtime.progress import Silent
from tsnl.runtime.reader import remedy
from tsnl.sampling.importance import MAX_K_HAT

OFFERED = ("windows", "lag", "budget")  # checks of what a correction mends


def correctable(result: Inference) -> bool:
    """Whether `Result.correct` works on it: densities, a posterior as a function, not corrected yet."""
    there = result.posterior is not None and BEFORE not in result.arrays
    return there and has_target(result.problem)


def check_correction(key: Key[Array, ""], result: Inference, num_draws: int) -> tuple[Verdict, int]:
    """Weigh some draws by the right likelihood, and see where that puts the posterior.

    Args:
        key: a JAX random key.
        result: one that `correctable` is true of.
        num_draws: how many, a filter run each.

    Returns:
        The verdict, and the calls of the dynamics that it took.

    Raises:
        ValueError: fewer draws than weights need.
    """
    if num_draws < FEWEST:
        name = remedy(python="correct", command="--correct")
        raise ValueError(f"{name} is {num_draws}, expected 0, or at least {FEWEST} draws to weigh.")
    method = Correct(num_draws=num_draws, min_ess=1, num_moves=0)
    outcome = method.improve(key, result.problem, draft_of(result), Silent())
    record = outcome.history[-1]
    level = by_shift(max(record["mean_shift"], record["sd_shift"]))
    if level == "pass" and record["k_hat"] > MAX_K_HAT:
        level = "look"
    figures = {name: record[name] for name in ("mean_shift", "sd_shift", "k_hat", "ess", "draws")}
    sentence = f"Corrected by the exact likelihood, {moved_words(record)}; k-hat {record['k_hat']:.2f}, "
    sentence += f"effective size {record['ess']:.0f} of {record['draws']}."
    advice = "" if level == "pass" else f"Take the exact posterior: {_how()}."
    return Verdict("correction", level, sentence, advice, figures), outcome.cost - result.cost


def correction_record(result: Inference) -> dict[str, Any]:
    """The record of the correction of a corrected result."""
    return next(one for one in reversed(result.history) if "reliable" in one)


def weighted(result: Inference) -> bool:
    """Whether the draws are points of a correction picked by weight, and no chains."""
    return BEFORE in result.arrays and "chain_ess" not in correction_record(result)


def check_corrected(result: Inference) -> Verdict:
    """What the correction of a corrected result said of itself."""
    record = correction_record(result)
    level: Level = "pass" if record["reliable"] else "look"
    sentence = f"The draws are corrected by the exact likelihood: {moved_words(record)}; "
    sentence += f"effective size {record.get('chain_ess', record['ess']):.0f}."
    advice = ""
    if level != "pass":
        advice = remedy(
            python="Correct with more draws and moves; result.status says why.",
            command="Correct with more --draws; the status of the run says why.",
        )
    figures = {name: record.get(name) for name in ("mean_shift", "sd_shift", "k_hat", "ess", "r_hat")}
    return Verdict("correction", level, sentence, advice, figures)


def offered(verdicts: list[Verdict]) -> list[Verdict]:
    """The same, with the correction among the remedies of what it mends."""
    more = f" Or take the exact posterior, as the model has densities: {_how()}."
    return [
        Verdict(v.name, v.verdict, v.sentence, v.remedy + more, v.figures)
        if v.name in OFFERED and v.remedy
        else v
        for v in verdicts
    ]


def _how() -> str:
    return remedy(python="result.correct(seed=0)", command="tsnl correct RUN")
