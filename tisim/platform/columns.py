"""Columns of numbers, which need NumPy only when used as arrays."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, Generic, Self, TypeVar, cast

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Scalar = TypeVar("Scalar", bound=np.generic)
    #: The numbers of a column.
    Numbers = array[int] | array[float]
else:
    Scalar = TypeVar("Scalar")


#: The numbers of a link and the typecodes of their columns, as in `array.array`.
LINK_COLUMNS: Final = {"bandwidth": "d", "latency": "d", "fatpipe": "B", "burst": "d"}


class NumpyView(Generic[Scalar]):
    """Attribute of `Columns` that shows one column as a read-only NumPy array.

    `typecode`: type of the column, as in `array.array`.
    """

    def __init__(self, typecode: str) -> None:
        self.typecode = typecode

    def __set_name__(self, owner: type[Columns], name: str) -> None:
        self._name = name
        owner.typecodes = {**owner.typecodes, name: self.typecode}

    def __get__(self, columns: Columns, owner: type[Columns]) -> NDArray[Scalar]:
        import numpy as np

        numbers = columns.columns[self._name]
        if not numbers:
            return np.empty(0, self.typecode)
        view = np.frombuffer(numbers, self.typecode)
        view.setflags(write=False)
        return view


class Columns:
    """Named columns, each available as an attribute.

    `numbers`: the numbers of each column. An `array.array` of the column's type is not copied and
    must not change afterwards.
    """

    #: Typecode of each column, as in `array.array`.
    typecodes: dict[str, str] = {}  # noqa: RUF012 (each class makes one of its own)

    def __init__(self, **numbers: Iterable[float]) -> None:
        self.columns = {name: _column(code, numbers[name]) for name, code in self.typecodes.items()}

    def replaced(self, **numbers: Iterable[float]) -> Self:
        """Return a copy with other numbers in some columns."""
        return type(self)(**{**self.columns, **numbers})

    def buffer(self, name: str) -> Numbers:
        """Return the numbers of a column; read-only."""
        return self.columns[name]

    def floats(self, name: str) -> array[float]:
        """Return the numbers of a floating-point column; read-only."""
        assert self.typecodes[name] == "d"
        return cast("array[float]", self.columns[name])

    def integers(self, name: str) -> array[int]:
        """Return the numbers of an integer column; read-only."""
        assert self.typecodes[name] != "d"
        return cast("array[int]", self.columns[name])


def _column(code: str, numbers: Iterable[float]) -> Numbers:
    if isinstance(numbers, array) and numbers.typecode == code:
        return numbers
    return array(code, numbers)


class Resources(Columns):
    """Speeds, cores, bandwidths and latencies, as read-only arrays.

    A new number of a link is declared here and in `LINK_COLUMNS`, and received by
    `for_each_link_column` of ``core/platform/routes.hpp``. Per host, shape (hosts,): `host_speed`
    (flop/s of a core), `host_cores`. Per disk, shape (disks,): `disk_host` (index of its host),
    `disk_read_bandwidth`, `disk_write_bandwidth` (bytes/s), `disk_size` (capacity in bytes). Per
    link, shape (links,): `link_bandwidth` (bytes/s), `link_latency` (s), `link_fatpipe` (1 for a
    FATPIPE), `link_burst` (bytes that it passes at once).
    """

    link_bandwidth: NumpyView[np.float64] = NumpyView("d")
    link_latency: NumpyView[np.float64] = NumpyView("d")
    link_fatpipe: NumpyView[np.uint8] = NumpyView("B")
    link_burst: NumpyView[np.float64] = NumpyView("d")
    host_speed: NumpyView[np.float64] = NumpyView("d")
    host_cores: NumpyView[np.int32] = NumpyView("i")
    disk_host: NumpyView[np.int32] = NumpyView("i")
    disk_read_bandwidth: NumpyView[np.float64] = NumpyView("d")
    disk_write_bandwidth: NumpyView[np.float64] = NumpyView("d")
    disk_size: NumpyView[np.float64] = NumpyView("d")
