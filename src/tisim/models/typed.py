"""Values of a configuration by type: each function returns one option, checked."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from tisim.models.factors import OverheadTable, StepTable

if TYPE_CHECKING:
    from tisim.config import Config

_T = TypeVar("_T")


def _value(config: Config, key: str, kind: type[_T]) -> _T:
    value = config[key]
    if not isinstance(value, kind):
        raise TypeError(f"option {key} is a {type(value).__name__}, not a {kind.__name__}")
    return value


def flag(config: Config, key: str) -> bool:
    """A boolean."""
    return _value(config, key, bool)


def number(config: Config, key: str) -> float:
    """A number, or a quantity in its base unit."""
    return _value(config, key, float)


def size(config: Config, key: str) -> int:
    """A number of bytes."""
    return _value(config, key, int)


def text(config: Config, key: str) -> str:
    """A word or a path."""
    return _value(config, key, str)


def factors(config: Config, key: str) -> StepTable:
    """A table of factors."""
    return _value(config, key, StepTable)


def overheads(config: Config, key: str) -> OverheadTable:
    """A table of overheads."""
    return _value(config, key, OverheadTable)
