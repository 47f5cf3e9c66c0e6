"""How long pictures of large run files take: the first one, and any zoom; and the memory for it.

usage: python -m benchmarks.run_files [--states 10_000_000] [--ranks 10_000] [--pictures 300]

The run is made up: in each step every rank computes and then waits for its neighbour. The answers
of the viewer's server are timed in a process of their own, without the browser; first they are
checked: the shares of a picture add up to the time of its ranks. Times are processor times of that
process, which do not depend on what else the machine does; the first picture has its wall time too.
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

from tisim.timeline.names import STATES
from tisim.timeline.run_file import RunFile
from tisim.timeline.run_file.writer import RunDescription, RunFileWriter, row_types
from tisim.view.answers import Answers

COLUMNS, LANES = 1400, 200
#: Seconds for the first picture and for any zoom (95 of 100), bytes of memory.
GOALS = (2.0, 0.1, 1e9)
_STEP = 1e-3


def write(path: Path, states: int, ranks: int) -> float:
    """Write a run of so many states; the seconds of processor time that it took."""
    begin = time.process_time()
    steps = max(states // (2 * ranks), 1)
    writer = RunFileWriter(path, ranks)
    draw = np.random.default_rng(1)
    every = np.arange(ranks, dtype=np.int32)
    for step in range(steps):
        at, after = step * _STEP, (step + 1) * _STEP
        rows = np.zeros(2 * ranks, row_types()["states"])
        middle = at + _STEP * draw.uniform(0.3, 0.9, ranks)
        rows["rank"] = np.tile(every, 2)
        rows["line"] = 2 * step + np.repeat([1, 2], ranks)
        rows["start"] = np.concatenate([np.full(ranks, at), middle])
        rows["end"] = np.concatenate([middle, np.full(ranks, after)])
        rows["state"] = np.repeat([STATES.index("compute"), STATES.index("late sender")], ranks)
        rows["cause"] = np.concatenate([np.full(ranks, -1), (every + 1) % ranks])
        writer.add("states", rows.tobytes(), last=step == steps - 1)
    for name in ("actions", "messages"):
        writer.add(name, b"", last=True)
    hosts = [f"node-{rank}" for rank in range(ranks)]
    end = steps * _STEP
    writer.finish(RunDescription("made up", ranks, end, hosts, range(ranks), None))
    writer.commit()
    return time.process_time() - begin


def measure(path: Path, pictures: int) -> dict[str, float]:
    """Time the answers of the server, and how much memory this process has taken."""
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
    """Bytes of memory that this process has, without pages of files; 0 where that is not known."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    found = [line.split()[1] for line in lines if line.startswith("RssAnon:")]
    return 1024.0 * float(found[0]) if found else 0.0


def _picture(answers: Answers, begin: float, end: float, first: int, last: int) -> bytes:
    query = {"begin": begin, "end": end, "first": first, "last": last}
    query |= {"columns": COLUMNS, "lanes": min(LANES, last - first + 1)}
    picture = answers.answer("tile", {name: repr(value) for name, value in query.items()})
    assert picture is not None
    return picture


def _check(picture: bytes, ranks: int) -> None:
    """All columns of all lanes are full: every rank is in a state at any time."""
    (size,) = struct.unpack("<I", picture[:4])
    cells = json.loads(picture[4 : 4 + size])["cells"]
    lanes = min(LANES, ranks)
    share = np.frombuffer(picture, np.uint8, cells, 4 + size + 5 * cells)
    assert abs(share.sum() / 255 / (COLUMNS * lanes) - 1) < 0.01


def main() -> None:
    """Write a file and time its pictures, or only do the latter with ``--file``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--states", type=int, default=10_000_000)
    parser.add_argument("--ranks", type=int, default=10_000)
    parser.add_argument("--pictures", type=int, default=300)
    parser.add_argument("--file", type=Path, help="measure the pictures of this run file only")
    given = parser.parse_args()
    if given.file is not None:
        print(json.dumps(measure(given.file, given.pictures)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.tir"
        seconds = write(path, given.states, given.ranks)
        size = path.stat().st_size
        command = [sys.executable, "-m", "benchmarks.run_files", "--file", str(path)]
        command += ["--pictures", str(given.pictures)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    print(f"{given.states:,} states of {given.ranks:,} ranks: {size / given.states:.1f} bytes each")
    print(f"written in {seconds:.1f} s, {given.states / seconds:,.0f} a second")
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
