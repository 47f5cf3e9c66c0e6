"""``python -m benchmarks.packed``: sizes of packed traces, and the time to write and read them."""

from __future__ import annotations

import lzma
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.process import ROOT
from benchmarks.traces import TraceSource, archived, files_of
from tisim import Trace, _core
from tisim.traces import pack, unpack
from tisim.traces.generate import Halo3D, Pattern, TreeAllreduce, Wavefront

_NAS = (
    *((name, "npb.S", int(name.rpartition(".")[2])) for name in ("cg.S.16", "mg.S.16", "lu.S.4")),
    *((name, "npb.S", 16) for name in ("is.S.16", "ft.S.16", "ep.S.16")),
    *((name, name, int(name.rpartition(".")[2])) for name in ("lu.A.8", "cg.A.64")),
    *((name, name, int(name.rpartition(".")[2])) for name in ("mg.A.64", "is.A.32")),
)
_GENERATED: tuple[Pattern, ...] = (
    Halo3D(ranks=4096, iterations=10, allreduce=8),
    Halo3D(ranks=4096, iterations=1000, allreduce=8),
    Halo3D(ranks=4096, iterations=10, allreduce=8, imbalance=0.2),
    Wavefront(ranks=4096, iterations=10),
    Wavefront(ranks=4096, iterations=1000),
    TreeAllreduce(ranks=4096, iterations=10),
    TreeAllreduce(ranks=4096, iterations=1000),
)
_BATCH = 8  # operations, like a replay of many ranks
_REPEATS = 5


def main() -> None:
    """Print the tables."""
    print(_table(_SIZES, map(_sizes, _traces())))
    print(_table(_TIMES, map(_times, _traces())))
    print(_table(("generated", "ranks", "iterations", "bytes"), map(_generated, _GENERATED)))


_SIZES = ("trace", "text", "text, xz -9", "packed")
_TIMES = (
    "trace",
    "parsing, s",
    "packing / parsing",
    "reading, M ops/s",
)


def _traces() -> Iterator[TraceSource]:
    for name, archive, ranks in _NAS:
        yield archived(name, ROOT / "traces" / f"{archive}.tar.xz", ranks)


def _sizes(source: TraceSource) -> tuple[str, ...]:
    text = b"".join(file.read_bytes() for file in files_of(source.get()))
    sizes = [len(text), len(lzma.compress(text, preset=9))]
    with tempfile.TemporaryDirectory() as directory:
        packed = Path(directory) / "x.tit"
        pack(source.get(), packed)
        sizes.append(packed.stat().st_size)
        unpack(packed, Path(directory) / "again")
        for file in files_of(source.get()):
            if (Path(directory) / "again" / file.name).read_bytes() != file.read_bytes():
                raise AssertionError(f"{source.name}: {file.name} does not come back")
    return source.name, *(f"{size:,}" for size in sizes)


def _times(source: TraceSource) -> tuple[str, ...]:
    def read(trace: Trace) -> int:
        calls = _core.CallTable()
        return sum(trace.core.open(rank, calls).count(_BATCH) for rank in range(trace.ranks))

    text = Trace.open(source.get())
    operations = read(text)
    parsing = _seconds(lambda: read(text))
    with tempfile.TemporaryDirectory() as directory:
        packed = Path(directory) / "x.tit"
        packing = _seconds(lambda: pack(source.get(), packed))
        trace = Trace.open(packed)
        if read(trace) != operations:
            raise AssertionError(f"{source.name}: the packed trace has other operations")
        rate = operations / _seconds(lambda: read(trace)) / 1e6
    return source.name, f"{parsing:.3f}", f"{packing / parsing:.1f}", f"{rate:.0f}"


def _generated(pattern: Pattern) -> tuple[str, ...]:
    with tempfile.TemporaryDirectory() as directory:
        packed = Path(directory) / "x.tit"
        pattern.write(packed)
        size = packed.stat().st_size
    name = type(pattern).__name__ + (" with imbalance" if pattern.imbalance else "")
    return name, f"{pattern.ranks:,}", f"{pattern.iterations:,}", f"{size:,}"


def _seconds(work: Callable[[], object]) -> float:
    """Return the processor time, as the median of several runs."""
    taken = []
    for _ in range(_REPEATS):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return statistics.median(taken)


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [head, ("---", *("--:" for _ in head[1:])), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


if __name__ == "__main__":
    main()
