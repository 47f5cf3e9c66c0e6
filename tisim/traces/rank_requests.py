"""The requests of one rank of a text trace, and the lookup of those that a line names.

A line names a request by its key (source, destination, tag, communicator), by its number
(``request=``, ``requests=``), or as the last one (docs/traces.md). This module has no clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from tisim.errors import InputError
from tisim.traces.text_program import ANY_SOURCE, COLLECTIVES, SEND_INITS, SENDS, Action

Key = tuple[int, int, int, int]


@dataclass(slots=True, eq=False)
class Persistent:
    """A persistent request: the action of its starts, and its key."""

    action: Action
    key: Key
    is_active: bool = False


@dataclass(slots=True, eq=False)
class NamedRequest:
    """A pending request, as far as needed to find it by name.

    Attributes
    ----------
    key
        Source, destination, tag and communicator.
    of_collective
        Whether it belongs to a non-blocking collective, which has neither source nor destination.
    source_lost
        Whether no line gives its source, so that waits name it by the other parts of its key
        (`Action`).
    persistent
        The persistent request whose start made it.
    """

    key: Key = (0, 0, 0, 0)
    of_collective: bool = False
    source_lost: bool = False
    persistent: Persistent | None = None

    def has_key(self, key: Key) -> bool:
        """Return whether a line with this key may name it."""
        return key == ((key[0], *self.key[1:]) if self.source_lost else self.key)


def _key(action: Action, me: int) -> Key:
    """Return the key of the request that an action makes; non-blocking collectives lack ranks."""
    if action.name[1:] in COLLECTIVES:
        return ANY_SOURCE, ANY_SOURCE, COLLECTIVES[action.name[1:]][1], action.comm
    ends = (me, action.peer) if action.name in SENDS | SEND_INITS else (action.peer, me)
    return *ends, action.tag, action.comm


R = TypeVar("R", bound=NamedRequest)


class RankRequests(Generic[R]):
    """Requests of a rank: `pending` in posting order, and `freed`, which complete on their own."""

    def __init__(self) -> None:
        self.pending: dict[R, None] = {}
        self.freed: list[R] = []
        self._persistent: list[Persistent] = []
        self._numbers: dict[int, R | Persistent] = {}

    def add(
        self, request: R, action: Action, me: int, persistent: Persistent | None = None
    ) -> None:
        """Make a request pending that a line, or the start of a persistent request, has created.

        `me` is the number of this rank in the communicator.
        """
        request.key = _key(action, me)
        request.source_lost, request.persistent = action.source_lost, persistent
        self.pending[request] = None
        if persistent is None:
            self._numbers |= dict.fromkeys(action.numbers or (), request)

    def drop(self, request: R) -> None:
        """Remove a completed request."""
        self.pending.pop(request, None)
        if request.persistent is not None:
            request.persistent.is_active = False

    def named(self, action: Action) -> R | None:
        """Return the pending request of a wait or test: the oldest with its key, or its number."""
        if action.numbers is not None:
            return self._numbered(action.numbers[0])
        if action.name.endswith("_last"):
            return next(reversed(self.pending), None)
        key = (action.peer, action.nbytes, action.tag, action.comm)
        collective = action.peer == action.nbytes == ANY_SOURCE
        listed = (r for r in self.pending if r.of_collective == collective and r.has_key(key))
        return next(listed, None)

    def listed(self, action: Action) -> list[R]:
        """Return the pending requests that a wait or test of one, some or all refers to."""
        if action.name in ("wait", "wait_last", "test", "test_last"):
            named = [self.named(action)]
        elif action.numbers is None:
            named = list(self.pending)
        else:
            named = [self._numbered(number) for number in action.numbers]
        return [request for request in named if request is not None]

    def _numbered(self, number: int) -> R | None:
        if number not in self._numbers:
            raise InputError(f"no request {number} here")
        named = self._numbers[number]
        return next((r for r in self.pending if named in (r, r.persistent)), None)

    def make_persistent(self, action: Action, me: int) -> None:
        """Register a persistent request; `me` as in `add`."""
        made = Persistent(action, _key(action, me))
        self._persistent.append(made)
        self._numbers |= dict.fromkeys(action.numbers or (), made)

    def inactive(self, action: Action) -> list[Persistent]:
        """Return the persistent requests that a start, startall or request_free may name."""
        if action.numbers is not None:
            named = [self._numbers.get(number) for number in action.numbers]
            return [request for request in named if isinstance(request, Persistent)]
        inactive = [request for request in self._persistent if not request.is_active]
        if action.name == "startall":
            return inactive
        key = (action.peer, action.nbytes, action.tag, action.comm)
        return [request for request in inactive if request.key == key][:1]

    def free(self, action: Action) -> None:
        """Detach the request that a request_free names: its message completes on its own."""
        request = self.named(action)
        if request is None:
            freed = self.inactive(action)
        else:
            freed = [request.persistent] if request.persistent is not None else []
            request.persistent = None
            del self.pending[request]
            self.freed.append(request)
        self._persistent = [request for request in self._persistent if request not in freed]
