"""What importers guess or lose is told by kind, with a count and the first place."""

from __future__ import annotations

from pathlib import Path

import pytest

from tisim.traces.importers import Conversion, convert

FINALIZE = "a rank without MPI_Finalize, which is added"


def notes_of(made: Conversion) -> dict[str, tuple[int, str]]:
    """The count and the first place of each kind, without what comes after a colon."""
    return {note.text: (note.count, note.first) for note in made.notes}


def imported(file: Path, text: str) -> dict[str, tuple[int, str]]:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return notes_of(convert(file, file.parent / "out" / "trace", speed=1e9))


def test_paraver(tmp_path: Path) -> None:
    header = "#Paraver (01/01/2026 at 10:00):1000_ns:1(4):1:2(1:1,1:1),1\nc:1:1:2:1:2\n"
    calls = [
        "2:1:1:1:1:10:50000003:31",
        "2:1:1:1:1:20:50000003:0",
        "3:1:1:1:1:35:35:2:1:2:1:900:950:8:3",
        "3:1:1:1:1:36:36:2:1:2:1:901:951:8:3",
        *("2:1:1:1:1:30:50000001:3", "2:1:1:1:1:39:50000001:0"),
        *("2:1:1:1:1:40:50000003:32", "2:1:1:1:1:50:50000003:0"),
        *("2:2:1:2:1:10:50000003:31", "2:2:1:2:1:20:50000003:0"),
    ]
    found = imported(tmp_path / "run.prv", header + "".join(f"{call}\n" for call in calls))
    assert found == {
        "a request that nothing waits for is waited for at the end": (1, "rank 0, 0.000000040 s"),
        "a message that is sent in no call": (1, "rank 0, 0.000000036 s"),
        "a message that is received in no call": (2, "rank 1, 0.000000900 s"),
        FINALIZE: (1, "rank 1, at its end"),
    }


def test_dimemas(tmp_path: Path) -> None:
    found = imported(
        tmp_path / "run.dim",
        '#DIMEMAS:"run.dim":1,0000123:2(1,1),1\nd:1:1:2:0:1\n'
        "2:0:0:1:16:4:1:2\n2:0:0:1:16:5:7:2\n10:0:0:1:1:9:0:0:4\n"
        "3:1:0:0:16:4:1:1\n3:1:0:0:16:5:7:1\n10:1:0:1:1:9:0:4:0\n",
    )
    assert found == {
        "a message on a communicator that is not defined is one of the world": (2, "line 4"),
        "a root that is not in its communicator is taken to be its first rank": (2, "line 5"),
        "an immediate send, for which the format has no wait, is waited for at the end": (
            2,
            "task 0, line 3",
        ),
        "a request that nothing waits for is waited for at the end": (2, "task 1, line 8"),
    }


def test_tables(tmp_path: Path) -> None:
    found = imported(
        tmp_path / "calls.csv",
        "rank,call,start,end,peer,bytes\n0,MPI_Isend,0,1,1,10.5\n0,MPI_Isend,1,2,1,8\n"
        "1,MPI_Recv,0,1,0,10\n1,MPI_Recv,1,2,0,8\n1,MPI_Finalize,3,4,,\n",
    )
    assert found == {
        "a bytes is cut to a whole number": (1, "line 2"),
        "a request that nothing waits for": (2, "line 3"),
        FINALIZE: (1, "line 3"),
    }


def test_liballprof(tmp_path: Path) -> None:
    lines = "MPI_Init:-:1:2:10\nMPI_Barrier:20:65,0,1:40\nMPI_Barrier:30:65,0,1:50\n"
    found = imported(tmp_path / "pmpi-trace-rank-0.txt", "# htor's PMPI Tracer\n" + lines)
    assert found == {
        "a call that begins before the one above it has ended comes right after it": (
            1,
            "rank 0, line 4",
        ),
        FINALIZE: (1, "rank 0, at its end"),
    }


def test_recorder(tmp_path: Path) -> None:
    text = "0.1 0.4 open 0 0 ( /s/a 577 438 )\n0.3 0.5 write 0 0 ( /s/a 0x5 9 )\n"
    found = imported(tmp_path / "trace" / "_text" / "0.txt", text)
    assert found == {
        "a call that begins before the one before has ended comes after it": (1, "0.txt, line 2")
    }


def test_otf2(tmp_path: Path) -> None:
    pytest.importorskip("otf2", reason="the package otf2 is not installed")
    from otf2.enums import CollectiveOp

    from tests.unit.importers.otf2_archive import Archive, begin, lines_of

    def program(archive: Archive) -> None:
        for number in range(2):
            rank = archive.rank(number)
            begin(rank)
            with rank.call("MPI_Bcast"):
                rank.event("MpiCollectiveBegin")
                rank.event("MpiCollectiveEnd", CollectiveOp.BCAST, archive.world, 5, 4, 4)

    _, made = lines_of(tmp_path, 2, program)
    text = "a root that is not in its communicator is taken to be its first rank"
    found = notes_of(made)
    assert found[FINALIZE] == (2, "rank 0, at its end")
    assert found[text][0] == 2
    assert found[text][1].startswith("rank 0, event ")
