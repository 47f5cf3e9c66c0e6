"""Configurations: SimGrid's options, in any of their historical spellings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Protocol

from tisim.config.kinds import TEXT, OverheadTable, StepTable, Value
from tisim.config.parameter import Parameter
from tisim.config.table import (
    PARAMETERS,
    SAME_TABLE,
    NetworkModel,
    canonical,
    check_thresholds,
    suggestion,
)
from tisim.errors import InputError

_MODEL = "network/model"
_SMPI = NetworkModel().name

_ITEM = re.compile(r"\s*(?:--cfg=)?([A-Za-z0-9_/-]+)\s*([:=])(.*)", re.DOTALL)


class PlacedOption(Protocol):
    """An option and its location: `line` of `file`."""

    @property
    def key(self) -> str: ...
    @property
    def value(self) -> str: ...
    @property
    def file(self) -> str | None: ...
    @property
    def line(self) -> int | None: ...


class Config:
    """An immutable set of options.

    Parameters
    ----------
    options
        Values by name, in any of SimGrid's spellings: strings as on SimGrid's command line, or
        Python numbers, booleans and tables.

    Attributes
    ----------
    warnings
        Warnings for the user.
    ignored
        The options that are set but have no effect on a replay.

    Raises
    ------
    InputError
        If an option does not exist (the message names similar ones) or does not accept its value.

    Examples
    --------
    >>> config = Config({"network/model": "LV08", "smpi/os": "0:1us:0"})
    >>> config["network/weight-S"]
    20537.0
    """

    def __init__(self, options: Mapping[str, object] | None = None) -> None:
        self._values: dict[str, Value] = {}
        self._model = PARAMETERS[_MODEL].default
        self.warnings: tuple[str, ...] = ()
        for key, value in (options or {}).items():
            self._set(_known(key), value)
        if options:
            self._check()

    @classmethod
    def from_items(cls, items: Iterable[str]) -> Config:
        """Read options as ``KEY=VALUE`` or, in SimGrid's form, ``KEY:VALUE``; later ones win.

        A ``KEY:VALUE`` item may contain several options, separated by blanks or commas, and begin
        with ``--cfg=``.
        """
        options: dict[str, str] = {}
        for item in items:
            for key, value in _split(item):
                name = _known(key).key
                options.pop(name, None)
                options[name] = value
        return cls(options)

    @classmethod
    def from_platform(cls, items: Iterable[PlacedOption]) -> Config:
        """Read the options of a platform's ``<config>`` (`Platform.config_items`).

        An unknown option becomes a warning; an invalid value is an error with its file and line.
        """
        config = cls()
        for item in items:
            key = canonical(item.key)
            if key is None:
                message = f"unknown option {item.key!r} is ignored{suggestion(item.key)}"
                place = "" if item.file is None else f"{item.file}:{item.line}: "
                config.warnings += (place + message,)
                continue
            try:
                config._set(PARAMETERS[key], item.value)
            except InputError as error:
                raise InputError(error.message, file=item.file, line=item.line) from None
        return config

    def merged(self, stronger: Config) -> Config:
        """Return these options, overridden by those of `stronger`.

        Raises
        ------
        InputError
            If the two are inconsistent together.
        """
        result = Config()
        replaced = {*stronger._values, *(SAME_TABLE.get(key, key) for key in stronger._values)}
        kept = {key: value for key, value in self._values.items() if key not in replaced}
        result._values = {**kept, **stronger._values}
        result._model = str(result._values.get(_MODEL, result._model))
        result.warnings = self.warnings + stronger.warnings
        result._check()
        return result

    def _set(self, option: Parameter[Value], value: object) -> None:
        read = self._values[option.key] = option.read(value)
        if option.key == _MODEL:
            self._model = str(read)
        known = option.kind is not TEXT or option.default in ("", str(value).strip())
        if not option.used and not known:
            self.warnings += (f"option {option.key}={value} is not simulated and has no effect",)

    def _check(self) -> None:
        eager = self._value("smpi/async-small-thresh")
        detached = self._value("smpi/send-is-detached-thresh")
        if isinstance(eager, int) and isinstance(detached, int):
            check_thresholds(eager, detached)

    @property
    def network_model(self) -> str:
        """Name of the network model."""
        return self._model

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and canonical(key) in self._values

    def __getitem__(self, key: str) -> Value:
        """Return the value of an option, in any spelling; its default if it is not set."""
        return self._value(_known(key).key)

    def _value(self, key: str) -> Value:
        values = self._values
        if values:
            value = values.get(key)
            if value is not None:
                return value
            other = values.get(SAME_TABLE.get(key, ""))
            if other is not None and self._shares_tables(key):
                return other
        return _default(key, self._model)

    def _shares_tables(self, key: str) -> bool:
        # SimGrid 3.32 reads smpi/bw-factor and smpi/lat-factor only in the SMPI model.
        return self._model == _SMPI or not key.startswith("network/")

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self._values == other._values

    def __hash__(self) -> int:
        return hash(frozenset(self._values.items()))

    def __repr__(self) -> str:
        return f"Config({ {key: _plain(value) for key, value in self._values.items()} })"

    @property
    def ignored(self) -> tuple[str, ...]:
        """The options that are set but have no effect on a replay."""
        unused = {key for key in self._values if not PARAMETERS[key].used}
        if self._model != _SMPI:
            unused |= _names_of_smpi()
        return tuple(key for key in self._values if key in unused)

    def as_dict(self) -> dict[str, bool | int | float | str]:
        """Return all options that can change a result, by canonical name, with defaults (JSON)."""
        values: dict[str, bool | int | float | str] = {}
        for key, option in PARAMETERS.items():
            if option.used and option.changes_results and key not in _names_of_smpi():
                value = _plain(self.value_of(option))
                if value != "":
                    values[key] = value
        return values

    def value_of(self, parameter: Parameter[Value]) -> Value:
        """Return the value that a replay uses; the SMPI model reads it under SMPI's own name."""
        reads_own = parameter.smpi_key and self._model == _SMPI
        return self._value(parameter.smpi_key if reads_own else parameter.key)


#: Types that are accepted as a configuration.
ConfigLike = Config | Mapping[str, object] | None


@cache
def _default(key: str, network_model: str) -> Value:
    return PARAMETERS[key].default_for(network_model)


@cache
def _names_of_smpi() -> frozenset[str]:
    return frozenset(row.smpi_key for row in PARAMETERS.values())


def _known(key: str) -> Parameter[Value]:
    option = PARAMETERS.get(key)
    if option is not None:
        return option
    name = canonical(key)
    if name is None:
        raise InputError(f"unknown option {key!r}{suggestion(key)}")
    return PARAMETERS[name]


def _split(item: str) -> Iterator[tuple[str, str]]:
    match = _ITEM.fullmatch(item)
    if match is None:
        raise InputError(f"an option must be KEY=VALUE or KEY:VALUE, not {item!r}")
    key, separator, value = match.groups()
    if separator == "=":
        yield key, value
        return
    for word in re.split(r"[\s,]+", item.strip().removeprefix("--cfg=")):
        inner = _ITEM.fullmatch(word)
        if inner is None:
            raise InputError(f"an option must be KEY=VALUE or KEY:VALUE, not {word!r}")
        yield inner.group(1), inner.group(3)


def _plain(value: Value) -> bool | int | float | str:
    return str(value) if isinstance(value, StepTable | OverheadTable) else value
