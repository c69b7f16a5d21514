"""All problems of the zoo, by name."""

from benchmarks.zoo import models_counts, models_dynamics, models_linear, models_noise
from benchmarks.zoo.entry import Entry
from benchmarks.zoo.models_linear import kalman
from paper.problems import LINEAR, PREDATOR_PREY, VOLATILITY

SOURCE = "the paper's own"


def _paper(name, setting, covers, **more):
    return Entry(name, "paper", covers, SOURCE, setting.model, setting.prior, setting.length, **more)


PAPER = (
    _paper("linear", LINEAR, "linear", exact=kalman(LINEAR.model)),
    _paper("volatility", VOLATILITY, "stochastic volatility, two columns", num_particles=500),
    _paper("predator_prey", PREDATOR_PREY, "reactions, oscillator", num_particles=200),
)
ZOO: dict[str, Entry] = {
    entry.name: entry
    for module in (models_counts, models_linear, models_noise, models_dynamics)
    for entry in module.ENTRIES
} | {entry.name: entry for entry in PAPER}
