"""Call paths in OTF2: the functions that are active around an MPI call."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine
from tisim.traces import Trace, check, inspect, unpack
from tisim.traces.importers import convert

otf2 = pytest.importorskip("otf2", reason="the package otf2 is not installed")

from otf2.enums import Paradigm  # noqa: E402

from tests.unit.importers.otf2_archive import TICKS, Archive, RankEvents, begin, end  # noqa: E402
from tisim.traces.importers.otf2.archive import function_name  # noqa: E402


def solver(archive: Archive) -> None:
    """Rank 0 sends to rank 1 in two functions; one message is never received."""
    main = archive.known.region(
        "main", source_file="/home/user/solver.c", begin_line_number=12, paradigm=Paradigm.COMPILER
    )
    for number in range(2):
        rank = archive.rank(number)
        rank.event("Enter", main)
        begin(rank)
        for step in range(3):
            rank.event("Enter", archive.region("solve"))
            rank.event("Enter", archive.region(f"level {step % 2}"))
            rank.compute(1000)
            message(archive, rank, number)
            rank.event("Leave", archive.region(f"level {step % 2}"))
            rank.event("Leave", archive.region("solve"))
        message(archive, rank, number)
        if number == 0:
            message(archive, rank, number)
        rank.event("Leave", main)
        end(rank)


def message(archive: Archive, rank: RankEvents, number: int) -> None:
    name, kind = (("MPI_Send", "MpiSend"), ("MPI_Recv", "MpiRecv"))[number]
    rank.run(name, kind, 1 - number, archive.world, 3, 64)


@pytest.fixture
def imported(tmp_path: Path) -> Path:
    with otf2.writer.open(str(tmp_path / "scorep"), timer_resolution=TICKS) as writer:
        solver(Archive(writer, 2, None))
    made = convert(tmp_path / "scorep", tmp_path / "solver.tit", speed=1e9)
    assert not made.notes
    return tmp_path / "solver.tit"


def test_calls_have_the_functions_around_them(imported: Path) -> None:
    paths = {(path.action, path.path): path.calls for path in inspect(imported).call_paths}
    main = "main (solver.c:12)"
    assert paths == {
        ("send", f"{main} > solve > level 0"): 2,
        ("send", f"{main} > solve > level 1"): 1,
        ("send", main): 2,
        ("recv", f"{main} > solve > level 0"): 2,
        ("recv", f"{main} > solve > level 1"): 1,
        ("recv", main): 1,
    }


def test_a_fault_is_told_with_its_call_path(
    imported: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = [finding for finding in check(imported).findings if finding.line]
    assert {finding.call_path for finding in found} == {"main (solver.c:12)"}
    shown = CommandLine(tmp_path, capsys)("inspect", str(imported))
    assert "main (solver.c:12) > solve > level 1" in shown.out


def test_a_directory_has_the_same_lines(tmp_path: Path, imported: Path) -> None:
    convert(tmp_path / "scorep", tmp_path / "text", speed=1e9)
    unpack(imported, tmp_path / "unpacked")
    for name in ("rank-0.txt", "rank-1.txt"):
        lines = (tmp_path / "text" / name).read_text().splitlines()
        assert lines == actions_of(tmp_path / "unpacked" / name)


def actions_of(file: Path) -> list[str]:
    """Return the lines of a rank without comments, which contain its call sites."""
    return [line for line in file.read_text().splitlines() if not line.startswith("#")]


def wandering(archive: Archive, seed: int) -> Iterator[str]:
    """Enter and leave random functions, in order or not at all; yield each barrier's call path."""
    draw = random.Random(seed)
    rank = archive.rank(0)
    around: list[str] = []
    begin(rank)
    for _ in range(300):
        step = draw.randrange(4)
        if step == 0 and len(around) < 5:
            around.append(draw.choice("abc"))
            rank.event("Enter", archive.region(around[-1]))
        elif step == 1 and around:
            rank.event("Leave", archive.region(around.pop()))
        elif step == 2:
            rank.event("Leave", archive.region("never entered"))
        else:
            with rank.call("MPI_Barrier"):
                rank.event("Enter", archive.region("the library's own"))
                operation = otf2.CollectiveOp.BARRIER
                rank.event("MpiCollectiveEnd", operation, archive.world, 0, 0, 0)
                rank.event("Leave", archive.region("the library's own"))
            yield " > ".join(around)
    end(rank)


@pytest.mark.parametrize("seed", range(3))
def test_random_functions(tmp_path: Path, seed: int) -> None:
    with otf2.writer.open(str(tmp_path / "scorep"), timer_resolution=TICKS) as writer:
        paths = list(wandering(Archive(writer, 1, None), seed))
    convert(tmp_path / "scorep", tmp_path / "found.tit", speed=1e9)
    sites = dict(Trace.open(tmp_path / "found.tit").attributes_of(0))
    unpack(tmp_path / "found.tit", tmp_path / "text")
    lines = actions_of(tmp_path / "text" / "rank-0.txt")
    barriers = [line for line, text in enumerate(lines, 1) if text == "0 barrier"]
    assert [sites.get(line, {}).get("call_site", "") for line in barriers] == paths


@pytest.mark.parametrize(
    ("name", "file", "line", "shown"),
    [
        ("solve", "/src/solver.c", 40, "solve (solver.c:40)"),
        ("solve", None, 0, "solve"),
        ("solve", "/src/solver.c", 0, "solve"),
        ("", None, 0, "?"),
        ("a > b\n", None, 0, "a> b?"),
        ("f" * 500, "/src/solver.c", 1, "f" * 400 + "... (solver.c:1)"),
    ],
)
def test_names_of_functions(name: str, file: str | None, line: int, shown: str) -> None:
    assert function_name(name, file, line) == shown
