"""Chakra execution traces as graphs: a file of protobuf messages per rank.

A node runs once its dependencies have ended. Nodes with a recorded thread or stream run there one
after the other, ordered by date and number. Other nodes are given streams: a node continues the
stream of one of its dependencies, or else begins a stream, so that it waits for its dependencies
only. Durations are kept; communication is simulated on the machine.
"""

from __future__ import annotations

import heapq
import json
import re
import sys
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path

from tisim.errors import InputError
from tisim.gpu.step_recording import Recording, check_ranks, graph_text, ranges, shape_of
from tisim.support.reading import open_input

# schema/protobuf/et_def.proto of mlcommons/chakra: kinds of nodes and of collectives.
_METADATA, _LOAD, _STORE, _COMPUTE, _SEND, _RECEIVE, _COLLECTIVE = range(1, 8)
_WORDS = {
    0: "all_reduce",
    2: "all_gather",
    5: "broadcast",
    6: "all_to_all",
    7: "reduce_scatter",
    8: "reduce_scatter",
    9: "all_reduce",  # a barrier: one number
}
_BARRIER, _ALL_GATHER = 9, 2
# The attributes of nodes that are read.
_ATTRIBUTES = (
    *("is_cpu_op", "tid", "stream", "num_ops", "tensor_size"),
    *("pg_name", "comm_type", "comm_size", "comm_src", "comm_dst", "comm_tag"),
)
# Maximum size of a message in bytes.
_MAX_MESSAGE_BYTES = 1 << 26
_OF_RANK = re.compile(r"(?P<stem>.*)\.(?P<rank>\d+)\.et")


@dataclass(slots=True)
class _Node:
    number: int = 0
    kind: int = 0
    needs: array[int] = field(default_factory=lambda: array("Q"))
    begin: int = 0  # us
    duration: int = 0  # us
    values: str = ""  # of its inputs, if they name groups
    attributes: dict[str, int | str] = field(default_factory=dict)

    def integer(self, name: str, default: int = 0) -> int:
        value = self.attributes.get(name, default)
        return value if isinstance(value, int) else default


def read_chakra(
    path: str | Path, *, ranks: int | None = None, communicates: bool = True
) -> Recording:
    """Read execution traces.

    Parameters
    ----------
    path
        A file ``NAME.RANK.et`` next to those of all other ranks; or a single file, which then
        represents all ranks; or ``NAME``, as in ASTRA-sim.
    ranks
        Number of ranks that a single file represents; by default the largest number in its groups.
    communicates
        Simulate recorded collectives; otherwise they keep their recorded times.

    Raises
    ------
    InputError
        If a file is not an execution trace, or the dependencies of its nodes are cyclic.
    """
    files = _files(Path(path))
    if len(files) > 1 and ranks not in (None, len(files)):
        raise InputError(f"found files of {len(files)} ranks, not of {ranks}", file=path)
    traces = [_read(file) for file in files]
    groups = [_groups(nodes) for nodes in traces]
    if len(files) > 1:
        world = len(files)
    else:
        world = ranks or max((max(m, default=0) + 1 for m in groups[0].values()), default=1)
    check_ranks(world, path)
    writers = [
        _Writer(file, rank, world, members, communicates)
        for rank, (file, members) in enumerate(zip(files, groups, strict=True), _first(files))
    ]
    span, count = _span([node for trace in traces for node in trace]), sum(map(len, traces))
    programs = [writer.program(traces.pop(0)) for writer in writers]  # releases the nodes
    communicators = {name: shape for writer in writers for name, shape in writer.shapes.items()}
    own = (
        (f"{first}-{last if len(files) > 1 else world - 1}", program)
        for first, last, program in ranges(programs)
    )
    return Recording(
        path,
        graph_text(world, own, communicators),
        span,
        count,
        sum(writer.communications for writer in writers),
        sum(writer.kept_times for writer in writers),
        sum((writer.omissions for writer in writers), Counter()),
    )


def is_chakra(path: str | Path) -> bool:
    """Return whether a path names execution traces."""
    return str(path).endswith(".et") or Path(f"{path}.0.et").is_file()


