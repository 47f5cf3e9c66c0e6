"""Accesses to files that are split into pieces of a largest size, as whole ones, and back.

Libraries and programs write what has gathered in pieces of at most so many bytes. How many pieces
these are is a function of the number of ranks only now and then, and the last one is what is left
over; the bytes of all of them together are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial

from tisim.traces.extrapolation.recorded import RecordedTrace
from tisim.traces.extrapolation.rewriting import Rewriting

#: The actions whose accesses are put together and split. Those with requests and those of all ranks
#: are not: whoever waits for them, or takes part, has as many.
ACTIONS = (
    *("read", "write", "pread", "pwrite"),
    *("file_read", "file_write", "file_read_at", "file_write_at"),
)

# Head of the line, bytes, offset, tail.
_ACCESS = re.compile(
    rb"(\d+ (p?read|p?write|file_(?:read|write)(?:_at)?) \d+) (\d+)(?: (\d+))?((?: [a-z].*)?)$"
)
_COMPUTED = re.compile(rb"(\d+ compute) ([\d.e+-]+)$")


@dataclass(frozen=True)
class _Access:
    head: bytes
    action: str
    size: int
    offset: int | None
    tail: bytes

    @classmethod
    def read(cls, line: bytes) -> _Access | None:
        found = _ACCESS.match(line)
        if found is None:
            return None
        head, action, size, offset, tail = found.groups()
        at = None if offset is None else int(offset)
        return cls(head, action.decode(), int(size), at, tail)

    def goes_on(self, after: _Access) -> bool:
        """True if another access begins where this one ends."""
        end = None if self.offset is None else self.offset + self.size
        return (self.head, self.tail, end) == (after.head, after.tail, after.offset)

    def line(self) -> bytes:
        offset = b"" if self.offset is None else b" %d" % self.offset
        return b"%s %d%s%s" % (self.head, self.size, offset, self.tail)


def has_accesses(trace: RecordedTrace) -> bool:
    """True if a trace has accesses that could be split."""
    return any(shape.text.split(b" ")[0].decode() in ACTIONS for shape in trace.trace.shapes)


@dataclass(frozen=True)
class ShownLimits:
    """The largest accesses that traces show."""

    #: By action, where another access goes on behind one of that size; in bytes.
    limits: dict[str, int]
    #: True if one of the continued accesses is smaller, so that they are hardly just blocks.
    has_rests: bool


def shown_limits(traces: Sequence[RecordedTrace]) -> ShownLimits:
    """The largest size of each action, where another access goes on behind one of that size."""
    largest: dict[str, int] = {}
    rests: dict[str, bool] = {}
    for trace in traces:
        for rank in range(trace.ranks):
            before: _Access | None = None
            for line in trace.trace.lines(rank):
                if _COMPUTED.match(line):
                    continue
                access = _Access.read(line)
                if access is not None and access.size > largest.get(access.action, 0):
                    largest[access.action] = access.size
                    rests.pop(access.action, None)
                is_full = before and before.size == largest[before.action]
                if before and access and is_full and before.goes_on(access):
                    has_rest = access.size < before.size
                    rests[access.action] = rests.get(access.action, False) or has_rest
                before = access
    limits = {action: largest[action] for action in ACTIONS if action in rests}
    return ShownLimits(limits, any(rests.values()))


def whole_accesses(limits: Mapping[str, int]) -> Rewriting:
    """Whole accesses in the place of pieces of at most so many bytes, by action."""
    return Rewriting((partial(_whole, limits=limits),), (partial(_pieces, limits=limits),))


def _whole(lines: Iterable[bytes], limits: Mapping[str, int]) -> Iterator[bytes]:
    """Put pieces together. What is computed between them is computed before the first."""
    first: list[bytes] = []  # what is computed before the access
    access: _Access | None = None
    is_full = False
    behind: list[bytes] = []  # what is computed after it
    for line in lines:
        if _COMPUTED.match(line):
            (first if access is None else behind).append(line)
            continue
        after = _Access.read(line)
        if access is not None and after is not None and is_full and access.goes_on(after):
            first, behind = [*first, *behind], []
            access = replace(access, size=access.size + after.size)
            is_full = after.size == limits.get(after.action)
            continue
        if access is not None:
            yield from (*_summed(first), access.line())
            first, access, behind = behind, None, []
        if after is not None and after.size == limits.get(after.action):
            access, is_full = after, True
        else:
            yield from (*first, line)
            first = []
    yield from _summed(first)
    if access is not None:
        yield from (access.line(), *behind)


def _summed(computed: Sequence[bytes]) -> list[bytes]:
    """Several computations as one."""
    matches = [_COMPUTED.match(line) for line in computed]
    if len(matches) < 2 or matches[0] is None:
        return list(computed)
    total = sum((Decimal(match[2].decode()) for match in matches if match), Decimal())
    return [matches[0][1] + f" {total:f}".encode()]


def _pieces(lines: Iterable[bytes], limits: Mapping[str, int]) -> Iterator[bytes]:
    for line in lines:
        access = _Access.read(line)
        limit = 0 if access is None else limits.get(access.action, access.size)
        if access is None or access.size <= limit:
            yield line
            continue
        for done in range(0, access.size, limit):
            offset = None if access.offset is None else access.offset + done
            yield replace(access, size=min(limit, access.size - done), offset=offset).line()
