"""What replays and their reports say of files."""

from __future__ import annotations

from pathlib import Path

from tests.unit.command_line import CommandLine
from tests.unit.storage.conftest import machine

SCRATCH = "mount=/p,servers=c-14 c-15,read=2MBps,write=500kBps,stripe=10kB,count=2"


def test_the_command_says_how_files_are_used(tisim: CommandLine, tmp_path: Path) -> None:
    platform = machine(tmp_path, 16, scratch=SCRATCH)
    trace = tmp_path / "t.txt"
    trace.write_text("0 open 3 /p/f wc\n0 write 3 20000\n0 write 3 20000\n0 close 3\n")
    hosts = tmp_path / "hosts"
    hosts.write_text("c-0\n")
    words = ("replay", "--platform", str(platform), "--hosts", str(hosts), str(trace))
    printed = tisim(*words, "--breakdown")
    assert printed.status == 0
    assert "2 calls of 10 to 100 kB, consecutive" in printed.out
    lines = [line.split() for line in printed.out.splitlines()]
    habits = next(line for line in lines if line[:3] == ["/p/f", "scratch", "writes"])
    assert habits[3:] == ["1", "2", "40", "kB", "10", "to", "100", "kB", "consecutive", "100%"]
    assert any(line[:3] == ["c-14", "(metadata)", "scratch"] for line in lines)
    assert "Who waits for which server, longest first" in printed.out


def test_reports_have_a_page_of_files(tisim: CommandLine, tmp_path: Path) -> None:
    platform = machine(tmp_path, 16, scratch=SCRATCH)
    trace = tmp_path / "t.txt"
    trace.write_text(
        "0 open 3 /p/<b>&f wc\n0 write 3 20000\n0 close 3\n0 open 3 /p/g\n0 read 3 5000\n"
    )
    hosts = tmp_path / "hosts"
    hosts.write_text("c-0\n")
    report = tmp_path / "r.html"
    words = ("replay", "--platform", str(platform), "--hosts", str(hosts), str(trace))
    assert tisim(*words, "--report", str(report)).status == 0
    page = report.read_text()
    assert 'data-tab="files"' in page
    for title in ("Bandwidth of scratch", "Bandwidth of files", "How files are used"):
        assert f"<h2>{title}</h2>" in page
    for title in ("Servers of scratch over time", "Who waits for which server", "Calls by size"):
        assert f"<h2>{title}</h2>" in page
    assert "/p/&lt;b&gt;&amp;f" in page and "/p/<b>" not in page.partition('id="data"')[0]
    trace.write_text("0 compute 1e9\n")
    assert tisim(*words, "--report", str(report)).status == 0
    assert 'data-tab="files"' not in report.read_text()
