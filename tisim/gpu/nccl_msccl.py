"""MSCCL algorithms: XML files with the sends, receives and dependencies of each thread block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from tisim.errors import InputError
from tisim.gpu.nccl import Communicator
from tisim.gpu.nccl_chunks import message_time
from tisim.gpu.nccl_tables import tables
from tisim.platform import Platform

#: Operations by their name in files; values as in NCCL's tests.
_OPERATIONS: Final = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "reducescatter": "reduce_scatter",
    "alltoall": "alltoall",
    "broadcast": "broadcast",
    "reduce": "reduce",
}
_RECEIVING: Final = ("r", "rcs", "rrc", "rrs", "rrcs")
_SENDING: Final = ("s", "rcs", "rrs", "rrcs")
_LOCAL: Final = ("cpy", "re", "nop")


@dataclass(frozen=True)
class _Step:
    kind: str
    count: int
    waits_for: tuple[int, int]  # a thread block of the GPU and its step; negative: none


@dataclass(frozen=True)
class _Block:
    send: int
    receive: int
    channel: int
    steps: tuple[_Step, ...]


@dataclass(frozen=True)
class Algorithm:
    """Contents of an MSCCL file.

    Attributes
    ----------
    name
        Name of the algorithm.
    operation
        Operation, as in `tisim.gpu.nccl.OPERATIONS`.
    gpus
        Number of GPUs.
    chunks
        Number of equal parts of a buffer.
    channels
        Number of NCCL channels.
    blocks
        Thread blocks of each GPU by number.
    """

    name: str
    operation: str
    gpus: int
    chunks: int
    channels: int
    blocks: tuple[Mapping[int, _Block], ...]

    def each_block(self) -> Iterator[tuple[int, int, _Block]]:
        """Yield GPU, number and steps of each thread block."""
        for gpu, blocks in enumerate(self.blocks):
            for number in sorted(blocks):
                yield gpu, number, blocks[number]


def read_algorithm(path: str | Path) -> Algorithm:
    """Read an MSCCL algorithm.

    Raises
    ------
    InputError
        If the file is not an MSCCL algorithm, or a thread block sends data without a receiver.
    """
    try:
        root = ElementTree.fromstring(Path(path).read_bytes())
    except ElementTree.ParseError as error:
        raise InputError(f"this is not XML: {error}", file=path) from None
    reader = _Reader(str(path))
    if root.tag != "algo":
        raise InputError(f"an MSCCL algorithm must be an <algo>, not a <{root.tag}>", file=path)
    operation = root.get("coll", "")
    if operation not in _OPERATIONS:
        known = ", ".join(_OPERATIONS)
        raise InputError(f"coll must be one of {known}, not {operation!r}", file=path)
    gpus = reader.number(root, "ngpus", 2)
    blocks: dict[int, Mapping[int, _Block]] = {}
    for gpu in root.iter("gpu"):
        blocks[reader.number(gpu, "id")] = {
            reader.number(block, "id"): reader.block(block) for block in gpu.iter("tb")
        }
    if sorted(blocks) != list(range(gpus)):
        raise InputError(f"it must contain each <gpu> from 0 to {gpus - 1} once", file=path)
    made = Algorithm(
        root.get("name", "msccl"),
        _OPERATIONS[operation],
        gpus,
        reader.number(root, "nchunksperloop", 1),
        reader.number(root, "nchannels", 1),
        tuple(blocks[gpu] for gpu in range(gpus)),
    )
    reader.check(made)
    return made


class _Reader:
    def __init__(self, file: str) -> None:
        self.file = file

    def number(self, node: ElementTree.Element, name: str, least: int = 0) -> int:
        text = node.get(name, "")
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            what = (
                f"{name} of a <{node.tag}> must be a whole number of at least {least}, not {text!r}"
            )
            raise InputError(what, file=self.file)
        return value

    def block(self, node: ElementTree.Element) -> _Block:
        steps = []
        for step in sorted(node.iter("step"), key=lambda step: self.number(step, "s")):
            kind = step.get("type", "")
            if kind not in (*_RECEIVING, *_SENDING, *_LOCAL):
                known = ", ".join(dict.fromkeys((*_SENDING, *_RECEIVING, *_LOCAL)))
                raise InputError(f"a step must be one of {known}, not {kind!r}", file=self.file)
            waits_for = (self.number(step, "depid", -1), self.number(step, "deps", -1))
            steps.append(_Step(kind, self.number(step, "cnt"), waits_for))
        ends = [self.number(node, name, -1) for name in ("send", "recv", "chan")]
        return _Block(ends[0], ends[1], ends[2], tuple(steps))

    def check(self, made: Algorithm) -> None:
        """Reject deadlocks: messages without a counterpart, waits for steps that do not exist."""
        sends: Counter[tuple[int, int, int]] = Counter()
        receives: Counter[tuple[int, int, int]] = Counter()
        for gpu, number, block in made.each_block():
            for step in block.steps:
                sends[gpu, block.send, block.channel] += step.kind in _SENDING
                receives[block.receive, gpu, block.channel] += step.kind in _RECEIVING
                other, place = step.waits_for
                there = made.blocks[gpu].get(other)
                if other >= 0 and (there is None or not 0 <= place < len(there.steps)):
                    raise InputError(
                        f"thread block {number} of GPU {gpu} waits for step {place} of thread "
                        f"block {other}, which does not exist",
                        file=self.file,
                    )
        for ends in sorted(sends | receives):
            if sends[ends] != receives[ends]:
                raise InputError(
                    f"GPU {ends[0]} sends {sends[ends]} times to GPU {ends[1]} on channel "
                    f"{ends[2]}, which receives {receives[ends]} times",
                    file=self.file,
                )


def algorithm_time(platform: Platform, group: Communicator, made: Algorithm, size: float) -> float:
    """Return the seconds of an algorithm on some GPUs; each of its sends is a message.

    Parameters
    ----------
    platform, group
        The platform, and as many GPUs as the algorithm uses.
    made, size
        The algorithm, and the bytes as defined by `tisim.gpu.nccl.collective`.

    Raises
    ------
    InputError
        If the algorithm is for another number of GPUs.
    """
    if group.size != made.gpus:
        raise InputError(f"{made.name} is an algorithm for {made.gpus} GPUs, not for {group.size}")
    numbers: dict[tuple[int, int], int] = {}
    senders: dict[tuple[int, int, int], int] = {}
    receivers: dict[tuple[int, int, int], int] = {}
    for gpu, own, block in made.each_block():
        numbers[gpu, own] = len(numbers)
        senders[gpu, block.send, block.channel] = numbers[gpu, own]
        receivers[block.receive, gpu, block.channel] = numbers[gpu, own]

    def lines(gpu: int, own: int, block: _Block) -> Iterator[tuple[str, int]]:
        """Yield the lines of a thread block; an empty message signals that a step is complete."""
        number, blocks = numbers[gpu, own], made.blocks[gpu]
        yield f"{number} init\n", 1
        for index, step in enumerate(block.steps):
            nbytes = -(-int(size) * step.count // made.chunks)
            if step.waits_for[0] >= 0:
                yield f"{number} recv {numbers[gpu, step.waits_for[0]]} 1 0 6\n", 1
            if step.kind in _RECEIVING:
                sender = senders[block.receive, gpu, block.channel]
                yield f"{number} recv {sender} 0 {nbytes} 6\n", 1
            if step.kind in _SENDING:
                receiver = receivers[gpu, block.send, block.channel]
                yield f"{number} send {receiver} 0 {nbytes} 6\n", 1
            for other, waiting in blocks.items():
                waiters = sum(later.waits_for == (own, index) for later in waiting.steps)
                if waiters:
                    yield f"{number} send {numbers[gpu, other]} 1 0 6\n", waiters
        yield f"{number} finalize\n", 1

    hosts = [platform.hosts[group.ranks[gpu]].name for gpu, _ in numbers]
    programs = [lines(*each) for each in made.each_block()]
    base = tables(group.version).base["ring"]["Simple"]
    return base + message_time(platform, group, hosts, programs)
