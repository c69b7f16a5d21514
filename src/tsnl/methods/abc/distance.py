"""How far a simulated series is from the observed one."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

Distance = Literal["euclidean", "standardised"] | Callable[..., Any]
NAMES = ("euclidean", "standardised")


@dataclass(frozen=True)
class Measure:
    r"""The distance of each series of a batch from the observed one.

    "euclidean" is \(\sqrt{\sum_i (s_i - o_i)^2}\) over all entries i of a series, or of its summaries.
    "standardised" divides each entry by its spread over prior simulations first, so that summaries in
    different units weigh alike. A function of your own gets one simulated series (T, d_y) and the
    observed one, or their summaries, and returns a number that is not negative. It is called once for
    each series, and so is `summary_fn`. A series that is not finite throughout is infinitely far away
    and reaches neither of the two.

    Attributes:
        distance: which one.
        summary_fn: from a series (T, d_y) to the array that is compared; the series itself where None.
        observed: what the simulations are compared with.
        scale: spread of each entry, where the distance is standardised.
    """

    distance: Distance
    summary_fn: Callable[..., Any] | None
    observed: Any
    scale: Float[np.ndarray, " entries"] | None = None

    @staticmethod
    def of(
        distance: Distance, summary_fn: Callable[..., Any] | None, series: Float[np.ndarray, "T d_y"]
    ) -> "Measure":
        """A measure against one observed series.

        Raises:
            ValueError: the summaries of the observed series are not finite.
        """
        if summary_fn is None:
            return Measure(distance, None, series)
        observed = np.asarray(summary_fn(series))
        if not np.isfinite(observed).all():
            raise ValueError(
                f"summary_fn gives {observed.tolist()} for the observed series, expected finite "
                f"numbers. Check it on the series alone."
            )
        return Measure(distance, summary_fn, observed)

    def fit(self, series: Float[np.ndarray, "n T d_y"]) -> "Measure":
        """The same measure with the spread of prior simulations, where it needs one.

        The spread is the median absolute deviation, which a few wild series cannot move; the standard
        deviation where the former is zero; one where an entry never changes.
        """
        if self.distance != "standardised":
            return self
        entries = self._compared(series[_finite(series)])
        entries = entries[np.isfinite(entries).all(axis=1)]
        if len(entries) == 0:
            return replace(self, scale=np.ones(np.size(self.observed)))
        centre = np.median(entries, axis=0)
        scale = np.median(np.abs(entries - centre), axis=0)
        scale = np.where(scale > 0, scale, entries.std(axis=0))
        return replace(self, scale=np.where(scale > 0, scale, 1.0))

    def __call__(self, series: Float[np.ndarray, "n T d_y"]) -> Float[np.ndarray, " n"]:
        """The distance of each series, infinite where there is none."""
        found = np.full(len(series), np.inf)
        whole = _finite(series)
        if whole.any():
            found[whole] = self._distances(series[whole])
        return np.where(np.isnan(found), np.inf, found)

    def _distances(self, series: Float[np.ndarray, "n T d_y"]) -> Float[np.ndarray, " n"]:
        if callable(self.distance):
            inputs = series if self.summary_fn is None else map(self.summary_fn, series)
            found = np.array([float(self.distance(x, self.observed)) for x in inputs])
            if (found < 0).any():
                raise ValueError(
                    f"The distance function gave {found.min()}, expected numbers of at least 0. "
                    f"Return a distance, not a similarity or a log-density."
                )
            return found
        gap = self._compared(series) - np.ravel(self.observed).astype(np.float64)
        if self.scale is not None:
            gap /= self.scale
        return np.sqrt((gap**2).sum(axis=1))

    def _compared(self, series: Float[np.ndarray, "n T d_y"]) -> Float[np.ndarray, "n entries"]:
        """Series or summaries as rows of numbers."""
        if self.summary_fn is None:
            return series.reshape(len(series), np.size(self.observed)).astype(np.float64)
        size = np.size(self.observed)
        rows = [np.ravel(self.summary_fn(x)) for x in series]
        wrong = next((len(row) for row in rows if len(row) != size), None)
        if wrong is not None:
            raise ValueError(
                f"summary_fn gives {wrong} numbers for a simulated series and {size} for the "
                f"observed one: expected the same number for every series."
            )
        return np.array(rows, dtype=np.float64).reshape(len(series), size)


def check_distance(distance: Any, summary_fn: Any) -> None:
    """Raise where the options of a distance are none."""
    if not callable(distance) and distance not in NAMES:
        raise ValueError(
            f"distance is {distance!r}, expected one of {NAMES} or a function "
            f"(simulated, observed) -> float."
        )
    if summary_fn is not None and not callable(summary_fn):
        raise ValueError(
            f"summary_fn is {summary_fn!r}, expected a function of a series (T, d_y), or None."
        )


def _finite(series: Float[np.ndarray, "n T d_y"]) -> np.ndarray:
    return np.isfinite(series).all(axis=(1, 2))
