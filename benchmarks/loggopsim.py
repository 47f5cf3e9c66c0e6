"""The same traces in LogGOPSim, whose messages never share a link.

LogGOPSim (Hoefler, Schneider and Lumsdaine, 2010) reads schedules in GOAL. It is skipped if it or
its ``txt2bin`` is not found.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.process import run

# Dates are integers in units of 10 ps, so that a byte at 100 Gb/s takes 8. A route takes 2 us.
_FLOPS = 3.2e9 * 1e-11
_NETWORK = ("-L", "200000", "-o", "0", "-g", "0", "-G", "8", "-O", "0", "-S", str(2**30))


def missing() -> str | None:
    """Return why nothing can be simulated, or None."""
    for program in ("LogGOPSim", "txt2bin"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    return None


def cpu_seconds(files: Sequence[Path]) -> float:
    """Return LogGOPSim's processor seconds for a trace; `files` are those of its ranks."""
    with tempfile.TemporaryDirectory() as directory:
        text, schedule = Path(directory) / "trace.goal", Path(directory) / "trace.bin"
        with text.open("w") as file:
            file.writelines(schedules(files))
        run(["txt2bin", "-i", text, "-o", schedule])
        return run(["LogGOPSim", "-b", *_NETWORK, "-f", schedule]).cpu_seconds


def schedules(files: Sequence[Path]) -> Iterator[str]:
    """Yield the text of the GOAL schedules, from a trace's files in the order of the ranks."""
    yield f"num_ranks {len(files)}\n"
    for rank, file in enumerate(files):
        yield f"\nrank {rank} {{\n"
        schedule = _Schedule(rank, len(files))
        for line in file.read_text().splitlines():
            schedule.add(line.split()[1:])
        yield "".join(schedule.lines)
        yield "}\n"


class _Schedule:
    """One rank: operations, each of which depends on the previous ones."""

    def __init__(self, rank: int, ranks: int) -> None:
        self.lines: list[str] = []
        self._rank = rank
        self._ranks = ranks
        self._count = 0
        self._last: int | None = None  # the operation that all later ones depend on
        self._pending: list[int] = []

    def add(self, words: list[str]) -> None:
        """Add an action."""
        match words:
            case ["init" | "finalize"]:
                pass
            case ["compute", flops]:
                self._last = self._put(f"calc {round(float(flops) / _FLOPS)}")
            case ["send" | "isend" | "recv" | "irecv" as action, peer, tag, size]:
                way = "send {}b to {} tag {}" if "send" in action else "recv {}b from {} tag {}"
                put = self._put(way.format(size, peer, tag))
                if action.startswith("i"):
                    self._pending.append(put)
                else:
                    self._last = put
            case ["waitall", *_]:
                self._wait()
            case ["alltoall", size, _]:
                peers = [(self._rank + step) % self._ranks for step in range(1, self._ranks)]
                self._exchange(peers, size)
            case ["allreduce", size, _]:
                step = 1
                while step < self._ranks:  # recursive doubling
                    peer = self._rank ^ step
                    self._exchange([peer] if peer < self._ranks else [], size)
                    step *= 2
            case _:
                raise ValueError(f"no GOAL for {' '.join(words)}")

    def _exchange(self, peers: Sequence[int], size: str) -> None:
        for way in ("recv {}b from {} tag 9999", "send {}b to {} tag 9999"):
            self._pending += [self._put(way.format(size, peer)) for peer in peers]
        self._wait()

    def _wait(self) -> None:
        pending, self._pending = self._pending, []
        if pending:
            self._last = self._put("calc 0", *pending)

    def _put(self, operation: str, *needed: int) -> int:
        """Add an operation after `needed`, or else after the last one; return its number."""
        number = self._count
        self._count += 1
        self.lines.append(f"l{number}: {operation}\n")
        last = () if self._last is None else (self._last,)
        self.lines += [f"l{number} requires l{other}\n" for other in needed or last]
        return number
