"""What the paper says, each claim with the code that measures it in the tables."""

from collections.abc import Callable
from dataclasses import dataclass

from paper import verdicts, verdicts_costs
from paper.compare import Tables
from paper.verdicts_costs import Measured


@dataclass(frozen=True)
class Claim:
    """A claim.

    Attributes:
        key: a short name that stays, under which `reasons.REASONS` may have a word on it.
        experiment: whose table and figure it is about.
        text: what the paper says, in our words.
        measure: from all tables to the measurement and the verdict.
        problem: the only one of the experiment's that it is about, if there is one.
    """

    key: str
    experiment: str
    text: str
    measure: Callable[[Tables], Measured]
    problem: str = ""


CLAIMS = (
    Claim("val-loss", "val-loss", "SNL's validation loss grows with T, T-SNL's stays or falls",
          verdicts.loss_grows),
    Claim("acf", "acf", "autocorrelations fade, so that a short lag is enough",
          verdicts.autocorrelation_fades),
    Claim("lgssm-ahead", "lgssm", "linear: T-SNL is good with far fewer simulations than the others",
          verdicts_costs.ahead("lgssm", "linear")),
    Claim("lgssm-snl", "lgssm", "linear: T-SNL needs a fraction of SNL's simulations",
          verdicts_costs.cheaper_than_snl("lgssm", "linear")),
    Claim("lgssm-pmmh", "lgssm", "linear: BPF-MCMC has the best E_KDE, at a much higher cost",
          verdicts_costs.particle_best),
    Claim("ranks", "ranks", "linear: T-SNL's ranks are the most even of the four methods",
          verdicts.ranks_even),
    Claim("svssm-ahead", "svssm", "volatility: T-SNL has the best error at equal cost",
          verdicts_costs.ahead("svssm", "volatility"), "volatility"),
    Claim("svssm-snl", "svssm", "volatility: as accurate as SNL with significantly fewer simulations",
          verdicts_costs.cheaper_than_snl("svssm", "volatility"), "volatility"),
    Claim("svssm-abc", "svssm", "volatility: SMC-ABC's E_KDE is high at small budgets and improves",
          verdicts_costs.abc_improves("svssm", "volatility", "kde"), "volatility"),
    Claim("svssm-pmmh", "svssm", "volatility: BPF-MCMC is tightly clustered with a persistent bias",
          verdicts_costs.particle_biased("svssm", "volatility"), "volatility"),
    Claim("svssm-wide", "svssm", "volatility: SMC-ABC's spread is well above SNL's and T-SNL's",
          verdicts_costs.abc_wider, "volatility"),
    Claim("svssm-3", "svssm", "three assets: T-SNL's efficiency persists as models grow",
          verdicts_costs.ahead("svssm", "volatility-3"), "volatility-3"),
    Claim("svssm-5", "svssm", "five assets: T-SNL's efficiency persists as models grow",
          verdicts_costs.ahead("svssm", "volatility-5"), "volatility-5"),
    Claim("lvssm-ahead", "lvssm", "predator-prey: T-SNL has the best error at equal cost",
          verdicts_costs.ahead("lvssm", "predator-prey")),
    Claim("lvssm-abc", "lvssm", "predator-prey: SMC-ABC gets similar as its cost grows",
          verdicts_costs.abc_improves("lvssm", "predator-prey", "distance", similar=1.5)),
    Claim("lvssm-snl", "lvssm", "predator-prey: SNL does not improve with more simulations",
          verdicts_costs.snl_stuck),
    Claim("lvssm-pmmh", "lvssm", "predator-prey: BPF-MCMC is confident and biased",
          verdicts_costs.particle_biased("lvssm", "predator-prey")),
    Claim("kde-bound", "lgssm", "E_min bounds E_KDE from below", verdicts.kde_bounded),
    Claim("single-run", "single", "in some cases a single simulation is enough",
          verdicts.one_run_enough),
    Claim("single", "single", "T-SNL can do with one simulation a round", verdicts.one_a_round_enough),
    Claim("streaming", "streaming", "the kernel takes new rows without training again",
          verdicts.streams),
    Claim("strategies", "strategies", "simulations to learn from: all, last or best",
          verdicts.strategies_differ),
    Claim("lag", "lag", "the autocorrelation function is a rule of thumb for L", verdicts.acf_rule),
    Claim("ablation", "ablation", "a 5 x 5 x 32 MAF is the best trade-off of size and performance",
          verdicts.paper_recipe),
)  # fmt: skip
