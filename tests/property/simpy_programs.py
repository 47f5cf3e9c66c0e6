"""Random programs written twice: as the lines of a trace and as SimPy processes.

The programs are those of the oracle tests, with all sizes counted in bytes, as the calls of
`tisim.kernel.MpiRank` count them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.oracle.cases import Case
from tests.oracle.programs.program import Each, Line, Peer
from tests.oracle.programs.sizes import WIDTH_OF_TYPE

BYTE = 6
LARGE_BUFFER = 1 << 40

Process = Generator[Any, Any, None]


@dataclass(frozen=True)
class Step:
    """What one rank does next: a name and numbers; sizes are bytes.

    Attributes
    ----------
    name
        The action's word in a trace.
    numbers
        Its arguments, in the order of the trace, without types.
    flops
        The computation of a reduction.
    request
        The number of the request that it makes or waits for; -1: none.
    requests
        The numbers of the requests that it waits for.
    """

    name: str
    numbers: tuple[float, ...]
    flops: float = 0.0
    request: int = -1
    requests: tuple[int, ...] = ()


def steps_of(case: Case) -> list[list[Step]]:
    """The steps of each rank; tests, which `MpiRank` has not, are left out."""
    double = case.init != "init"
    lines = case.program.lines
    steps: list[list[Step]] = [[] for _ in range(case.program.ranks)]
    for line in lines:
        if line.words[0] != "test":
            together = [other for other in lines if other.event == line.event]
            reader = _Reader(line, together, len(steps), 0 if double else BYTE)
            steps[line.rank].append(reader.step())
    return steps


class _Reader:
    """Takes the words of a line to pieces."""

    def __init__(self, line: Line, together: list[Line], ranks: int, default: int) -> None:
        self._name = str(line.words[0])
        self._words = list(line.words[1:])
        self._together = together
        self._ranks = ranks
        self._default = default

    def step(self) -> Step:
        name = self._name.lower()
        number = -1
        if self._words and str(self._words[-1]).startswith("request="):
            number = int(str(self._words.pop()).partition("=")[2])
        if self._words and str(self._words[-1]).startswith("requests="):
            listed = str(self._words.pop()).partition("=")[2].split(",")
            return Step(self._name, (), requests=tuple(int(one) for one in listed))
        if name in ("compute", "sleep", "wait", "waitall", "barrier"):
            numbers = tuple(self._number(word) for word in self._words)
            return Step(self._name, numbers, request=number)
        if name in ("send", "isend", "recv", "irecv"):
            peer, tag, count = (self._number(word) for word in self._words[:3])
            size = count * self._width(3) if count >= 0 else LARGE_BUFFER
            return Step(self._name, (peer, tag, size), request=number)
        if name == "sendrecv":
            out, dst, back, src = (self._number(word) for word in self._words[:4])
            return Step(self._name, (out * self._width(4), dst, back * self._width(5), src))
        return self._collective()

    def _collective(self) -> Step:
        words, name = self._words, self._name
        if name in ("bcast", "reduce"):
            flops = self._number(words.pop(1)) if name == "reduce" else 0.0
            return Step(name, (self._bytes(0, 2), self._root(1)), flops)
        if name in ("allreduce", "scan", "exscan"):
            flops = self._number(words.pop(1))
            return Step(name, (self._bytes(0, 1),), flops)
        if name in ("gather", "scatter"):
            sent = self._bytes(0, 3) if name == "gather" else self._bytes(1, 4)
            return Step(name, (sent, self._root(2)))
        if name in ("alltoall", "allgather"):
            return Step(name, (self._bytes(0, 2),))
        if name == "reducescatter":
            flops = self._number(words[1])
            return Step(name, self._each(words[0], self._width(2)), flops)
        if name == "alltoallv":
            width = self._width(4)
            return Step(name, (*self._each(words[1], width), *self._each(words[3], width)))
        # gatherv, scatterv, allgatherv: only the root may know the counts.
        where = 0 if name == "scatterv" else 1
        known = [line.words[1 + where] for line in self._together if line.words[0] == name]
        counts = max(known, key=lambda each: sum(each.values) if isinstance(each, Each) else 0)
        rooted = name != "allgatherv"
        width = self._width(3 if rooted else 2)
        root = (self._root(2),) if rooted else ()
        return Step(name, (*self._each(counts, width), *root))

    def _number(self, word: object) -> float:
        return float(word.rank if isinstance(word, Peer) else word)  # type: ignore[arg-type]

    def _bytes(self, count: int, kind: int) -> float:
        return self._number(self._words[count]) * self._width(kind)

    def _root(self, at: int) -> float:
        return self._number(self._words[at]) if at < len(self._words) else 0.0

    def _width(self, at: int) -> int:
        kind = int(self._number(self._words[at])) if at < len(self._words) else self._default
        return WIDTH_OF_TYPE[kind]

    def _each(self, word: object, width: int) -> tuple[float, ...]:
        assert isinstance(word, Each)
        return tuple(float(value * width) for value in word.values)


def text_of(step: Step, rank: int) -> str:
    """The line of a trace."""
    name, numbers = step.name, [f"{number:.17g}" for number in step.numbers]
    size = len(step.numbers)
    if name in ("bcast", "reduce"):
        words = [numbers[0], *_flops(step), numbers[1], str(BYTE)]
    elif name in ("allreduce", "scan", "exscan"):
        words = [numbers[0], *_flops(step), str(BYTE)]
    elif name in ("gather", "scatter"):
        words = [numbers[0], numbers[0], numbers[1], f"{BYTE} {BYTE}"]
    elif name in ("alltoall", "allgather"):
        words = [numbers[0], numbers[0], f"{BYTE} {BYTE}"]
    elif name == "reducescatter":
        words = [*numbers, *_flops(step), str(BYTE)]
    elif name == "alltoallv":
        half = size // 2
        words = ["0", *numbers[:half], "0", *numbers[half:], f"{BYTE} {BYTE}"]
    elif name == "gatherv" or name == "allgatherv":
        words = [numbers[rank], *numbers, f"{BYTE} {BYTE}"]
    elif name == "scatterv":
        words = [*numbers[:-1], numbers[rank], numbers[-1], f"{BYTE} {BYTE}"]
    elif name in ("send", "isend", "recv", "irecv"):
        words = [*numbers, str(BYTE)]
    elif name == "sendRecv":
        words = [*numbers, f"{BYTE} {BYTE}"]
    else:
        words = numbers
    named = [f"request={step.request}"] if step.request >= 0 else []
    if step.requests:
        named = [f"requests={','.join(str(number) for number in step.requests)}"]
    return " ".join([str(rank), name, *words, *named])


def _flops(step: Step) -> Iterator[str]:
    if step.name in ("reduce", "allreduce", "scan", "exscan", "reducescatter"):
        yield repr(step.flops)


def write_traces(steps: list[list[Step]], directory: Path, *, stamped: bool = False) -> Path:
    """Write a trace; `stamped`: with the action ``stamp`` after every line."""
    directory.mkdir()
    for rank, own in enumerate(steps):
        stamp = [f"{rank} stamp"] if stamped else []
        lines = [line for step in own for line in (text_of(step, rank), *stamp)]
        text = "\n".join([f"{rank} init", *lines, f"{rank} finalize"])
        (directory / f"rank-{rank}.txt").write_text(text + "\n")
    return directory


def process(rank: Any, steps: list[Step], stamp: Callable[[Any], None]) -> Process:
    """The same as a SimPy process, which calls `stamp` after every step."""
    requests: dict[tuple[float, ...], list[int]] = {}
    me = float(rank.number)
    for step in steps:
        event = call(rank, step, requests)
        request = None if event is None else (yield event)
        if step.flops:
            yield rank.execute(step.flops)
        if step.name in ("isend", "irecv") and step.request >= 0:
            requests[step.request,] = [request]
        elif step.name == "isend":
            peer, tag, _ = step.numbers
            requests.setdefault((me, peer, tag), []).append(request)
        elif step.name == "irecv":
            peer, tag, _ = step.numbers
            requests.setdefault((peer, me, tag), []).append(request)
        elif step.name == "waitany":
            for number in step.requests:
                if requests.get((number,)) == [request]:
                    del requests[number,]
        elif step.requests:
            for number in step.requests:
                requests.pop((number,), None)
        elif step.name == "waitall":
            requests.clear()
        stamp(rank)
    yield rank.waitall()


def call(rank: Any, step: Step, requests: dict[tuple[float, ...], list[int]]) -> Any:
    """The event of one step; none where an earlier `waitany` has completed what it names."""
    name, numbers = step.name, step.numbers
    if step.requests:
        pending = [requests[number,][0] for number in step.requests if (number,) in requests]
        return getattr(rank, name)(pending) if pending else None
    if name == "compute":
        return rank.execute(*numbers)
    if name in ("send", "isend", "recv", "irecv"):
        peer, tag, size = numbers
        return getattr(rank, name)(int(peer), size, int(tag))
    if name == "sendRecv":
        out, dst, back, src = numbers
        return rank.sendrecv(int(dst), out, int(src), back)
    if name == "wait":
        if step.request >= 0:
            found = requests.pop((step.request,), None)
            return None if found is None else rank.wait(found[0])
        return rank.wait(requests[numbers].pop(0))
    if name in ("gatherv", "scatterv"):
        return getattr(rank, name)(numbers[:-1], int(numbers[-1]))
    if name in ("allgatherv", "reducescatter"):
        return getattr(rank, {"reducescatter": "reduce_scatter"}.get(name, name))(numbers)
    if name == "alltoallv":
        half = len(numbers) // 2
        return rank.alltoallv(numbers[:half], numbers[half:])
    if name in ("bcast", "reduce", "gather", "scatter"):
        return getattr(rank, name)(numbers[0], int(numbers[1]))
    return getattr(rank, name)(*numbers)
