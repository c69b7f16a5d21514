"""Plain JSON for the few kinds of objects that a saved run is made of; nothing is ever unpickled.

A name in a file can only pick from fixed tables of classes, and only their declared arguments.
"""

import inspect
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist

from tsnl.kernel import MAF, Mixture, Spline
from tsnl.kernel.training import Training
from tsnl.methods import METHODS
from tsnl.models import LinearGaussian, LotkaVolterra, StochasticVolatility
from tsnl.problem.prior import Prior
from tsnl.sampling import MCMC

OPTIONS = {c.__name__: c for c in (*METHODS, MAF, Mixture, Spline, MCMC, Training)}
MODELS = {c.__name__: c for c in (LinearGaussian, LotkaVolterra, StochasticVolatility)}


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


def encode(value: Any) -> Any:
    """A value as JSON: numbers, text, lists, arrays, options, models and distributions."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple | list):
        return {"tuple": [encode(item) for item in value]}
    if isinstance(value, np.ndarray | np.generic | jax.Array):
        return {"array": np.asarray(value, dtype=np.float64).tolist()}
    if isinstance(value, dist.Distribution):
        return _encode_distribution(value)
    name = type(value).__name__
    if is_dataclass(value) and OPTIONS.get(name) is type(value):
        members = {f.name: getattr(value, f.name) for f in fields(value)}
        return {"class": name, "fields": {k: _encode_option(v) for k, v in members.items()}}
    if is_dataclass(value) and MODELS.get(name) is type(value):
        return {"class": name, "fields": {f.name: encode(getattr(value, f.name)) for f in fields(value)}}
    raise NotSavableError(f"{name} has no plain form to save.")


def _encode_option(value: Any) -> Any:
    """An option as JSON; of a function, its name alone."""
    if isinstance(value, Unsaved):
        return {"function": value.name}
    if callable(value) and OPTIONS.get(type(value).__name__) is not type(value):
        return {"function": str(getattr(value, "__name__", type(value).__name__))}
    return encode(value)


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
    if kinds == {"array"}:
        return np.asarray(value["array"], dtype=np.float64)
    if kinds == {"class", "fields"}:
        known = {**OPTIONS, **MODELS}
        if value["class"] not in known:
            raise ValueError(f"the unknown class {value['class']!r}")
        return known[value["class"]](**{k: decode(v) for k, v in value["fields"].items()})
    if kinds == {"function"}:
        return Unsaved(str(value["function"]))
    if kinds == {"distribution", "arguments"}:
        return _decode_distribution(value)
    raise ValueError(f"the unknown form {sorted(kinds)}")


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


def encode_prior(prior: Prior) -> list[dict[str, Any]]:
    """A prior as JSON; NotSavableError where a distribution has no plain form."""
    return [{"names": list(names), **encode(d)} for names, d in prior.distributions]


def decode_prior(sites: list[dict[str, Any]]) -> Prior:
    """The other way."""
    pairs = [(tuple(s["names"]), {k: v for k, v in s.items() if k != "names"}) for s in sites]
    joint = {names: decode(d) for names, d in pairs if len(names) > 1}
    alone = {names[0]: decode(d) for names, d in pairs if len(names) == 1}
    return Prior(joint, **alone)
