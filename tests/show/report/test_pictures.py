import matplotlib as mpl
import matplotlib.pyplot as plt

from tsnl.show.report.pictures import take


def test_names_in_pictures_are_text_and_nothing_is_left_behind():
    """A dollar sign starts no formula, an unknown glyph raises no warning."""
    before, open_before, seen = dict(mpl.rcParams), plt.get_fignums(), []

    def draw(dark):
        figure, axes = plt.subplots(figsize=(7.0, 2.0))
        seen.append(axes.set_xlabel("$x$ and $\\unknown 参"))
        return figure

    picture = take("x", draw, "alt", "caption")
    assert {name: (i.width, i.height) for name, i in picture.images.items()} == {
        "light": (700, 200),
        "dark": (700, 200),
        "light_narrow": (440, 200),
        "dark_narrow": (440, 200),
    }
    assert len({image.uri for image in picture.images.values()}) == 4
    assert not any(text.get_parse_math() for text in seen)
    assert dict(mpl.rcParams) == before
    assert plt.get_fignums() == open_before
