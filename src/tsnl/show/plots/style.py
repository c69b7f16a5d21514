"""The one style of all pictures."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Palette:
    """Colours by what they show.

    Attributes:
        paper: behind everything.
        ink: text, axes and what is given.
        faint: what is only there to compare with, such as a prior.
        main: what was found.
        truth: what is right: a true value or an exact answer.
        band: where a right answer may lie by chance.
        alert: what lies outside.
    """

    paper: str
    ink: str
    faint: str
    main: str
    truth: str
    band: str
    alert: str


ABOVE: Any = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "borderaxespad": 0.2}  # a legend
LIGHT = Palette("#ffffff", "#333333", "#a0a0a0", "#1f6feb", "#d1242f", "#dbe4f0", "#a84300")
DARK = Palette("#12161c", "#d7dbe0", "#7d8590", "#6cb0ff", "#ff7b72", "#2b3644", "#ffa94d")


def saved(figure: Any, path: str | Path | None) -> Any:
    """The figure, written to a path where one is given."""
    if path is not None:
        figure.savefig(path, dpi=150)
    return figure


@contextmanager
def style(dark: bool = False) -> Iterator[Palette]:
    """Draw in the one style inside this context, on light or dark paper; yields its colours."""
    import matplotlib as mpl  # slow to import
    from cycler import cycler

    palette = DARK if dark else LIGHT
    ink = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
    settings: Any = {
        **dict.fromkeys(ink, palette.ink),
        **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), palette.paper),
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": "medium",
        "axes.prop_cycle": cycler(color=[palette.main, palette.truth, palette.faint]),
        "legend.frameon": False,
        "legend.fontsize": "small",
        "font.size": 10.0,
    }
    with mpl.rc_context(settings):
        yield palette
