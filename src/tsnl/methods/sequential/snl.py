"""Sequential neural likelihood of whole series."""

from dataclasses import dataclass

from tsnl.kernel import MAF, Family
from tsnl.kernel.training import Training
from tsnl.methods.sequential.learning import Plan
from tsnl.methods.sequential.options import Sequential
from tsnl.problem import Problem


@dataclass(frozen=True, kw_only=True)
class SNL(Sequential):
    r"""Learn one density \(q(y_{1:T} \mid \theta)\) of the whole series, sample, repeat.

    The options of `Sequential`. The rounds are those of `TSNL`: a series is one row of T d_y entries
    that has no past. A series gives one row to learn from instead of T, so training goes over them more
    often, in smaller batches and steps.
    """

    simulations: int = 200
    density: Family = MAF()
    training: Training = Training(
        num_members=2, num_epochs=300.0, max_steps=4000, batch_size=128, learning_rate=2e-3, patience=10
    )

    def plan(self, problem: Problem) -> Plan:
        """The options with everything decided."""
        return self.make_plan(problem, "SNL", True, 0, ())
