"""All experiments by name, in the order of the paper."""

from tsnl.experiments.ablation import Ablation
from tsnl.experiments.acf import Acf
from tsnl.experiments.costs import LGSSM, LVSSM, SVSSM
from tsnl.experiments.lag import Lag
from tsnl.experiments.ranks import Ranks
from tsnl.experiments.single import Single
from tsnl.experiments.strategies import Strategies
from tsnl.experiments.streaming import Streaming
from tsnl.experiments.trial import Experiment
from tsnl.experiments.val_loss import ValLoss

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for experiment in (
        ValLoss(), Acf(), LGSSM, SVSSM, LVSSM, Ranks(), Strategies(), Single(), Streaming(), Lag(),
        Ablation(),
    )
}  # fmt: skip
