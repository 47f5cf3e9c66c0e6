"""The validated programs: patterns of messages, collectives, and applications."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tisim.traces.generate import (
    Halo2D,
    Halo3D,
    Pattern,
    Ring,
    RingAllreduce,
    Sparse,
    Transpose,
    TreeAllreduce,
    Wavefront,
)

ROOT = Path(__file__).resolve().parents[2]
KB = 1000
#: Largest size of small messages, whose time depends on the two processors.
SMALL = 4096

#: The lines of a rank, given its number and the number of ranks.
Lines = Callable[[int, int], list[str]]


@dataclass(frozen=True)
class Program:
    """A program with a number of ranks.

    Attributes
    ----------
    name
        Name without the number of ranks.
    group
        Programs that are summarised together.
    ranks
        Number of ranks.
    largest
        Bytes of its largest messages, or of a rank's part of a collective.
    write
        Writes its trace into a directory and returns the path of the trace.
    """

    name: str
    group: str
    ranks: int
    largest: int
    write: Callable[[Path], Path]

    @property
    def title(self) -> str:
        return f"{self.name} on {self.ranks}"

    @property
    def is_small(self) -> bool:
        return self.largest <= SMALL


def size_name(size: int) -> str:
    if size >= 1_000_000:
        return f"{size / 1e6:g} MB"
    return f"{size / 1e3:g} kB" if size >= 1000 else f"{size} B"


def written(name: str, group: str, ranks: int, largest: int, lines: Lines) -> Program:
    """Return a program whose trace has these lines."""

    def write(directory: Path) -> Path:
        path = directory / f"{name}-{ranks}".replace(" ", "-").replace("/", "-")
        texts = [
            f"{rank} {line}\n"
            for rank in range(ranks)
            for line in ["init", *lines(rank, ranks), "finalize"]
        ]
        path.write_text("".join(texts))
        return path

    return Program(name, group, ranks, largest, write)


def _repeats(size: int) -> int:
    """Return a number of messages that takes about 0.1 s at 80 Mbit/s, at most 20."""
    return max(1, min(20, 1_000_000 // max(size, 1)))


def one_way(size: int, ranks: int) -> Program:
    count = _repeats(size)

    def lines(rank: int, _: int) -> list[str]:
        if rank > 1:
            return []
        return [f"send 1 0 {size}" if rank == 0 else f"recv 0 0 {size}"] * count

    return written(f"one-way {size_name(size)}", "one-way", ranks, size, lines)


def incast(size: int, ranks: int) -> Program:
    count = max(1, _repeats(size) // 4)

    def lines(rank: int, size_of_all: int) -> list[str]:
        if rank > 0:
            return [f"send 0 0 {size}"] * count
        return [f"recv {other} 0 {size}" for _ in range(count) for other in range(1, size_of_all)]

    return written(f"incast {size_name(size)}", "incast", ranks, size, lines)


def fan_out(size: int, ranks: int) -> Program:
    count = max(1, _repeats(size) // 4)

    def lines(rank: int, size_of_all: int) -> list[str]:
        if rank > 0:
            return [f"recv 0 0 {size}"] * count
        return [f"send {other} 0 {size}" for _ in range(count) for other in range(1, size_of_all)]

    return written(f"fan-out {size_name(size)}", "fan-out", ranks, size, lines)


def exchange(size: int, ranks: int, receive_first: bool) -> Program:
    def lines(rank: int, _: int) -> list[str]:
        peer = rank ^ 1
        posts = [f"irecv {peer} 0 {size}", f"isend {peer} 0 {size}"]
        return [*(posts if receive_first else posts[::-1]), "waitall"] * max(2, _repeats(size) // 2)

    order = "receive first" if receive_first else "send first"
    return written(f"exchange {size_name(size)}, {order}", "exchange", ranks, size, lines)


def shift(size: int, ranks: int) -> Program:
    def lines(rank: int, all_: int) -> list[str]:
        right, left = (rank + 1) % all_, (rank - 1) % all_
        return [f"sendrecv {size} {right} {size} {left}"] * max(2, _repeats(size) // 2)

    return written(f"shift {size_name(size)}", "shift", ranks, size, lines)


def chain(size: int, ranks: int, messages: int) -> Program:
    """Messages that every rank forwards on arrival."""

    def lines(rank: int, all_: int) -> list[str]:
        actions = []
        for _ in range(messages):
            if rank > 0:
                actions.append(f"recv {rank - 1} 0 {size}")
            if rank < all_ - 1:
                actions.append(f"send {rank + 1} 0 {size}")
        return actions

    return written(f"chain of {messages} x {size_name(size)}", "chain", ranks, size, lines)


def pipeline(size: int, ranks: int) -> Program:
    """Ranks compute between their receive and their send."""

    def lines(rank: int, all_: int) -> list[str]:
        actions = []
        for _ in range(10):
            if rank > 0:
                actions.append(f"recv {rank - 1} 0 {size}")
            actions.append("compute 5e6")
            if rank < all_ - 1:
                actions.append(f"send {rank + 1} 0 {size}")
        return actions

    return written(f"pipeline {size_name(size)}", "pipeline", ranks, size, lines)


# The line of each collective, given the bytes of a rank's part and the number of ranks.
_COLLECTIVES: dict[str, Callable[[int, int], str]] = {
    "bcast": lambda size, _: f"bcast {size} 0",
    "reduce": lambda size, _: f"reduce {size // 8} 0 0 0",
    "allreduce": lambda size, _: f"allreduce {size // 8} 0 0",
    "scan": lambda size, _: f"scan {size // 8} 0 0",
    "exscan": lambda size, _: f"exscan {size // 8} 0 0",
    "gather": lambda size, _: f"gather {size} {size} 0",
    "scatter": lambda size, _: f"scatter {size} {size} 0",
    "allgather": lambda size, _: f"allgather {size} {size}",
    "alltoall": lambda size, _: f"alltoall {size} {size}",
    "gatherv": lambda size, ranks: f"gatherv {size} {_many(size, ranks)} 0",
    "scatterv": lambda size, ranks: f"scatterv {_many(size, ranks)} {size} 0",
    "allgatherv": lambda size, ranks: f"allgatherv {size} {_many(size, ranks)}",
    "alltoallv": lambda size, ranks: (
        f"alltoallv {size * ranks} {_many(size, ranks)} {size * ranks} {_many(size, ranks)}"
    ),
    "reducescatter": lambda size, ranks: f"reducescatter {_many(size // 8, ranks)} 0 0",
}


def _many(count: int, ranks: int) -> str:
    return " ".join([str(count)] * ranks)


def collective(name: str, size: int, ranks: int) -> Program:
    count = max(2, min(20, _repeats(size) // 4))

    def lines(_: int, all_: int) -> list[str]:
        line = _COLLECTIVES[name](size, all_) if name in _COLLECTIVES else name
        return ["barrier", *[line] * count]

    title = name if name == "barrier" else f"{name} {size_name(size)}"
    # Intervals of a group are validated by the errors of other groups; the variant with a list of
    # counts is almost the same program.
    return written(title, name.removesuffix("v"), ranks, size, lines)


def one_sided(name: str, size: int, ranks: int) -> Program:
    """Accesses to the memory of the next rank, or of rank 0, in each kind of epoch."""

    def lines(rank: int, all_: int) -> list[str]:
        right, left = (rank + 1) % all_, (rank - 1) % all_
        count = max(2, _repeats(size) // 4)
        steps = {
            "put": [f"put 0 {right} {size} 6", "win_fence 0"],
            "get": [f"get 0 {right} {size} 6", "win_fence 0"],
            "posted put": [
                *(f"win_post 0 {left}", f"win_start 0 {right}", f"put 0 {right} {size} 6"),
                *("win_complete 0", "win_wait 0"),
            ],
            "locked accumulate": [
                *("win_lock 0 0 exclusive", f"accumulate 0 0 {size // 8} 0", "win_unlock 0 0"),
            ],
        }
        fence = ["win_fence 0"] if name in ("put", "get") else []
        return [f"win_create 0 {size}", *fence, *steps[name] * count, "win_free 0"]

    return written(f"one-sided {name} {size_name(size)}", "one-sided", ranks, size, lines)


def _one_sided(ranks: int) -> Iterator[Program]:
    for name in ("put", "get", "posted put", "locked accumulate"):
        for size in (KB, 60 * KB, 1000 * KB):
            yield one_sided(name, size, ranks)


# The line of each non-blocking collective, given the bytes of a rank's part.
_NON_BLOCKING: dict[str, Callable[[int], str]] = {
    "ibarrier": lambda _: "ibarrier",
    "ibcast": lambda size: f"ibcast {size} 0 6",
    "iallreduce": lambda size: f"iallreduce {size // 8} 0 0",
    "ireduce": lambda size: f"ireduce {size // 8} 0 0 0",
    "iallgather": lambda size: f"iallgather {size} {size}",
    "iscan": lambda size: f"iscan {size // 8} 0 0",
}


def non_blocking(name: str, size: int, ranks: int, compute: float) -> Program:
    """A collective, a computation, and the wait for the collective, three times."""

    def lines(_: int, __: int) -> list[str]:
        computes = [f"compute {compute}"] if compute > 0 else []
        return ["barrier", *[_NON_BLOCKING[name](size), *computes, "waitall"] * 3]

    when = "computing" if compute > 0 else "waiting"
    return written(f"{name} {size_name(size)}, {when}", "overlap", ranks, size, lines)


def tested_ring(size: int, ranks: int) -> Program:
    """Ranks compute in ten parts while their messages are in flight, and test after each part."""

    def lines(rank: int, all_: int) -> list[str]:
        right, left = (rank + 1) % all_, (rank - 1) % all_
        tests = ["compute 2e6", f"test {left} {rank} 0"] * 10
        return [f"irecv {left} 0 {size}", f"isend {right} 0 {size}", *tests, "waitall"] * 4

    return written(f"tested ring {size_name(size)}", "overlap", ranks, size, lines)


def _overlapped(ranks: int) -> Iterator[Program]:
    for size in (20 * KB, 120 * KB):
        for name in _NON_BLOCKING:
            if name != "ibarrier":
                yield non_blocking(name, size, ranks, 0.0)
                yield non_blocking(name, size, ranks, 2e7)
        yield tested_ring(size, ranks)
    yield non_blocking("ibarrier", 0, ranks, 1e7)
    for size in (60 * KB, 150 * KB):
        halo = Halo2D(ranks=ranks, nbytes=size, iterations=4, compute=2e7)
        yield replace(pattern(f"halo2d {size_name(size)}", halo, size), group="overlap")


def pattern(name: str, made: Pattern, largest: int) -> Program:
    def write(directory: Path) -> Path:
        path = directory / f"{name}-{made.ranks}.tit".replace(" ", "-")
        made.write(path)
        return path

    return Program(name, "generated", made.ranks, largest, write)


def nas(name: str, ranks: int, largest: int) -> Program:
    return Program(name, "NAS", ranks, largest, lambda _: ROOT / "traces" / "npb.S.tar.xz" / name)


def _messages(ranks: int) -> Iterator[Program]:
    for size in (KB, 16 * KB, 60 * KB, 1000 * KB):
        yield incast(size, ranks)
        yield fan_out(size, ranks)
        yield shift(size, ranks)
    for size in (16 * KB, 1000 * KB):
        yield exchange(size, ranks, receive_first=True)
        yield exchange(size, ranks, receive_first=False)
    yield chain(16384, ranks, 64)
    yield pipeline(60 * KB, ranks)


def _generated(ranks: int) -> Iterator[Program]:
    small = 8 * KB
    yield pattern("ring", Ring(ranks=ranks, nbytes=100 * KB, iterations=2), 100 * KB)
    yield pattern("halo2d", Halo2D(ranks=ranks, nbytes=20 * KB, iterations=5, compute=1e6), 20 * KB)
    yield pattern("halo3d", Halo3D(ranks=ranks, nbytes=small, iterations=5, compute=1e6), small)
    yield pattern(
        "wavefront", Wavefront(ranks=ranks, nbytes=small, iterations=2, compute=1e5), small
    )
    yield pattern("transpose", Transpose(ranks=ranks, nbytes=20 * KB, iterations=2), 20 * KB)
    yield pattern(
        "ring-allreduce", RingAllreduce(ranks=ranks, nbytes=400 * KB, iterations=2), 100 * KB
    )
    yield pattern(
        "tree-allreduce", TreeAllreduce(ranks=ranks, nbytes=100 * KB, iterations=2), 100 * KB
    )
    yield pattern("sparse", Sparse(ranks=ranks, nbytes=20 * KB, iterations=3), 20 * KB)


def programs() -> Iterator[Program]:
    """Yield all programs, those of few ranks first."""
    for size in (KB, 16 * KB, 60 * KB, 256 * KB, 1000 * KB):
        yield one_way(size, 4)
    for ranks in (4, 8):
        yield from _messages(ranks)
        yield from _generated(ranks)
        yield from _overlapped(ranks)
        yield from _one_sided(ranks)
    yield nas("lu.S.4", 4, SMALL)
    for ranks in (12, 16):
        for size in (16 * KB, 256 * KB):
            yield incast(size, ranks)
            yield shift(size, ranks)
        yield chain(16384, ranks, 64)
        yield pattern("transpose", Transpose(ranks=ranks, nbytes=20 * KB, iterations=2), 20 * KB)
        yield pattern("halo2d", Halo2D(ranks=ranks, nbytes=20 * KB, iterations=5), 20 * KB)
    for name in ("is", "mg", "cg", "ft"):
        yield nas(f"{name}.S.16", 16, 64 * KB)
    for ranks in (4, 8):
        yield collective("barrier", 0, ranks)
    for name in _COLLECTIVES:
        for size in (KB, 16 * KB, 60 * KB, 128 * KB, 512 * KB):
            yield collective(name, size, 8)
        yield collective(name, 16 * KB, 16)


def few_programs() -> list[Program]:
    """Return ten fast programs, one of each kind."""
    return [
        one_way(60 * KB, 4),
        incast(60 * KB, 4),
        fan_out(60 * KB, 4),
        exchange(16 * KB, 4, receive_first=True),
        shift(60 * KB, 4),
        chain(16384, 4, 64),
        collective("barrier", 0, 4),
        collective("bcast", 60 * KB, 4),
        collective("alltoall", 16 * KB, 8),
        pattern("halo2d", Halo2D(ranks=8, nbytes=20 * KB, iterations=5, compute=1e6), 20 * KB),
    ]
