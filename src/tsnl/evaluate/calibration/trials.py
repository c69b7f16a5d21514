r"""Simulation-based calibration: truths from the prior, a series of each, and draws given the series.

.. math::
    \theta_0 \sim p(\theta), \quad y \sim p(y \mid \theta_0), \quad
    \theta_1, \dots, \theta_L \sim q(\theta \mid y).

Where q is the posterior, truth and draws are exchangeable given y, and the truth's rank among the draws
is uniform on 0..L (Talts et al., 2018). A trial whose series cannot be used is dropped: that depends on
y alone, so that the other ranks stay uniform.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Int, Key

from tsnl.inference import infer
from tsnl.methods.api import Method
from tsnl.posterior import Posterior
from tsnl.problem.draws import evenly
from tsnl.problem.prior import Prior
from tsnl.result import Result
from tsnl.runtime.progress import progress_for
from tsnl.runtime.seeds import key_of
from tsnl.sampling.diagnostics import ess
from tsnl.simulation import as_simulator, simulate

PosteriorDraws = Callable[[Key[Array, ""], Float[np.ndarray, "T d_y"]], Mapping[str, Any] | Result]
DENSITY = "log density"  # the name of its ranks, beside those of the coordinates


@runtime_checkable
class Setting(Protocol):
    """A model, a prior over some of its parameters, and the length of a series."""

    @property
    def model(self) -> Any: ...  # noqa: D102
    @property
    def prior(self) -> Prior: ...  # noqa: D102
    @property
    def length(self) -> int: ...  # noqa: D102


class Triple(NamedTuple):
    """A setting from its parts."""

    model: Any
    prior: Prior
    length: int


@dataclass(frozen=True)
class Trials:
    """Truths, and thinned draws given the series of each.

    Attributes:
        labels: a name for each coordinate.
        numbers: which trials these are.
        truth: coordinates drawn from the prior.
        draws: nearly independent draws given the series of each truth.
        references: further coordinates from the prior, for `tarp`.
        scale: half of the prior's central 68 % in each coordinate.
        density_ranks: rank of the truth's posterior density among the draws'; None where the method
            has no density.
        ess: smallest effective sample size of the draws before thinning.
        dropped: trials whose series failed or is constant.
    """

    labels: tuple[str, ...]
    numbers: Int[np.ndarray, " trial"]
    truth: Float[np.ndarray, "trial size"]
    draws: Float[np.ndarray, "trial L size"]
    references: Float[np.ndarray, "trial size"]
    scale: Float[np.ndarray, " size"]
    density_ranks: Int[np.ndarray, " trial"] | None
    ess: Float[np.ndarray, " trial"]
    dropped: tuple[int, ...]

    @property
    def num_draws(self) -> int:
        """L, the draws of each trial."""
        return self.draws.shape[1]

    def ranks(self) -> dict[str, Int[np.ndarray, " trial"]]:
        r"""Label to \(r = \#\{l : \theta_l < \theta_0\}\), and the density's ranks where it has some."""
        values = np.sum(self.draws < self.truth[:, None], axis=1)
        found = {label: values[:, i] for i, label in enumerate(self.labels)}
        return found if self.density_ranks is None else {**found, DENSITY: self.density_ranks}

    @staticmethod
    def join(parts: Sequence["Trials"]) -> "Trials":
        """Trials of several calls with one seed, in the order of their numbers."""
        numbers = np.concatenate([part.numbers for part in parts])
        if len(np.unique(numbers)) < len(numbers):
            raise ValueError("A trial is in two parts: its ranks would count twice.")
        order = np.argsort(numbers)
        names = ["numbers", "truth", "draws", "references", "ess"]
        if all(part.density_ranks is not None for part in parts):
            names.append("density_ranks")
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts])[order] for name in names
        }
        dropped = tuple(sorted(i for part in parts for i in part.dropped))
        return replace(parts[0], **{"density_ranks": None, "dropped": dropped, **joined})


def ranks(
    setting: Setting | tuple[Any, Prior, int],
    method: Method | None = None,
    trials: int | Iterable[int] = 100,
    seed: int = 0,
    **options: Any,
) -> dict[str, Int[np.ndarray, " trial"]]:
    """Ranks of the truth, by coordinate; arguments are those of `run_trials`."""
    return run_trials(setting, method, trials, seed, **options).ranks()


