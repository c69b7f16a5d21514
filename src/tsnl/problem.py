"""The question: a simulator, a prior and an observed series that fit together."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from tsnl.models.base import StateSpaceModel, observation_shape
from tsnl.prior import Prior
from tsnl.series import as_series


@dataclass(frozen=True)
class Problem:
    """A simulator, a prior over some of its parameters, and an observed series, NaN where missing."""

    model: StateSpaceModel
    prior: Prior
    series: Float[np.ndarray, "T d_y"]

    @staticmethod
    def of(model: Any, prior: Any, series: Any) -> "Problem":
        """Check that the three fit together.

        Raises:
            TypeError, ValueError: what does not fit, and the remedy.
        """
        if not isinstance(model, StateSpaceModel):
            raise TypeError(
                f"model is a {type(model).__name__}, expected a tsnl.StateSpaceModel: subclass it and "
                f"write sample_initial, sample_transition and sample_observation."
            )
        if not isinstance(prior, Prior):
            raise TypeError(
                f"prior is a {type(prior).__name__}, expected tsnl.Prior(name=distribution, ...)."
            )
        prior.check_known(model.parameters)
        shape = observation_shape(model)
        checked = as_series(series, num_columns=shape[0] if shape else 1)
        low, high = np.fmin.reduce(checked), np.fmax.reduce(checked)  # NaN left out
        if (low == high).any():
            column = int(np.argmax(low == high))
            raise ValueError(
                f"Column {column} of the series is constant at {low[column]}: a dynamic model "
                f"has nothing to explain in it. Check the data."
            )
        return Problem(model, prior, checked)

    @property
    def length(self) -> int:
        """Number of observed rows T."""
        return len(self.series)
