"""The problems and experiments of the paper."""

from paper.entry import reproduce
from paper.problems import LINEAR, PREDATOR_PREY, PROBLEMS, VOLATILITY, Setting
from paper.registry import EXPERIMENTS
from paper.report import write_report

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
