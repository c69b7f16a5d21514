"""What a simulator is, in digests that another process can compute again: code, and what it reaches.

A function is its bytecode, defaults, closure, and the globals it names; so are the functions that it
calls, as far as they are the user's own. An object is its class and its attributes, a
`functools.partial` its arguments. What is installed (the standard library, packages) goes by its name.
Of what cannot be looked into, such as a compiled object, the place is noted as unseen.
"""

import functools
import hashlib
import inspect
import json
import sys
import sysconfig
import types
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tsnl.simulation import HostSimulator
from tsnl.store import codec

DEEPEST = 40  # steps from the simulator that are followed
HOW = {field.name for field in fields(HostSimulator)} - {"parameters"}  # to run it, not what it is
BY_TEXT = {"datetime", "decimal", "enum", "fractions", "pathlib", "re", "typing", "uuid", "zoneinfo"}
OPAQUE = {"_ctypes", "_io", "_random", "_thread", "concurrent", "ctypes", "logging", "multiprocessing",
          "socket", "sqlite3", "subprocess", "threading", "weakref"}  # fmt: skip
INSTALLED = tuple({str(Path(p).resolve()) for p in sysconfig.get_paths().values()})


def fingerprint(value: Any) -> dict[str, Any]:
    """Digests of all that a value is made of, by place, and the places that could not be seen.

    Returns:
        `parts`, from place (such as `simulate.RATE`) to digest; `unseen`, places in order.
    """
    walk = _Walk()
    walk.look(_name(value), value)
    return {"parts": walk.parts, "unseen": sorted(walk.unseen)}


def difference(stored: Any, asked: dict[str, Any]) -> list[str]:
    """The places where two fingerprints differ."""
    one = stored.get("parts", {}) if isinstance(stored, dict) else {}
    other = asked["parts"]
    return sorted(place for place in {*one, *other} if one.get(place) != other.get(place))


class _Walk:
    """Through a value and all that it reaches, each thing once."""

    def __init__(self) -> None:
        self.parts: dict[str, str] = {}
        self.unseen: set[str] = set()
        self.seen: dict[int, tuple[str, Any]] = {}  # also keeps temporary objects, and so their ids
        self.inside: set[int] = set()  # of these containers, to stop at one that holds itself

    def keep(self, place: str, *facts: Any) -> None:
        """Add facts, text or bytes, about a place."""
        found = hashlib.sha256(self.parts.get(place, "").encode())
        for fact in facts:
            data = fact if isinstance(fact, bytes) else str(fact).encode()
            found.update(len(data).to_bytes(8, "big") + data)
        self.parts[place] = found.hexdigest()[:32]

    def look(self, place: str, value: Any) -> None:
        """Take in a value."""
        if value is None or isinstance(value, bool | int | float | complex | str | bytes):
            self.keep(place, type(value).__name__, repr(value))
            return
        if place.count(".") + place.count("[") > DEEPEST:
            self.unseen.add(place[:80])
        elif isinstance(value, Mapping | list | tuple | set | frozenset):
            if id(value) in self.inside:
                return
            self.inside.add(id(value))
            self._items(place, value)
            self.inside.discard(id(value))
        elif isinstance(value, np.ndarray | np.generic | jax.Array):
            self._array(place, value)
        elif id(value) in self.seen:
            self.keep(place, "again", self.seen[id(value)][0])
        else:
            self.seen[id(value)] = (place, value)
            self._thing(place, value)

    def _thing(self, place: str, value: Any) -> None:
        """Something with an identity, for the first time."""
        room = type(value).__module__.partition(".")[0]
        if isinstance(value, functools.partial):
            self.keep(place, "partial")
            for name in ("func", "args", "keywords"):
                self.look(f"{place}.{name}", getattr(value, name))
        elif inspect.ismodule(value):
            self.keep(place, "module", value.__name__)
        elif inspect.ismethod(value):
            self.look(place, value.__func__)
            self.look(f"{place}.self", value.__self__)
        elif inspect.isfunction(value):
            self._function(place, value)
        elif isinstance(value, type):
            self._class(place, value)
        elif callable(inner := getattr(value, "__wrapped__", getattr(value, "py_func", None))):
            self.look(place, inner)  # jit, lru_cache, numba: what they wrap
        elif room == "pandas" and hasattr(value, "to_numpy"):
            self._array(place, value.to_numpy())
            self.look(f"{place}.index", np.asarray(getattr(value, "index", ())))
        elif room in BY_TEXT:
            self.keep(place, room, repr(value))
        elif room in OPAQUE or (inspect.isroutine(value) and _own(value)):
            self.unseen.add(place)
        elif callable(value) and isinstance(getattr(value, "__name__", None), str):
            self.keep(place, "installed", getattr(value, "__module__", ""), value.__name__)
        else:
            self._object(place, value)

    def _array(self, place: str, value: Any) -> None:
        array = np.asarray(jax.random.key_data(value) if _is_key(value) else value)
        if array.dtype.hasobject:
            self.look(place, array.ravel().tolist())
        else:
            self.keep(place, array.dtype, array.shape, np.ascontiguousarray(array).tobytes())

    def _items(self, place: str, value: Any) -> None:
        items = list(value.values() if isinstance(value, Mapping) else value)
        names = list(value) if isinstance(value, Mapping) else list(range(len(items)))
        if isinstance(value, set | frozenset):
            items.sort(key=lambda item: (type(item).__name__, repr(item)))
        self.keep(place, type(value).__name__, len(items))
        plain = [name if isinstance(name, str | int) else type(name).__name__ for name in names]
        if all(item is None or isinstance(item, bool | int | float | str | bytes) for item in items):
            kinds = [type(item).__name__ for item in items]
            self.keep(place, *zip(plain, kinds, items, strict=True))
            return
        for name, item in zip(plain, items, strict=True):
            self.look(f"{place}[{name!r}]", item)

    def _function(self, place: str, function: types.FunctionType) -> None:
        if not _own(function):
            self.keep(place, "function", function.__module__, function.__qualname__)
            return
        self.keep(place, *_code(function.__code__))
        self.look(f"{place}.defaults", (function.__defaults__, function.__kwdefaults__))
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        for name, cell in cells:
            try:
                self.look(f"{place}.{name}", cell.cell_contents)
            except ValueError:  # not filled yet
                self.keep(f"{place}.{name}", "empty")
        names = set(_names(function.__code__))
        for name in sorted(names & set(function.__globals__)):
            found = function.__globals__[name]
            self.look(f"{place}.{name}", found)
            if inspect.ismodule(found) and _own(found):
                for inner in sorted(names & set(vars(found))):
                    self.look(f"{place}.{name}.{inner}", vars(found)[inner])

    def _class(self, place: str, kind: type) -> None:
        self.keep(place, "class", kind.__module__, kind.__qualname__)
        if not _own(kind):
            return
        for base in kind.__bases__:
            self.look(f"{place}.{base.__name__}", base)
        for name, member in sorted(vars(kind).items()):
            if isinstance(member, staticmethod | classmethod):
                member = member.__func__
            if isinstance(member, property):
                member = member.fget
            if not _dull(name, member):
                self.look(f"{place}.{name}", member)

    def _object(self, place: str, value: Any) -> None:
        plain = codec.or_none(codec.encode, value)
        if plain is not None:
            self.keep(place, json.dumps(plain, sort_keys=True))
            return
        self.look(f"{place}.class", type(value))
        names = list(_attributes(value))
        if not names and not _own(type(value)):
            self.unseen.add(place)
        for name in names:
            inner = place if name == "simulate_fn" else f"{place}.{name}"
            self.look(inner, getattr(value, name))


