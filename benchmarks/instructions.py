"""Instructions of small replays under valgrind: a measure independent of other programs.

``benchmarks/instructions.json`` contains the recorded numbers. They depend on the compiler and
on the versions of Python and numpy; on one machine they vary by a few millionths.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from platform import machine, python_version

from benchmarks.process import ROOT, run
from benchmarks.topologies import SPARSE
from benchmarks.traces import TraceSource, archived, new_platform

RECORD = Path(__file__).with_name("instructions.json")
#: Larger relative changes are reported.
TOLERANCE = 0.03


def _class_s_trace(name: str, ranks: int) -> TraceSource:
    return archived(name, ROOT / "traces" / "npb.S.tar.xz", ranks)


# Name, trace, platform.
_REPLAYS: tuple[tuple[str, TraceSource, Callable[[], Path]], ...] = (
    ("lu.S.4 on backbone", _class_s_trace("lu.S.4", 4), lambda: ROOT / "platforms/backbone.xml"),
    ("cg.S.16 on graphene", _class_s_trace("cg.S.16", 16), lambda: ROOT / "platforms/graphene.xml"),
    ("sparse.256 on a fat tree", SPARSE.make(256), lambda: new_platform("fat-tree", 256)),
    ("sparse.256 on a torus", SPARSE.make(256), lambda: new_platform("torus", 256)),
)
# The cost of a replay is the difference between this many in one process and a single one.
_TIMES = 3


@dataclass(frozen=True)
class Count:
    """Instructions of a replay, including reading the trace, and the recorded number."""

    name: str
    instructions: int
    recorded: int | None

    @property
    def change(self) -> float:
        """Relative change since the recording; 0 if nothing is recorded."""
        return self.instructions / self.recorded - 1 if self.recorded else 0.0

    @property
    def changed(self) -> bool:
        """True if the change should be investigated."""
        return self.recorded is None or abs(self.change) > TOLERANCE


def missing() -> str | None:
    """Return why nothing can be counted, or None."""
    return None if shutil.which("valgrind") else "valgrind is not installed"


def count(progress: Callable[[float], None]) -> list[Count]:
    """Count the instructions of the replays.

    Parameters
    ----------
    progress
        Called with the finished fraction, from 0 to 1.
    """
    recorded = json.loads(RECORD.read_text())["instructions"] if RECORD.is_file() else {}
    counts = []
    for number, (name, trace, platform) in enumerate(_REPLAYS):
        files, hosts = trace.get(), platform()
        several, one = (_instructions(times, files, hosts) for times in (_TIMES, 1))
        counts.append(Count(name, round((several - one) / (_TIMES - 1)), recorded.get(name)))
        progress((number + 1) / len(_REPLAYS))
    return counts


def record(counts: list[Count]) -> None:
    """Write the recorded numbers."""
    content = {
        "what": "instructions of one replay; python -m benchmarks --instructions compares",
        "machine": machine(),
        "python": python_version(),
        "compiler": run(["c++", "--version"]).output.partition("\n")[0],
        "instructions": {measured.name: measured.instructions for measured in counts},
    }
    RECORD.write_text(json.dumps(content, indent=1) + "\n")


def _instructions(times: int, trace: Path, platform_file: Path) -> int:
    """Count the instructions of a process that replays `times` times."""
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    command += [sys.executable, "-m", "benchmarks.replay_times"]
    # Hashes, threads that wait for work and compiled files would make runs differ.
    environment = {
        "PYTHONHASHSEED": "0",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    ran = run([*command, str(times), trace, platform_file], environment=environment)
    found = re.search(r"I +refs: +([\d,]+)", ran.output)
    assert found, ran.output
    return int(found[1].replace(",", ""))
