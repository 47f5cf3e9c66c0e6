"""Graph files: the work of GPUs without times, as text with loops.

A program is what the host thread of a GPU launches: kernels and communication into streams, each of
which executes its nodes one after the other. Blocks repeat, peers are relative to the GPU, and a
communicator is a size and a stride, so that a file is as small for 8 GPUs as for 10,000.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from tisim.errors import InputError
from tisim.traces.graph_files import read_graph_text

#: Collectives, by their names in a graph file.
COLLECTIVES = (
    *("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all"),
    "shift",  # each sends to the next of the group, the last to the first
)
#: Kernels: minimum and maximum number of numbers after the stream.
KERNELS = {
    **{"gemm": (3, 5), "memory": (1, 1), "flops": (1, 2)},
    **{"attention": (1, 2), "seconds": (1, 1)},
}
# Other nodes: minimum and maximum number of words.
_NODES = {
    **{"send": (3, 4), "receive": (3, 4), "record": (2, 2), "wait": (2, 2), "copy": (2, 2)},
    **{"delay": (2, 2), "synchronize": (1, 1), "host": (1, 1), "do": (1, 2)},
}
#: Number formats of matrices.
DTYPES = ("fp32", "tf32", "fp16", "bf16", "fp8")
#: Maximum number of ranks of a program.
MAX_RANKS = 1 << 20


@dataclass(frozen=True, slots=True)
class Node:
    """A line of a program or a block.

    Parameters
    ----------
    word
        A kernel (``KERNELS``), a collective (``COLLECTIVES``), ``send``, ``receive``, ``record``,
        ``wait``, ``copy``, ``delay``, ``host``, ``synchronize`` or ``do``.
    stream
        The stream's name; empty for ``host`` and ``do``.
    name
        The communicator, the event or the block; empty for other words.
    numbers
        Those of a kernel as its word defines; bytes of communication and copies; the offset of the
        peer, bytes and tag of ``send`` and ``receive``; seconds of ``host`` and ``delay``; the
        repetitions of ``do``.
    line
        Line in the file, from 1.
    """

    word: str
    stream: str
    name: str
    numbers: tuple[float, ...]
    line: int

    @property
    def kind(self) -> Literal["kernel", "communication", "other"]:
        """The activity of the GPU during the node."""
        if self.word in KERNELS:
            return "kernel"
        return "other" if self.word in ("delay", "copy") else "communication"

    @property
    def label(self) -> str:
        """The word, and the name if any."""
        return f"{self.word} {self.name}".rstrip()


@dataclass(slots=True)
class Graph:
    """Content of a graph file.

    Attributes
    ----------
    file
        Name of the file.
    ranks
        Number of GPUs.
    dtype
        Number format of the matrices.
    communicators
        Size and stride: a group consists of the ranks that differ in ``rank // stride % size``
        only.
    blocks
        Nodes by name, in the order of the file; a block uses only earlier ones.
    programs
        First rank, last rank and nodes.
    trains
        Whether it is a step of training; false with the line ``inference``.
    """

    file: str
    ranks: int = 0
    dtype: str = "bf16"
    communicators: dict[str, tuple[int, int]] = field(default_factory=dict)
    blocks: dict[str, list[Node]] = field(default_factory=dict)
    programs: list[tuple[int, int, list[Node]]] = field(default_factory=list)
    trains: bool = True


def read_graph(path: str | Path) -> Graph:
    """Read a graph file.

    Raises
    ------
    InputError
        If the file is not a graph file, with the line.
    """
    return parse_graph(read_graph_text(path), str(path))


def parse_graph(text: str, file: str = "graph") -> Graph:
    """Parse the text of a graph file; `file` is its name in messages."""
    reader = _Reader(Graph(file))
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if words:
            reader.number = number
            reader.read(words)
    reader.end_of_file()
    return reader.graph


def has_own_times(graph: Graph) -> bool:
    """Return whether kernels have known times, as those of recordings do."""
    lists = [*graph.blocks.values(), *(nodes for _, _, nodes in graph.programs)]
    return any(node.word == "seconds" for nodes in lists for node in nodes)


def node_counts(graph: Graph) -> list[tuple[str, int, float]]:
    """Return operations of all GPUs: words of nodes, their number, and the bytes sent or copied.

    The bytes of a collective are those of the largest buffer of each rank.

    Loops are counted, not unfolded.
    """
    known: dict[str, dict[str, tuple[int, float]]] = {}

    def of(nodes: list[Node]) -> dict[str, tuple[int, float]]:
        totals: dict[str, tuple[int, float]] = {}
        for node in nodes:
            times = 1
            parts = {node.word: (1, 0.0)}
            if node.word == "do":
                times, parts = int(node.numbers[0]), known[node.name]
            elif node.word in (*COLLECTIVES, "copy"):
                parts = {node.word: (1, node.numbers[0])}
            elif node.word == "send":
                parts = {node.word: (1, node.numbers[1])}
            add(totals, parts, times)
        return totals

    def add(
        totals: dict[str, tuple[int, float]], parts: dict[str, tuple[int, float]], times: int
    ) -> None:
        for word, (count, sent) in parts.items():
            before = totals.get(word, (0, 0.0))
            totals[word] = before[0] + count * times, before[1] + sent * times

    for name, nodes in graph.blocks.items():
        known[name] = of(nodes)
    everything: dict[str, tuple[int, float]] = {}
    for first, last, nodes in graph.programs:
        add(everything, of(nodes), last - first + 1)
    return [(word, count, sent) for word, (count, sent) in everything.items()]


class _Reader:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.number = 0
        self.nodes: list[Node] | None = None  # of the open block or program
        self.group: tuple[str, list[Node]] | None = None  # open group: its stream and its nodes
        self.started = False

    def fail(self, message: str) -> InputError:
        return InputError(message, file=self.graph.file, line=self.number or None)

    def read(self, words: list[str]) -> None:
        word, rest = words[0], words[1:]
        if not self.started:
            if words != ["graph", "1"]:
                raise self.fail("a graph file must begin with the line 'graph 1'")
            self.started = True
        elif word == "end" and self.group is not None:
            self.end_of_group(rest)
        elif word == "group" and self.nodes is not None:
            self.count(word, rest, 1, 1)
            self.group = rest[0], []
        elif self.group is not None:
            self.add_to_group(word, rest)
        elif word == "end":
            if self.nodes is None or rest:
                raise self.fail("'end' must stand alone, after a block or a program")
            if not self.nodes:
                raise self.fail("this block or program has no nodes")
            self.nodes = None
        elif self.nodes is not None:
            self.nodes.append(self.node(word, rest))
        else:
            self.head(word, rest)

    def add_to_group(self, word: str, rest: list[str]) -> None:
        assert self.group is not None
        stream, parts = self.group
        if word not in ("send", "receive", *COLLECTIVES):
            raise self.fail("a group must consist of messages and collectives, followed by 'end'")
        node = self.node(word, rest)
        if node.stream != stream:
            raise self.fail(f"all of this group must be on stream {stream}")
        parts.append(node)

    def end_of_group(self, rest: list[str]) -> None:
        """Start all parts once the stream gets there; it continues when all have ended.

        Messages of one pair and tag, and calls of one communicator, stay in order.
        """
        assert self.group is not None
        assert self.nodes is not None
        (stream, parts), self.group = self.group, None
        if rest or not parts:
            raise self.fail("'end' must stand alone, after the messages and collectives of a group")
        streams: dict[str, list[Node]] = {}
        for node in parts:
            peer = node.name or ".".join(
                f"{number:g}" for number in (*node.numbers[:1], *node.numbers[2:])
            )
            way = node.word if node.word in ("send", "receive") else "all"
            own = f"{stream}.{way}.{peer}"
            streams.setdefault(own, []).append(replace(node, stream=own))
        self.nodes.append(Node("record", stream, f"{stream}.group", (), self.number))
        for own, nodes in streams.items():
            self.nodes.append(Node("wait", own, f"{stream}.group", (), self.number))
            self.nodes += [*nodes, Node("record", own, own, (), self.number)]
        self.nodes += [Node("wait", stream, own, (), self.number) for own in streams]

    def head(self, word: str, rest: list[str]) -> None:
        graph = self.graph
        if word == "ranks" and len(rest) == 1:
            graph.ranks = self.whole(rest[0], 1, MAX_RANKS)
        elif word == "inference" and not rest:
            graph.trains = False
        elif word == "dtype" and len(rest) == 1:
            if rest[0] not in DTYPES:
                raise self.fail(f"unknown dtype {rest[0]!r}; known are {', '.join(DTYPES)}")
            graph.dtype = rest[0]
        elif word == "communicator" and len(rest) == 3:
            size, stride = (self.whole(text, 1, MAX_RANKS) for text in rest[1:])
            graph.communicators[rest[0]] = size, stride
        elif word == "block" and len(rest) == 1:
            if rest[0] in graph.blocks:
                raise self.fail(f"the block {rest[0]!r} already exists")
            self.nodes = graph.blocks[rest[0]] = []
        elif word == "program" and len(rest) == 1:
            self.nodes = []
            first, _, last = rest[0].partition("-")
            ends = [self.whole(text, 0, graph.ranks - 1) for text in (first, last or first)]
            if ends[1] < ends[0]:
                raise self.fail(
                    "a program must be for FIRST-LAST, with the first rank not above the last"
                )
            graph.programs.append((ends[0], ends[1], self.nodes))
        else:
            raise self.fail(
                "expected 'ranks N', 'dtype NAME', 'inference', 'communicator NAME SIZE STRIDE', "
                "'block NAME' or 'program FIRST-LAST'"
            )

    def node(self, word: str, rest: list[str]) -> Node:
        if word in KERNELS:
            stream, *texts = rest or [""]
            self.count(word, texts, *KERNELS[word])
            return Node(word, stream, "", tuple(map(self.amount, texts)), self.number)
        if word not in (*COLLECTIVES, *_NODES):
            known = [*KERNELS, *COLLECTIVES, *_NODES, "group"]
            known.remove("do")
            raise self.fail(f"unknown node {word!r}; known are {', '.join(known)}, do and end")
        self.count(word, rest, *_NODES.get(word, (3, 3)))
        stream, name = rest[0], ""
        numbers: tuple[float, ...] = ()
        if word in COLLECTIVES:
            name, numbers = rest[1], (self.amount(rest[2]),)
            if name not in self.graph.communicators:
                raise self.fail(f"no communicator {name!r} is defined above")
        elif word in ("send", "receive"):
            most = self.graph.ranks - 1
            offset = self.whole(rest[1], -most, most)
            tags = [self.whole(text, 0, 2**31 - 1) for text in rest[3:] if text != "0"]
            numbers = (offset, self.amount(rest[2]), *tags)
        elif word in ("record", "wait"):
            name = rest[1]
        elif word in ("delay", "copy"):
            numbers = (self.amount(rest[1]),)
        elif word == "host":
            stream, numbers = "", (self.amount(rest[0]),)
        elif word == "do":
            stream, name = "", rest[0]
            if self.graph.blocks.get(name) in (None, self.nodes):
                raise self.fail(f"no block {name!r} is defined above")
            numbers = (self.whole(rest[1], 1, 2**31 - 1) if rest[1:] else 1,)
        return Node(word, stream, name, numbers, self.number)

    def count(self, word: str, texts: list[str], least: int, most: int) -> None:
        if not least <= len(texts) <= most:
            wanted = f"{least}" if least == most else f"{least} to {most}"
            raise self.fail(f"'{word}' must be followed by {wanted} more words, not {len(texts)}")

    def whole(self, text: str, least: int, most: int) -> int:
        try:
            value = int(text)
        except ValueError:
            raise self.fail(f"{text!r} is not a whole number") from None
        if not least <= value <= most:
            raise self.fail(f"{text} is not from {least} to {most}")
        return value

    def amount(self, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 <= value < 1e30:
            raise self.fail(f"{text!r} is not a non-negative number")
        return value

    def end_of_file(self) -> None:
        graph = self.graph
        if self.nodes is not None or self.group is not None:
            raise self.fail("the last block or program has no 'end'")
        next_rank = 0 if graph.programs or not graph.blocks else graph.ranks
        for first, last, _ in sorted(graph.programs, key=lambda program: program[0]):
            if first != next_rank:
                raise self.fail(f"rank {min(first, next_rank)} needs exactly one program")
            next_rank = last + 1
        if next_rank != graph.ranks or not graph.ranks:
            raise self.fail(f"rank {next_rank} has no program")
        for name, (size, stride) in graph.communicators.items():
            if size * stride > graph.ranks and (size - 1) * stride >= graph.ranks:
                raise self.fail(f"communicator {name} does not fit into {graph.ranks} ranks")
