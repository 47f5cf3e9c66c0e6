"""Call paths of recorded programs, in what is said of their traces."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine
from tests.unit.trace_library.recorded import TEXT, Program
from tisim.traces import check, inspect

HALO = "main (lu.c:12) > exchange (lu.c:99)"
END = "main (lu.c:12) > finish (lu.c:120)"


def recorded(path: Path) -> Path:
    """Two ranks exchange messages at two places; one message is never received."""
    program = Program(2)
    for number, rank in enumerate(program.ranks):
        site = rank.attribute("call_site", TEXT)
        halo, end = rank.text(HALO), rank.text(END)
        peer = 1 - number
        rank.call("init")
        for i in range(11):
            at = {site: halo if i < 10 else end}
            rank.compute(1000 if i < 10 else 50)
            rank.call("isend {} 0 {}", peer, 8, ranks=1, attributes=at)
            if i < 10 or number == 0:
                rank.call("recv {} 0 {}", peer, 8, ranks=1, attributes=at)
        rank.call("waitall")
        rank.call("finalize")
    return program.write(path / "sites.tit")


def test_statistics_are_by_call_path(tmp_path: Path) -> None:
    found = inspect(recorded(tmp_path), statistics=True)
    sends = {site.path: site for site in found.sites if site.text.startswith("isend")}
    assert set(sends) == {HALO, END}
    assert (sends[HALO].calls, sends[END].calls) == (20, 2)
    assert (sends[HALO].volumes.sum, sends[END].volumes.sum) == (20_000, 100)
    assert [site.path for site in found.sites if site.text.startswith("waitall")] == [None]


def test_commands_name_call_paths(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tisim = CommandLine(tmp_path, capsys)
    path = str(recorded(tmp_path))
    assert f"at {HALO}" in tisim("inspect", "--statistics", path).out
    assert f"; called at {END}" in tisim("check", path).out


def test_findings_have_call_sites(tmp_path: Path) -> None:
    report = check(recorded(tmp_path))
    assert {finding.call_path for finding in report.findings if finding.line} == {END}
