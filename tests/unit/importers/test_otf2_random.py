"""OTF2 traces with random calls, in orders that MPI would not always allow."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path

import pytest

from tisim.traces.importers.importer import ImportOptions, Notes

otf2 = pytest.importorskip("otf2", reason="the package otf2 is not installed")

from otf2.enums import (  # noqa: E402
    CollectiveOp,
    IoAccessMode,
    IoCreationFlag,
    IoHandleFlag,
    IoOperationFlag,
    IoOperationMode,
    IoParadigmClass,
    IoParadigmFlag,
    IoSeekOption,
    IoStatusFlag,
    MeasurementMode,
)

from tests.unit.importers.otf2_archive import TICKS, Archive, RankEvents, begin, end  # noqa: E402
from tisim.traces.importers.otf2 import Otf2Importer  # noqa: E402

_UNIFORM = (CollectiveOp.BCAST, CollectiveOp.ALLREDUCE, CollectiveOp.BARRIER)
_MODES = (IoAccessMode.READ_ONLY, IoAccessMode.WRITE_ONLY, IoAccessMode.READ_WRITE)
_FLAGS = (
    (IoCreationFlag, IoCreationFlag.CREATE, IoCreationFlag.TRUNCATE),
    (IoStatusFlag, IoStatusFlag.APPEND),
)
_OPERATIONS = (IoOperationMode.READ, IoOperationMode.WRITE, IoOperationMode.FLUSH)
_OPERATION_FLAGS = (
    *(IoOperationFlag.NONE, IoOperationFlag.COLLECTIVE, IoOperationFlag.NON_BLOCKING),
)
_VECTORS = (CollectiveOp.ALLGATHERV, CollectiveOp.ALLTOALLV)


class Handles:
    """Three files of an archive, standard output, and a handle with a parent handle."""

    def __init__(self, archive: Archive) -> None:
        known = archive.known
        node = next(iter(known.system_tree_nodes))
        kind = IoParadigmClass.SERIAL
        self.posix = known.io_paradigm("POSIX", "POSIX I/O", kind, IoParadigmFlag.OS)
        self.files = [known.io_regular_file(f"/s/f{number}", node) for number in range(3)]
        none, standard = IoHandleFlag.NONE, IoHandleFlag.PRE_CREATED
        made = [(file, none, None) for file in self.files]
        self.handles = []
        for file, flag, parent in (
            *made,
            (self.files[0], standard, None),
            (self.files[1], none, 0),
        ):
            outer = None if parent is None else self.handles[parent]
            self.handles.append(known.io_handle("", file, self.posix, flag, None, outer))


class Program:
    """Generates random calls of one rank."""

    def __init__(
        self, archive: Archive, rank: RankEvents, seed: int, files: Handles | None = None
    ) -> None:
        self._files = files
        self._calls = _CALLS if files is None else _CALLS + ("io",) * 10
        self._under_way: list[tuple[object, int]] = []
        self._archive = archive
        self._rank = rank
        self._random = random.Random(seed)
        self._request = 0
        self._pending: list[tuple[str, int]] = []
        self._halves = archive.communicator("halves", (0,))

    def run(self, calls: int) -> None:
        for _ in range(calls):
            self._rank.compute(self._random.choice((15, 100, 101, 2500)), 7)
            getattr(self, "_" + self._random.choice(self._calls))()

    def _comm(self) -> object:
        return self._random.choice((self._archive.world, self._halves))

    def _send(self) -> None:
        name = self._random.choice(("MPI_Send", "MPI_Ssend", "MPI_Bsend"))
        self._rank.run(name, "MpiSend", 0, self._comm(), 3, self._random.choice((8, 64)))

    def _outside(self) -> None:
        self._rank.event("MpiRecv", 0, self._archive.world, 3, 8)

    def _exchange(self) -> None:
        with self._rank.call("MPI_Sendrecv"):
            self._rank.event("MpiSend", 0, self._archive.world, 3, 8)
            if self._random.random() < 0.8:
                self._rank.event("MpiRecv", 0, self._archive.world, 3, 8)

    def _isend(self) -> None:
        self._request += 1
        self._rank.run("MPI_Isend", "MpiIsend", 0, self._comm(), 1, 16, self._request)
        self._pending.append(("isend", self._request))

    def _irecv(self) -> None:
        self._request += 1
        self._rank.run("MPI_Irecv", "MpiIrecvRequest", self._request)
        self._pending.append(("irecv", self._request))

    def _icollective(self) -> None:
        self._request += 1
        self._rank.run("MPI_Iallreduce", "NonBlockingCollectiveRequest", self._request)
        self._pending.append(("icollective", self._request))

    def _wait(self) -> None:
        self._random.shuffle(self._pending)
        found = [self._pending.pop() for _ in range(min(len(self._pending), 3))]
        with self._rank.call("MPI_Waitall"):
            for kind, request in found:
                if self._random.random() < 0.1 and kind != "icollective":
                    self._rank.event("MpiRequestCancelled", request)
                elif kind == "isend":
                    self._rank.event("MpiIsendComplete", request)
                elif kind == "irecv":
                    size = self._random.choice((4, 40))
                    self._rank.event("MpiIrecv", 0, self._comm(), 1, size, request)
                else:
                    operation = self._random.choice((*_UNIFORM, *_VECTORS))
                    self._rank.event(
                        "NonBlockingCollectiveComplete",
                        *(operation, self._archive.world, 0, 8, 8, request),
                    )

    def _collective(self) -> None:
        operation = self._random.choice((*_UNIFORM, *_VECTORS, CollectiveOp.CREATE_HANDLE))
        comm = self._comm()
        self._rank.run("MPI_Allreduce", "MpiCollectiveEnd", operation, comm, 0, 8, 8)

    def _silent(self) -> None:
        name = self._random.choice(("MPI_Comm_rank", "MPI_File_write", "main", "MPI_Test"))
        with self._rank.call(name):
            if name == "main":
                self._send()

    def _nested(self) -> None:
        with self._rank.call("MPI_Win_fence"):
            self._exchange()
            self._collective()

    def _io(self) -> None:
        if self._random.random() < 0.3:
            name = self._random.choice(("MPI_File_write", "MPI_Barrier", "MPI_Test"))
            with self._rank.call(name):
                self._io_event()
        else:
            self._io_event()

    def _io_event(self) -> None:
        known, draw, event = self._files, self._random, self._rank.event
        assert known is not None
        handle, kind = draw.choice(known.handles), draw.randrange(10)
        if kind == 0:
            flags = [draw.choice((of.NONE, *some)) for of, *some in _FLAGS]
            event("IoCreateHandle", handle, draw.choice(_MODES), *flags)
        elif kind == 1:
            event("IoDestroyHandle", handle)
        elif kind == 2:
            event("IoSeek", handle, -5, IoSeekOption.FROM_CURRENT, draw.choice((100, 200)))
        elif kind == 3:
            event("IoDeleteFile", known.posix, draw.choice(known.files))
        elif kind == 4:
            event("IoDuplicateHandle", handle, known.handles[0], IoStatusFlag.NONE)
        elif kind < 7:
            self._request += 1
            self._under_way.append((handle, self._request))
            flag, size = draw.choice(_OPERATION_FLAGS), draw.choice((10, 4096))
            event("IoOperationBegin", handle, draw.choice(_OPERATIONS), flag, size, self._request)
        elif self._under_way and kind < 9:
            handle, number = self._under_way.pop()
            event("IoOperationComplete", handle, draw.choice((10, 2**64 - 1)), number)
        elif self._under_way:
            event("IoOperationCancelled", *self._under_way.pop(0))

    def _losses(self) -> None:
        self._rank.event("MeasurementOnOff", MeasurementMode.ON)
        self._rank.event("MpiIrecv", 0, self._archive.world, 1, 8, 10**6)


_CALLS = (
    *("send", "outside", "exchange", "isend", "irecv", "icollective", "wait", "wait", "wait"),
    *("collective", "silent", "nested", "losses"),
)


#: First digits of a hash of lines and notes, by seed, counter and presence of files. Two readers
#: agreed on them: the core's, and one with the callbacks of OTF2's package, in tisim up to
#: 01a3309c.
FOUND = json.loads(Path(__file__).with_name("otf2_random.json").read_text())


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("counter", ["", "PAPI_TOT_INS"])
@pytest.mark.parametrize("files", [False, True])
def test_random_programs(tmp_path: Path, seed: int, counter: str, files: bool) -> None:
    assert random_program(tmp_path, seed, counter, files) == FOUND[f"{seed} {counter} {files}"]


def random_program(directory: Path, seed: int, counter: str, files: bool) -> str:
    with otf2.writer.open(str(directory / "scorep"), timer_resolution=TICKS) as writer:
        archive = Archive(writer, 2, counter or None)
        handles = Handles(archive) if files else None
        for number in range(2):
            rank = archive.rank(number)
            begin(rank)
            program = Program(archive, rank, 10 * seed + number, handles)
            for _ in range(10):
                program.run(20)
                if counter:
                    rank.count()
            if seed < 4:  # the others are truncated
                end(rank)
    notes = Notes()
    options = ImportOptions(speed=None if counter else 1e9, counter=counter or None)
    trace = Otf2Importer().open([directory / "scorep"], options, notes)
    ranks = [merged("".join(trace.lines(number)).splitlines()) for number in range(2)]
    found = [ranks, sorted((note.text, note.count) for note in notes)]
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()[:16]


def merged(lines: list[str]) -> list[str]:
    """Return the lines with adjacent computations merged."""
    made: list[str] = []
    for line in lines:
        words, before = line.split(), made[-1].split() if made else []
        if words[1:2] == ["compute"] == before[1:2]:
            made[-1] = f"{words[0]} compute {int(words[2]) + int(before[2])}"
        else:
            made.append(line)
    return made
