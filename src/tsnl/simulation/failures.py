"""A record of the simulations that failed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from tsnl.simulation.chunk import Failure

MOST = 10_000  # failures that are kept one by one


@dataclass(frozen=True)
class FailureLog:
    """Number, parameters and reason of each simulation that failed, the first `MOST` of them."""

    number: tuple[int, ...] = ()
    z: tuple[np.ndarray, ...] = ()
    reason: tuple[str, ...] = ()

    def added(
        self, failures: tuple[Failure, ...], z: Float[np.ndarray, "n size"], first: int
    ) -> "FailureLog":
        """With those of a batch whose first simulation has the number `first`."""
        new = failures[: MOST - len(self.number)]
        return FailureLog(
            (*self.number, *(failure.number for failure in new)),
            (*self.z, *(z[failure.number - first] for failure in new)),
            (*self.reason, *(failure.reason for failure in new)),
        )

    @staticmethod
    def of_arrays(arrays: Mapping[str, np.ndarray]) -> "FailureLog":
        """The record that a result kept."""
        if "failed.number" not in arrays:
            return FailureLog()
        number, z, reason = (arrays[f"failed.{name}"] for name in ("number", "z", "reason"))
        return FailureLog(tuple(number.tolist()), tuple(z), tuple(reason.tolist()))

    def records(
        self, constrain_fn: Callable[[np.ndarray], dict[str, np.ndarray]]
    ) -> list[dict[str, Any]]:
        """One for each: `number`, `theta` by name (as `Prior.constrain_all` gives it), `reason`."""
        if not self.number:
            return []
        theta = constrain_fn(np.stack(self.z))
        return [
            {"number": number, "theta": {k: v[i] for k, v in theta.items()}, "reason": reason}
            for i, (number, reason) in enumerate(zip(self.number, self.reason, strict=True))
        ]

    def arrays(self) -> dict[str, np.ndarray]:
        """To be kept with a result; nothing where nothing failed."""
        if not self.number:
            return {}
        return {
            "failed.number": np.array(self.number, dtype=np.int64),
            "failed.z": np.stack(self.z),
            "failed.reason": np.array(self.reason, dtype=np.str_),
        }
