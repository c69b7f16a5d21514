"""The sentences of docs/peers.md that figures do not change."""

HEAD = """# Beside other packages

Every package answered the same questions: the same observed series, the same priors, the same
simulator, each in an environment of its own, one thread, default settings as its own tutorial has
them. What was done beyond its tutorial is said in its script under `benchmarks/peers/`. The prior is
given to all others in coordinates where it is exactly standard normal, and networks are given series
on an asinh scale; both make their task easier. The figure of merit is the sliced Wasserstein distance
to a reference posterior, in its standard deviations (0 is perfect); tables show medians over seeds,
and a failure counts as infinitely far. **Of {planned} planned trials {rows} have been run
(`benchmarks/peers/trials.csv`); what is not in a table has not been run.** The paper's three problems
have another series for every seed, the others one series. Earthquakes is a real series, annual counts
from 1900 to 2006.

Seconds are processor seconds on one core: training, sampling and simulating, without imports. tsnl's
simulations and what it compiles are inside its clock; what was drawn from the prior once, as data for
all, is not counted against anybody else. Particle filters (particles, pypomp) need the density of an
observation, which the others do not use; their simulations are calls of the dynamics divided by the
length of the series, and they are given 100,000 where the others are given 100.

![Distance to the reference against simulations and against seconds](images/peers.png)"""

FOOT = """## To make it again

    python -m benchmarks.peers.run                       # goes on where it was
    python -m benchmarks.peers.run --only tsnl --again   # one package anew
    python -m benchmarks.peers.page                      # this page and its figure"""

_FILTER = (
    "it uses the density of an observation, and is exact in the limit: where a density exists and the "
    "dynamics are cheap, it is the method of choice, and its seconds say so."
)
WHY = {
    "sbi NPE": (
        "one pass of a network from series to posterior, without MCMC: what it learns does not pass "
        "through a likelihood, whose errors add up over the rows."
    ),
    "sbi NLE": "it learns the density of the whole series at once, enough for short smooth series.",
    "sbi SNPE": "like NPE, with its simulations where the posterior is.",
    "sbi SNLE": "like NLE, with its simulations where the posterior is.",
    "bayesflow NPE": (
        "a convolutional and recurrent network made for time series reads the whole series at once; "
        "with enough simulations it needs no assumption on how far back a row looks."
    ),
    "pyabc SMC-ABC": "its wide posteriors lose least where the series says little.",
    "particles PMMH": _FILTER,
    "particles SMC2": _FILTER,
    "sbijax SNLE": "like sbi's SNLE, with gradient-based sampling.",
    "pypomp PMCMC": _FILTER,
}
