"""The import command and its Python function: formats, notes, times of calls."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine
from tisim.errors import InputError
from tisim.traces.importers import (
    Conversion,
    ForeignTrace,
    Importer,
    ImportOptions,
    Notes,
    RankCalls,
    conversion,
    convert,
)

TABLE = "rank,call,start,end,peer,bytes\n0,MPI_Init,0,1,,\n0,MPI_Put,2,3,,\n0,MPI_Finalize,3,4,,\n"


def test_the_command_says_what_it_wrote_and_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "calls.csv").write_text(TABLE)
    tisim = CommandLine(tmp_path, capsys)
    target = str(tmp_path / "calls.tit")
    ended = tisim("import", "--speed", "1Gf", str(tmp_path / "calls.csv"), "-o", target)
    assert ended.status == 0
    assert ended.out == f"{target}: 1 ranks, 3 lines from table\n"
    assert "tisim: note: MPI_Put is left out (first at line 3)\n" in ended.err
    assert f"tisim: wrote {target}\n" in ended.err
    checked = tisim("check", target)
    assert checked.status == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("calls.csv",), "give the speed of the recorded machine in flops"),
        (("nothing.csv",), "nothing.csv: no such file"),
        (
            ("notes.txt",),
            "notes.txt: has none of the supported formats (otf2, ",
        ),
        (("--format", "otf3", "calls.csv"), "unknown import format 'otf3'"),
        (("--column", "rank", "calls.csv"), "--column must be QUANTITY=COLUMN"),
    ],
)
def test_mistakes_end_with_one_message(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("calls.csv").write_text(TABLE)
    Path("notes.txt").write_text("nothing that anybody knows\n")
    ended = CommandLine(tmp_path, capsys)("import", *arguments, "-o", "out.tit")
    assert ended.status == 2
    assert message in " ".join(ended.err.split())
    assert not Path("out.tit").exists()


class _Pings(Importer):
    """Reads files with lines ``ping RANK PEER``."""

    name = "pings"
    title = "lines of pings"

    def recognises(self, files: Sequence[Path], head: bytes) -> bool:
        return head.startswith(b"ping ")

    def open(self, files: Sequence[Path], options: ImportOptions, notes: Notes) -> ForeignTrace:
        return _PingTrace(files[0])


class _PingTrace(ForeignTrace):
    def __init__(self, file: Path) -> None:
        self._rows = [tuple(map(int, row.split()[1:])) for row in file.read_text().splitlines()]

    @property
    def ranks(self) -> int:
        return 2

    def lines(self, rank: int) -> Iterator[str]:
        for sender, receiver in self._rows:
            if rank == sender:
                yield f"{rank} send {receiver} 0 1\n"
            elif rank == receiver:
                yield f"{rank} recv {sender} 0 1\n"


def test_another_package_adds_a_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("pings", f"{__name__}:_Pings", conversion.GROUP)
    monkeypatch.setattr(EntryPoint, "load", lambda self: _Pings)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [entry])
    (tmp_path / "pings").write_text("ping 0 1\nping 1 0\n")
    made = convert(tmp_path / "pings", tmp_path / "trace")
    assert made.format == "pings"
    assert (tmp_path / "trace" / "rank-1.txt").read_text() == "1 recv 0 0 1\n1 send 0 0 1\n"


def test_a_broken_importer_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("broken", "no.such.module:Importer", conversion.GROUP)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [entry])
    with pytest.raises(InputError, match=r"the importer .broken. .* cannot be loaded"):
        conversion.importer("broken")


FINALIZE = "a rank without MPI_Finalize; the call is added"


def notes_of(made: Conversion) -> dict[str, tuple[int, str]]:
    """Return the count and the first place of each kind of note, without the text after a colon."""
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
        "a request without a wait is waited for at the end": (1, "rank 0, 0.000000040 s"),
        "a message that is sent outside of calls": (1, "rank 0, 0.000000036 s"),
        "a message that is received outside of calls": (2, "rank 1, 0.000000900 s"),
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
        "a message on an undefined communicator is assigned to the world": (2, "line 4"),
        "a root outside its communicator is replaced by the first rank": (2, "line 5"),
        "an immediate send, for which the format has no wait, is waited for at the end": (
            2,
            "task 0, line 3",
        ),
        "a request without a wait is waited for at the end": (2, "task 1, line 8"),
    }


def test_tables(tmp_path: Path) -> None:
    found = imported(
        tmp_path / "calls.csv",
        "rank,call,start,end,peer,bytes\n0,MPI_Isend,0,1,1,10.5\n0,MPI_Isend,1,2,1,8\n"
        "1,MPI_Recv,0,1,0,10\n1,MPI_Recv,1,2,0,8\n1,MPI_Finalize,3,4,,\n",
    )
    assert found == {
        "a bytes is truncated to a whole number": (1, "line 2"),
        "a request without a wait": (2, "line 3"),
        FINALIZE: (1, "line 3"),
    }


def test_liballprof(tmp_path: Path) -> None:
    lines = "MPI_Init:-:1:2:10\nMPI_Barrier:20:65,0,1:40\nMPI_Barrier:30:65,0,1:50\n"
    found = imported(tmp_path / "pmpi-trace-rank-0.txt", "# htor's PMPI Tracer\n" + lines)
    assert found == {
        "a call that begins before the previous one ends is placed right after it": (
            1,
            "rank 0, line 4",
        ),
        FINALIZE: (1, "rank 0, at its end"),
    }


def test_recorder(tmp_path: Path) -> None:
    text = "0.1 0.4 open 0 0 ( /s/a 577 438 )\n0.3 0.5 write 0 0 ( /s/a 0x5 9 )\n"
    found = imported(tmp_path / "trace" / "_text" / "0.txt", text)
    assert found == {
        "a call that begins before the previous one ends is placed after it": (1, "0.txt, line 2")
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
    text = "a root outside its communicator is replaced by the first rank"
    notes = notes_of(made)
    assert notes[FINALIZE] == (2, "rank 0, at its end")
    assert notes[text][0] == 2
    assert notes[text][1].startswith("rank 0, event ")


ROOT = Path(__file__).resolve().parents[3]
# A millisecond of computation, and a message that takes half a millisecond.
TIMED_TABLE = """\
rank,call,start,end,peer,bytes
0,MPI_Init,0,0.1,,
0,MPI_Send,0.101,0.1015,1,100000
0,MPI_Finalize,0.1015,0.1016,,
1,MPI_Init,0,0.1,,
1,MPI_Recv,0.1,0.1016,0,100000
1,MPI_Finalize,0.1016,0.1016,,
"""


def test_a_prediction_is_compared_with_the_imported_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tisim = CommandLine(tmp_path, capsys)
    Path("run.csv").write_text(TIMED_TABLE)
    options = ("--speed", "3.68Gf", "--timeline", "run.tir")
    assert tisim("import", *options, "run.csv", "-o", "run.tit").status == 0
    Path("study.toml").write_text(
        f'[[case]]\nname = "run"\ntrace = "run.tit"\nplatform = "{ROOT}/platforms/graphene.xml"\n'
        'real = ["run.tir"]\n'
    )
    ended = tisim("validate", "study.toml", "--report", "study.html", "--json", "study.json")
    assert ended.status == 0, ended.err
    [case] = json.loads(Path("study.json").read_text())["cases"]
    # The first call in the table begins at 0, and the last one ends at 101.6 ms.
    assert case["real"] == [pytest.approx(0.1016)]
    [predicted] = case["predicted"]
    assert case["error"] == pytest.approx(predicted / 0.1016 - 1)
    assert 1e-3 < predicted < 5e-3


def test_a_collective_that_is_known_later_stands_where_it_was_posted() -> None:
    calls = RankCalls(0)
    posted = calls.post_later("its request")
    calls.action("barrier")
    assert list(calls.ready()) == []
    calls.fill_start(posted, "iallreduce 8 0")
    assert list(calls.ready()) == ["0 iallreduce 8 0 request=0\n", "0 barrier\n"]
