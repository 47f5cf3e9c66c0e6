"""Time and memory of pictures of large run files: the first one, and any zoom.

usage: python -m benchmarks.run_files [--records 10_000_000] [--ranks 10_000] [--pictures 300]

The run is synthetic: in each step every rank computes, sends to one neighbour and receives from the
other, for which it waits. These are eight records: four states, three actions and a message, in
about the proportions of NAS LU. The answers of the viewer's server are timed in a separate process,
without the browser; first they are checked: the fractions in a picture sum to the time of its
ranks. Times are processor times of that process, which do not depend on other load of the machine;
for the first picture the wall-clock time is also reported.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tisim import _core
from tisim.analysis.timeline.columns import STATES
from tisim.analysis.timeline.run_file import RunFile
from tisim.analysis.timeline.run_file.writer import RunDescription, RunFileWriter, row_types
from tisim.analysis.viewer.answers import Answers

COLUMNS, LANES = 1400, 200
#: Seconds for the first picture and for any zoom (95 of 100), bytes of memory.
GOALS = (2.0, 0.1, 1e9)
#: Seconds per step, records of a rank in it, bytes of its message; its states, with their calls.
_STEP, _RECORDS, _BYTES = 1e-3, 8, 1000
_STATES = (
    ("compute", "compute"),
    ("overhead", "send"),
    ("late sender", "recv"),
    ("transfer", "recv"),
)


def write(path: Path, records: int, ranks: int) -> float:
    """Write a run of `records` records; return the processor seconds."""
    begin = time.process_time()
    steps = max(records // (_RECORDS * ranks), 1)
    writer = RunFileWriter(path, ranks)
    draw = np.random.default_rng(1)
    for step in range(steps):
        sends = draw.uniform(0.1, 0.7, ranks)
        sent = sends + 0.05
        # A message arrives when its sender has sent it, or later.
        comes = np.maximum(sent, np.roll(sends, 1)) + draw.uniform(0.02, 0.2, ranks)
        parts = np.stack([np.zeros(ranks), sends, sent, comes, np.ones(ranks)])
        times = (step + parts) * _STEP
        last = step == steps - 1
        for name, rows in _rows(step, times, ranks).items():
            writer.add(name, rows.tobytes(), last=last)
    hosts = [f"node-{rank}" for rank in range(ranks)]
    end = steps * _STEP
    writer.finish(RunDescription("made up", ranks, end, hosts, range(ranks), None))
    writer.commit()
    return time.process_time() - begin


def _rows(step: int, times: NDArray[np.float64], ranks: int) -> dict[str, NDArray[np.void]]:
    """Return the rows of a step, whose states begin and end at ``times``, shape (5, ranks)."""
    every = np.arange(ranks, dtype=np.int32)
    source, target = np.roll(every, 1), np.roll(every, -1)
    types = row_types()
    states = np.zeros((4, ranks), types["states"])
    for part, (state, kind) in enumerate(_STATES):
        row = states[part]
        row["rank"], row["line"] = every, 3 * step + min(part, 2) + 1
        row["start"], row["end"] = times[part], times[part + 1]
        row["state"], row["kind"] = STATES.index(state), _core.kind_names().index(kind)
        row["cause"] = row["peer"] = -1
    states[2]["cause"] = states[3]["peer"] = source
    states[3]["bytes"], states[3]["receives"], states[3]["by_peer"] = _BYTES, 1, 1
    states[3]["started"] = times[1][source]
    actions = np.zeros((3, ranks), types["actions"])
    for part, (kind, first, after) in enumerate(
        (("compute", 0, 1), ("send", 1, 2), ("recv", 2, 4))
    ):
        row = actions[part]
        row["rank"], row["line"] = every, 3 * step + part + 1
        row["start"], row["end"] = times[first], times[after]
        row["kind"], row["volume"] = _core.kind_names().index(kind), 0.0 if part else 1e6
        row["peer"], row["bytes"] = (
            (-1, 0) if part == 0 else (target if part == 1 else source, _BYTES)
        )
    messages = np.zeros(ranks, types["messages"])
    messages["number"] = step * ranks + every
    messages["source"], messages["destination"], messages["bytes"] = every, target, _BYTES
    messages["sent"] = messages["started"] = times[1]
    messages["received"], messages["arrived"] = times[2][target], times[4][target]
    return {"states": states.ravel(), "actions": actions.ravel(), "messages": messages}


def measure(path: Path, pictures: int) -> dict[str, float]:
    """Time the answers of the server, and measure the memory of this process."""
    begin, wall = time.process_time(), time.perf_counter()
    run = RunFile(path)
    answers = Answers([run])
    _check(_picture(answers, 0.0, run.end, 0, run.ranks - 1), run.ranks)
    first, first_wall = time.process_time() - begin, time.perf_counter() - wall
    draw, times, own = random.Random(2), [], _own_memory()
    for _ in range(pictures):
        length = run.end * 10 ** -draw.uniform(0, 5)
        ranks = max(int(run.ranks * 10 ** -draw.uniform(0, 4)), 1)
        start, low = draw.uniform(0, run.end - length), draw.randint(0, run.ranks - ranks)
        begin = time.process_time()
        _picture(answers, start, start + length, low, low + ranks - 1)
        times.append(time.process_time() - begin)
        own = max(own, _own_memory())
    whole = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
    median, most = np.quantile(times, [0.5, 0.95]).tolist()
    return {
        "first": first,
        "first, wall": first_wall,
        "median": median,
        "p95": most,
        "longest": max(times),
        "memory": own or whole,
        "and pages of the file": whole,
    }


def _own_memory() -> float:
    """Return this process's bytes of memory, without pages of files; 0 if unknown."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    resident = [line.split()[1] for line in lines if line.startswith("RssAnon:")]
    return 1024.0 * float(resident[0]) if resident else 0.0


