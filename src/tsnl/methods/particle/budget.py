"""How particle MCMC counts its calls of the dynamics, and how it divides a budget of them."""

from dataclasses import dataclass

FEWEST = 16  # particles that "auto" starts from where the budget is small
USUAL = 100  # particles that "auto" starts from elsewhere
LEAST_RUNS = 60  # filter runs below which there is nothing to learn from a chain
CHAIN_RUNS = 250  # filter runs that one more chain must be worth
GROUP = 8  # starting points and pilot runs come in multiples of it: few sizes to compile for


@dataclass
class Ledger:
    """Calls of the dynamics so far: T x particles for every run of the filter.

    Attributes:
        length: T.
        limit: most calls, None without a budget.
        cost: calls so far.
    """

    length: int
    limit: int | None
    cost: int = 0

    def pay(self, num_runs: int, num_particles: int) -> None:
        """Count runs of the filter."""
        self.cost += num_runs * num_particles * self.length

    def runs(self, num_particles: int) -> int:
        """How many more runs the budget allows; a filter without particles costs nothing."""
        if self.limit is None or num_particles == 0:
            return 10**12
        return (self.limit - self.cost) // (num_particles * self.length)


@dataclass(frozen=True)
class Allotment:
    """What comes before the number of particles is known.

    Attributes:
        num_chains: chains side by side.
        num_particles: particles of the first filters.
        num_starts: prior draws to pick the starting points from.
        num_search: steps of each chain to find the posterior's mass.
        num_pilot: runs to find the variance of the log-likelihood.
    """

    num_chains: int
    num_particles: int
    num_starts: int
    num_search: int
    num_pilot: int


def allot(num_chains: int, num_warmup: int, num_particles: int | str, ledger: Ledger) -> Allotment:
    """Divide a budget: a tenth for the starting points, a seventh for the search, little for the pilot.

    Raises:
        ValueError: it is too small to run at all.
    """
    auto = isinstance(num_particles, str)
    first = USUAL if isinstance(num_particles, str) else num_particles
    if ledger.limit is None:
        return Allotment(num_chains, first, 64, num_warmup // 2, 32)
    if auto:
        first = min(USUAL, max(FEWEST, ledger.runs(1) // 1000))
    runs = ledger.runs(first)
    if runs < LEAST_RUNS:
        remedy = "Raise it" if auto or first == 1 else "Raise it, or lower num_particles"
        raise ValueError(
            f"max_cost is {ledger.limit:,}, which pays for {runs} runs of a filter with {first} "
            f"particles on {ledger.length} rows; at least {LEAST_RUNS} are needed, which cost "
            f"{LEAST_RUNS * first * ledger.length:,} calls of the dynamics. {remedy}."
        )
    chains = min(num_chains, max(1, runs // CHAIN_RUNS))
    return Allotment(
        num_chains=chains,
        num_particles=first,
        num_starts=min(64, max(GROUP, runs // 10 // GROUP * GROUP)),
        num_search=min(num_warmup // 2, runs // 7 // chains),
        num_pilot=min(32, max(GROUP, runs // 25 // GROUP * GROUP)),
    )


def divide(num_warmup: int, num_steps: int, num_chains: int, runs: int) -> tuple[int, int]:
    """Steps of warm-up and of drawing for each chain, within so many filter runs."""
    each = runs // num_chains
    if each >= num_warmup + num_steps:
        return num_warmup, num_steps
    warmup = min(num_warmup, each * 3 // 10)
    return warmup, min(num_steps, each - warmup)


def most_particles(num_chains: int, first: int, ledger: Ledger) -> int:
    """The most particles that still leave each chain a hundred steps, never fewer than the first."""
    return max(first, ledger.runs(1) // (100 * num_chains))