def _files(path: Path) -> list[Path]:
    """Return the files of all ranks."""
    found = _OF_RANK.fullmatch(path.name)
    if not path.name.endswith(".et"):
        stem = path.name
    elif found is None:
        return [path]
    else:
        stem = found["stem"]
    others = {
        int(one["rank"]): file
        for file in path.parent.glob("*.et")
        if (one := _OF_RANK.fullmatch(file.name)) is not None and one["stem"] == stem
    }
    if len(others) <= 1:
        return list(others.values()) or [path]
    missing = next((rank for rank in range(len(others)) if rank not in others), None)
    if missing is not None:
        raise InputError(f"{stem}.{missing}.et is missing, but others exist", file=path)
    return [others[rank] for rank in range(len(others))]


def _first(files: list[Path]) -> int:
    """Return the first rank of these files: for a single one, the number in its name."""
    found = _OF_RANK.fullmatch(files[0].name)
    return int(found["rank"]) if found is not None else 0


def _span(nodes: list[_Node]) -> float:
    if not any(node.begin for node in nodes):
        return 0.0
    begin = min(node.begin for node in nodes if node.begin)
    return 1e-6 * (max(node.begin + node.duration for node in nodes) - begin)


# Protobuf: https://protobuf.dev/programming-guides/encoding


class _DamagedError(Exception):
    pass


