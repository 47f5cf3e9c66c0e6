"""Numbers for the requests of random programs, also of collectives and persistent ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

from tests.oracle.programs.communicators import PENDING_TAG
from tests.oracle.programs.program import Line, Program, Word

_SENDS = ("send", "ssend", "bsend")


def with_numbers(program: Program) -> Program:
    """The same program with ``request=N`` on each line that makes or names one request.

    Lines that name one keep its key, which may be that of other requests too. Free numbers are used
    again.
    """
    ranks = [_Rank() for _ in range(program.ranks)]
    return replace(program, lines=tuple(ranks[line.rank].numbered(line) for line in program.lines))


@dataclass
class _Request:
    number: int
    place: int  # where the key of a wait has the peer: 0 for a receive, 1 for a send
    peer: Word
    tag: Word
    comm: tuple[Word, ...]
    persistent: bool = False
    active: bool = False

    def has_key(self, key: list[Word], comm: tuple[Word, ...]) -> bool:
        return (key[self.place], key[2], comm) == (self.peer, self.tag, self.comm)


class _Rank:
    """The requests of one rank, as its lines come."""

    def __init__(self) -> None:
        self._pending: list[_Request] = []
        self._persistent: list[_Request] = []

    def numbered(self, line: Line) -> Line:
        """The line, with a number where it has one request."""
        name, *words = line.words
        comm = tuple(word for word in words if str(word).startswith("comm="))
        given = [word for word in words if word not in comm]
        request = self._request(str(name), given, comm)
        if request is None:
            return line
        return replace(line, words=(*line.words, f"request={request.number}"))

    def _request(self, name: str, words: list[Word], comm: tuple[Word, ...]) -> _Request | None:
        if name in ("wait", "test", "start"):
            return self._named(name, words, comm)
        if name in ("irecv", "recv_init"):
            return self._made(name, 0, words[0], words[1], comm)
        if name in (*(f"i{send}" for send in _SENDS), *(f"{send}_init" for send in _SENDS)):
            return self._made(name, 1, words[0], words[1], comm)
        if name.startswith("i") and name[1:] in PENDING_TAG:
            return self._made(name, 0, -333, PENDING_TAG[name[1:]], comm)
        if name == "waitall":
            for request in self._pending:
                request.active = False
            self._pending.clear()
        return None

    def _made(
        self, name: str, place: int, peer: Word, tag: Word, comm: tuple[Word, ...]
    ) -> _Request:
        taken = {request.number for request in (*self._pending, *self._persistent)}
        number = next(number for number in range(len(taken) + 1) if number not in taken)
        request = _Request(number, place, peer, tag, comm, persistent=name.endswith("_init"))
        (self._persistent if request.persistent else self._pending).append(request)
        return request

    def _named(self, name: str, key: list[Word], comm: tuple[Word, ...]) -> _Request | None:
        among = self._persistent if name == "start" else self._pending
        found = [one for one in among if one.has_key(key, comm)]
        if name == "start":
            found = [one for one in found if not one.active]
        if not found:
            return None
        if name == "start":
            found[0].active = True
            self._pending.append(found[0])
        elif name == "wait":
            found[0].active = False
            self._pending.remove(found[0])
        return found[0]
