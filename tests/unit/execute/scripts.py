"""A slow reader of scripts, written from the description in core/trace/script/script.hpp."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tisim.traces import Kind, Trace
from tisim.traces.script import name_of_instruction, write_scripts

MAGIC = b"tisim script\n"
NUMBERED = 8  # a flag: requests are identified by their numbers


@dataclass(frozen=True)
class Instruction:
    """One instruction; `line` is that of its statement."""

    line: int
    kind: int
    operation: int = 0
    flags: int = 0
    comm: int = 0
    peer: int = 0
    tag: int = 0
    bytes: int = 0
    amount: float = 0.0
    numbers: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        return name_of_instruction(self.kind, self.operation)

    @property
    def in_bytes(self) -> Instruction:
        """The same call, independent of its types and its line."""
        if self.kind not in (Kind.COLLECTIVE, Kind.ICOLLECTIVE):
            return replace(self, line=0)
        ranks, root, sent, received, send_width, receive_width, *vectors = self.numbers
        # With a single vector, both widths are those of its type or of the line's other count.
        width = receive_width if self.name.lstrip("i") != "scatterv" else send_width
        first = vectors[:ranks] if len(vectors) == 2 * ranks else []
        rest = vectors[len(first) :]
        counts = [count * send_width for count in first] + [count * width for count in rest]
        numbers = (ranks, root, sent * send_width, received * receive_width, *counts)
        return replace(self, line=0, numbers=numbers)


class Bytes:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def zigzag(self) -> int:
        value = self.varint()
        return value // 2 if value % 2 == 0 else -(value + 1) // 2

    def double(self) -> float:
        (value,) = struct.unpack_from("<d", self.data, self.at)
        self.at += 8
        return float(value)

    def instruction(self) -> Instruction:
        kind, operation, flags, comm = (self.varint() for _ in range(4))
        peer, tag, size = (self.zigzag() for _ in range(3))
        amount = self.double()
        numbers = tuple(self.zigzag() for _ in range(self.varint()))
        return Instruction(0, kind, operation, flags, comm, peer, tag, size, amount, numbers)


def read_script(file: Path, ranks: int, rank: int) -> Iterator[Instruction]:
    data = file.read_bytes()
    assert data.startswith(MAGIC)
    at = Bytes(data)
    at.at = len(MAGIC)
    assert (at.varint(), at.varint(), at.varint()) == (1, ranks, rank)
    kept: list[Instruction] = []
    line = 0
    while True:
        line += 1
        code = at.varint()
        if code == 1:
            line = at.varint()
            code = at.varint()
        if code == 0:
            assert at.at == len(data)
            return
        if code == 2:
            found = Instruction(0, Kind.COMPUTE, amount=at.double())
        elif code in (3, 4):
            found = at.instruction()
            if code == 3:
                kept.append(found)
        else:
            found = kept[code - 5]
        yield replace(found, line=line)


def scripts_of(trace: Trace, directory: Path) -> list[list[Instruction]]:
    """Return the instructions of each rank."""
    directory.mkdir(exist_ok=True)
    write_scripts(trace, directory)
    return [
        [*read_script(directory / f"rank-{rank}.script", trace.ranks, rank)]
        for rank in range(trace.ranks)
    ]


def named_by_making(instructions: list[Instruction]) -> list[Instruction]:
    """Return the instructions with each request named by the number of previous requests.

    A trace does not state when a persistent request is freed, so that a recorder of its execution
    may reuse other numbers.
    """
    made: dict[int, int] = {}
    count = 0
    result = []
    for one in instructions:
        if one.kind in (Kind.NUMBER_REQUEST, Kind.NUMBER_PERSISTENT):
            made[one.bytes] = count = count + 1
            one = replace(one, bytes=count)
        elif one.flags & NUMBERED:
            numbers = tuple(made[number] for number in one.numbers)
            is_single = one.kind in (Kind.WAIT, Kind.TEST, Kind.START)
            one = replace(one, bytes=made[one.bytes] if is_single else 0, numbers=numbers)
        result.append(one)
    return result


def without_idup_messages(instructions: list[Instruction]) -> list[Instruction]:
    """Remove what a recorder writes after a comm_idup: an ibcast, its number, a wait."""
    found: list[Instruction] = []
    rest = iter(instructions)
    for one in rest:
        found.append(one)
        if one.kind == Kind.COMM_IDUP:
            assert [next(rest).name for _ in range(3)] == ["ibcast", "number_request", "wait"]
    return found


def calls_of(
    trace: Trace,
    directory: Path,
    change: Callable[[list[Instruction]], list[Instruction]] = list,
) -> list[list[Instruction]]:
    """Return the calls of each rank, independent of types and lines, without computations."""
    return [
        named_by_making(
            change(
                [
                    instruction.in_bytes
                    for instruction in instructions
                    if instruction.kind != Kind.COMPUTE
                ]
            )
        )
        for instructions in scripts_of(trace, directory)
    ]
