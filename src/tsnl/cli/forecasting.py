"""A forecast as a table and a picture."""

import csv
import io
from pathlib import Path

from tsnl.predict.forecast import Forecast
from tsnl.store.files import write_text


def write_forecast(found: Forecast, path: Path) -> tuple[Path, Path]:
    """A row for each step and column, with mean and quantiles; and the picture beside it.

    Returns:
        The table and the picture.
    """
    import matplotlib.pyplot as plt  # slow to import

    table, text = found.table(), io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([table.head, *table.rows])
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text.getvalue())
    picture = path.with_suffix(".png")
    plt.close(found.plot(path=picture))
    return path, picture
