"""What a check says, and all of them together."""

import json
import textwrap
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from tsnl.runtime import html
from tsnl.runtime.table import Table

Level = Literal["pass", "look", "fail"]
LEVELS: tuple[Level, ...] = ("pass", "look", "fail")

# A check with a p-value: in how many right runs of a hundred it may say so.
LOOK_P, FAIL_P = 0.05, 0.01
# A check with a shift of the posterior, in its sds: a 90 % interval that is off by half an sd holds the
# truth in 86 % of the cases, one that is off by a whole sd in 74 %.
LOOK_SHIFT, FAIL_SHIFT = 0.5, 1.0
WIDTH = 100


@dataclass(frozen=True)
class Verdict:
    """One check.

    Attributes:
        name: of the check.
        verdict: "pass", "look" or "fail".
        sentence: what was found.
        remedy: what to do; empty where nothing is needed.
        figures: what it rests on, ready for JSON.
    """

    name: str
    verdict: Level
    sentence: str
    remedy: str
    figures: dict[str, Any]

    @property
    def words(self) -> str:
        """What was found, and what to do."""
        return " ".join(part for part in (self.sentence, self.remedy) if part)

    def _repr_html_(self) -> str:
        return html.card(self.name, html.table(_table([self]), prose=True))


@dataclass(frozen=True)
class Report:
    """All checks of a result.

    Attributes:
        verdicts: one for each check that applies.
        cost: calls of the dynamics that the checks made.
    """

    verdicts: list[Verdict]
    cost: int

    @property
    def worst(self) -> Level:
        """The worst of all verdicts."""
        return max((v.verdict for v in self.verdicts), key=LEVELS.index, default="pass")

    def __getitem__(self, name: str) -> Verdict:
        for verdict in self.verdicts:
            if verdict.name == name:
                return verdict
        raise KeyError(f"{name!r} was not checked; there are {[v.name for v in self.verdicts]}.")

    def __iter__(self) -> Iterator[Verdict]:
        return iter(self.verdicts)

    def to_json(self) -> str:
        """Everything as JSON."""
        return json.dumps({"worst": self.worst, "cost": self.cost, **asdict(self)}, indent=1)

    @staticmethod
    def from_json(text: str) -> "Report":
        """Read what `to_json` wrote.

        Raises:
            ValueError: it is something else.
        """
        try:
            facts = json.loads(text)
            found = Report([Verdict(**verdict) for verdict in facts["verdicts"]], int(facts["cost"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"This is no report of checks: {error!r}.") from error
        for v in found:
            if v.verdict not in LEVELS:
                raise ValueError(f"A verdict is {v.verdict!r}, expected one of {LEVELS}.")
        return found

    def __str__(self) -> str:
        margin = max((len(v.name) for v in self.verdicts), default=0) + 2
        lines = []
        for v in self.verdicts:
            head = f"{v.name:{margin}}{v.verdict.upper() if v.verdict == 'fail' else v.verdict:6}"
            lines += textwrap.wrap(
                v.words, WIDTH, initial_indent=head, subsequent_indent=" " * (margin + 6)
            )
        return "\n".join([*lines, self._cost()])

    __repr__ = __str__

    def _cost(self) -> str:
        return f"The checks made {self.cost:,} calls of the dynamics."

    def _repr_html_(self) -> str:
        table = html.table(_table(self.verdicts), prose=True)
        return html.card(f"{len(self.verdicts)} check(s)", table, html.paragraph(self._cost()))


def _table(verdicts: list[Verdict]) -> Table:
    rows = [[v.name, v.verdict, v.words] for v in verdicts]
    return Table("Checks", ["check", "verdict", "what was found"], rows)


def by_p_value(p: float) -> Level:
    """The verdict on a p-value, already adjusted for the number of tests behind it."""
    return "fail" if p < FAIL_P else "look" if p < LOOK_P else "pass"


def by_shift(shift: float) -> Level:
    """The verdict on a shift of the posterior in its sds; one that is not a number fails."""
    return "pass" if shift < LOOK_SHIFT else "look" if shift < FAIL_SHIFT else "fail"


def adjusted(p_values: Any) -> float:
    """The smallest of some p-values, times their number."""
    p_values = list(p_values)
    return float(min(1.0, len(p_values) * min(p_values)))


def spoken(p: float) -> str:
    """A p-value in a sentence."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"
