"""The problems and experiments of the paper."""

from tsnl.experiments.entry import reproduce
from tsnl.experiments.problems import LINEAR, PREDATOR_PREY, PROBLEMS, VOLATILITY, Setting
from tsnl.experiments.registry import EXPERIMENTS
from tsnl.experiments.report import write_report

__all__ = [
    "EXPERIMENTS",
    "LINEAR",
    "PREDATOR_PREY",
    "PROBLEMS",
    "VOLATILITY",
    "Setting",
    "reproduce",
    "write_report",
]
