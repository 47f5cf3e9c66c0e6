"""``tisim import``, and formats of other packages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine
from tisim.errors import InputError
from tisim.traces.importers import ForeignTrace, Importer, ImportOptions, Notes, conversion, convert

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
        (("calls.csv",), "say with --speed how many flops"),
        (("nothing.csv",), "nothing.csv: there is no such file"),
        (
            ("notes.txt",),
            "notes.txt: is in none of the formats that can be imported (otf2, ",
        ),
        (("--format", "otf3", "calls.csv"), "there is no format 'otf3' to import"),
        (("--column", "rank", "calls.csv"), "--column is QUANTITY=COLUMN"),
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
    """Reads files of lines ``ping RANK PEER``."""

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
