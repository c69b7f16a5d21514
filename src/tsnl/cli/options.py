"""Options of a run: defaults, then a TOML file, then the command line; and all of them as TOML again."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from tsnl.cli.encoding import read_plain
from tsnl.cli.form import Form
from tsnl.methods import METHODS
from tsnl.methods.api import Method
from tsnl.store.registry import kinds


def known_methods() -> dict[str, type]:
    """Names in lower case to the methods there are: built in, and registered by the user's file."""
    own = (kind for kind in kinds() if Method in kind.__mro__)
    return {kind.__name__.lower(): kind for kind in (*METHODS, *own)}


@dataclass(frozen=True)
class Settings:
    """What a fit is to do.

    Attributes:
        method: name of the method, as in Python, in any case.
        options: its options, by name; a table for options inside options.
        seed: one integer.
        columns: columns of the CSV file to take; all where there are none.
        time: the column that says when the rows were.
        every: the step of the rows, where some are left out.
        decimal, encoding, header: how it is written; see `tsnl.cli.data.Form`.
        workers: processes that run a black box; None for as many as there are cores.
        timeout: seconds that one simulation of a black box may take.
        title: of the report.
    """

    method: str = "TSNL"
    options: Mapping[str, Any] | None = None
    seed: int = 0
    columns: tuple[str, ...] = ()
    time: str | None = None
    every: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None
    workers: int | None = None
    timeout: float | None = None
    title: str | None = None

    @property
    def form(self) -> Form:
        """How the CSV files are written."""
        return Form(self.decimal, self.encoding, self.header, self.time, self.every)


KINDS: dict[str, Any] = {
    **dict.fromkeys(("method", "time", "every", "decimal", "encoding", "title"), str),
    **{"options": dict, "seed": int, "columns": list, "header": bool},
    **{"workers": int, "timeout": (int, float)},
}