def _picture(answers: Answers, begin: float, end: float, first: int, last: int) -> bytes:
    query = {"begin": begin, "end": end, "first": first, "last": last}
    query |= {"columns": COLUMNS, "lanes": min(LANES, last - first + 1)}
    picture = answers.answer("tile", {name: repr(value) for name, value in query.items()})
    assert picture is not None
    return picture


def _check(picture: bytes, ranks: int) -> None:
    """Check that all columns of all lanes are full: every rank is in a state at any time."""
    (size,) = struct.unpack("<I", picture[:4])
    cells = json.loads(picture[4 : 4 + size])["cells"]
    lanes = min(LANES, ranks)
    share = np.frombuffer(picture, np.uint8, cells, 4 + size + 5 * cells)
    assert abs(share.sum() / 255 / (COLUMNS * lanes) - 1) < 0.01


def main() -> None:
    """Write a file and time its pictures; with ``--file``, only time pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000_000)
    parser.add_argument("--ranks", type=int, default=10_000)
    parser.add_argument("--pictures", type=int, default=300)
    parser.add_argument("--file", type=Path, help="measure the pictures of this run file only")
    given = parser.parse_args()
    if given.file is not None:
        print(json.dumps(measure(given.file, given.pictures)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.tir"
        seconds = write(path, given.records, given.ranks)
        size = path.stat().st_size
        command = [sys.executable, "-m", "benchmarks.run_files", "--file", str(path)]
        command += ["--pictures", str(given.pictures)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    print(
        f"{given.records:,} records of {given.ranks:,} ranks: {size / given.records:.1f} bytes each"
    )
    print(f"written in {seconds:.1f} s, {given.records / seconds:,.0f} a second")
    for name, unit, factor, goal in (
        ("first", "s", 1.0, GOALS[0]),
        ("first, wall", "s", 1.0, None),
        ("median", "ms", 1e3, None),
        ("p95", "ms", 1e3, GOALS[1]),
        ("longest", "ms", 1e3, None),
        ("memory", "MB", 1e-6, GOALS[2]),
        ("and pages of the file", "MB", 1e-6, None),
    ):
        wanted = "" if goal is None else f", goal {goal * factor:g}"
        print(f"{name:21} {found[name] * factor:.4g} {unit}{wanted}")


if __name__ == "__main__":
    main()
