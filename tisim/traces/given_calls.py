"""Calls of MPI with all that they were given (``tisim record --arguments all``)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.trace import Trace

#: The attribute of lines; the recorder has the same. What its texts leave open is written in
#: `library/arguments.c`.
ATTRIBUTE = "mpi_call"
_FIRST = 2  # where the first argument stands in a line, behind rank and action
_NEW = {"comm_split": 3, "comm_dup": 3, "comm_idup": 3, "comm_group": 2, "comm_free": 2}
_OPEN = re.compile(r"(dest=|source=)?\{(rank|comm|handle|)([+-]\d+)?\}")


def given_calls(path: Path) -> Iterator[tuple[int, str]]:
    """The rank and the text of each call, such as ``MPI_Send(buf=buffer0, count=10, ...)``.

    Raises InputError when the trace has none.
    """
    trace = Trace.open(path)
    if ATTRIBUTE not in trace.attributes:
        raise InputError(
            "has no arguments of calls; record the program with --arguments all", file=str(path)
        )
    for rank, text, words in lines_with(trace, path, ATTRIBUTE):
        yield rank, _closed(text, rank, words)


def lines_with(trace: Trace, path: Path, attribute: str) -> Iterator[tuple[int, str, list[str]]]:
    """Yield the rank, the attribute and the words of each line of a packed trace that has it.

    Raises InputError when the file is damaged.
    """
    from tisim.traces.packed_program import PackedTrace  # slow to load

    packed = PackedTrace(path)
    for rank in range(trace.ranks):
        lines = enumerate(packed.lines(rank), 1)
        for number, attributes in trace.attributes_of(rank):
            value = attributes.get(attribute)
            if value is not None:
                line = next(line for at, line in lines if at == number)
                yield rank, str(value), line.decode(errors="replace").split()


def _closed(text: str, rank: int, words: list[str]) -> str:
    """The text with what its line says."""
    action = words[1]
    named = dict(word.split("=", 1) for word in words if "=" in word)
    requests = named.get("request") or named.get("requests", "")

    def close(found: re.Match[str]) -> str:
        name, kind, offset = found.groups()
        if kind == "rank":
            return str(rank + int(offset))
        if kind == "comm":
            return f"comm{words[_NEW[action]]}" if action in _NEW else "comm"
        if kind == "handle":
            return words[_FIRST] if len(words) > _FIRST else "-"
        if offset is None:
            return f"[{requests}]" if "," in requests else requests
        if "comm=MPI_COMM_WORLD" in text:
            return f"{name}{rank + int(offset)}"
        place = _place_of_peer(action, name)
        return f"{name}rank{offset}" if place is None else f"{name}{words[place]}"

    return _OPEN.sub(close, text)


def _place_of_peer(action: str, name: str) -> int | None:
    """Where a line has the peer; None for the half of an exchange that is another line."""
    if action == "sendrecv":
        return 3 if name == "dest=" else 5
    is_sent = "send" in action
    return _FIRST if is_sent == (name == "dest=") else None
