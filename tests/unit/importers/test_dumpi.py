"""DUMPI's binary files, written byte by byte from the description of the format."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from tests.support import rank_calls
from tisim.errors import InputError
from tisim.traces import check
from tisim.traces.importers import Conversion, convert

MAGIC = b"\xff\xaa\xddDUMPI"
# Function numbers.
SEND, RECV, ISEND, IRECV, WAIT, TEST, WAITALL, WAITSOME = 0, 1, 8, 12, 13, 14, 18, 20
SEND_INIT, START, SENDRECV, TYPE_VECTOR = 26, 31, 33, 36
BARRIER, GATHERV, ALLTOALLV, ALLREDUCE, CART_SUB = 52, 55, 61, 65, 111
COMM_DUP, COMM_SPLIT, INIT, FINALIZE, END = 84, 86, 124, 125, 293
REQUEST_FREE, CANCEL, WIN_FENCE = 15, 24, 146
WORLD, INT, DOUBLE = 2, 9, 14


class Writer:
    """Writes the binary trace of one rank: each call takes 1 us, with 1 us between calls."""

    def __init__(self, labels: tuple[str, ...] = ()) -> None:
        self._body = struct.pack(">II", 0, 0)
        self._time = 0
        self._labels = labels
        self._counted = 0

    def call(self, function: int, fields: bytes = b"", status: bytes = b"") -> None:
        start, end = self._time, self._time + 1000
        self._time += 2000
        mask = 0x08 | 0x40 | (0x03 if status else 0) | (0x80 if self._labels else 0)
        self._body += struct.pack(">HBHHIHI", function, mask, 0, 0, start, 0, end)
        if self._labels:
            self._body += struct.pack(">B", len(self._labels))
            for _ in self._labels:
                self._body += struct.pack(">QQ", self._counted, self._counted + 7)
            self._counted += 107
        self._body += fields + status

    def bytes(self) -> bytes:
        start = len(MAGIC)
        body = self._body + struct.pack(">H", END)
        header = start + len(body)
        made = MAGIC + body + struct.pack(">BBBQHHI", 1, 0, 0, 0, 0, 0, 0)
        labels = 0
        if self._labels:
            labels = len(made)
            made += struct.pack(">I", len(self._labels))
            for label in self._labels:
                made += struct.pack(">H", len(label)) + label.encode()
        return made + MAGIC + struct.pack(">7Q", 0, 0, labels, header, start, 0, 0)


def listed(*numbers: int) -> bytes:
    return struct.pack(f">I{len(numbers)}i", len(numbers), *numbers)


def statuses(*sources: int) -> bytes:
    return struct.pack(">I", len(sources)) + b"".join(
        struct.pack(">iibbi", 0, source, 0, 0, 0) for source in sources
    )


def imported(
    directory: Path, *ranks: Writer, **options: object
) -> tuple[list[list[str]], Conversion]:
    """Return the lines of each rank without init, computations and finalize."""
    for rank, writer in enumerate(ranks):
        (directory / f"run-{rank:04d}.bin").write_bytes(writer.bytes())
    meta = directory / "run.meta"
    meta.write_text(f"hostname=here\nnumprocs={len(ranks)}\nfileprefix=run\n")
    if not options:
        options = {"speed": 1e9}
    made = convert(meta, directory / "trace", **options)  # type: ignore[arg-type]
    return rank_calls(directory / "trace"), made


def started() -> Writer:
    writer = Writer()
    writer.call(INIT, struct.pack(">I", 0))
    return writer


def calls_of(directory: Path, *ranks: Writer) -> list[list[str]]:
    for writer in ranks:
        writer.call(FINALIZE)
    lines, _ = imported(directory, *ranks)
    assert check(directory / "trace").errors == 0, check(directory / "trace")
    return [[line for line in of_rank if not line.startswith("compute")] for of_rank in lines]


def test_messages_computations_and_datatypes(tmp_path: Path) -> None:
    zero, one = started(), started()
    vector = struct.pack(">iiihh", 3, 2, 9, DOUBLE, 40)
    zero.call(TYPE_VECTOR, vector)
    zero.call(SEND, struct.pack(">ihiih", 2, 40, 1, 5, WORLD))
    one.call(RECV, struct.pack(">ihiih", 12, DOUBLE, -1, -1, WORLD), statuses(0))
    for writer in (zero, one):
        writer.call(FINALIZE)
    lines, made = imported(tmp_path, zero, one)
    assert lines[0] == ["compute 2000", "send 1 5 96", "compute 1000"]
    assert lines[1] == ["compute 1000", "recv -555 -444 96", "compute 1000"]
    assert not made.notes


def test_requests_and_the_tests_that_succeed(tmp_path: Path) -> None:
    zero, one = started(), started()
    for request in (10, 11, 12):
        zero.call(ISEND, struct.pack(">ihiihi", 1, INT, 1, request, WORLD, request))
        one.call(IRECV, struct.pack(">ihiihi", 1, INT, 0, request, WORLD, request))
    zero.call(TEST, struct.pack(">ii", 11, 0))
    zero.call(TEST, struct.pack(">ii", 11, 1))
    zero.call(WAIT, struct.pack(">i", 10))
    zero.call(WAIT, struct.pack(">i", 12))
    indices = struct.pack(">i", 3) + listed(10, 11, 12) + struct.pack(">i", 2) + listed(0, 2)
    one.call(WAITSOME, indices)
    one.call(WAITALL, struct.pack(">i", 2) + listed(1, 11))
    calls = calls_of(tmp_path, zero, one)
    assert calls[0][3:] == ["wait request=1", "wait request=0", "wait request=2"]
    assert calls[1][3:] == ["waitall requests=0,2", "wait request=1"]


def test_requests_that_are_cancelled_or_freed(tmp_path: Path) -> None:
    zero, one = started(), started()
    zero.call(IRECV, struct.pack(">ihiihi", 1, INT, 1, 4, WORLD, 10))
    zero.call(CANCEL, struct.pack(">i", 10))
    zero.call(WAIT, struct.pack(">i", 10))
    zero.call(ISEND, struct.pack(">ihiihi", 1, INT, 1, 5, WORLD, 11))
    zero.call(REQUEST_FREE, struct.pack(">i", 11))
    one.call(RECV, struct.pack(">ihiih", 1, INT, 0, 5, WORLD))
    calls = calls_of(tmp_path, zero, one)
    assert calls[0][1:3] == ["cancel request=0", "wait request=0"]
    assert calls[0][3:] == ["isend 1 5 4 request=0", "request_free request=0"]


def test_one_sided_calls_are_left_out_and_told(tmp_path: Path) -> None:
    zero = started()
    for _ in range(2):
        zero.call(WIN_FENCE, struct.pack(">bh", 0, 1))
    zero.call(FINALIZE)
    _, made = imported(tmp_path, zero)
    assert [(note.text, note.count) for note in made.notes] == [("MPI_Win_fence is left out", 2)]


def test_persistent_requests_and_exchanges(tmp_path: Path) -> None:
    zero, one = started(), started()
    zero.call(SEND_INIT, struct.pack(">ihiihi", 2, INT, 1, 3, WORLD, 20))
    for _ in range(2):
        zero.call(START, struct.pack(">i", 20))
        zero.call(WAIT, struct.pack(">i", 20))
        one.call(RECV, struct.pack(">ihiih", 2, INT, 0, 3, WORLD))
    for writer, peer in ((zero, 1), (one, 0)):
        fields = struct.pack(">ihiiihiih", 1, INT, peer, 4, 2, INT, peer, 4, WORLD)
        writer.call(SENDRECV, fields)
    calls = calls_of(tmp_path, zero, one)
    assert calls[0][:4] == ["isend 1 3 8 request=0", "wait request=0"] * 2
    assert calls[0][4:] == [
        "isend 1 4 4 request=0",
        "irecv 1 4 8 request=1",
        "waitall requests=0,1",
    ]


def test_communicators_have_the_same_number_on_all_ranks(tmp_path: Path) -> None:
    ranks = [started() for _ in range(4)]
    for rank, writer in enumerate(ranks):
        # Handles differ between ranks, as hashes do.
        writer.call(COMM_DUP, struct.pack(">hh", WORLD, 100 + rank))
        writer.call(COMM_SPLIT, struct.pack(">hiih", 100 + rank, rank % 2, rank, 50 - rank))
        writer.call(ALLREDUCE, struct.pack(">ihbh", 3, INT, 3, 50 - rank))
        writer.call(BARRIER, struct.pack(">h", WORLD))
    for rank, calls in enumerate(calls_of(tmp_path, *ranks)):
        assert calls == [
            "comm_dup 0 1",
            f"comm_split 1 2 {rank % 2} {rank}",
            "allreduce 12 0 comm=2",
            "barrier",
        ]


def test_collectives_with_a_size_for_each_rank(tmp_path: Path) -> None:
    ranks = [started() for _ in range(2)]
    for rank, writer in enumerate(ranks):
        counts = listed(1 + rank, 3)
        fields = struct.pack(">i", 2) + counts + listed(0, 0) + struct.pack(">h", INT)
        gets = listed(1, 2) if rank == 0 else listed(3, 3)
        writer.call(ALLTOALLV, fields + gets + listed(0, 0) + struct.pack(">hh", INT, WORLD))
        root_only = listed(5, 6) + listed(0, 0) if rank == 0 else b""
        fields = struct.pack(">iiihih", rank, 2, 5 + rank, INT, 0, WORLD)
        writer.call(GATHERV, fields + root_only + struct.pack(">h", INT))
    calls = calls_of(tmp_path, *ranks)
    assert calls[0] == ["alltoallv 16 4 12 12 4 8", "gatherv 20 20 24 0"]
    assert calls[1] == ["alltoallv 20 8 12 24 12 12", "gatherv 24 0 0 0"]


def test_volumes_of_a_hardware_counter(tmp_path: Path) -> None:
    writer = Writer(("PAPI_TOT_INS",))
    writer.call(INIT, struct.pack(">I", 0))
    writer.call(BARRIER, struct.pack(">h", WORLD))
    writer.call(FINALIZE)
    lines, _ = imported(tmp_path, writer, counter="PAPI_TOT_INS")
    assert lines == [["compute 100", "barrier", "compute 100"]]
    with pytest.raises(InputError, match="has no hardware counter CYCLES: it has PAPI_TOT_INS"):
        convert(tmp_path / "run.meta", tmp_path / "other", counter="CYCLES")


def test_what_cannot_be_right_is_refused(tmp_path: Path) -> None:
    writer = started()
    fields = struct.pack(">ih", 1, WORLD) + listed(1) + struct.pack(">h", 60)
    writer.call(CART_SUB, fields)
    with pytest.raises(InputError, match="MPI_Cart_sub: the members of the new communicator"):
        imported(tmp_path, writer)
    assert not (tmp_path / "trace").exists()
    writer = started()
    writer.call(BARRIER, struct.pack(">h", 77))
    with pytest.raises(InputError, match="MPI_Barrier on a communicator that no call"):
        imported(tmp_path, writer)


def test_missing_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "run.meta").write_text("hostname=here\nnumprocs=2\nfileprefix=run\n")
    with pytest.raises(InputError, match=r"the file run-0000.bin of rank 0 is missing"):
        convert(tmp_path, tmp_path / "trace", speed=1e9)
    (tmp_path / "run.meta").write_text("hostname=here\nfileprefix=run\n")
    with pytest.raises(InputError, match="lacks the numprocs= and fileprefix= of DUMPI"):
        convert(tmp_path, tmp_path / "trace", speed=1e9)


def sample() -> bytes:
    writer = started()
    writer.call(ISEND, struct.pack(">ihiihi", 1, INT, 0, 1, WORLD, 5))
    writer.call(RECV, struct.pack(">ihiih", 1, INT, 0, 1, WORLD), statuses(0))
    writer.call(WAITALL, struct.pack(">i", 1) + listed(5), statuses(0))
    writer.call(FINALIZE)
    return writer.bytes()


TEXT = """\
MPI_Init entering at walltime 1.500000000, cputime 0.1 seconds in thread 0.
int argc=1
MPI_Init returning at walltime 1.600000000, cputime 0.2 seconds in thread 0.
MPI_Barrier entering at walltime 1.700000000, cputime 0.3 seconds in thread 0.
MPI_Comm comm=2 (MPI_COMM_WORLD)
MPI_Barrier returning at walltime 1.800000000, cputime 0.4 seconds in thread 0.
MPI_Finalize entering at walltime 1.900000000, cputime 0.5 seconds in thread 0.
MPI_Finalize returning at walltime 2.000000000, cputime 0.6 seconds in thread 0.
"""


def test_another_text_is_no_trace(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("0 init\n0 compute 1e6\n")
    with pytest.raises(InputError, match="contains no MPI calls in the format of dumpi2ascii"):
        convert([tmp_path / "notes.txt"], tmp_path / "t.tit", format="dumpi", speed=1e9)
