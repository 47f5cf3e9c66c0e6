"""Merging of file accesses split into pieces of a maximum size, and splitting them again.

Libraries and programs write gathered data in pieces of a maximum size. The number of these pieces
is rarely a function of the number of ranks, and the last one is a remainder; their total size is
such a function.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial

from tisim.traces.extrapolation.recorded import RecordedTrace
from tisim.traces.extrapolation.rewriting import Rewriting

#: The actions whose accesses are merged and split. Accesses with requests and collective ones are
#: not: their waits and participants depend on their number.
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

    def is_continued_by(self, after: _Access) -> bool:
        """Return whether another access begins where this one ends."""
        end = None if self.offset is None else self.offset + self.size
        return (self.head, self.tail, end) == (after.head, after.tail, after.offset)

    def line(self) -> bytes:
        offset = b"" if self.offset is None else b" %d" % self.offset
        return b"%s %d%s%s" % (self.head, self.size, offset, self.tail)


def has_accesses(trace: RecordedTrace) -> bool:
    """Return whether a trace has accesses that could be split."""
    return any(shape.text.split(b" ")[0].decode() in ACTIONS for shape in trace.trace.shapes)


@dataclass(frozen=True)
class ShownLimits:
    """The largest accesses in traces."""

    #: Size in bytes by action, if another access continues one of that size.
    limits: dict[str, int]
    #: True if a continued access ends with a smaller one, so that they are hardly just blocks.
    has_rests: bool


def shown_limits(traces: Sequence[RecordedTrace]) -> ShownLimits:
    """Return the largest size of each action for which an access of that size is continued."""
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
                if before and access and is_full and before.is_continued_by(access):
                    has_rest = access.size < before.size
                    rests[access.action] = rests.get(access.action, False) or has_rest
                before = access
    limits = {action: largest[action] for action in ACTIONS if action in rests}
    return ShownLimits(limits, any(rests.values()))


def whole_accesses(limits: Mapping[str, int]) -> Rewriting:
    """Return the rewriting that merges pieces of at most this many bytes, by action."""
    return Rewriting((partial(_whole, limits=limits),), (partial(_pieces, limits=limits),))


def _whole(lines: Iterable[bytes], limits: Mapping[str, int]) -> Iterator[bytes]:
    """Merge pieces; computation between them moves before the first one."""
    first: list[bytes] = []  # computations before the access
    access: _Access | None = None
    is_full = False
    behind: list[bytes] = []  # computations after it
    for line in lines:
        if _COMPUTED.match(line):
            (first if access is None else behind).append(line)
            continue
        after = _Access.read(line)
        if access is not None and after is not None and is_full and access.is_continued_by(after):
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
    """Merge several computations into one."""
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
