"""Timelines for Paraver: records, labels and names of rows."""

from __future__ import annotations

import heapq
import mmap
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING

from tisim import _core
from tisim.analysis.timeline.run import FileOutput, files_of
from tisim.support.files import OutputFile

if TYPE_CHECKING:
    from tisim.analysis.timeline.run import Run

_LINES = 200_000  # number of lines sorted in memory


def sorted_lines(file: IO[bytes], key: Callable[[bytes], int]) -> Iterator[bytes]:
    """Yield all lines of a file sorted by the number `key`; the sort is stable."""
    file.seek(0)
    with ExitStack() as runs:
        parts = []
        while chunk := sorted(islice(file, _LINES), key=key):
            run = runs.enter_context(tempfile.TemporaryFile())
            run.writelines(chunk)
            run.seek(0)
            parts.append(run)
        yield from heapq.merge(*parts, key=key)


def merge_lines(file: OutputFile, lines: Iterable[bytes], key: Callable[[bytes], int]) -> None:
    """Insert a few sorted lines into a file, after the lines with the same number, `key`.

    The incomplete file consists of a first line and sorted lines.
    """
    with file.reader() as old, mmap.mmap(old.fileno(), 0, access=mmap.ACCESS_READ) as data:
        file.restart()
        position = 0
        with memoryview(data) as view:
            for line in lines:
                place = _place(data, key(line), max(position, data.find(b"\n") + 1), key)
                file.write(view[position:place])
                file.write(line)
                position = place
            file.write(view[position:])


def _place(data: mmap.mmap, number: int, first: int, key: Callable[[bytes], int]) -> int:
    """Return the offset of the lines with higher numbers; `first` is the start of a line."""
    low, high = first, len(data)
    while low < high:
        middle = (low + high) // 2
        begin = max(data.rfind(b"\n", low, middle) + 1, low)
        end = data.find(b"\n", begin) + 1
        if key(data[begin:end]) <= number:
            low = end
        else:
            high = begin
    return low


# The end time is written into space reserved in the first line.
_DIGITS = 20
# Number of records sorted by time before they are written, so that few are late: minimum, per
# rank, maximum.
_WINDOW = (16_384, 64, 500_000)
_STATES = {
    0: "Idle",
    1: "Running",
    2: "Not created",
    3: "Waiting a message",
    4: "Blocking Send",
    5: "Synchronization",
    6: "Test/Probe",
    7: "Scheduling and Fork/Join",
    8: "Wait/WaitAll",
    9: "Blocked",
    10: "Immediate Send",
    11: "Immediate Receive",
    12: "I/O",
    13: "Group Communication",
    14: "Tracing Disabled",
    15: "Others",
    16: "Send Receive",
}
_STATE_OF = {"kernel": 1, "communication": 13, "other": 15}
_SYNCHRONIZATION = 5
_TYPES = {
    50000001: "MPI Point-to-point",
    50000002: "MPI Collective Comm",
    50000003: "MPI Other",
    50000004: "MPI One-sided",
}
# Events with the sizes of collectives.
_SIZES = {
    50100001: "Send Size in MPI Global OP",
    50100002: "Recv Size in MPI Global OP",
    50100003: "Root in MPI Global OP",
    50100004: "Communicator in MPI Global OP",
}


