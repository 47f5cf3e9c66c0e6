"""The rows of the table of parameters, and the records whose fields are such rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from math import inf
from typing import Generic, Protocol, Self, TypeVar

from tisim.config.kinds import StepTable, Value, ValueKind
from tisim.errors import InputError

_T = TypeVar("_T", bound=Value)
_ValueT = TypeVar("_ValueT", bound=Value, covariant=True)


@dataclass(frozen=True, slots=True)
class Parameter(Generic[_ValueT]):
    """One row of the table."""

    key: str  # name in SimGrid 3.32 or later, or in tisim
    kind: ValueKind[_ValueT]  # kind of the value
    default: str  # in the user's notation
    _: KW_ONLY
    # Defaults of network models that differ from `default`.
    by_model: Mapping[str, str] = field(default_factory=dict)
    choices: tuple[str, ...] = ()  # allowed values of a choice
    unit: str = ""  # unit of the value, if the kind has none
    # Other names in versions of SimGrid, apart from ``_`` in place of ``-``.
    spellings: tuple[str, ...] = ()
    smpi_key: str = ""  # name under which the SMPI model reads it, if different
    positive: bool = False  # whether zero is rejected
    maximum: float = inf  # upper bound of a number
    # Whether it affects a replay. If not, but it has a default, other values would change SimGrid's
    # results and cause a warning.
    used: bool = True
    changes_results: bool = True  # whether it can change the prediction of a replay
    # Whether the core has a field for it (`tisim._core.Model`), named like the record's.
    core: bool = True

    def read(self, written: object) -> _ValueT:
        """Parse a value that the user gave as text, a number, a boolean or a table.

        Raises `InputError` if the parameter does not accept it; the message says what it accepts.
        """
        text = ("yes" if written else "no") if isinstance(written, bool) else str(written).strip()
        try:
            if self.choices and text not in self.choices:
                raise InputError(f"must be one of {', '.join(self.choices)}, not {text!r}")
            value = self.kind.read(text)
            if isinstance(value, int | float) and value > self.maximum:
                raise InputError(f"must be at most {self.maximum:g}")
            return value
        except InputError as error:
            raise InputError(f"option {self.key}: {error.message}") from None

    def default_for(self, network_model: str) -> _ValueT:
        """Return the default in a network model."""
        return self.read(self.by_model.get(network_model, self.default))


def row(parameter: Parameter[_T]) -> _T:
    """Declare a field of a record as a row of the table, with the row's default."""
    value: _T = field(default=parameter.read(parameter.default), metadata={"parameter": parameter})
    return value


class Values(Protocol):
    """The values of parameters (`tisim.Config`)."""

    def value_of(self, parameter: Parameter[Value]) -> Value:
        """Return the value that a replay uses."""
        ...


@dataclass(frozen=True, slots=True)
class Record:
    """A group of parameters, each a field."""

    def __post_init__(self) -> None:
        for name, parameter in self.parameters():
            _check_range(parameter, getattr(self, name))

    @classmethod
    def parameters(cls) -> tuple[tuple[str, Parameter[Value]], ...]:
        """Return the fields with their rows of the table."""
        rows = _ROWS.get(cls)
        if rows is None:
            rows = tuple((f.name, f.metadata["parameter"]) for f in dataclasses.fields(cls))
            _ROWS[cls] = rows
        return rows

    @classmethod
    def from_config(cls, config: Values) -> Self:
        """Create the record from a configuration."""
        make: Callable[..., Self] = cls
        return make(**{name: config.value_of(parameter) for name, parameter in cls.parameters()})

    def core_values(self) -> dict[str, Value]:
        """Return the values of this record that the core takes, by the core's field names."""
        return {name: getattr(self, name) for name, row_of in self.parameters() if row_of.core}


_ROWS: dict[type[Record], tuple[tuple[str, Parameter[Value]], ...]] = {}


def _check_range(parameter: Parameter[Value], value: Value) -> None:
    if isinstance(value, StepTable):
        least = min((value.first, *value.values))
    elif isinstance(value, int | float):
        least = value
    else:
        return
    if not least >= 0:
        raise InputError(f"{parameter.key} must not be negative")
    if parameter.positive and least == 0:
        raise InputError(f"{parameter.key} must be above zero")
