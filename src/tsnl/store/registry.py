"""Classes that files may name: what is registered here saves, loads, resumes and reports.

A saved run names a class and the arguments to make it with. The name can only pick from this table, so
that nothing but what the user has imported is ever called.
"""

from dataclasses import is_dataclass
from typing import TypeVar

Kind = TypeVar("Kind", bound=type)
_KINDS: dict[str, type] = {}


def register(kind: Kind) -> Kind:
    """Let objects of a class be saved and loaded: a decorator for a dataclass or an `eqx.Module`.

    Its fields must have a plain form themselves: numbers, text, tuples, arrays, or other registered
    classes. To load what was saved, import the module that registers the class first.

    Raises:
        TypeError: it is no dataclass.
        ValueError: another class has the name.
    """
    if not (isinstance(kind, type) and is_dataclass(kind)):
        raise TypeError(f"{kind!r} is no dataclass: decorate it with @dataclass(frozen=True) first.")
    other = _KINDS.setdefault(kind.__name__, kind)
    if (other.__module__, other.__qualname__) != (kind.__module__, kind.__qualname__):
        raise ValueError(
            f"{other.__module__}.{other.__qualname__} is registered under the name {kind.__name__!r} "
            f"already: rename {kind.__module__}.{kind.__qualname__}."
        )
    _KINDS[kind.__name__] = kind
    return kind


def registered(value: object) -> bool:
    """Whether objects of a value's class can be saved."""
    return _KINDS.get(type(value).__name__) is type(value)


def kinds() -> tuple[type, ...]:
    """All registered classes."""
    return tuple(_KINDS.values())


def find_kind(name: str) -> type:
    """The class of a name.

    Raises:
        ValueError: there is none.
    """
    if name not in _KINDS:
        raise ValueError(
            f"the unknown class {name!r}: import the module that registers it (tsnl.register) first"
        )
    return _KINDS[name]
