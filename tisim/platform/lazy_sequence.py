"""Sequences whose elements are made when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar, overload

_T = TypeVar("_T")


class LazySequence(Sequence[_T], Generic[_T]):
    """Hosts or links of a platform, made on access: a large platform has millions.

    Parameters
    ----------
    count
        The number of elements.
    make
        Gives the element of an index.
    """

    def __init__(self, count: int, make: Callable[[int], _T]) -> None:
        self._count = count
        self._make = make

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> _T: ...
    @overload
    def __getitem__(self, index: slice) -> list[_T]: ...
    def __getitem__(self, index: int | slice) -> _T | list[_T]:
        if isinstance(index, slice):
            return [self._make(i) for i in range(self._count)[index]]
        return self._make(range(self._count)[index])

    def __iter__(self) -> Iterator[_T]:
        return map(self._make, range(self._count))
