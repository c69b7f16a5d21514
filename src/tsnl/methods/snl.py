"""Sequential neural likelihood of whole series."""

from dataclasses import dataclass

from tsnl.density import MAF, Family
from tsnl.methods.learning import Plan
from tsnl.methods.sequential import Sequential
from tsnl.problem import Problem


@dataclass(frozen=True, kw_only=True)
class SNL(Sequential):
    r"""Learn one density \(q(y_{1:T} \mid \theta)\) of the whole series, sample, repeat.

    The options of `Sequential`. The rounds are those of `TSNL`: a series is one row of T d_y entries
    that has no past.
    """

    simulations: int = 200
    density: Family = MAF()

    def plan(self, problem: Problem) -> Plan:
        """The options with everything decided."""
        return self.make_plan(problem, "SNL", True, 0, ())