def read_settings(path: Path | None) -> Settings:
    """The settings in a TOML file.

    Raises:
        ValueError: no plain file, no TOML, or a name or value that does not fit.
    """
    if path is None:
        return Settings()
    try:
        found = tomllib.loads(read_plain(path).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is no TOML: {error}.") from error
    unknown = sorted(set(found) - set(KINDS))
    if unknown:
        raise ValueError(f"{path}: unknown {unknown}; known are {sorted(KINDS)}.")
    for name, value in found.items():
        if not isinstance(value, KINDS[name]) or (isinstance(value, bool) and KINDS[name] is not bool):
            raise ValueError(f"{path}: {name} is {value!r}, which is of the wrong kind.")
    if "columns" in found:
        found["columns"] = tuple(str(column) for column in found["columns"])
    return Settings(**found)


def changed(
    settings: Settings,
    given: Mapping[str, Any],
    options: Mapping[str, Any],
    assignments: Sequence[str] = (),
) -> Settings:
    """Settings with what the command line says; None there says nothing.

    Args:
        settings: those of a file, or the defaults.
        given: settings by name.
        options: of the method, by name.
        assignments: the same as text, `name=value` or `inside.name=value`; these win.
    """
    told = {name: value for name, value in given.items() if value is not None}
    more = {name: value for name, value in options.items() if value is not None}
    all_ = {**(settings.options or {}), **more}
    for assignment in assignments:
        all_ = _assigned(all_, assignment)
    return replace(settings, **told, options=all_)


def _assigned(options: Mapping[str, Any], assignment: str) -> dict[str, Any]:
    """Options with one more, `inside.name=value`: a value of TOML, a bare word, or none.

    Raises:
        ValueError: it is no such assignment.
    """
    path, sign, text = assignment.partition("=")
    first, *inside = path.strip().split(".")
    if not sign or not all((first, *inside)):
        raise ValueError(
            f"--set has {assignment!r}, expected name=value, such as widen=3 or training.max_steps=4000."
        )
    try:
        value = tomllib.loads(f"x = {text}")["x"]
    except tomllib.TOMLDecodeError:
        value = None if text.strip().lower() == "none" else text.strip()
    if inside:
        table = options.get(first, {})
        kept = table if isinstance(table, dict) else {}
        value = _assigned(kept, f"{'.'.join(inside)}={text}")
    return {**options, first: value}


def method_kind(name: str) -> Any:
    """The class of a method, by its name in any case.

    Raises:
        ValueError: there is none of that name.
    """
    methods = known_methods()
    kind = methods.get(name.strip().lower().replace("-", "").replace("_", ""))
    if kind is None:
        names = ", ".join(one.__name__ for one in methods.values())
        raise ValueError(f"method is {name!r}, expected one of {names}.")
    return kind


def make_method(settings: Settings) -> Any:
    """The method with its options.

    Raises:
        ValueError, TypeError: a name that is not known, or a value that does not fit.
    """
    kind = method_kind(settings.method)
    return with_options(kind(), settings.options or {}, kind.__name__)


def with_options(default: Any, table: Mapping[str, Any], name: str) -> Any:
    """Options with the values of a table in place of their own; `class` there names another kind."""
    table = dict(table)
    if "class" in table:
        default = _instance(str(table.pop("class")), default, name)
    known = {field.name for field in fields(default)}
    unknown = sorted(set(table) - known)
    if unknown:
        raise ValueError(
            f"{name} has no option {', '.join(unknown)}; it has {', '.join(sorted(known))}."
        )
    values = {}
    for key, value in table.items():
        old = getattr(default, key)
        if isinstance(value, dict) and not is_dataclass(old) and "class" not in value:
            raise ValueError(f"{name}.{key} has no options inside it.")
        values[key] = _value_of(old, value, f"{name}.{key}")
    return replace(default, **values)


def _value_of(old: Any, value: Any, name: str) -> Any:
    """A value of TOML as an option: tables are options inside options, lists are tuples."""
    if isinstance(value, list):
        return tuple(_value_of(None, item, name) for item in value)
    return with_options(old, value, name) if isinstance(value, dict) else value


def _instance(kind_name: str, default: Any, name: str) -> Any:
    """Options of a class, as they are by default; a method only in the place of another one."""
    method = Method in type(default).__mro__
    inner = {kind.__name__: kind for kind in kinds() if (Method in kind.__mro__) == method}
    if kind_name not in inner:
        raise ValueError(f"The class of {name} is unknown, expected one of {', '.join(sorted(inner))}.")
    kind = inner[kind_name]
    return default if kind is type(default) else kind()


def options_text(kind: Any) -> str:
    """Every option of a method with its default, as a file for `--config`; those not set as comments."""
    method = kind()
    unset = [f"# {name} is not set" for name, value in _fields(method).items() if value is None]
    lines = [f'method = "{kind.__name__}"', *_table(_fields(method), "options")]
    return "\n".join([lines[0], *unset, *lines[1:]])


def to_toml(settings: Settings, method: Any) -> str:
    """Settings with every option written out; `read_settings` and `make_method` take it back."""
    top = {name: value for name, value in _fields(settings).items() if name != "options"}
    lines = _table({**top, "method": type(method).__name__}, "")
    return "\n".join(lines + _table(_fields(method), "options")) + "\n"


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _table(values: Mapping[str, Any], name: str) -> list[str]:
    """A table of TOML: plain values, then tables inside it; without what is None or a function."""
    lines = ["", f"[{name}]"] if name else []
    inner: list[str] = []
    for key, value in values.items():
        if is_dataclass(value):
            inner += _table({"class": type(value).__name__, **_fields(value)}, f"{name}.{key}")
        elif isinstance(value, bool | int | float | str | tuple | list):
            lines.append(f"{key} = {_value(value)}")
    return lines + inner


def _value(value: Any) -> str:
    if is_dataclass(value):
        inside = {"class": type(value).__name__, **_fields(value)}
        return "{" + ", ".join(f"{key} = {_value(item)}" for key, item in inside.items()) + "}"
    if isinstance(value, tuple | list):
        return f"[{', '.join(_value(item) for item in value)}]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | bool) else repr(value)
