"""MPI calls with all their arguments (``tisim record --arguments all``)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.trace import Trace

#: The attributes of lines, as the recorder names them: the call of a line, and the calls since the
#: preceding line that the trace does not contain. Long lists continue in further attributes,
#: `mpi_calls_before_2`. `library/arguments.c` describes the placeholders in their texts.
ATTRIBUTE = "mpi_call"
BEFORE = "mpi_calls_before"
_FIRST = 2  # index of the first argument in a line, after rank and action
_NEW = {"comm_split": 3, "comm_dup": 3, "comm_idup": 3, "comm_group": 2, "comm_free": 2}
_PLACEHOLDER = re.compile(r"(dest=|source=)?\{(rank|comm|handle|group|)([+-]\d+)?\}")
_GRID = re.compile(r"\{grid((?: \d+)+)((?: [+-]\d+)+)\}")
_SEPARATOR = "\N{SYMBOL FOR RECORD SEPARATOR}"
_REPEATED = re.compile(r"(\d+) x (.*)")


def calls_with_arguments(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the rank and the text of each call, such as ``MPI_Send(buf=buffer0, count=10, ...)``.

    Raises InputError when the trace has none.
    """
    trace = Trace.open(path)
    if ATTRIBUTE not in trace.attributes:
        raise InputError(
            "contains no call arguments; record the program with --arguments all", file=str(path)
        )
    before = sorted((name for name in trace.attributes if name.startswith(BEFORE)), key=_place)
    for rank, attributes, words in lines_with(trace, path, ATTRIBUTE, *before):
        for name in before:
            for call in _expand_repeated(attributes.get(name, "")):
                yield rank, _without_line(call, rank)
        if ATTRIBUTE in attributes:
            yield rank, _fill_placeholders(attributes[ATTRIBUTE], rank, words)


def lines_with(
    trace: Trace, path: Path, *names: str
) -> Iterator[tuple[int, dict[str, str], list[str]]]:
    """Yield rank, attributes and words of each line of a packed trace that has any of `names`.

    Raises InputError when the file is damaged.
    """
    from tisim.traces.packed_program import PackedTrace  # slow to load

    packed = PackedTrace(path)
    for rank in range(trace.ranks):
        lines = enumerate(packed.lines(rank), 1)
        for number, attributes in trace.attributes_of(rank):
            values = {name: str(attributes[name]) for name in names if attributes.get(name)}
            if values:
                line = next(line for at, line in lines if at == number)
                yield rank, values, line.decode(errors="replace").split()


def _place(name: str) -> int:
    return int(name.removeprefix(BEFORE).lstrip("_") or 1)


def _expand_repeated(texts: str) -> Iterator[str]:
    for text in filter(None, texts.split(_SEPARATOR)):
        repeated = _REPEATED.fullmatch(text)
        if repeated is None:
            yield text
        elif repeated[2] == "...":
            yield f"... {repeated[1]} calls are left out"
        else:
            yield from itertools.repeat(repeated[2], int(repeated[1]))


def _without_line(text: str, rank: int) -> str:
    def coordinates(found: re.Match[str]) -> str:
        dimensions, offsets = ([int(word) for word in found[i].split()] for i in (1, 2))
        own: list[int] = []
        rest = rank
        for size in reversed(dimensions):
            rest, place = divmod(rest, size)
            own.insert(0, place)
        return str([place + offset for place, offset in zip(own, offsets, strict=True)])

    text = re.sub(r"\{rank([+-]\d+)\}", lambda match: str(rank + int(match[1])), text)
    return _GRID.sub(coordinates, text)


def _fill_placeholders(text: str, rank: int, words: list[str]) -> str:
    """Fill the placeholders of a text from its line."""
    action = words[1]
    named = dict(word.split("=", 1) for word in words if "=" in word)
    requests = named.get("request") or named.get("requests", "")

    def fill(found: re.Match[str]) -> str:
        name, kind, offset = found.groups()
        if kind == "rank":
            return f"{name or ''}{rank + int(offset)}"
        if kind == "comm":
            return f"comm{words[_NEW[action]]}" if action in _NEW else "comm"
        if kind == "handle":
            return words[_FIRST] if len(words) > _FIRST else "-"
        if kind == "group":
            return f"<{', '.join(word for word in words[_FIRST + 1 :] if word.isdigit())}>"
        if offset is None:
            return f"[{requests}]" if "," in requests else requests
        if "comm=MPI_COMM_WORLD" in text:
            return f"{name}{rank + int(offset)}"
        place = _place_of_peer(action, name)
        return f"{name}rank{offset}" if place is None else f"{name}{words[place]}"

    return _PLACEHOLDER.sub(fill, text)


def _place_of_peer(action: str, name: str) -> int | None:
    """Index of the peer in a line; None for the half of an exchange that is another line."""
    if action == "sendrecv":
        return 3 if name == "dest=" else 5
    is_sent = "send" in action
    return _FIRST if is_sent == (name == "dest=") else None
