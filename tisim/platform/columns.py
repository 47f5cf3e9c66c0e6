"""Columns of numbers that need NumPy only when they are used as arrays."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, Generic, Self, TypeVar, cast

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Scalar = TypeVar("Scalar", bound=np.generic)
    #: The numbers of a column, of whichever type it has.
    Numbers = array[int] | array[float]
else:
    Scalar = TypeVar("Scalar")


#: The numbers of a link, and the types of their columns, as in `array.array`.
LINK_COLUMNS: Final = {"bandwidth": "d", "latency": "d", "fatpipe": "B", "burst": "d"}


class NumpyView(Generic[Scalar]):
    """An attribute of `Columns`: one of them as a read-only NumPy array.

    `typecode`: of the column, as in `array.array`.
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
    """Columns by name, each an attribute, too.

    `numbers`: the numbers of each column. An `array.array` of its type is kept, and must not change
    any more.
    """

    #: The type of each column, as in `array.array`.
    typecodes: dict[str, str] = {}  # noqa: RUF012 (each class makes one of its own)

    def __init__(self, **numbers: Iterable[float]) -> None:
        self.columns = {name: _column(code, numbers[name]) for name, code in self.typecodes.items()}

    def replaced(self, **numbers: Iterable[float]) -> Self:
        """The same with other numbers in some columns."""
        return type(self)(**{**self.columns, **numbers})

    def buffer(self, name: str) -> Numbers:
        """The numbers of a column, to be read only."""
        return self.columns[name]

    def floats(self, name: str) -> array[float]:
        """The numbers of a column of floating-point numbers, to be read only."""
        assert self.typecodes[name] == "d"
        return cast("array[float]", self.columns[name])

    def integers(self, name: str) -> array[int]:
        """The numbers of a column of integers, to be read only."""
        assert self.typecodes[name] != "d"
        return cast("array[int]", self.columns[name])


def _column(code: str, numbers: Iterable[float]) -> Numbers:
    if isinstance(numbers, array) and numbers.typecode == code:
        return numbers
    return array(code, numbers)


class Resources(Columns):
    """Speeds, cores, bandwidths and latencies, as read-only arrays.

    A new number of a link is declared here and in `LINK_COLUMNS`, and received by
    `for_each_link_column` of ``core/platform/routes.hpp``. `host_speed`, `host_cores`: of each
    host: flop/s of a core, number of cores; shape (hosts,). `disk_host`, `disk_read_bandwidth`,
    `disk_write_bandwidth`, `disk_size`: of each disk: the index of its host, bytes/s, bytes that it
    holds; shape (disks,). `link_bandwidth`, `link_latency`, `link_fatpipe`, `link_burst`: of each
    link: bytes/s, seconds, 1 if it is a FATPIPE, bytes that it passes at once; shape (links,).
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
