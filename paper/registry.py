"""All experiments by name, in the order of the paper."""

from paper.ablation import Ablation
from paper.acf import Acf
from paper.costs import LGSSM, LVSSM, SVSSM
from paper.lag import Lag
from paper.ranks import Ranks
from paper.single import Single
from paper.strategies import Strategies
from paper.streaming import Streaming
from paper.trial import Experiment
from paper.val_loss import ValLoss

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        ValLoss(), Acf(), LGSSM, SVSSM, LVSSM, Ranks(), Strategies(), Single(), Streaming(), Lag(),
        Ablation(),
    )
}  # fmt: skip
