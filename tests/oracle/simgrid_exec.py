#!/usr/bin/env python3
"""Execute a trace with real MPI calls in SimGrid and report when each rank ends.

As a program: ``simgrid_exec.py PLATFORM.xml HOSTFILE TRACE_DIR [KEY:VALUE ...]`` prints JSON.
TRACE_DIR holds rank-0.txt, rank-1.txt, ... (modern dialect). Each KEY:VALUE is an item of
SimGrid's configuration, such as smpi/coll-selector:ompi. The network runs with
network/optim:Full: exact max-min shares at every instant. Needs smpicc and smpirun on the PATH
(Debian: apt-get install libsimgrid-dev).
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.support import ROOT

SOURCES = sorted((Path(__file__).parent / "mpi_program").glob("ti_*.[ch]"))
CACHE = ROOT / "build" / "oracle"
FIXED = (
    "--cfg=smpi/simulate-computation:no",
    "--cfg=smpi/wtime:0",
    "--cfg=network/optim:Full",
    "--log=root.thres:error",
)
# Options of SimGrid 4 that 3.32 lacks or names differently.
SYNCHRONISED = "smpi/barrier-collectives:yes"
RENAMED = {"smpi/barrier-finalization:yes": "smpi/finalization-barrier:yes"}


class OracleError(Exception):
    """SimGrid gave no answer; the text is the cause, on one line."""


def missing() -> str | None:
    """Return why the oracle cannot run here, or None if it can."""
    for tool in ("smpirun", "smpicc"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed (Debian: apt-get install libsimgrid-dev)"
    return None


def compiled(compiler: Sequence[str], *sources: Path) -> Path:
    """Return the executable of some sources, compiled once for each version of them and of SimGrid.

    Headers among the sources are not compiled; `compiler` includes the leading options.
    """
    text = b"".join(source.read_bytes() for source in sources)
    key = hashlib.sha256(text + simgrid_version()).hexdigest()[:16]
    path = CACHE / f"{sources[-1].stem}-{key}"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(f".{os.getpid()}")
        files = [source for source in sources if source.suffix in (".c", ".cpp")]
        subprocess.run([*compiler, *files, "-o", fresh], check=True)
        fresh.replace(path)
    return path


@functools.cache
def simgrid_version() -> bytes:
    return subprocess.run(["smpirun", "-version"], capture_output=True, check=True).stdout


@functools.cache
def program() -> Path:
    """Return the executable that makes the MPI calls."""
    return compiled(("smpicc", "-O2"), *SOURCES)


def missing_s4u() -> str | None:
    """Return why programs that use the S4U interface cannot run here, or None if they can."""
    if shutil.which("g++") is None or not Path("/usr/include/simgrid/s4u.hpp").exists():
        return "g++ or SimGrid is not installed (Debian: apt-get install g++ libsimgrid-dev)"
    return None


@functools.cache
def s4u_program(source: Path) -> Path:
    """Return the executable of a C++ program that uses SimGrid's S4U interface."""
    return compiled(("g++", "-std=c++17", "-O1", "-Wl,--no-as-needed", "-lsimgrid"), source)


def cause_of(run: subprocess.CompletedProcess[str]) -> str:
    """Extract one line from SimGrid's output about its failure."""
    text = run.stderr + run.stdout
    for pattern in (
        r"\[[\w.]+/CRITICAL\] (.*)",
        r"\[[\w.]+/ERROR\] (.*)",
        r"what\(\): +(.*)",
        r"(rank \d+: unknown action .*)",
        r"(Segmentation fault)",
        r"(Floating point exception)",
    ):
        match = re.search(pattern, text)
        if match:
            return match.group(1).strip()[:200]
    last = text.strip().splitlines()[-1:] or ["nothing printed"]
    return f"exit status {run.returncode}: {last[0][:200]}"


def run_all(command: Sequence[str], timeout: float) -> subprocess.CompletedProcess[str]:
    """Run a command; on timeout, kill it and all processes that it started.

    Raises
    ------
    OracleError
        If it takes longer than `timeout` seconds.
    """
    child = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # The sanitizers of a core under test (`make verified`) must not be loaded into SimGrid.
        env={key: value for key, value in os.environ.items() if key != "LD_PRELOAD"},
    )
    try:
        out, err = child.communicate(timeout=timeout)
    except BaseException as error:
        # smpirun is a script: the simulator would outlive it.
        os.killpg(child.pid, signal.SIGKILL)
        child.communicate()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        raise OracleError(f"no end after {timeout:g} s") from None
    return subprocess.CompletedProcess(command, child.returncode, out, err)


def run_oracle(
    platform: str | os.PathLike[str],
    hostfile: str | os.PathLike[str],
    trace_dir: str | os.PathLike[str],
    cfg: Sequence[str] = (),
    *,
    timeout: float = 120.0,
) -> list[float]:
    """Return the time at which each rank ends, in seconds.

    Parameters
    ----------
    platform, hostfile
        SimGrid's platform file, and a file with one host per line; rank r runs on line r.
    trace_dir
        A directory with ``rank-<r>.txt`` for every rank, in the modern dialect.
    cfg
        Items of SimGrid's configuration, each ``KEY:VALUE``. The names of SimGrid 4 work, too;
        ``ti_exec`` itself implements ``smpi/barrier-collectives``.
    timeout
        Seconds of real time after which SimGrid is killed.

    Raises
    ------
    OracleError
        If SimGrid crashed, deadlocked or took too long.
    """
    ranks = len(list(Path(trace_dir).glob("rank-*.txt")))
    command = ["smpirun", "-np", str(ranks), "-no-privatize"]
    command += ["-platform", os.fspath(platform), "-hostfile", os.fspath(hostfile), *FIXED]
    command += [f"--cfg={RENAMED.get(item, item)}" for item in cfg if item != SYNCHRONISED]
    command += [str(program()), os.fspath(trace_dir)]
    command += ["synchronised"] if SYNCHRONISED in cfg else []
    run = run_all(command, timeout)
    ends = {int(r): float(t) for r, t in re.findall(r"rank (\d+) finish ([-+\d.e]+)", run.stdout)}
    if len(ends) != ranks or run.returncode != 0:
        raise OracleError(cause_of(run))
    return [ends[r] for r in range(ranks)]


def main(arguments: Sequence[str]) -> int:
    """Run the program; see the module's docstring."""
    if len(arguments) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        ends = run_oracle(*arguments[:3], arguments[3:])
    except OracleError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps({"total": max(ends), "ends": ends}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
