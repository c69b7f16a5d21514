"""Plain JSON for what a saved run is made of: numbers, text, arrays, distributions, registered classes.

A name in a file can only pick from the table of `tsnl.register` and from numpyro's distributions, and
only their declared arguments: nothing is ever unpickled.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist

from tsnl.store.registry import find_kind, registered


class NotSavableError(TypeError):
    """An object that has no plain form."""


@dataclass(frozen=True)
class Unsaved:
    """Stands where a loaded method had a function of the user's own, of which only the name is kept."""

    name: str

    def __call__(self, *_: Any) -> Any:
        """There is nothing to call."""
        raise ValueError(
            f"The function {self.name!r} was not saved with the run, only its name. To use the loaded "
            f"method again, give the function anew, as in dataclasses.replace(method, ...)."
        )


def encode(value: Any, *, functions: bool = False) -> Any:
    """A value as JSON.

    Args:
        value: numbers, text, lists, arrays, distributions, or objects of registered classes.
        functions: whether a function may stand in a field, of which the name alone is kept.

    Raises:
        NotSavableError: it has no plain form.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return {"tuple": [encode(item, functions=functions) for item in value]}
    if isinstance(value, Mapping):
        return {"map": {str(k): encode(v, functions=functions) for k, v in value.items()}}
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        return {"array": np.asarray(value, dtype=np.float64).tolist()}
    if isinstance(value, dist.Distribution):
        return _encode_distribution(value)
    name = type(value).__name__
    if registered(value):
        members = {f.name: getattr(value, f.name) for f in fields(value)}
        members = {k: encode(v, functions=functions) for k, v in members.items()}
        return {"class": name, "fields": members}
    if functions and isinstance(value, Unsaved):
        return {"function": value.name}
    if functions and callable(value) and hasattr(value, "__name__"):
        return {"function": str(value.__name__)}
    raise NotSavableError(
        f"{name} has no plain form to save: decorate the class with @tsnl.register, and give its fields "
        f"plain values."
    )


def decode(value: Any) -> Any:
    """The other way.

    Raises:
        ValueError: a name or a form that is not known.
    """
    if not isinstance(value, dict):
        if isinstance(value, list):
            raise ValueError("a bare list")
        return value
    kinds = set(value)
    if kinds == {"tuple"}:
        return tuple(decode(item) for item in value["tuple"])
    if kinds == {"map"}:
        return {name: decode(item) for name, item in value["map"].items()}
    if kinds == {"array"}:
        return np.asarray(value["array"], dtype=np.float64)
    if kinds == {"class", "fields"}:
        return find_kind(value["class"])(**{k: decode(v) for k, v in value["fields"].items()})
    if kinds == {"function"}:
        return Unsaved(str(value["function"]))
    if kinds == {"distribution", "arguments"}:
        return _decode_distribution(value)
    raise ValueError(f"the unknown form {sorted(kinds)}")


def or_none(encode_fn: Callable[[Any], Any], value: Any) -> Any:
    """The plain form of a value, None where it has none."""
    try:
        return encode_fn(value)
    except NotSavableError:
        return None


def _encode_distribution(value: dist.Distribution) -> dict[str, Any]:
    """Class and constructor arguments, read back from the attributes of the same name."""
    name = type(value).__name__
    if getattr(dist, name, None) is not type(value) or name == "TransformedDistribution":
        raise NotSavableError(f"The distribution {name} has no plain form to save.")
    arguments = {}
    for argument in inspect.signature(type(value).__init__).parameters:
        if argument in ("self", "validate_args"):
            continue
        attribute = getattr(value, argument, None)
        if attribute is not None and (
            isinstance(attribute, dist.Distribution) or not callable(attribute)
        ):
            arguments[argument] = encode(attribute)
    if name == "MultivariateNormal":
        arguments = {k: encode(getattr(value, k)) for k in ("loc", "scale_tril")}
    if name in ("Wishart", "InverseWishart"):
        arguments = {k: encode(getattr(value, k)) for k in ("concentration", "scale_tril")}
    encoded = {"distribution": name, "arguments": arguments}
    try:
        _decode_distribution(encoded)
    except Exception as error:
        raise NotSavableError(f"The distribution {name} has no plain form to save: {error}") from error
    return encoded


def _decode_distribution(value: dict[str, Any]) -> dist.Distribution:
    kind = getattr(dist, str(value["distribution"]), None)
    if not (isinstance(kind, type) and issubclass(kind, dist.Distribution)):
        raise ValueError(f"the unknown distribution {value['distribution']!r}")
    arguments = {k: decode(v) for k, v in value["arguments"].items()}
    allowed = set(inspect.signature(kind.__init__).parameters)
    if not set(arguments) <= allowed:
        raise ValueError(f"unknown arguments {sorted(set(arguments) - allowed)} of {kind.__name__}")
    return kind(
        **{k: v.item() if isinstance(v, np.ndarray) and not v.shape else v for k, v in arguments.items()}
    )
