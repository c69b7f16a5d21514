"""How a kernel is fitted: the options, and the number of steps and rows that follow from them."""

import math
from dataclasses import dataclass

from tsnl.runtime.checked import check_fields
from tsnl.store.registry import register

PART = 64
PIECE = 512  # rows that a gradient is made of at a time: what a layer makes of them fits a core's cache


@register
@dataclass(frozen=True)
class Training:
    """How a kernel is fitted.

    Attributes:
        num_members: size of the ensemble, trained side by side; densities are averaged.
        num_epochs: how often each row is seen, which with the limits below gives the number of steps
            of Adam; the step size decays to nothing over them (cosine).
        min_steps, max_steps: limits of the number of steps.
        batch_size: rows in a step, at least; whole series of about as many where memories have weights.
        max_batch_size: rows in a step, at most: one in `PART` of all rows, within these two. Larger
            steps are less noisy, which counts where there are many simulations (decision 0018).
        learning_rate: the largest step size.
        averaging: decay of the moving average of the weights, which is what is kept.
        clip: largest norm of a gradient.
        penalty: strength of the prior over the weights, where the family has one.
        held_out: share of the series that each member is held to, other series for each.
        check_every: steps between two looks at the held-out rows.
        patience: looks without improvement before a stop; the best look is kept. None never stops
            before the step size has decayed, which would cost accuracy (decision 0010).
    """

    num_members: int = 5
    num_epochs: float = 20.0
    min_steps: int = 300
    max_steps: int = 3000
    batch_size: int = 512
    max_batch_size: int = 2048
    learning_rate: float = 5e-3
    averaging: float = 0.98
    clip: float = 5.0
    penalty: float = 1.0
    held_out: float = 0.1
    check_every: int = 50
    patience: int | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        sizes = ("batch_size", "max_batch_size")
        for name in ("num_members", "min_steps", *sizes, "check_every", "patience"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, expected at least 1.")
        if not 0 < self.min_steps <= self.max_steps:
            raise ValueError(
                f"min_steps is {self.min_steps} and max_steps {self.max_steps}: expected 0 < min <= max."
            )
        if not 0 <= self.held_out < 1:
            raise ValueError(f"held_out is {self.held_out}, expected a share between 0 and 1.")
        if not self.learning_rate > 0:
            raise ValueError(f"learning_rate is {self.learning_rate}, expected a positive number.")


def num_looks(num_rows: int, effort: float, options: Training) -> int:
    """How often to look: the number of steps, of the smallest size, over those between two looks.

    A rough fit takes half of the fewest steps at least.
    """
    steps = options.num_epochs * num_rows / options.batch_size
    steps = min(max(steps, options.min_steps), options.max_steps)
    steps = max(effort * steps, options.min_steps / 2)
    return math.ceil(steps / options.check_every)


def rows_in_step(num_rows: int, options: Training) -> int:
    """Of so many rows in all, those in a step of training, in whole pieces."""
    most = max(options.max_batch_size, options.batch_size)
    wanted = min(max(num_rows // PART, options.batch_size), most)
    return wanted - wanted % num_pieces(wanted)


def num_pieces(rows: int) -> int:
    """In how many pieces the gradient of so many rows is made."""
    return max(1, rows // PIECE)
