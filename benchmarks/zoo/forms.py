"""An entry's model as people have it: with all its laws, without a density, or as a function alone."""

from dataclasses import fields
from typing import Any

import numpy as np

import tsnl

FORMS = ("model", "unseen", "box")


def as_form(model: tsnl.StateSpaceModel, form: str) -> Any:
    """The same simulator in another form, so that theta has the same posterior.

    Args:
        model: the model.
        form: "model" as it is; "unseen" without `log_observation`; "box" a function that gives a series
            and says nothing of states.
    """
    if form == "box":
        return _box(model)
    if form == "unseen":
        kind = type(model)
        same = {field.name: getattr(model, field.name) for field in fields(model)}
        return type(kind.__name__, (kind,), {"log_observation": None})(**same)
    return model


def _box(model: tsnl.StateSpaceModel) -> tsnl.BlackBox:
    def simulate(
        rng: np.random.Generator, theta: dict[str, Any], length: int, inputs: Any
    ) -> np.ndarray:
        seed = int(rng.integers(2**31))
        return model.simulate(seed=seed, length=length, theta=theta, inputs=inputs)

    return tsnl.BlackBox(simulate, chunk=64)
