"""Studies: the arguments of a sweep, written in a TOML file."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final, Literal, TypedDict, TypeVar, cast

from tisim.config import Config
from tisim.errors import InputError
from tisim.platform.mapping import is_rule
from tisim.studies.sweep.axes import INPUTS, Axis, Choice, Range
from tisim.studies.sweep.prices import Prices
from tisim.support.reading import read_text, toml_errors
from tisim.support.similar import similar

_TEXT, _WHOLE, _TEXTS, _TABLE = "a text", "a whole number", "a list of texts", "a table"
_PRICES = "prices"
_KEYS = {
    "trace": (_TEXT, _TEXTS),
    "platform": (_TEXT,),
    "deployment": (_TEXT,),
    "hosts": (_TEXT, _TEXTS),
    "ranks": (_WHOLE,),
    "config": (_TABLE,),
    "vary": (_TABLE, "a list of tables"),
    "sample": (_WHOLE,),
    "seed": (_WHOLE,),
    "replicates": (_WHOLE,),
    "baseline": (_TABLE,),
    _PRICES: (_TABLE,),
    "modules": (_TEXTS,),
    "workers": (_WHOLE, _TEXT),
    "output": (_TEXT,),
}
_CHECKS: dict[str, Callable[[object], bool]] = {
    _TEXT: lambda value: isinstance(value, str),
    _WHOLE: lambda value: isinstance(value, int) and not isinstance(value, bool),
    _TEXTS: lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
    _TABLE: lambda value: isinstance(value, dict),
    "a list of tables": lambda value: (
        isinstance(value, list) and all(isinstance(one, dict) for one in value)
    ),
}

# Arguments that name one file.
_FILES: Final[tuple[Literal["platform", "deployment", "output"], ...]] = (
    "platform",
    "deployment",
    "output",
)
_T = TypeVar("_T")

_KEY = r"""("[^"]*"|'[^']*'|[\w-]+)"""
_HEADER = re.compile(rf"\s*(\[\[?)\s*{_KEY}(?:\s*\.\s*{_KEY})?\s*\]")
_NAME = re.compile(rf"\s*{_KEY}\s*=")


class Study(TypedDict, total=False):
    """Arguments of `tisim.sweep` that a file contains; see there."""

    trace: str | list[str]
    platform: str
    deployment: str
    hosts: str | list[str]
    ranks: int
    config: dict[str, object]
    vary: dict[str, object] | list[dict[str, object]]
    sample: int
    seed: int
    replicates: int
    baseline: dict[str, object]
    modules: list[str]
    workers: int | str
    output: str


def read_study(path: str | os.PathLike[str]) -> Study:
    """Read the arguments of `tisim.sweep` from a TOML file.

    Its keys are the names of the arguments; varied values are in the table ``[vary]``, or, for a
    list of points, in several ``[[vary]]``. Files are relative to the study. Raises `InputError` if
    the file cannot be read or its content is invalid, with the line.
    """
    return _Study(Path(path)).arguments()


def read_prices(path: str | os.PathLike[str]) -> dict[str, object] | None:
    """Return the prices in a study (`tisim.studies.sweep.prices.Prices`); None if none."""
    return _Study(Path(path)).prices()


class _Study:
    """A study file being read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._directory = path.resolve().parent
        self._text = read_text(path, "this study")
        with toml_errors(path, self._text):
            self._values = tomllib.loads(self._text)

    def arguments(self) -> Study:
        """Return the arguments, after checking each."""
        for key, value in self._values.items():
            self._check_key(key, value)
        given = {key: value for key, value in self._values.items() if key != _PRICES}
        found = cast("Study", given)
        for key in _FILES:
            if key in found:
                found[key] = self._path_of(found[key])
        if isinstance(hosts := found.get("hosts"), str):
            found["hosts"] = self._path_of(hosts)
        if "trace" in found:
            found["trace"] = self._files(found["trace"])
        for key, value in found.get("config", {}).items():
            self._check_at_key("config", key, 0, partial(Config, {key: value}))
        if "baseline" in found:
            found["baseline"] = self._point("baseline", found["baseline"], 0)
        vary = found.get("vary")
        if isinstance(vary, list):
            found["vary"] = [self._point("vary", point, n) for n, point in enumerate(vary)]
        elif vary is not None:
            found["vary"] = {name: self._axis(name, values) for name, values in vary.items()}
        return found

    def prices(self) -> dict[str, object] | None:
        """Return the prices of values by axis, which only a report needs."""
        prices = self._values.get(_PRICES)
        if prices is None:
            return None
        self._check_key(_PRICES, prices)
        for name in prices:
            self._check_at_key(_PRICES, name, 0, partial(Axis.parse, name))
            self._check_at_key(_PRICES, name, 0, partial(Prices, {name: prices[name]}))
        return dict(prices)

    def _check_key(self, key: str, value: object) -> None:
        if key not in _KEYS:
            close = similar(key, _KEYS)
            hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(_KEYS)}"
            raise self._error(f"unknown key {key!r} in a study; {hint}", "", key)
        forms = _KEYS[key]
        if not any(_CHECKS[form](value) for form in forms):
            raise self._error(f"{key} must be {' or '.join(forms)}, not {value!r}", "", key)

    def _axis(self, name: str, values: object) -> object:
        """Return the values of an axis, with files labelled as in the study."""

        def check() -> object:
            axis = Axis.parse(name)
            choices = axis.choices(values)
            if isinstance(choices, Range) or axis.kind not in INPUTS:
                return values
            return [self._locate_files(axis, choice) for choice in choices]

        return self._check_at_key("vary", name, 0, check)

    def _point(self, section: str, values: Mapping[str, object], number: int) -> dict[str, object]:
        point: dict[str, object] = {}
        for name, value in values.items():

            def check(name: str = name, value: object = value) -> Choice:
                axis = Axis.parse(name)
                return self._locate_files(axis, axis.choice(value))

            point[name] = self._check_at_key(section, name, number, check)
        return point

    def _locate_files(self, axis: Axis, choice: Choice) -> Choice:
        if axis.kind not in INPUTS or (axis.kind == "mapping" and is_rule(choice.value)):
            return choice
        if axis.kind == "mapping" and isinstance(choice.value, list):
            return choice
        return Choice(choice.label, self._files(cast("str | list[str]", choice.value)))

    def _files(self, names: str | list[str]) -> str | list[str]:
        return (
            [self._path_of(name) for name in names]
            if isinstance(names, list)
            else self._path_of(names)
        )

    def _path_of(self, name: str) -> str:
        return str(self._directory / name)

    def _check_at_key(self, section: str, key: str, number: int, check: Callable[[], _T]) -> _T:
        """Return the result of `check`; an error is given its place in the file."""
        try:
            return check()
        except InputError as error:
            raise self._error(error.message, section, key, number) from None

    def _error(self, message: str, section: str, key: str, number: int = 0) -> InputError:
        return InputError(message, file=self._path, line=self._line(section, key, number))

    def _line(self, section: str, key: str, number: int) -> int | None:
        """Return the line of a key in a table; `number` selects one of several tables."""
        place, tables = "", -1
        for line, text in enumerate(self._text.splitlines(), 1):
            if header := _HEADER.match(text):
                place = _unquoted(header[2])
                tables += header[1] == "[[" and place == section
                if (place, "") == (key, section) or (place, _unquoted(header[3])) == (section, key):
                    return line
            elif place == section and tables in (-1, number):
                name = _NAME.match(text)
                if name and _unquoted(name[1]) == key:
                    return line
        return None


def _unquoted(name: str | None) -> str:
    return (name or "").strip("\"'")
