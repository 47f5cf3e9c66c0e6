"""The calls that the core collects from OTF2's library give what the package's callbacks give."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tisim.traces.importers.importer import ImportOptions, Notes

otf2 = pytest.importorskip("otf2", reason="the package otf2 is not installed")

from otf2.enums import CollectiveOp, MeasurementMode  # noqa: E402

from tests.unit.importers.otf2_archive import TICKS, Archive, RankEvents, begin, end  # noqa: E402
from tisim.traces.importers.otf2 import Otf2Importer  # noqa: E402

_UNIFORM = (CollectiveOp.BCAST, CollectiveOp.ALLREDUCE, CollectiveOp.BARRIER)
_VECTORS = (CollectiveOp.ALLGATHERV, CollectiveOp.ALLTOALLV)


class Program:
    """Random calls of one rank, in an order that MPI would not always allow."""

    def __init__(self, archive: Archive, rank: RankEvents, seed: int) -> None:
        self._archive = archive
        self._rank = rank
        self._random = random.Random(seed)
        self._request = 0
        self._pending: list[tuple[str, int]] = []
        self._halves = archive.communicator("halves", (0,))

    def run(self, calls: int) -> None:
        for _ in range(calls):
            self._rank.compute(self._random.choice((15, 100, 101, 2500)), 7)
            getattr(self, "_" + self._random.choice(_CALLS))()

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

    def _losses(self) -> None:
        self._rank.event("MeasurementOnOff", MeasurementMode.ON)
        self._rank.event("MpiIrecv", 0, self._archive.world, 1, 8, 10**6)


_CALLS = (
    *("send", "outside", "exchange", "isend", "irecv", "icollective", "wait", "wait", "wait"),
    *("collective", "silent", "nested", "losses"),
)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("counter", [None, "PAPI_TOT_INS"])
def test_both_ways_to_read_give_the_same(tmp_path: Path, seed: int, counter: str | None) -> None:
    with otf2.writer.open(str(tmp_path / "scorep"), timer_resolution=TICKS) as writer:
        archive = Archive(writer, 2, counter)
        for number in range(2):
            rank = archive.rank(number)
            begin(rank)
            program = Program(archive, rank, 10 * seed + number)
            for _ in range(10):
                program.run(20)
                if counter is not None:
                    rank.count()
            if seed < 4:  # others are cut off
                end(rank)
    speed = 1e9 if counter is None else None
    options = ImportOptions(speed=speed, counter=counter)
    found = []
    for fast in (False, True):
        notes = Notes()
        trace = Otf2Importer().open([tmp_path / "scorep"], options, notes)
        lines: list[list[str]] = []
        for number in range(2):
            sequence = trace.program(number) if fast else None
            assert fast == (sequence is not None)
            spelled = trace.lines(number) if sequence is None else sequence.spelled_out(number)
            lines.append("".join(spelled).splitlines())
        found.append((lines, sorted((note.text, note.count) for note in notes)))
    assert merged(found[0][0]) == merged(found[1][0])
    assert found[0][1] == found[1][1]


def merged(ranks: list[list[str]]) -> list[list[str]]:
    """The lines with computations that stand side by side added up.

    The package's way writes what was computed before a call that is left out later.
    """
    found = []
    for lines in ranks:
        made: list[str] = []
        for line in lines:
            words, before = line.split(), made[-1].split() if made else []
            if words[1:2] == ["compute"] == before[1:2]:
                made[-1] = f"{words[0]} compute {int(words[2]) + int(before[2])}"
            else:
                made.append(line)
        found.append(made)
    return found
