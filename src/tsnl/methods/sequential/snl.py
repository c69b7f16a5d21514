"""Sequential neural likelihood of whole series."""

from dataclasses import dataclass
from typing import ClassVar

from tsnl.kernel import MAF, HeadFamily, KernelSpec
from tsnl.kernel.training import Training
from tsnl.methods.sequential.options import Sequential
from tsnl.problem import Problem
from tsnl.store.registry import register


@register
@dataclass(frozen=True, kw_only=True)
class SNL(Sequential):
    r"""Learn one density \(q(y_{1:T} \mid \theta)\) of the whole series, sample, repeat.

    The options of `Sequential`. The rounds are those of `TSNL`: a series is one row of T d_y entries
    that has no past. A series gives one row to learn from instead of T, so training goes over them more
    often, in smaller batches and steps.
    """

    title: ClassVar[str] = "SNL"

    simulations: int = 200
    head: HeadFamily = MAF()
    training: Training = Training(
        num_members=2, num_epochs=300.0, max_steps=4000, batch_size=128, learning_rate=2e-3, patience=10
    )

    def spec(self, problem: Problem, lag: int) -> KernelSpec:
        """The density for a problem; it learns under the inputs, and does not see them."""
        return KernelSpec(
            head=self.head,
            memory=(),
            d_y=problem.length * problem.d_y,
            d_u=0,
            size=problem.prior.size,
            num_members=self.training.num_members,
            whole=True,
            integer=self.integer(problem) * problem.length,
        )
