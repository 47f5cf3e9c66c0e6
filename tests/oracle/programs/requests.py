"""What random programs keep of communicators, pending requests and half-posted messages."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.oracle.programs.program import Word


@dataclass(frozen=True)
class Group:
    """A communicator: what the trace calls it, and its members in their order."""

    id: int
    members: tuple[int, ...]

    @property
    def words(self) -> tuple[Word, ...]:
        return (f"comm={self.id}",) if self.id else ()


@dataclass
class Request:
    """A pending request: the words that name it, and whether the other side has been posted."""

    event: int
    key: tuple[Word, ...]
    comm: tuple[Word, ...]
    matched: bool = True
    persistent: bool = False


@dataclass
class Half:
    """A message of which one half was posted; `post` the other one."""

    event: int
    group: Group
    src: int
    dst: int
    tag: int
    words: tuple[Word, ...]
    request: Request
    sent: bool


@dataclass
class Persistent:
    """Two persistent requests that fit each other."""

    event: int
    group: Group
    src: int
    dst: int
    tag: int
    active: list[tuple[int, Request]] = field(default_factory=list)
