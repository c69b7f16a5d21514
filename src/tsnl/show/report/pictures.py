"""Pictures inside the page: PNG as data URIs, on light and dark paper, for wide and narrow screens."""

import base64
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tsnl.show.plots import style

PIXELS_PER_INCH = 100  # of the page: letters of 10 points are about as high as those of the text
SHARP = 2.0  # pixels of the picture for each of the page
NARROW = 4.4  # inches: wide enough for a legend, and readable when shrunk to the width of a phone


@dataclass(frozen=True)
class Image:
    """One drawing of a picture: a data URI, and its size in pixels of the page."""

    uri: str
    width: int
    height: int


@dataclass(frozen=True)
class Picture:
    """A picture with what it shows, in words.

    Attributes:
        name: of the picture, a short word.
        alt: what can be read from it, for people who do not see it.
        caption: how to read it.
        images: (light, dark) to (wide, narrow): "light", "dark", "light_narrow", "dark_narrow".
    """

    name: str
    alt: str
    caption: str
    images: dict[str, Image]


def take(name: str, draw: Callable[[bool], Any], alt: str, caption: str) -> Picture:
    """Draw a figure on light and on dark paper, each in two widths.

    Args:
        name: a short word.
        draw: from whether the paper is dark to a matplotlib figure.
        alt: what can be read from it.
        caption: how to read it.
    """
    import matplotlib as mpl  # slow to import
    import matplotlib.pyplot as plt

    images = {}
    # Names of parameters are text: a dollar sign in one of them starts no formula.
    with plt.ioff(), mpl.rc_context({"text.parse_math": False}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # the table has the name in full
        for paper in ("light", "dark"):
            dark = paper == "dark"
            figure = draw(dark)
            with style(dark):  # ticks are made when a figure is drawn, not before
                images[paper] = _image(figure)
                width, height = figure.get_size_inches()
                figure.set_size_inches(min(width, NARROW), _narrow_height(width, height))
                images[f"{paper}_narrow"] = _image(figure)
            plt.close(figure)
    return Picture(name, alt, caption, images)


def _narrow_height(width: float, height: float) -> float:
    """Panels keep their height, while a square stays one."""
    return min(height, NARROW) if width == height else height


def _image(figure: Any) -> Image:
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=SHARP * PIXELS_PER_INCH, metadata={"Software": None})
    uri = "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode()
    width, height = (round(PIXELS_PER_INCH * inches) for inches in figure.get_size_inches())
    return Image(uri, width, height)
