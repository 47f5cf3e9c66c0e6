"""This machine: how busy it is, what its disk does, and the platform that this gives."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.io_patterns.programs import Checkpoints
from tisim import Platform, PlatformBuilder
from tisim.calibration.disk import calibrate_disk
from tisim.calibration.disk.results import read_results

#: What is measured of a disk: the name of its results, and the options of fio. Those that end with
#: `alone` are of one job, which writes what all others together write; a disk has no cost of a call
#: in the simulation, and one writer reaches less than several.
JOBS = {
    "direct-write": ("--rw=write", "--direct=1"),
    "direct-write-alone": ("--rw=write", "--direct=1"),
    "direct-read": ("--rw=read", "--direct=1"),
    "fsync-write": ("--rw=write",),
    "fsync-write-alone": ("--rw=write",),
}
_TIME_LIMIT = 120.0
# A calm second: other processes leave at least so much of the processors idle.
_IDLE = 0.9


def measure_disk(job: str, checkpoints: Checkpoints, result: Path) -> Path:
    """Measure with fio what a run writes: the same files again and again.

    Parameters
    ----------
    job
        One of `JOBS`.
    checkpoints
        What each run writes.
    result
        The JSON to write.

    Raises
    ------
    subprocess.SubprocessError
        When fio fails.
    """
    jobs = 1 if job.endswith("alone") else checkpoints.ranks
    size = checkpoints.rank_size * checkpoints.ranks // jobs
    words = [f"--bs={checkpoints.block}M", f"--size={size}M", f"--loops={checkpoints.count}"]
    if job.startswith("fsync"):
        words.append(f"--fsync={size // checkpoints.block}")
    words += [f"--numjobs={jobs}", f"--directory={checkpoints.directory}", "--group_reporting"]
    subprocess.run(
        ["fio", f"--name={jobs}", *JOBS[job], *words, "--output-format=json", f"--output={result}"],
        timeout=_TIME_LIMIT,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return result


def bandwidths(results: Sequence[Path]) -> list[float]:
    """What each result of fio says, in bytes/s."""
    return [run.bandwidth for result in results for run in read_results(result)]


def platform(results: Sequence[Path], memory: float, cores: int, directory: Path) -> Platform:
    """A host with this machine's disk.

    Parameters
    ----------
    results
        What fio has measured.
    memory
        Bytes/s of messages between its ranks.
    cores
        One for each rank: volumes are seconds of processor time.
    directory
        The mount point of the disk.

    Raises
    ------
    InputError
        When fio's results do not suffice.
    """
    disk = calibrate_disk(results)
    built = PlatformBuilder("this machine")
    rates = (f"{disk.read}Bps", f"{disk.write}Bps", str(directory))
    with built.zone("machine"):
        built.host("node", "1Gf", cores=cores, disks={"disk": rates})
        built.link("memory", f"{memory}Bps", "1us", sharing="FATPIPE")
        built.route("node", "node", ["memory"])
    return built.build()


def wait_for_calm(limit: float) -> float:
    """Wait for a second in which the processors are idle, but not longer than so many seconds.

    Returns
    -------
    float
        The idle part of the last second.
    """
    end = time.monotonic() + limit
    while True:
        idle = _idle_part(1.0)
        if idle >= _IDLE or time.monotonic() > end:
            return idle


def _idle_part(seconds: float) -> float:
    first = _idle_seconds()
    begun = time.monotonic()
    time.sleep(seconds)
    passed = (time.monotonic() - begun) * (os.cpu_count() or 1)
    return min((_idle_seconds() - first) / passed, 1.0)


def _idle_seconds() -> float:
    """Seconds that the processors have been idle, or waited for disks, all of them added up."""
    words = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return (float(words[4]) + float(words[5])) / os.sysconf("SC_CLK_TCK")
