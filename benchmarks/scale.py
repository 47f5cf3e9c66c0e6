"""Costs that must stay bounded: all-to-alls, long traces, many ranks, start-up."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.process import ROOT, TISIM, Run, run
from benchmarks.traces import (
    CACHE,
    TraceSource,
    archived,
    flat_cluster,
    generated,
    new_platform,
)

MB = 1e6
GB = 1e9


@dataclass(frozen=True)
class Goal:
    """A number with a bound.

    Parameters
    ----------
    name
        The measured quantity.
    value, bound
        The number and its bound.
    unit
        Unit of both.
    at_least
        Whether the bound is a lower bound.
    """

    name: str
    value: float
    bound: float
    unit: str
    at_least: bool = False

    @property
    def met(self) -> bool:
        """True if the number satisfies its bound."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound


@dataclass(frozen=True)
class Study:
    """A measurement: its name, and a function that yields its numbers."""

    name: str
    measure: Callable[[], Iterator[Goal]]
    quick: bool = True
    large: bool = False


def studies() -> list[Study]:
    """Return all studies, in the order of the table."""
    return [
        Study("start-up", _start_up),
        Study("platform of 100,000 hosts", _platform),
        Study("packed traces", _packed),
        Study("all-to-all of 512 ranks", lambda: _all_to_all(512, "pair", 3.0)),
        Study(
            "all-to-all of 1,024 ranks",
            lambda: _all_to_all(1024, "basic_linear", 20.0),
            quick=False,
        ),
        Study("halo exchanges out of step", _out_of_step, quick=False),
        Study("length of traces", _length, quick=False),
        Study("a shared file", _shared_file, quick=False),
        Study("all-to-all of 4,096 ranks", _all_to_all_on_a_tree, quick=False, large=True),
        Study("a million ranks", _million, quick=False, large=True),
    ]


def start_up_trace() -> TraceSource:
    """16 ranks, about 1,000 actions."""
    return generated("ring.16", "ring", 16, "--iterations 15")


def timed_replay(
    trace: Path, platform: Path, *options: str, timeout: float = 900.0
) -> tuple[dict[str, Any], Run]:
    """Run one replay by the command line; return its result without ranks, and its cost."""
    with tempfile.TemporaryDirectory() as directory:
        result = Path(directory) / "result.json"
        files = ("--platform", platform, "--json", result, trace)
        ran = run([*TISIM, "replay", *options, *files], timeout=timeout)
        with result.open() as file:  # there may be a million ranks
            head = "".join(iter(file.readline, ' "ranks": [\n')).rstrip().removesuffix(",")
    return json.loads(head + "}"), ran


def start_up_cpu(repeats: int) -> float:
    """Return the processor seconds of an almost empty replay."""
    platform, trace = ROOT / "platforms" / "graphene.xml", start_up_trace().get()
    return statistics.median(timed_replay(trace, platform)[1].cpu_seconds for _ in range(repeats))


def _start_up() -> Iterator[Goal]:
    platform, trace = ROOT / "platforms" / "graphene.xml", start_up_trace().get()
    replays = [timed_replay(trace, platform)[1] for _ in range(7)]
    yield Goal(
        "`tisim replay` of 16 ranks, 1,000 actions, as a whole process",
        statistics.median(ran.seconds for ran in replays),
        0.5,
        "s",
    )
    bare = [run([sys.executable, "-c", "pass"]).cpu_seconds for _ in replays]
    yield Goal(
        "its processor time beyond `python3 -c pass`",
        statistics.median(ran.cpu_seconds for ran in replays) - statistics.median(bare),
        0.1,
        "s",
    )
    code = "import time; t = time.perf_counter(); import tisim; print(time.perf_counter() - t)"
    imports = [float(run([sys.executable, "-c", code]).output) for _ in range(7)]
    yield Goal("`import tisim`", statistics.median(imports), 0.15, "s")


def _platform() -> Iterator[Goal]:
    code = (
        "import sys, time, lxml.etree, numpy, tisim\nfrom tisim.platform import Platform\n"
        "from tisim.simulation.settings import Settings\n"
        "t = time.perf_counter()\nSettings(Platform.load(sys.argv[1])).data\n"
        "print(time.perf_counter() - t)"
    )
    file = flat_cluster(100_000)
    loads = [run([sys.executable, "-c", code, file]) for _ in range(3)]
    seconds = statistics.median(float(ran.output) for ran in loads)
    yield Goal("a cluster of 100,000 hosts is loaded, ready to simulate", seconds, 1.0, "s")


def _packed() -> Iterator[Goal]:
    text = archived("lu.A.8", ROOT / "traces" / "lu.A.8.tar.xz", 8).get()
    packed = CACHE / "lu.A.8.tit"
    run([*TISIM, "pack", text, "-o", packed])
    size = sum(file.stat().st_size for file in text.iterdir())
    yield Goal("packed lu.A.8, part of the text", packed.stat().st_size / size, 0.25, "")
    code = (
        "import sys, time, numpy\nfrom tisim import Trace, _core\nt = time.perf_counter()\n"
        "trace = Trace.open(sys.argv[1])\ncalls = _core.CallTable()\nread = 0\n"
        "for rank in range(trace.ranks):\n"
        "    reader = trace.core.open(rank, calls)\n"
        "    while n := len(reader.read(65536)):\n"
        "        read += n // _core.OP_LAYOUT['itemsize']\n"
        "assert read == trace.actions\nprint(read / (time.perf_counter() - t))"
    )
    rates = [float(run([sys.executable, "-c", code, packed]).output) for _ in range(5)]
    yield Goal(
        "packed lu.A.8 is read, actions a second", statistics.median(rates), 10e6, "", at_least=True
    )


