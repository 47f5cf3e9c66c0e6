"""Small numbers for the requests of one rank."""

from __future__ import annotations

import heapq
from collections.abc import Hashable


class RequestNumbers:
    """Gives each pending request the smallest free number.

    Numbers that return in a loop keep the trace of the loop small, whatever the other format calls
    its requests.
    """

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._free: list[int] = []

    def give(self, request: Hashable) -> int:
        """A number for a new request; one of the same name that is pending is forgotten."""
        if request in self._numbers:
            self.release(request)
        number = heapq.heappop(self._free) if self._free else len(self._numbers)
        self._numbers[request] = number
        return number

    def release(self, request: Hashable) -> int | None:
        """The number of a request that completes, which is free then; None: it is not pending."""
        number = self._numbers.pop(request, None)
        if number is not None:
            heapq.heappush(self._free, number)
        return number

    def number(self, request: Hashable) -> int | None:
        """The number of a pending request; None: it is not pending."""
        return self._numbers.get(request)

    def __contains__(self, request: Hashable) -> bool:
        return request in self._numbers

    def __len__(self) -> int:
        return len(self._numbers)
