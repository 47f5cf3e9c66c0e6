"""Traces of liballprof, written line by line from the description of its recorder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import rank_lines
from tisim.errors import InputError
from tisim.traces import check
from tisim.traces.importers import Conversion, convert

INT, DOUBLE = "1,4,4", "10,8,8"


class Recorder:
    """Writes the lines of one rank: each call takes 1 us, with 1 us between calls."""

    def __init__(self, rank: int, ranks: int, handle: int = 6575616) -> None:
        self.world = f"{handle},{rank},{ranks}"
        self.lines = ["# htor's PMPI Tracer 0.9 Output File", "", "MPI_Init:-:1:2:10"]
        self._time = 11

    def __call__(self, function: str, *fields: object) -> Recorder:
        times = self._time, self._time + 1
        self._time += 2
        self.lines.append(":".join(map(str, (f"MPI_{function}", times[0], *fields, times[1]))))
        return self

    def text(self) -> str:
        end = f"# Finalize clockdiff: 0.0\nMPI_Finalize:{self._time}:-\n"
        return "\n".join(self.lines) + "\n" + end


def imported(
    directory: Path, *ranks: Recorder, speed: float = 1e6
) -> tuple[list[list[str]], Conversion]:
    """Return the lines of each rank without init, computations and finalize."""
    for rank, recorder in enumerate(ranks):
        (directory / f"pmpi-trace-rank-{rank}.txt").write_text(recorder.text())
    target = directory / "trace"
    made = convert(directory / "pmpi-trace-rank-0.txt", target, speed=speed)
    lines = rank_lines(target)
    for rank, own in enumerate(lines):
        assert (own[0], own[-1]) == (f"{rank} init", f"{rank} finalize")
    return [[line for line in own[1:-1] if " compute " not in line] for own in lines], made


def test_messages_and_collectives(tmp_path: Path) -> None:
    zero, one = Recorder(0, 2), Recorder(1, 2, handle=77)
    world = zero.world
    zero("Comm_rank", world, 99)("Send", 5, 10, DOUBLE, 1, 3, world)
    zero("Sendrecv", 5, 1, INT, 1, 4, 6, 2, INT, 1, 5, world, 0)("Barrier", world)
    zero("Bcast", 5, 3, DOUBLE, 1, world)("Allreduce", 1, 6, 2, DOUBLE, 3, world)
    zero("Gatherv", 5, 1, INT, 6, 7, "1,2", 8, "0,1", INT, 0, world)
    one("Recv", 5, 10, DOUBLE, 0, 3, one.world, 0)
    one("Sendrecv", 5, 2, INT, 0, 5, 6, 1, INT, 0, 4, one.world, 0)("Barrier", one.world)
    one("Bcast", 5, 3, DOUBLE, 1, one.world)("Allreduce", 1, 6, 2, DOUBLE, 3, one.world)
    one("Gatherv", 5, 2, INT, 6, 7, "-8,900", 8, "0,1", INT, 0, one.world)
    kept, made = imported(tmp_path, zero, one)
    assert kept[0] == [
        "0 send 1 3 80",
        "0 isend 1 4 4 request=0",
        "0 irecv 1 5 8 request=1",
        "0 waitall requests=0,1",
        "0 barrier",
        "0 bcast 24 1",
        "0 allreduce 16 0",
        "0 gatherv 4 4 8 0",
    ]
    assert kept[1][0] == "1 recv 0 3 80"
    # The array is meaningless on ranks other than the root.
    assert kept[1][-1] == "1 gatherv 8 0 0 0"
    assert not made.notes
    assert check(tmp_path / "trace").errors == 0


def test_what_passes_between_calls_is_computed(tmp_path: Path) -> None:
    recorder = Recorder(0, 1)
    recorder("Barrier", recorder.world)
    imported(tmp_path, recorder, speed=3e6)
    lines = (tmp_path / "trace" / "rank-0.txt").read_text().splitlines()
    assert lines[1:-1] == ["0 compute 3", "0 barrier", "0 compute 3"]


@pytest.mark.parametrize("width", [4, 8])
def test_requests_are_addresses(tmp_path: Path, width: int) -> None:
    zero = Recorder(0, 1)
    for request in range(3):
        zero("Irecv", 5, 1, INT, -1, request, zero.world, 1000 + width * request)
    for request in range(3):
        zero("Isend", 5, 1, INT, 0, request, zero.world, 2000 + width * request)
    zero("Waitall", 3, 1000, 0)("Wait", 2000 + width, 0)("Wait", 2000, 0)
    zero("Wait", 2000 + 2 * width, 0)("Wait", 2000, 0)
    (lines,), made = imported(tmp_path, zero)
    assert lines[0] == "0 irecv -555 0 4 request=0"
    assert lines[6:] == [
        "0 waitall requests=0,1,2",
        "0 wait request=4",
        "0 wait request=3",
        "0 wait request=5",
    ]
    (note,) = made.notes
    assert (note.count, note.first) == (1, "rank 0, line 14")
    assert "a request that no call created at its address" in note.text


def test_persistent_requests_and_tests_without_outcome(tmp_path: Path) -> None:
    zero = Recorder(0, 1)
    zero("Send_init", 5, 1, INT, 0, 7, zero.world, 1000)
    zero("Recv_init", 5, 1, INT, 0, 7, zero.world, 1008)
    zero("Startall", 2, 1000)("Testall", 2, 1000, 9, 0)("Waitany", 2, 1000, 9, 0)
    zero("Waitall", 2, 1000, 0)
    (lines,), made = imported(tmp_path, zero)
    assert lines == [
        "0 isend 0 7 4 request=0",
        "0 irecv 0 7 4 request=1",
        "0 testall requests=0,1",
        "0 waitany requests=0,1",
        "0 waitall requests=0,1",
    ]
    assert [note.text for note in made.notes] == [
        f"MPI_{name} lacks the completed requests: the replay decides"
        for name in ("Testall", "Waitany")
    ]
    assert check(tmp_path / "trace").errors == 0


def test_communicators_are_known_by_their_order(tmp_path: Path) -> None:
    ranks = [Recorder(rank, 2) for rank in range(2)]
    for rank, recorder in enumerate(ranks):
        recorder("Comm_split", recorder.world, 0, 1 - rank, 4)("Comm_dup", recorder.world, 5)
        recorder("Comm_rank", f"123,{1 - rank},2", 9)("Barrier", f"456,{rank},2")
        recorder("Bcast", 5, 1, INT, 0, f"123,{1 - rank},2")
    kept, made = imported(tmp_path, *ranks)
    assert kept[1] == [
        "1 comm_split 0 1 0 0",
        "1 comm_dup 0 2",
        "1 barrier comm=2",
        "1 bcast 4 0 comm=1",
    ]
    (note,) = made.notes
    assert "handles are assigned to several new communicators in" in note.text
    assert check(tmp_path / "trace").errors == 0


def test_special_ranks_of_mpich(tmp_path: Path) -> None:
    zero = Recorder(0, 1, handle=0x44000000)
    zero("Irecv", 5, 1, INT, -2, -1, zero.world, 1000)("Send", 5, 1, INT, -1, 0, zero.world)
    (lines,), _ = imported(tmp_path, zero)
    assert lines == ["0 irecv -555 -444 4 request=0", "0 send -666 0 4"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("MPI_Send:1:2:3:4", ":4: MPI_Send has unexpected fields"),
        ("MPI_Send:x:2", ":4: 'x' is not a time in microseconds"),
        ("MPI_Send:1", ":4: MPI_Send has no times"),
        ("hello", ":4: is truncated here, or not a liballprof trace"),
        (
            "MPI_Barrier:1:99,0,7:2",
            ":4: the communicator 99 of 7 ranks was not created by any call",
        ),
    ],
)
def test_damaged_lines_end_with_one_message(tmp_path: Path, line: str, message: str) -> None:
    recorder = Recorder(0, 1)
    recorder.lines.append(line)
    with pytest.raises(InputError) as error:
        imported(tmp_path, recorder)
    assert message in str(error.value)
    assert not (tmp_path / "trace").exists()


def test_a_missing_rank_is_named(tmp_path: Path) -> None:
    for rank in (0, 2):
        (tmp_path / f"t-{rank:02d}.txt").write_text(Recorder(rank, 3).text())
    with pytest.raises(
        InputError, match="the file of rank 1 is missing, but there is one of rank 2"
    ):
        convert(tmp_path, tmp_path / "trace", speed=1)


def sample() -> str:
    """Return the trace of a rank with requests and a collective with a size per rank."""
    zero = Recorder(0, 1)
    zero("Isend", 5, 1, INT, 0, 7, zero.world, 1000)("Recv", 5, 1, INT, 0, 7, zero.world, 0)
    zero("Waitall", 1, 1000, 0)("Gatherv", 5, 1, INT, 6, 7, "1", 8, "0", INT, 0, zero.world)
    return zero.text()
