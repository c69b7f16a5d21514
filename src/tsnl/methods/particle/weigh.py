"""The right density at many points, and chains on it: in blocks that a run folder keeps."""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from tsnl.likelihood.target import Target, target_of
from tsnl.methods.particle.budget import USUAL, Allotment, Ledger
from tsnl.methods.particle.pilot import Particles, choose_particles
from tsnl.methods.particle.second import Second, kept
from tsnl.problem import Problem
from tsnl.runtime.blocks import by_block
from tsnl.runtime.progress import Progress
from tsnl.runtime.reader import remedy
from tsnl.sampling.defensive import Defensive
from tsnl.sampling.delayed import Walkers, advance
from tsnl.sampling.pseudo_marginal import BLOCK, POINTS, Path, estimates

PILOT = 32  # filter runs that find the variance of the log-likelihood
FEWEST_RUNS = 100  # filter runs below which a budget cannot correct anything
NUM_HOPS = 8  # hops on the proposal between two filter runs of a chain


@dataclass(frozen=True)
class Weigher:
    """Evaluates the right density and pays for it.

    Attributes:
        problem: the question, and where blocks are kept.
        target: the right log-density, exact or estimated.
        chosen: how many particles, and their variance.
        ledger: what it has cost.
        progress: whom to tell.
    """

    problem: Problem
    target: Target
    chosen: Particles
    ledger: Ledger
    progress: Progress

    @staticmethod
    def of(
        key: Key[Array, ""],
        problem: Problem,
        options: Second,
        centre: Float[np.ndarray, " size"],
        num_runs: int,
        progress: Progress,
    ) -> "Weigher":
        """Choose the particles at a central draw, so that a budget still pays for so many runs.

        Raises:
            TypeError: the model has no `log_observation`.
            ValueError: a row is missing in part, or the budget is too small.
        """
        ledger = Ledger(sum(len(one) for one in problem.panel), options.max_cost)
        first = USUAL if options.num_particles == "auto" else options.num_particles
        target = target_of(problem, first)
        if target.num_particles == 0:
            return Weigher(problem, target, Particles(0, 0.0, ""), ledger, progress)
        if ledger.runs(first) < FEWEST_RUNS:
            limit = remedy(python="max_cost", command="--max-cost")
            raise ValueError(
                f"{limit} is {ledger.limit:,}, which pays for {ledger.runs(first)} runs of a filter "
                f"with {first} particles on {ledger.length} rows; at least {FEWEST_RUNS} are needed, "
                f"which cost {FEWEST_RUNS * first * ledger.length:,} calls of the dynamics. Raise it."
            )
        allotted = Allotment(max(num_runs // 100, 1), first, 0, 0, PILOT)
        auto = options.num_particles == "auto"
        chosen = choose_particles(key, target, jnp.asarray(centre), auto, allotted, ledger)
        found = target.with_particles(chosen.num_particles)
        return Weigher(problem, found, chosen, ledger, progress)

    def at(
        self, key: Key[Array, ""], z: Float[np.ndarray, "n size"], name: str = "weigh"
    ) -> Float[np.ndarray, " n"]:
        """The right log-density at many points, each by a filter run of its own.

        Args:
            key: a JAX random key.
            z: the points.
            name: of the blocks in a run folder.
        """
        n = self.target.num_particles
        if n == 0:
            return exact_values(self.target, z)
        parts = []
        for i, begin in enumerate(range(0, len(z), POINTS)):
            part, at = z[begin : begin + POINTS], jax.random.fold_in(key, i)
            parts.append(self._block(at, f"{name}-{i:04d}", part))
            text = f"weigh with {n} particles, cost {self.ledger.cost:,}"
            self.progress.now(begin + len(parts[-1]), text)
        return np.concatenate(parts)

    def first(self, key: Key[Array, ""], z: Float[np.ndarray, "n size"]) -> Float[np.ndarray, " n"]:
        """The same at the first points of all, which must not all be impossible.

        Raises:
            FloatingPointError: they are.
        """
        found = self.at(key, z)
        if not np.isfinite(found).any():
            raise FloatingPointError(
                f"All {len(z)} filters of {self.target.num_particles} particles at the draws collapsed: "
                f"no particle could explain some row of the series. Give more particles, or compare "
                f"simulations at the draws with the series: "
                f"{remedy(python='result.check()', command='tsnl check RUN')}."
            )
        return found

    def _block(
        self, key: Key[Array, ""], name: str, z: Float[np.ndarray, "n size"]
    ) -> Float[np.ndarray, " n"]:
        def make() -> dict[str, np.ndarray]:
            return {"values": estimates(key, self.target, jnp.asarray(z))}

        found = kept(self.problem, name, make, z=z)
        self.ledger.pay(len(z), self.target.num_particles)
        return found["values"].astype(np.float64)

    def affordable(self, wanted: int) -> int:
        """How many of so many filter runs the budget still pays for."""
        return int(min(wanted, self.ledger.runs(self.target.num_particles)))

    def walk(
        self,
        key: Key[Array, ""],
        cheap: Defensive,
        walkers: Walkers,
        num_steps: int,
    ) -> Path:
        """Delayed-acceptance steps from where the chains are, as many as asked for and paid for."""
        count, size = walkers.z.shape
        none = np.zeros((count, 0))
        parts = [Path(np.zeros((count, 0, size)), none, none)]
        for number, begin in enumerate(range(0, num_steps, BLOCK)):
            length = min(BLOCK, num_steps - begin, self.affordable(count * BLOCK) // count)
            if length == 0:
                break
            walkers, part = self._steps(key, cheap, walkers, (number, begin, begin + length))
            parts.append(part)
            text = f"move with {self.target.num_particles} particles, cost {self.ledger.cost:,}"
            self.progress.now(begin + length, text)
        return Path(*(np.concatenate(x, axis=1) for x in zip(*parts, strict=True)))

    def _steps(
        self,
        key: Key[Array, ""],
        cheap: Defensive,
        walkers: Walkers,
        which: tuple[int, int, int],
    ) -> tuple[Walkers, Path]:
        number, begin, end = which
        started = np.asarray(walkers.z)

        def make() -> dict[str, np.ndarray]:
            given = (key, cheap, self.target, walkers, cheap.hop_factor(), begin, end)
            last, steps = advance(*given, num_hops=NUM_HOPS)
            facts = {**steps.path._asdict(), "runs": np.asarray(steps.num_estimates)}
            return facts | {f"last.{k}": np.asarray(v) for k, v in last._asdict().items()}

        found = kept(self.problem, f"move-{number:04d}", make, started=started)
        self.ledger.pay(int(found["runs"]), self.target.num_particles)
        last = Walkers(*(jnp.asarray(found[f"last.{name}"]) for name in Walkers._fields))
        return last, Path(*(found[name] for name in Path._fields))


def middle(z: Float[np.ndarray, "n size"]) -> Float[np.ndarray, " size"]:
    """The draw nearest to the mean."""
    apart = (z - z.mean(axis=0)) / (z.std(axis=0) + 1e-12)
    return z[np.argmin((apart**2).sum(axis=1))]


def exact_values(target: Target, z: Float[np.ndarray, "n size"]) -> Float[np.ndarray, " n"]:
    """A target without particles at many points, in 64 bit."""
    with jax.enable_x64(True):
        return by_block(lambda part: _exact_block(target, part), z.astype(np.float64), 256)


@eqx.filter_jit
def _exact_block(target: Target, z: Float[np.ndarray | Array, "n size"]) -> Float[Array, " n"]:
    unused = jax.random.key(0)
    return jax.lax.map(lambda point: target(unused, point), jnp.asarray(z), batch_size=64)