def _dull(name: str, member: Any) -> bool:
    """Whether a member of a class was put there by Python, not written by the user."""
    code = getattr(member, "__code__", None)
    made = name.startswith("__") and code is not None and code.co_filename == "<string>"  # dataclasses
    slot = isinstance(member, types.MemberDescriptorType | types.GetSetDescriptorType)
    ordinary = name in ("__init__", "__call__", "__post_init__")
    return made or slot or (name.startswith(("__", "_abc_")) and not ordinary)


def _attributes(value: Any) -> Iterator[str]:
    """The names of an object's own values; of a simulator, not how it is run."""
    names = {field.name for field in fields(value)} if is_dataclass(value) else set()
    names |= set(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        names |= {slots} if isinstance(slots, str) else set(slots)
    names -= {"__dict__", "__weakref__"} | (HOW if isinstance(value, HostSimulator) else set())
    yield from sorted(name for name in names if hasattr(value, name))


def _own(value: Any) -> bool:
    """Whether something is the user's, and not installed or tsnl's."""
    name = value.__name__ if inspect.ismodule(value) else getattr(value, "__module__", None)
    if not isinstance(name, str) or name.partition(".")[0] in ("tsnl", "builtins"):
        return False
    file = getattr(sys.modules.get(name), "__file__", None)
    if file is None:  # typed at a prompt
        return name == "__main__"
    place = Path(file).resolve()
    return "site-packages" not in place.parts and not any(place.is_relative_to(p) for p in INSTALLED)


def _is_key(value: Any) -> bool:
    return isinstance(value, jax.Array) and jax.numpy.issubdtype(value.dtype, jax.dtypes.prng_key)


def _code(code: types.CodeType) -> list[Any]:
    """What a function does, without where its lines are."""
    found: list[Any] = [code.co_code, code.co_names, code.co_varnames, code.co_freevars]
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            found += _code(const)
        elif isinstance(const, frozenset):
            found.append(sorted(map(repr, const)))
        else:
            found.append((type(const).__name__, const))
    return found


def _names(code: types.CodeType) -> Iterator[str]:
    """All names that a function uses, and the functions inside it."""
    yield from code.co_names
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _names(const)


def _name(value: Any) -> str:
    kind = getattr(value, "simulate_fn", value)
    return str(getattr(kind, "__name__", type(kind).__name__))
