"""The operations of one rank in a GOAL schedule, and what they depend on."""

from __future__ import annotations

from dataclasses import dataclass, field

SEND, RECEIVE, COMPUTE = 1, 2, 3
#: Any source, or any tag.
ANY = 0xFFFFFFFF


@dataclass(slots=True)
class Operation:
    """One operation.

    Attributes
    ----------
    kind
        `SEND`, `RECEIVE` or `COMPUTE`.
    amount
        Bytes, or nanoseconds.
    peer, tag
        Of a message; may be `ANY`.
    cpu
        Which processor of the rank has the work of it.
    place
        Where it is, for messages: a line, or a number.
    after_end, after_start
        The operations that may begin when this one has ended, or has begun.
    messages
        The operations whose end it still waits for.
    starts
        How many it still waits for to begin.
    under_way
        How many of `messages` have begun.
    """

    kind: int
    amount: int
    peer: int
    tag: int
    cpu: int
    place: str
    after_end: list[int] = field(default_factory=list)
    after_start: list[int] = field(default_factory=list)
    messages: set[int] = field(default_factory=set)
    starts: int = 0
    under_way: int = 0

    @property
    def is_ready(self) -> bool:
        """Whether it may begin."""
        return not self.messages and not self.starts

    @property
    def waits_only(self) -> bool:
        """Whether nothing but the end of what is under way keeps it from beginning."""
        return 0 < self.under_way == len(self.messages) and not self.starts


def depend(operations: list[Operation], later: int, earlier: int, *, on_start: bool) -> None:
    """Let one operation wait for the end, or the beginning, of another."""
    before, after = operations[earlier], operations[later]
    if on_start:
        before.after_start.append(later)
        after.starts += 1
    elif earlier not in after.messages:
        before.after_end.append(later)
        after.messages.add(earlier)