class ParaverOutput(FileOutput):
    """``run.prv`` with ``run.pcf`` and ``run.row`` next to it.

    The numbers of states, events and values are Extrae's, so that Paraver's configurations apply;
    the wait states and their causes are events of tisim's own.
    """

    def __init__(self, path: Path, run: Run) -> None:
        import numpy as np

        self._run = run
        self._nodes, cpus, self._tasks = _machine(run)
        self._cpus = cpus
        self._streams: list[list[str]] = [[] for _ in cpus]
        for rank, name in run.lanes:
            self._streams[rank].append(name)
        run.wants_lanes |= bool(run.lanes)
        least, each, most = _WINDOW
        window = min(max(each * run.ranks, least), most)
        self._writer = _core.ParaverWriter(np.asarray(cpus, dtype=np.int32), window)
        self._late = tempfile.TemporaryFile()  # noqa: SIM115 - closed in the end
        super().__init__(*files_of(path), random_access=True)
        run.send_states_to(self._writer.sink())
        self._files[0].write(self._header(0.0))

    def listeners(self) -> list[_core.Listener]:
        return [self._writer]

    def drain(self, last: bool) -> None:
        records, labels, rows = self._files
        if written := self._writer.take(last):
            records.write(written)
        if late := self._writer.take_late():
            self._late.write(late)
        if last:
            records.overwrite(0, self._header(self._run.end).encode())
            self._late.writelines(self._lines_of_streams())
            if self._late.tell():
                merge_lines(records, sorted_lines(self._late, _time_of), _time_of)
            labels.write(_labels(self._run))
            rows.write(self._row_names())
            for file in self._files:
                file.complete()

    def commit(self) -> None:
        self._late.close()
        super().commit()

    def discard(self) -> None:
        self._late.close()
        super().discard()

    def _header(self, end: float) -> str:
        # A date would make two files of the same simulation differ.
        nodes = ",".join(str(count) for _, count in self._nodes)
        threads = (1 + len(names) for names in self._streams)
        tasks = ",".join(f"{n}:{node}" for n, node in zip(threads, self._tasks, strict=True))
        time = f"{round(end * 1e9):0{_DIGITS}d}"
        return (
            f"#Paraver (01/01/2000 at 00:00):{time}_ns:{len(self._nodes)}({nodes}):"
            f"1:{len(self._tasks)}({tasks})\n"
        )

    def _lines_of_streams(self) -> Iterator[bytes]:
        """Yield the states of streams, which are further threads of their ranks."""
        streams = self._run.streams
        for span in () if streams is None else streams.spans:
            thread = 2 + self._streams[span.lane].index(span.stream)
            place = f"1:{self._cpus[span.lane]}:1:{span.lane + 1}:{thread}"
            state = _STATE_OF[span.node.kind]
            dates = [round(date * 1e9) for date in (span.arrival, span.start, span.end)]
            for begin, end, number in (
                (*dates[:2], _SYNCHRONIZATION), (*dates[1:], state)
            ):  # fmt: skip
                if end > begin:
                    yield f"{place}:{begin}:{end}:{number}\n".encode()

    def _row_names(self) -> str:
        cpus = [f"{name}.{i + 1}" for name, count in self._nodes for i in range(count)]
        levels = {
            "CPU": cpus,
            "NODE": [name for name, _ in self._nodes],
            "THREAD": [
                f"rank {rank}{name and ', stream '}{name}"
                for rank, names in enumerate(self._streams)
                for name in ("", *names)
            ],
        }
        return "\n".join(
            f"LEVEL {level} SIZE {len(names)}\n" + "".join(f"{name}\n" for name in names)
            for level, names in levels.items()
        )


def _machine(run: Run) -> tuple[list[tuple[str, int]], list[int], list[int]]:
    """Return the nodes with their rank counts; each rank's processor and node, from 1."""
    order: dict[int, list[int]] = {}
    for rank, host in enumerate(run.hosts):
        order.setdefault(int(host), []).append(rank)
    cpus, tasks = [0] * run.ranks, [0] * run.ranks
    cpu = 0
    for node, ranks in enumerate(order.values(), start=1):
        for rank in ranks:
            cpu += 1
            cpus[rank], tasks[rank] = cpu, node
    return [(run.host_name(r[0]), len(r)) for r in order.values()], cpus, tasks


def _labels(run: Run) -> str:
    """Return the .pcf file: the meanings of the numbers."""
    lines = ["DEFAULT_OPTIONS", "", "LEVEL               THREAD", "UNITS               NANOSEC", ""]
    lines += ["DEFAULT_SEMANTIC", "", "THREAD_FUNC          State As Is", "", "STATES"]
    lines += [f"{number}    {name}" for number, name in _STATES.items()]
    calls = sorted(set(_core.paraver_calls()))
    for type_, label in _TYPES.items():
        lines += ["", "EVENT_TYPE", f"9    {type_}    {label}", "VALUES"]
        lines += [f"{value}   {name}" for t, value, name in calls if t == type_]
        lines += ["0   End"]
    lines += ["", "EVENT_TYPE", *(f"1    {type_}    {label}" for type_, label in _SIZES.items())]
    lines += ["", "EVENT_TYPE", f"9    {_core.PARAVER_WAIT_STATE}    Wait state", "VALUES"]
    names = _core.state_names()
    first = names.index("late sender")
    lines += [f"{first + i}   {name}" for i, name in enumerate(names[first:])]
    lines += ["0   None"]
    lines += ["", "EVENT_TYPE", f"9    {_core.PARAVER_CAUSE}    Waits for rank", "VALUES"]
    if run.ranks <= 10_000:
        lines += [f"{rank + 1}   rank {rank}" for rank in range(run.ranks)]
    lines += ["0   None", ""]
    return "\n".join(lines)


def _time_of(line: bytes) -> int:
    return int(line.split(b":", 6)[5])