def run_trials(
    setting: Setting | tuple[Any, Prior, int],
    method: Method | None = None,
    trials: int | Iterable[int] = 100,
    seed: int = 0,
    *,
    num_draws: int = 99,
    posterior_draws: PosteriorDraws | None = None,
    progress: bool = True,
) -> Trials:
    """Draw truths, simulate a series of each, and infer.

    Trial i depends on the seed and on i alone, not on which trials run beside it.

    Args:
        setting: a `paper.Setting`, or (model, prior, length).
        method: what to check; it is run anew for each trial. `TSNL()` where None.
        trials: how many, or which.
        seed: one integer.
        num_draws: L, how many draws of each trial are kept, as far apart as they can be.
        posterior_draws: draws given a key and a series, name to array (chain, draw, *event), in place of
            a method: where one trained posterior serves every series.
        progress: show a bar where there is a terminal.
    """
    if method is not None and posterior_draws is not None:
        raise ValueError("Both method and posterior_draws are given: one of them makes the draws.")
    setting = setting if isinstance(setting, Setting) else Triple(*setting)
    setting = Triple(as_simulator(setting.model), setting.prior, setting.length)
    draws_fn = posterior_draws or refit(setting.model, setting.prior, method)
    wanted = list(range(trials)) if isinstance(trials, int) else list(trials)
    key = key_of(seed)
    rows: list[dict[str, Any]] = []
    watcher = progress_for(progress)
    watcher.start("calibration", len(wanted))
    try:
        for done, i in enumerate(wanted):
            watcher.now(done, f"trial {i}")
            row = _trial(jax.random.fold_in(key, i), setting, draws_fn, num_draws)
            rows += [] if row is None else [{"numbers": i, **row}]
    finally:
        watcher.close()
    return _gather(setting.prior, rows, wanted, num_draws)


def refit(model: Any, prior: Prior, method: Method | None) -> PosteriorDraws:
    """Run a method anew for every series."""

    def run(key: Key[Array, ""], series: Float[np.ndarray, "T d_y"]) -> Result:
        return infer(model, prior, series, method, seed=seed_of(key), progress=False)

    return run


def seed_of(key: Key[Array, ""]) -> int:
    """An integer for what takes a seed."""
    return int(jax.random.randint(key, (), 0, np.iinfo(np.int32).max))


def thin(draws: Float[np.ndarray, "chain draw ..."], num_draws: int) -> Float[np.ndarray, "L ..."]:
    """So many draws, evenly spread over all chains laid end to end."""
    flat = draws.reshape(-1, *draws.shape[2:])
    if len(flat) < num_draws:
        raise ValueError(f"There are {len(flat)} draws, {num_draws} were asked for: lower num_draws.")
    return flat[evenly(len(flat), num_draws)]


def _trial(
    key: Key[Array, ""], setting: Setting, draws_fn: PosteriorDraws, num_draws: int
) -> dict[str, Any] | None:
    """One row of `Trials`; None where the series cannot be used."""
    prior = setting.prior
    keys = jax.random.split(key, 4)
    theta = prior.sample(keys[0])
    batch = {name: np.asarray(value)[None] for name, value in theta.items()}
    series = simulate(keys[1], setting.model, batch, setting.length).series[0].astype(np.float64)
    if not np.isfinite(series).all() or (np.ptp(series, axis=0) == 0).any():
        return None
    found = draws_fn(keys[2], series)
    draws = found.draws if isinstance(found, Result) else found
    values = np.asarray(prior.coordinates(draws), dtype=np.float64)
    flat = values.reshape(-1, prior.size)
    row = {
        "truth": np.asarray(prior.coordinates(theta), dtype=np.float64),
        "draws": thin(values, num_draws),
        "references": np.asarray(prior.coordinates(prior.sample(keys[3])), dtype=np.float64),
        # repeated draws, as of resampled particles, do not show in an autocorrelation
        "ess": float(np.fmin(ess(values).min(), len(np.unique(flat, axis=0)))),
    }
    if (
        isinstance(found, Result)
        and found.posterior is not None
        and not np.isnan(found.log_density).any()
    ):
        density = float(_density(found.posterior, theta))
        row["density_ranks"] = int(np.sum(thin(found.log_density, num_draws) < density))
    return row


@eqx.filter_jit
def _density(posterior: Posterior, theta: dict[str, Array]) -> Float[Array, ""]:
    return posterior(posterior.prior.unconstrain(theta))


def _gather(prior: Prior, rows: list[dict[str, Any]], wanted: list[int], num_draws: int) -> Trials:
    if not rows:
        raise ValueError(f"None of the {len(wanted)} simulated series can be used: check the prior.")
    names = ["numbers", "truth", "draws", "references", "ess"]
    arrays = {name: np.stack([row[name] for row in rows]) for name in names}
    has_density = all("density_ranks" in row for row in rows)
    few = int(np.sum(arrays["ess"] < num_draws))
    if few:
        warnings.warn(
            f"{few} of {len(rows)} trials had fewer than {num_draws} effective draws: their ranks are "
            f"of correlated draws. Lower num_draws or sample longer.",
            stacklevel=3,
        )
    spread = np.asarray(prior.coordinates(prior.sample(jax.random.key(0), 2000)), dtype=np.float64)
    return Trials(
        labels=prior.labels,
        scale=np.diff(np.quantile(spread, [0.16, 0.84], axis=0), axis=0)[0] / 2,
        density_ranks=np.array([row["density_ranks"] for row in rows]) if has_density else None,
        dropped=tuple(i for i in wanted if i not in set(arrays["numbers"].tolist())),
        **arrays,
    )
