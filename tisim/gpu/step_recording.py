"""Recorded GPU programs: the launches of a host thread, and the graph that an importer makes."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from tisim.errors import InputError
from tisim.gpu.step_graph import MAX_RANKS, Graph, parse_graph

_T = TypeVar("_T")
# Maximum microseconds between the end of a kernel and the begin of one that waited for it.
_NEAR = 10.0


@dataclass(frozen=True, slots=True)
class Recording:
    """Graph of a recording, and figures of the recording.

    Attributes
    ----------
    file, text, graph
        The input, and the graph, also as a graph file.
    seconds
        From the first launch or kernel to the end of the last kernel; 0 if no dates were recorded.
    kernels, collectives, kept_times
        Number of kernels and copies, of those that communicate, and of those that kept their times
        because sizes or groups are not recorded.
    omissions
        Content that the graph lacks, with its number of occurrences.
    """

    file: str | Path
    text: str
    seconds: float
    kernels: int
    collectives: int
    kept_times: int
    omissions: Counter[str]
    graph: Graph = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "graph", parse_graph(self.text, str(self.file)))


def check_ranks(ranks: int, file: str | Path) -> None:
    """Reject an impossible number of ranks before allocating anything of that size."""
    if not 1 <= ranks <= MAX_RANKS:
        raise InputError(f"has {ranks} ranks; possible are 1 to {MAX_RANKS:,}", file=file)


def shape_of(members: tuple[int, ...], world: int) -> tuple[int, int] | None:
    """Return size and stride of a group for a graph file; None if the group is irregular."""
    if len(members) < 2 or members[-1] >= world:
        return None
    size, first, stride = len(members), members[0], members[1] - members[0]
    if stride < 1 or members != tuple(range(first, first + size * stride, stride)):
        return None
    return (size, stride) if first // stride % size == 0 else None


def graph_text(
    ranks: int,
    programs: Iterable[tuple[str, Sequence[str]]],
    communicators: Mapping[str, tuple[int, int]],
    *,
    dtype: str = "",
    blocks: Iterable[tuple[str, Sequence[str]]] = (),
) -> str:
    """Return a graph file of programs: ``FIRST-LAST`` and their lines; blocks by name."""
    lines = ["graph 1", f"ranks {ranks}", *([f"dtype {dtype}"] if dtype else [])]
    lines += [f"communicator {name} {size} {step}" for name, (size, step) in communicators.items()]
    for kind, parts in (("block", blocks), ("program", programs)):
        for name, body in parts:
            lines += [f"{kind} {name}", *body, "end"]
    return "\n".join(lines) + "\n"


def ranges(values: Sequence[_T]) -> Iterator[tuple[int, int, _T]]:
    """Yield the first and last place of each run of equal values, and the value."""
    first = 0
    for place, value in enumerate(values):
        if place + 1 == len(values) or values[place + 1] != value:
            yield first, place, value
            first = place + 1


@dataclass(slots=True)
class Launched:
    """A kernel or copy; dates in microseconds.

    Attributes
    ----------
    communicates
        Whether it is an NCCL kernel.
    line
        Its line in a graph, with ``{stream}``; None: its recorded time.
    """

    stream: str
    begin: float
    end: float
    launch: float
    communicates: bool = False
    line: str | None = None
    waits_for: Launched | None = None
    number: int = -1  # of the event that marks its end


class Program:
    """Activities of a host thread: kernels, and waits with date and length.

    A kernel that began just after one of another stream had ended, later than its own stream and
    its launch explain, is assumed to wait for that one.
    """

    def __init__(self, kernels: list[Launched], waits: list[tuple[float, float]]) -> None:
        self._kernels = sorted(kernels, key=lambda kernel: (kernel.launch, kernel.begin))
        self._waits = sorted(waits)
        dates = [date for date, _ in waits] + [self._kernels[0].launch]
        self.begin = min(dates)  # microseconds
        self._find_waits()

    @property
    def seconds(self) -> float:
        """Seconds from the first launch to the end of the last kernel."""
        return (max(kernel.end for kernel in self._kernels) - self.begin) * 1e-6

    def _find_waits(self) -> None:
        ends = sorted(self._kernels, key=lambda kernel: kernel.end)
        dates = [kernel.end for kernel in ends]
        last: dict[str, float] = {}
        number = 0
        for kernel in self._kernels:
            ready = max(last.get(kernel.stream, 0.0), kernel.launch)
            last[kernel.stream] = kernel.end
            if kernel.begin - ready <= _NEAR:
                continue
            for index in range(bisect_left(dates, kernel.begin - _NEAR), len(ends)):
                other = ends[index]
                if other.end > kernel.begin + 1.0:
                    break
                if other.stream != kernel.stream and other.launch < kernel.launch:
                    kernel.waits_for = other
                    if other.number < 0:
                        other.number, number = number, number + 1

    def lines(self, start: float = 0.0) -> list[str]:
        """Return the lines of a graph file; the host thread begins after `start` seconds."""
        streams = sorted({kernel.stream for kernel in self._kernels})
        lines = [f"host {start:.9g}"] if start > 0 else []
        host = self.begin  # date of the host thread
        waits = iter([*self._waits, (float("inf"), 0.0)])
        wait, length = next(waits)
        for kernel in self._kernels:
            while wait < kernel.launch:
                lines += _host(host, wait) + [f"synchronize {stream}" for stream in streams]
                host = wait + length
                wait, length = next(waits)
            lines += _host(host, kernel.launch)
            host = max(host, kernel.launch)
            if kernel.waits_for is not None:
                lines.append(f"wait {kernel.stream} e{kernel.waits_for.number}")
            own = "seconds {stream} " + f"{(kernel.end - kernel.begin) * 1e-6:.9g}"
            lines.append((kernel.line or own).format(stream=kernel.stream))
            if kernel.number >= 0:
                lines.append(f"record {kernel.stream} e{kernel.number}")
        while length or wait < float("inf"):
            lines += _host(host, wait) + [f"synchronize {stream}" for stream in streams]
            host = wait + length
            wait, length = next(waits)
        return lines


def _host(now: float, then: float) -> list[str]:
    return [f"host {(then - now) * 1e-6:.9g}"] if then > now else []
