"""Options and arguments, checked where they enter; an error names the value and what was expected.

Nothing here imports JAX: workers do without.
"""

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

DEEPEST = 100  # layers of any network
WORDS = {int: "a whole number", float: "a number", bool: "True or False", str: "text", NoneType: "None"}


def check_fields(options: Any) -> None:
    """Check the fields of a dataclass of options against their annotations.

    Numbers of NumPy become Python's, so that they are saved as such.

    Raises:
        TypeError: a value of another type.
        ValueError: a word that is none of those allowed.
    """
    hints = get_type_hints(type(options))
    for field in fields(options):
        value, hint = getattr(options, field.name), hints[field.name]
        if isinstance(value, np.integer | np.floating | np.bool_):
            value = value.item()
            object.__setattr__(options, field.name, value)
        check_field(field.name, value, hint, _example(field.default))


def check_field(name: str, value: Any, hint: Any, remark: str = "") -> None:
    """Check one value against an annotation.

    Raises:
        TypeError, ValueError: as in `check_fields`.
    """
    if not fits(value, hint):
        nan = isinstance(value, float) and value != value
        right_type = nan or (isinstance(value, str) and _words_of(hint))
        error = ValueError if right_type else TypeError
        raise error(f"{name} is {value!r}, expected {in_words(hint)}{remark}.")


def whole_number(name: str, value: Any, least: int) -> int:
    """An integer that is large enough.

    Raises:
        TypeError, ValueError: it is not.
    """
    if not fits(value, int):
        raise TypeError(f"{name} is {value!r}, expected a whole number.")
    if value < least:
        raise ValueError(f"{name} is {value}, expected at least {least}.")
    return operator.index(value)


def check_seed(seed: Any) -> int:
    """A seed, any non-negative integer.

    Raises:
        TypeError: it is no integer.
        ValueError: it is negative.
    """
    if not fits(seed, int):
        raise TypeError(f"seed is {seed!r}, expected a non-negative integer.")
    if seed < 0:
        raise ValueError(f"seed is {seed}, expected a non-negative integer.")
    return operator.index(seed)


def check_levels(levels: Any) -> tuple[float, ...]:
    """Levels of quantiles.

    Raises:
        TypeError, ValueError: they are not numbers between 0 and 1.
    """
    given = levels if isinstance(levels, Iterable) and not isinstance(levels, str) else (levels,)
    found = tuple(given)
    if not found or not all(fits(level, float) for level in found):
        raise TypeError(f"levels is {levels!r}, expected numbers between 0 and 1.")
    if not all(0 <= level <= 1 for level in found):
        raise ValueError(f"levels is {levels!r}, expected numbers between 0 and 1.")
    return tuple(float(level) for level in found)


def fits(value: Any, hint: Any) -> bool:
    """Whether a value is of the type that an annotation names."""
    kind, inner = get_origin(hint), get_args(hint)
    if kind in (Union, UnionType):
        return any(fits(value, one) for one in inner)
    if kind is Literal:
        return any(value == one and type(value) is type(one) for one in inner)
    if hint is int:
        return isinstance(value, int | np.integer) and not isinstance(value, bool)
    if hint is float:
        number = isinstance(value, int | float | np.integer | np.floating)
        return number and not isinstance(value, bool) and value == value
    if hint is None:
        return value is None
    if kind is tuple and len(inner) == 2 and inner[1] is Ellipsis:
        return isinstance(value, list | tuple) and all(fits(one, inner[0]) for one in value)
    if hint is Callable or kind is Callable or getattr(kind, "__name__", "") == "Callable":
        return callable(value)
    if isinstance(kind, type) and issubclass(kind, Mapping | Sequence):
        return isinstance(value, kind)
    if isinstance(value, type):  # a class where an object of it was meant
        return False
    return not isinstance(hint, type) or isinstance(value, hint)


def _example(default: Any) -> str:
    if default is MISSING or default is None:
        return ""
    return f", such as {type(default).__name__}()" if is_dataclass(default) else f", such as {default!r}"


def in_words(hint: Any) -> str:
    """What an annotation asks for."""
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(in_words(one) for one in get_args(hint))
    if get_origin(hint) is Literal:
        return f"one of {get_args(hint)}"
    if get_origin(hint) is tuple:
        return f"a tuple, each {in_words(get_args(hint)[0])}"
    return WORDS.get(hint, f"a {getattr(hint, '__name__', hint)}")


def _words_of(hint: Any) -> bool:
    return any(get_origin(one) is Literal for one in (hint, *get_args(hint)))
