"""Lines of a trace in their order, some of which are known later."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator


class Slot:
    """The place of a line whose text is not known yet."""

    __slots__ = ("line",)

    def __init__(self) -> None:
        self.line: str | None = None


class LineQueue:
    """Keeps lines back behind those that are not known, and no others.

    A non-blocking receive, for instance, is written in many formats where it completes: its source
    and its size are known there only, and its line stands where it was posted.
    """

    def __init__(self) -> None:
        self._lines: deque[tuple[str | Slot, int]] = deque()
        #: How many lines have been added or reserved.
        self.count = 0
        #: Where in the program the lines are made that are added now: a number of the reader's own.
        self.site = 0

    def add(self, line: str) -> None:
        """Append a line."""
        self.count += 1
        self._lines.append((line, self.site))

    def reserve(self) -> Slot:
        """Append the place of a line; `fill` gives it its text."""
        slot = Slot()
        self.count += 1
        self._lines.append((slot, self.site))
        return slot

    @staticmethod
    def fill(slot: Slot, line: str) -> None:
        """Give a reserved place its line; an empty text leaves the line out."""
        slot.line = line

    def ready(self) -> Iterator[str]:
        """Take the lines that stand before the first unknown one."""
        return (line for line, _ in self.ready_with_sites())

    def ready_with_sites(self) -> Iterator[tuple[str, int]]:
        """Take the same lines, each with its `site`."""
        lines = self._lines
        while lines:
            head, site = lines[0]
            if isinstance(head, Slot):
                if head.line is None:
                    return
                head = head.line
            lines.popleft()
            if head:
                yield head, site

    def __len__(self) -> int:
        return len(self._lines)