def _varint(data: bytes | memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    raise _DamagedError


def _fields(data: bytes | memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """Yield the fields of a message: numbers, and integers or bytes. Raises _DamagedError."""
    data, at = memoryview(data), 0
    while at < len(data):
        key, at = _varint(data, at)
        if key & 7 == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        if key & 7 == 2:
            size, at = _varint(data, at)
        else:
            size = {1: 8, 5: 4}.get(key & 7, len(data) + 1)
        if at + size > len(data):
            raise _DamagedError
        yield key >> 3, data[at : at + size]
        at += size


def _integers(value: int | memoryview) -> Iterator[int]:
    """Yield repeated integers, packed or not."""
    if isinstance(value, int):
        yield value
        return
    at = 0
    while at < len(value):
        number, at = _varint(value, at)
        yield number


def _text(value: int | memoryview) -> str:
    return "" if isinstance(value, int) else bytes(value).decode(errors="replace")


def _size(stream: BufferedReader) -> tuple[int, int] | None:
    """Return the size of the next message and its encoded length; None at the end of the file."""
    head = b""
    while byte := stream.read(1):
        head += byte
        if byte[0] < 128:
            return _varint(head, 0)
        if len(head) > 10:
            break
    if head:
        raise _DamagedError
    return None


def _read(file: Path) -> list[_Node]:
    """Return the nodes of a file, holding only one message at a time in memory."""
    nodes: list[_Node] = []
    at, count = 0, 0
    try:
        with open_input(file) as stream:
            while (head := _size(stream)) is not None:
                size, width = head
                message = stream.read(size) if size <= _MAX_MESSAGE_BYTES else b""
                if len(message) < size:
                    raise _DamagedError
                if count:  # the first message describes the file
                    nodes.append(_node(memoryview(message)))
                at += width + size
                count += 1
    except (_DamagedError, UnicodeDecodeError, OverflowError):
        raise InputError(
            f"this is not a Chakra execution trace, or it is damaged: message {count + 1} at byte "
            f"{at}",
            file=file,
        ) from None
    except OSError as error:
        raise InputError(
            f"cannot read this execution trace: {error.strerror or error}", file=file
        ) from None
    if not nodes:
        raise InputError("this execution trace has no nodes", file=file)
    return nodes


def _node(data: memoryview) -> _Node:
    node = _Node()
    for number, value in _fields(data):
        if number == 5:
            node.needs.extend(_integers(value))
        elif number == 8 and not isinstance(value, int):
            values = next((_text(text) for field, text in _fields(value) if field == 1), "")
            node.values = values if "pg_name" in values else ""
        elif number == 10 and not isinstance(value, int):
            _add_attribute(node, value)
        elif isinstance(value, int):
            if number == 1:
                node.number = value
            elif number == 3:
                node.kind = value
            elif number == 6:
                node.begin = value
            elif number == 7:
                node.duration = value
    return node


def _add_attribute(node: _Node, data: memoryview) -> None:
    name = ""
    content: int | str | None = None
    for number, value in _fields(data):
        if number == 1:
            name = _text(value)
        elif number in (7, 9, 11, 13, 27):  # integers and truth values
            if isinstance(value, int):
                content = value - (1 << 64 if number in (7, 9) and value >> 63 else 0)
        elif number in (15, 17) and isinstance(value, int):  # zigzag
            content = (value >> 1) ^ -(value & 1)
        elif number in (19, 21, 23, 25) and not isinstance(value, int):  # fixed sizes
            content = int.from_bytes(value, "little", signed=number > 22)
        elif number == 29:
            content = sys.intern(_text(value))
    if content is not None and name in _ATTRIBUTES:
        node.attributes[sys.intern(name)] = content


def _groups(nodes: list[_Node]) -> dict[str, tuple[int, ...]]:
    """Return the ranks of process groups by name, as listed by a metadata node."""
    groups: dict[str, tuple[int, ...]] = {}
    for node in nodes:
        if node.kind != _METADATA or "pg_name" not in node.values:
            continue
        begin, end = node.values.find("[{"), node.values.rfind("}]")
        try:
            for group in json.loads(node.values[begin : end + 2].replace("\\", "")):
                groups[str(group["pg_name"])] = tuple(sorted({int(r) for r in group["ranks"]}))
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
    return groups


class _Writer:
    """The program of a rank, as lines of a graph file."""

    def __init__(
        self,
        file: Path,
        rank: int,
        world: int,
        groups: dict[str, tuple[int, ...]],
        communicates: bool,
    ) -> None:
        self.file, self.rank, self.world = file, rank, world
        self.groups, self.communicates = groups, communicates
        self.shapes: dict[str, tuple[int, int]] = {}
        self.communications = self.kept_times = 0
        self.omissions: Counter[str] = Counter()
        self._lines: list[str] = []
        self._tails: dict[str, int] = {}  # by stream: its last node
        self._chains: set[str] = set()

    def program(self, nodes: list[_Node]) -> list[str]:
        """Return lines in which no node depends on a later one."""
        order = self._ordered(nodes)
        place: dict[int, tuple[str, int]] = {}  # of a node: stream, position in the stream
        lengths: Counter[str] = Counter()
        waits: dict[int, dict[str, int]] = {}
        buffered: dict[int, set[int]] = {}  # substitutes for sends that complete without a wait
        for node in order:
            needs = set[int]()
            for index in node.needs:
                need = nodes[index].number
                needs |= buffered.get(need, {need})
            node.needs = array("I")
            recorded = self._recorded_stream(node)
            if node.kind == _SEND and recorded is None:
                buffered[node.number] = needs
            stream = recorded or self._own_stream(node, needs, place)
            last: dict[str, int] = {}
            for need in needs:
                other = place[need][0]
                if other != stream and (
                    other not in last or place[last[other]][1] < place[need][1]
                ):
                    last[other] = need
            if last:
                waits[node.number] = last
            place[node.number] = stream, lengths[stream]
            lengths[stream] += 1
            self._tails[stream] = node.number
        marked = {need for last in waits.values() for need in last.values()}
        for node in order:
            stream = place[node.number][0]
            waited = waits.get(node.number, {}).values()
            self._lines += [f"wait {stream} e{need}" for need in waited]
            self._lines += self._work(node, stream)
            if node.number in marked:
                self._lines.append(f"record {stream} e{node.number}")
        return self._lines or ["host 0"]

    def _ordered(self, nodes: list[_Node]) -> list[_Node]:
        """Return the nodes after their dependencies, and otherwise by date and number.

        Dependencies are replaced by places in `nodes`, of four bytes each: a recording has fifty
        times as many dependencies as nodes.
        """
        places = {node.number: place for place, node in enumerate(nodes)}
        if len(places) != len(nodes):
            raise InputError(
                "two nodes of this execution trace have the same number", file=self.file
            )
        later: dict[int, array[int]] = {}
        missing = array("I", bytes(4 * len(nodes)))
        for place, node in enumerate(nodes):
            wanted = set(node.needs)
            there = sorted(places[need] for need in wanted if need in places)
            self.omissions["dependencies on missing nodes"] += len(wanted) - len(there)
            node.needs = array("I", there)
            missing[place] = len(there)
            for need in there:
                later.setdefault(need, array("I")).append(place)
        ready = [
            (node.begin, node.number, place)
            for place, node in enumerate(nodes)
            if not missing[place]
        ]
        heapq.heapify(ready)
        order = []
        while ready:
            _, _, first = heapq.heappop(ready)
            order.append(nodes[first])
            for place in later.pop(first, ()):
                missing[place] -= 1
                if not missing[place]:
                    heapq.heappush(ready, (nodes[place].begin, nodes[place].number, place))
        if len(order) < len(nodes):
            stuck = [str(node.number) for node, count in zip(nodes, missing, strict=True) if count]
            raise InputError(
                f"nodes {', '.join(stuck[:8])}{' and others' if stuck[8:] else ''} form a "
                "dependency cycle, or depend on one",
                file=self.file,
            )
        return order

    def _recorded_stream(self, node: _Node) -> str | None:
        on_cpu = bool(node.integer("is_cpu_op"))
        for name in ("tid",) if on_cpu else ("stream", "tid"):
            if name in node.attributes:
                return f"{'cpu' if on_cpu else 's'}{node.integer(name)}"
        return None

    def _own_stream(self, node: _Node, needs: set[int], place: dict[int, tuple[str, int]]) -> str:
        """Return a stream whose last node the node waits for anyway."""
        if node.kind in (_SEND, _RECEIVE):
            # Messages of one pair and tag stay in order.
            word = "to" if node.kind == _SEND else "from"
            return f"{word}{self._offset(node)}t{node.integer('comm_tag')}"
        if node.kind == _COLLECTIVE:
            return "group" + re.sub(r"[#\s]", "_", self._group(node))
        for need in needs:
            stream = place[need][0]
            if stream in self._chains and self._tails[stream] == need:
                return stream
        stream = f"c{len(self._chains)}"
        self._chains.add(stream)
        return stream

    def _group(self, node: _Node) -> str:
        """Return the name of a group; empty for all ranks."""
        name = str(node.attributes.get("pg_name", ""))
        return name if name in self.groups else ""

    def _offset(self, node: _Node) -> int:
        """Return the offset of the peer's rank."""
        peer = node.integer("comm_dst" if node.kind == _SEND else "comm_src")
        if not 0 <= peer < self.world or peer == self.rank:
            raise InputError(
                f"node {node.number} sends to or receives from rank {peer}; there are "
                f"{self.world} ranks, and this is rank {self.rank}",
                file=self.file,
            )
        return (peer - self.rank) % self.world

    def _work(self, node: _Node, stream: str) -> list[str]:
        seconds = node.duration * 1e-6
        size = node.integer("comm_size", -1)
        if node.kind in (_SEND, _RECEIVE, _COLLECTIVE) and not node.integer("is_cpu_op"):
            self.communications += 1
            if self.communicates and size >= 0:
                if node.kind != _COLLECTIVE:
                    word = "send" if node.kind == _SEND else "receive"
                    tag = node.integer("comm_tag")
                    return [f"{word} {stream} {self._offset(node)} {size} {tag}"]
                if (line := self._collective(node, stream, size)) is not None:
                    return [line]
            self.kept_times += 1
            return [f"delay {stream} {seconds:.9g}"]
        if node.kind in (_LOAD, _STORE) and not node.duration:
            self.omissions[
                "accesses to remote memory, treated as accesses to the GPU's memory"
            ] += 1
            return [f"memory {stream} {node.integer('tensor_size')}"]
        if node.integer("is_cpu_op"):
            return [f"delay {stream} {seconds:.9g}"]
        if node.kind == _COMPUTE and not node.duration and node.integer("num_ops") > 0:
            sizes = f"{node.integer('num_ops')} {node.integer('tensor_size')}"
            return [f"flops {stream} {sizes}"]
        if node.kind == _COMPUTE:
            self.omissions["computations without a duration, treated as 0 s"] += not node.duration
            return [f"seconds {stream} {seconds:.9g}"]
        return []

    def _collective(self, node: _Node, stream: str, size: int) -> str | None:
        """Return the node of a collective, if the group is regular and the kind is known."""
        kind = node.integer("comm_type")
        name = self._group(node)
        members = self.groups.get(name) or tuple(range(self.world))
        shape = shape_of(members, self.world)
        if kind not in _WORDS or shape is None:
            if len(members) > 1:
                self.omissions[
                    "collectives of other kinds or irregular groups, kept as recorded"
                ] += 1
            return None
        count, step = shape
        same = sorted(n for n, m in self.groups.items() if m == members) or [name]
        known = same.index(name) if name in same else 0
        communicator = f"g{count}x{step}" + (f".{known}" if known else "")
        self.shapes[communicator] = shape
        nbytes = 4 if kind == _BARRIER else size * count if kind == _ALL_GATHER else size
        return f"{_WORDS[kind]} {stream} {communicator} {nbytes}"
