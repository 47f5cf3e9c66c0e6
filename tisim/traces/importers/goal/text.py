"""Reads GOAL schedules as text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.goal.operations import (
    ANY,
    COMPUTE,
    RECEIVE,
    SEND,
    Operation,
    depend,
)

_RANKS = re.compile(rb"\s*num_ranks\s+(\d+)\s*")
_RANK = re.compile(rb"\s*rank\s+(\d+)\s*\{\s*")
_COMMENT = re.compile(r"/\*.*?\*/|//.*")
# l2: send 8b to 3 tag 42 cpu 0 nic 0
_OPERATION = re.compile(
    r"(?:(?P<label>[A-Za-z]\w*)\s*:)?\s*"
    r"(?:calc\s+(?P<work>\d+)|(?P<kind>send|recv)\s+(?P<size>\d+)\s*b\s+(?P<side>to|from)\s+"
    r"(?P<peer>\d+|-1)(?:\s+tag\s+(?P<tag>\d+|-1))?)"
    r"(?:\s+cpu\s+(?P<cpu>\d+))?(?:\s+nic\s+\d+)?\s*"
)
_DEPENDENCY = re.compile(r"([A-Za-z]\w*)\s+(i?)requires\s+([A-Za-z]\w*)\s*")
_SIDES = {"send": "to", "recv": "from"}


class TextSchedule:
    """A schedule in a text file.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    InputError
        If it is none, or ranks are missing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        # Where the operations of each rank begin: the byte, and the line before it.
        self._begins: dict[int, tuple[int, int]] = {}
        self.ranks = self._find_ranks()

    def _find_ranks(self) -> int:
        ranks: int | None = None
        position = 0
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                position += len(line)
                if (rank := _RANK.fullmatch(line)) is not None:
                    if int(rank[1]) in self._begins:
                        raise self._error(f"rank {int(rank[1])} is there twice", number)
                    self._begins[int(rank[1])] = position, number
                elif (count := _RANKS.fullmatch(line)) is not None:
                    ranks = int(count[1])
        if ranks is None:
            raise InputError("has no line num_ranks, as GOAL schedules have", file=self.path)
        missing = next((rank for rank in range(ranks) if rank not in self._begins), None)
        if missing is not None:
            raise InputError(f"has no rank {missing} of its {ranks} ranks", file=self.path)
        if not ranks or len(self._begins) > ranks:
            raise InputError(f"has other ranks than num_ranks {ranks} says", file=self.path)
        return ranks

    def operations(self, rank: int) -> list[Operation]:
        """The operations of a rank in the order of the schedule.

        Raises
        ------
        InputError
            If a line is none of GOAL's, or names something that is not there.
        """
        made: list[Operation] = []
        labels: dict[str, int] = {}
        for number, line in self._lines(rank):
            if (found := _OPERATION.fullmatch(line)) is not None:
                if found["label"] is not None:
                    if found["label"] in labels:
                        raise self._error(f"the label {found['label']} is there twice", number)
                    labels[found["label"]] = len(made)
                made.append(self._operation(found, number))
            elif (dependency := _DEPENDENCY.fullmatch(line)) is not None:
                later, is_start, earlier = dependency.groups()
                for label in (later, earlier):
                    if label not in labels:
                        raise self._error(f"there is no label {label} above", number)
                depend(made, labels[later], labels[earlier], on_start=bool(is_start))
            else:
                raise self._error(
                    f"{line.strip()[:60]!r} is no send, recv, calc, requires or irequires of GOAL; "
                    "schedules of LogGOPSim 2 (put, append and so on) are not read",
                    number,
                )
        return made

    def close(self) -> None:
        """Do nothing: the file is open only while it is read."""

    def _lines(self, rank: int) -> Iterator[tuple[int, str]]:
        """The lines of a rank with their numbers, without comments."""
        position, number = self._begins[rank]
        with self.path.open("rb") as file:
            file.seek(position)
            for line in file:
                number += 1
                text = line.decode(errors="replace")
                if "/" in text:
                    text = _COMMENT.sub(" ", text)
                text = text.strip()
                if text == "}":
                    return
                if text:
                    yield number, text
        raise self._error(f"ends within rank {rank}", number)

    def _operation(self, found: re.Match[str], number: int) -> Operation:
        cpu = int(found["cpu"] or 0)
        if found["work"] is not None:
            return Operation(COMPUTE, int(found["work"]), 0, 0, cpu, f"line {number}")
        if _SIDES[found["kind"]] != found["side"]:
            raise self._error(f"a {found['kind']} is {_SIDES[found['kind']]} a rank", number)
        kind = SEND if found["kind"] == "send" else RECEIVE
        peer, tag = int(found["peer"]), int(found["tag"] or 0)
        if kind == SEND and peer < 0:
            raise self._error("a send to no rank", number)
        return Operation(
            kind,
            int(found["size"]),
            ANY if peer < 0 else peer,
            ANY if tag < 0 else tag,
            cpu,
            f"line {number}",
        )

    def _error(self, message: str, line: int) -> InputError:
        return InputError(message, file=self.path, line=line)
