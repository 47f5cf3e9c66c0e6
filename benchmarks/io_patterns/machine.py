"""This machine: its load, its disk, and the resulting platform."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.io_patterns.programs import PATTERNS, Checkpoints
from tisim import Platform, PlatformBuilder
from tisim.studies.calibration.disk import calibrate_disk, read_results

READ: Final = "direct-file-per-process-read"
#: Jobs of fio that measure a disk: each mode of writing in each pattern of the program, and reads.
#: The simulation has no cost per call or per file on a disk, and bandwidth depends on the number of
#: writers and on whether they share a file. So fio writes like the program.
JOBS = {
    **{f"{mode}-{pattern}": "write" for mode in ("direct", "fsync") for pattern in PATTERNS},
    READ: "read",
}
_TIME_LIMIT = 120.0
# A calm second: other processes leave at least this fraction of the processors idle.
_IDLE = 0.9


def measure_disk(job: str, checkpoints: Checkpoints, result: Path) -> Path:
    """Measure one checkpoint of a run with fio, overwriting existing files.

    With several checkpoints in one run of fio (`--loops`), a finished job would fill the page cache
    with its next file while others are still in their fsync; the ranks of a run wait for each
    other. Pages of these files stay in the page cache (`invalidate=0`), like those of a program
    that overwrites its checkpoint; otherwise fio drops them first, and its writes allocate new
    ones.

    Parameters
    ----------
    job
        One of `JOBS`.
    checkpoints
        Output of each run.
    result
        JSON file to write.

    Raises
    ------
    subprocess.SubprocessError
        If fio fails.
    """
    direction = JOBS[job]
    mode, _, pattern = job.partition("-")
    jobs = 1 if pattern == "serial" else checkpoints.ranks
    size = checkpoints.rank_size * checkpoints.ranks // jobs
    words = [
        f"--name={pattern}",
        # Precedes the name of a file, to which it is a prefix.
        f"--directory={checkpoints.files(mode)}",
        f"--rw={direction}",
        f"--bs={checkpoints.block}M",
        f"--size={size}M",
    ]
    # An fsync at the end. --fsync=N would omit it, since it only comes before the next write.
    words += ["--direct=1"] if mode == "direct" else ["--end_fsync=1", "--invalidate=0"]
    if pattern == "shared":
        words += ["--filename=shared", f"--offset_increment={size}M"]
    words += [f"--numjobs={jobs}", "--group_reporting"]
    subprocess.run(
        ["fio", *words, "--output-format=json", f"--output={result}"],
        timeout=_TIME_LIMIT,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return result


def bandwidths(results: Sequence[Path]) -> list[float]:
    """Return the rate in each result of fio, in bytes/s."""
    return [run.bandwidth for result in results for run in read_results(result)]


def platform(results: Sequence[Path], memory: float, cores: int, directory: Path) -> Platform:
    """Return a host with this machine's disk.

    Parameters
    ----------
    results
        Results of fio.
    memory
        Bytes/s of messages between its ranks.
    cores
        One per rank: volumes are seconds of processor time.
    directory
        Mount point of the disk.

    Raises
    ------
    InputError
        If fio's results are insufficient.
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
    """Wait for a second in which the processors are idle, for at most `limit` seconds.

    Returns
    -------
    float
        Idle fraction of the last second.
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
    """Return the seconds that processors were idle or waited for disks, summed over processors."""
    words = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return (float(words[4]) + float(words[5])) / os.sysconf("SC_CLK_TCK")
