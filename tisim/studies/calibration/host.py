"""Memory bandwidth of a node, and its use by concurrent computations."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from os import PathLike
from typing import Final

from tisim.errors import ExecutionError, InputError
from tisim.platform.host_properties import MEMORY_BANDWIDTH, MEMORY_DEMAND, SPEED_DEVIATION
from tisim.studies.calibration.cpu import calibrate_cpu, read_recorded
from tisim.support.mpi import (
    SourceCode,
    compiled,
    die_with_parent,
    find_library,
    launching_command,
    mpi_compiler,
)

#: Time limit of the scan in seconds.
TIME_LIMIT: Final = 600.0
_HEADER = "what,ranks,amount,seconds"
# Smallest relative slowdown that is attributed to memory; smaller ones are within the precision of
# the measurements.
_NOTABLE = 0.05


@dataclass(frozen=True)
class Scan:
    """Rates of concurrent ranks of a node.

    Attributes
    ----------
    bandwidth
        Joint bandwidth of the triad over all ranks, in bytes/s, by number of ranks.
    arithmetic
        Joint rate of computations in registers over all ranks, in flop/s, by number of ranks.
    """

    bandwidth: dict[int, float]
    arithmetic: dict[int, float]

    @property
    def memory_bandwidth(self) -> float:
        """Memory bandwidth: the maximum over all numbers of ranks, in bytes/s."""
        return max(self.bandwidth.values())

    def warning(self) -> str | None:
        """Return a warning if ranks shared cores: more ranks computed less in registers."""
        for ranks, rate in self.arithmetic.items():
            fewer = {n: other for n, other in self.arithmetic.items() if n < ranks}
            if fewer and rate < (1 - _NOTABLE) * max(fewer.values()):
                return (
                    f"{ranks} ranks computed less in registers than fewer ranks: other programs "
                    "run on this node, or it has fewer cores; discard these numbers and measure "
                    "again on a quiet node"
                )
        return None


def scan_code() -> SourceCode:
    """Return the scan's source, and how it is compiled."""
    folder = files("tisim.studies.calibration").joinpath("program")
    source = folder.joinpath("host.c").read_text(encoding="utf-8")
    return SourceCode(name="scan", product="host", files={"host.c": source}, options=("-O2",))


def scan_host(command: Sequence[str], cores: int, *, compiler: str | None = None) -> Scan:
    """Compile the scan, run it with one rank per core, and read its measurements.

    `command` starts ranks, ``["mpirun"]``; ``-n`` and the number of `cores` are added if the number
    of ranks is missing. Raises `InputError` if it cannot be compiled or started, `ExecutionError`
    if it fails or takes longer than `TIME_LIMIT`.
    """
    program = compiled(scan_code(), find_library(mpi_compiler(compiler), "scan"))
    words = launching_command(command, cores, [str(program)])
    try:
        ran = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            timeout=TIME_LIMIT,
            start_new_session=True,
            preexec_fn=die_with_parent(),
            text=True,
        )
    except subprocess.TimeoutExpired:
        raise ExecutionError(f"the scan did not end within {TIME_LIMIT:g} s") from None
    if ran.returncode != 0:
        raise ExecutionError(
            f"{words[0]} ended with status {ran.returncode}; see its messages above"
        )
    return read_scan(ran.stdout)


def read_scan(text: str) -> Scan:
    """Read the output of the scan, using the fastest repetition of each number of ranks.

    Raises `InputError` if it is not the output of the scan.
    """
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    if lines[:1] != [_HEADER] or len(lines) < 3:
        raise InputError(
            f"nothing was measured: the output of a scan must begin with {_HEADER!r}, followed by "
            "rows"
        )
    found: dict[str, dict[int, float]] = {"triad": {}, "arithmetic": {}}
    for line in lines[1:]:
        what, ranks, amount, seconds = line.split(",")
        rate = int(ranks) * float(amount) / float(seconds)
        rates = found[what]
        rates[int(ranks)] = max(rate, rates.get(int(ranks), 0.0))
    return Scan(found["triad"], found["arithmetic"])


@dataclass(frozen=True)
class MemoryDemand:
    """Memory demand of a program's computations.

    Attributes
    ----------
    alone, together
        Their rate on one core with the others idle, and with `ranks` concurrent computations.
    ranks
        Number of concurrent computations.
    bandwidth
        Memory bandwidth, in bytes/s.
    deviation
        Relative standard deviation of the rates of individual computations alone.
    """

    alone: float
    together: float
    ranks: int
    bandwidth: float
    deviation: float = 0.0

    @property
    def slowdown(self) -> float:
        """Slowdown of a computation by the concurrent ones."""
        return self.alone / self.together

    @property
    def bytes_per_unit(self) -> float | None:
        """Bytes of memory traffic per unit of computation; None if memory is not a bottleneck."""
        if self.slowdown < 1 + _NOTABLE:
            return None
        return self.bandwidth / (self.ranks * self.together)

    def text(self) -> str:
        """Return the findings in sentences."""
        rates = (
            f"The program computes {self.alone:.5g} per second alone and {self.together:.5g} next "
            f"to {self.ranks - 1} others: {self.slowdown:.3g} times as long."
        )
        demand = self.bytes_per_unit
        if demand is None:
            return f"{rates}\nIts computations do not wait for memory."
        return (
            f"{rates}\nWith a memory of {self.bandwidth / 1e9:.4g} GB/s that is {demand:.4g} bytes "
            "for each instruction."
        )

    def properties(self) -> dict[str, str]:
        """Return the properties of hosts: deviation of speeds, and memory bandwidth and demand."""
        properties = {SPEED_DEVIATION: f"{min(self.deviation, 1.0):.3g}"}
        demand = self.bytes_per_unit
        if demand is None:
            return properties
        memory = {MEMORY_BANDWIDTH: f"{self.bandwidth:.6g}Bps", MEMORY_DEMAND: f"{demand:.6g}"}
        return {**properties, **memory}


def demand_of(
    scan: Scan, alone: str | PathLike[str], together: str | PathLike[str]
) -> MemoryDemand:
    """Return the memory demand of a program from two recordings of it on the scanned node.

    `alone` has one rank, `together` one rank per core. Raises `InputError` if a trace has no
    times, or another number of ranks.
    """
    first, several = (read_recorded([name]) for name in (alone, together))
    ranks = several["rank"].nunique()
    if first["rank"].nunique() != 1 or ranks < 2:
        raise InputError(
            "the program must run with one rank alone and with several together; "
            f"{first['rank'].nunique()} and {ranks} ranks compute in the traces"
        )
    single, many = (calibrate_cpu(timed).overall for timed in (first, several))
    return MemoryDemand(
        single.per_second, many.per_second, ranks, scan.memory_bandwidth, single.spread
    )