def _all_to_all(ranks: int, algorithm: str, bound: float) -> Iterator[Goal]:
    trace = generated(
        f"transpose.{ranks}", "transpose", ranks, "--bytes 65536 --iterations 1 --compute 0"
    ).get()
    choice = f"smpi/alltoall={algorithm}"
    result, _ = timed_replay(trace, flat_cluster(ranks), "--config", choice)
    how = "pairwise" if algorithm == "pair" else "all messages posted at once"
    name = f"all-to-all of {ranks:,} ranks, 64 kB, {how}"
    yield Goal(name, result["wall_time"], bound, "s")


def _all_to_all_on_a_tree() -> Iterator[Goal]:
    options = "--bytes 65536 --iterations 1 --compute 0"
    trace = generated("transpose.4096", "transpose", 4096, options).get()
    choice = ("--config", "smpi/alltoall=basic_linear")
    _, ran = timed_replay(trace, new_platform("fat-tree", 4096), *choice, timeout=3600)
    name = "all-to-all of 4,096 ranks on a fat tree, all messages posted at once, processor time"
    yield Goal(name, ran.cpu_seconds, 180, "s")
    yield Goal("the same, peak memory of the process", ran.peak_bytes / GB, 4, "GB")


def _out_of_step() -> Iterator[Goal]:
    """All flows of a halo exchange are one component; the cost per action must not grow."""
    per_action = []
    for ranks, grid in ((1024, "16x8x8"), (16384, "32x32x16")):
        options = f"--grid {grid} --iterations 3 --allreduce 8"
        trace = generated(f"halo3d.{ranks}", "halo3d", ranks, options).get()
        result, _ = timed_replay(trace, flat_cluster(ranks))
        per_action.append(result["wall_time"] / result["actions"])
    ratio = per_action[1] / per_action[0]
    name = "3-D halo of 16,384 ranks out of step, time of an action beside that with 1,024"
    yield Goal(name, ratio, 3, "")


def _length() -> Iterator[Goal]:
    """A trace of 100 million actions needs no more memory than one of 1 million."""
    options = "--grid 4x2 --bytes 1024 --planes 50 --compute 50Mf --iterations"
    platform = ROOT / "platforms" / "backbone.xml"
    short = generated("wavefront.8.short", "wavefront", 8, f"{options} 360").get()
    long = generated("wavefront.8.long", "wavefront", 8, f"{options} 36000").get()
    peaks, counts = [], []
    for trace in (short, long):
        result, ran = timed_replay(trace, platform)
        peaks.append(ran.peak_bytes)
        counts.append(result["actions"])
    for file in long.iterdir():  # takes gigabytes
        file.unlink()
    long.rmdir()
    yield Goal(f"peak memory, text of {counts[1] / 1e6:.0f} M actions", peaks[1] / MB, 150, "MB")
    # A few kB per rank; but runs of the same trace also differ by some pages of the interpreter.
    more = max(peaks[1] - peaks[0], 0) / MB
    yield Goal(f"the same, more than with {counts[0] / 1e6:.0f} M actions", more, 1, "MB")


def _shared_file() -> Iterator[Goal]:
    """100,000 ranks on 1,563 hosts of 64 cores write 1 MiB each to one file on 64 servers."""
    CACHE.mkdir(parents=True, exist_ok=True)
    trace, platform = CACHE / "shared.100000.tit", CACHE / "servers.xml"
    pattern = ("--pattern", "shared", "--iterations", "1")
    run([*TISIM, "generate", "io", "--ranks", "100000", *pattern, "-o", trace])
    hosts = ("--nodes", "1628", "--cores", "64", "--speed", "3Gf")
    links = ("--bandwidth", "100Gbps", "--latency", "1us")
    pfs = "servers=64,read=5GBps,write=3GBps,count=all,metadata-rate=50000,metadata-latency=100us"
    run([*TISIM, "platform", "new", "cluster", *hosts, *links, "--pfs", pfs, "-o", platform])
    places = ("--hosts", str(platform.with_suffix(".hosts")))
    _, ran = timed_replay(trace, platform, *places)
    name = "100,000 ranks write a shared file on 64 servers, processor time"
    yield Goal(name, ran.cpu_seconds, 60, "s")


def _million() -> Iterator[Goal]:
    CACHE.mkdir(parents=True, exist_ok=True)
    trace = CACHE / "halo3d.1000000.tit"
    if not trace.is_file():
        grid = ("--grid", "100x100x100", "--iterations", "1", "--allreduce", "8")
        run([*TISIM, "generate", "halo3d", "--ranks", "1000000", *grid, "-o", trace], timeout=1800)
    result, ran = timed_replay(trace, flat_cluster(1_000_000), timeout=1800)
    yield Goal("a million ranks: 3-D halo and an allreduce", result["wall_time"], 120, "s")
    yield Goal("the same, peak memory of the process", ran.peak_bytes / GB, 2, "GB")
    checked = run([*TISIM, "check", trace], timeout=1800)
    part = checked.cpu_seconds / ran.cpu_seconds
    yield Goal("`tisim check` of that trace, part of the replay's processor time", part, 1, "")
    yield Goal("the same, peak memory of the process", checked.peak_bytes / GB, 1, "GB")
