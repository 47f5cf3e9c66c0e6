"""Rates of replays, compared with ``smpirun -replay``."""

from __future__ import annotations

import json
import re
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.process import ROOT, TISIM, ProgramError, Run, run
from benchmarks.traces import TraceSource, archived, generated, nas, repeated

# Replays of SimGrid that take longer than this many seconds are run once.
_LONG = 20.0


@dataclass(frozen=True)
class Case:
    """A trace on a platform.

    Parameters
    ----------
    trace
        The trace.
    platform
        A name in ``platforms/``.
    goal
        Goal in actions/s on the idle machine of the goals; None if there is no goal.
    quick
        Whether it is part of a short run.
    """

    trace: TraceSource
    platform: str
    goal: float | None = None
    quick: bool = False


@dataclass
class Rate:
    """Measurements of a case; seconds of each run, in order."""

    case: Case
    actions: int = 0
    simulated: float = 0.0
    wall: list[float] = field(default_factory=list)  # the result's wall_time
    cpu: list[float] = field(default_factory=list)  # processor time, without the start-up
    process: list[float] = field(default_factory=list)  # from the start of the process to its end
    peak_bytes: int = 0
    simgrid_wall: list[float] = field(default_factory=list)
    simgrid_cpu: list[float] = field(default_factory=list)
    simgrid_simulated: float | None = None
    simgrid_failure: str | None = None

    @property
    def rate(self) -> float:
        """Actions per second."""
        return self.actions / statistics.median(self.wall)

    @property
    def ratio(self) -> float | None:
        """SimGrid's time divided by tisim's."""
        return _ratio(self.simgrid_wall, self.wall)

    @property
    def cpu_ratio(self) -> float | None:
        """The ratio of processor times, which other programs on the machine affect less."""
        return _ratio(self.simgrid_cpu, self.cpu)

    @property
    def process_ratio(self) -> float | None:
        """The ratio for whole processes, including the interpreter's start-up."""
        return _ratio(self.simgrid_wall, self.process)


def _ratio(theirs: list[float], ours: list[float]) -> float | None:
    return statistics.median(theirs) / statistics.median(ours) if theirs and ours else None


def cases() -> Iterator[Case]:
    """Yield all replays whose rates are measured."""
    lu_8 = archived("lu.A.8", ROOT / "traces" / "lu.A.8.tar.xz", 8)
    yield Case(lu_8, "backbone", 10e6, quick=True)
    yield Case(lu_8, "graphene", 2.5e6, quick=True)
    wave = "--grid 8x4 --planes 62 --iterations 60 --bytes 480 --compute 8Mf --noise 0.02"
    for trace in nas("lu.A.32", 32, generated("wavefront.32", "wavefront", 32, wave)):
        yield Case(trace, "backbone", 7e6 if trace.name == "lu.A.32" else None)
        yield Case(trace, "graphene", 2e6 if trace.name == "lu.A.32" else None)
    halo = "--grid 8x8 --bytes 14kB --iterations 1100 --compute 4Mf --noise 0.02 --allreduce 8"
    plane = generated("halo2d.64", "halo2d", 64, halo)
    for trace in nas("cg.A.64", 64, repeated("cg.S.16", 7, 16), plane):
        yield Case(trace, "backbone", 4.5e6 if trace.name == "cg.A.64" else None)
        yield Case(trace, "graphene", 4.5e6 if trace.name == "cg.A.64" else None)
    halo = "--grid 4x4x4 --bytes 8192 --iterations 200 --compute 1Mf --noise 0.02 --periodic"
    box = generated("halo3d.64", "halo3d", 64, halo)
    for trace in nas("mg.A.64", 64, repeated("mg.S.16", 10, 16), box):
        yield Case(trace, "backbone", 2.2e6 if trace.name == "mg.A.64" else None)
        yield Case(trace, "graphene", 2.2e6 if trace.name == "mg.A.64" else None)
    turns = "--bytes 32KiB --iterations 22 --compute 10Mf --noise 0.02"
    exchange = generated("transpose.32", "transpose", 32, turns)
    for trace in nas("is.A.32", 32, repeated("is.S.16", 10, 16), exchange):
        yield Case(trace, "backbone")


def measure(case: Case, repeats: int, start_up: float, with_simgrid: bool) -> Rate:
    """Replay a case several times, alternating with SimGrid.

    Parameters
    ----------
    case
        The case.
    repeats
        Number of replays.
    start_up
        Processor seconds of an almost empty replay, which are subtracted from the rate.
    with_simgrid
        Whether SimGrid is also measured.
    """
    rate = Rate(case)
    for turn in range(repeats):
        written, ran = replay(case)
        rate.actions, rate.simulated = written["actions"], written["simulated_time"]
        rate.wall.append(written["wall_time"])
        rate.cpu.append(max(ran.cpu_seconds - start_up, 1e-3))
        rate.process.append(ran.seconds)
        rate.peak_bytes = max(rate.peak_bytes, ran.peak_bytes)
        long = turn > 0 and rate.simgrid_wall and rate.simgrid_wall[0] > _LONG
        if with_simgrid and not long and rate.simgrid_failure is None:
            try:
                _add_simgrid(rate)
            except ProgramError as failed:
                rate.simgrid_failure = str(failed)
    return rate


def replay(case: Case) -> tuple[dict[str, Any], Run]:
    """Run one replay by the command line; return its result and its cost."""
    with tempfile.TemporaryDirectory() as directory:
        result = Path(directory) / "result.json"
        platform = ROOT / "platforms" / case.platform
        command = [*TISIM, "replay", "--platform", f"{platform}.xml"]
        command += ["--hosts", f"{platform}.hosts"]
        ran = run([*command, "--json", result, case.trace.get()])
        written: dict[str, Any] = json.loads(result.read_text())
    return written, ran


def has_simgrid() -> bool:
    """Return whether ``smpirun`` is installed."""
    return shutil.which("smpirun") is not None


def replay_in_simgrid(
    trace: TraceSource, platform: Path, timeout: float = 900.0
) -> tuple[Run, float | None]:
    """Run one replay by ``smpirun``; return its cost, and the simulated time if printed.

    Parameters
    ----------
    trace
        The trace.
    platform
        File of the platform; its hosts file is next to it.
    timeout
        Time limit in seconds.
    """
    command = ["smpirun", "-np", str(trace.ranks), "-platform", platform]
    command += ["-hostfile", platform.with_suffix(".hosts"), "-replay", trace.get_for_simgrid()]
    command += ["--cfg=smpi/display-timing:yes", "--log=root.thres:warning"]
    command += ["--log=smpi_kernel.thres:info", "--log=smpi_utils.thres:info"]
    ran = run(command, timeout=timeout)
    found = re.search(r"Simulat\w+ time: ([0-9.e+-]+)", ran.output)
    return ran, float(found[1]) if found else None


def _add_simgrid(rate: Rate) -> None:
    platform = ROOT / "platforms" / f"{rate.case.platform}.xml"
    ran, rate.simgrid_simulated = replay_in_simgrid(rate.case.trace, platform)
    rate.simgrid_wall.append(ran.seconds)
    rate.simgrid_cpu.append(ran.cpu_seconds)
