"""A forecast as a table and a picture."""

import csv
import io
from pathlib import Path

from tsnl.predict.forecast import Forecast
from tsnl.store.files import write_text

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


def write_forecast(found: Forecast, path: Path) -> tuple[Path, Path]:
    """A row for each step and column, with mean and quantiles; and the picture beside it.

    Returns:
        The table and the picture.
    """
    import matplotlib.pyplot as plt  # slow to import

    mean, quantiles = found.mean(), found.quantiles(LEVELS)
    start = len(found.series) + 1
    names = found.columns or [j + 1 for j in range(mean.shape[1])]
    path.parent.mkdir(parents=True, exist_ok=True)
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["t", "column", "mean", *(f"q{100 * level:02.0f}" for level in LEVELS)])
    for i in range(len(mean)):
        for j in range(mean.shape[1]):
            values = (mean[i, j], *quantiles[:, i, j])
            writer.writerow([start + i, names[j], *(f"{value:.6g}" for value in values)])
    write_text(path, table.getvalue())
    picture = path.with_suffix(".png")
    plt.close(found.plot(path=picture))
    return path, picture
