"""Files in `tisim inspect`, replays and their reports."""

from __future__ import annotations

import json
from pathlib import Path

from tests.unit.command_line import CommandLine
from tests.unit.storage.conftest import machine
from tisim import replay
from tisim.traces.inspection import inspect

PLATFORM = (
    '<platform version="4.1"><zone id="z" routing="Full"><host id="a" speed="1Gf">'
    '<disk id="d" read_bw="2MBps" write_bw="1MBps"/></host></zone></platform>'
)
TRACE = """\
{rank} open 3 out.%03d rwc
{rank} write 3 8192
{rank} write 3 8192
{rank} pwrite 3 100 50000
{rank} lseek 3 -100 end
{rank} read 3 50
{rank} read 3 50
{rank} pread 3 10 0
{rank} close 3
{rank} file_open 0 shared wc
{rank} file_write_at_all 0 1048576 {offset}
{rank} file_close 0
"""


def trace_of(folder: Path, ranks: int = 3) -> Path:
    path = folder / "t.txt"
    path.write_text("".join(TRACE.format(rank=rank, offset=rank << 20) for rank in range(ranks)))
    return path


def test_habits_are_those_of_a_replay(tmp_path: Path) -> None:
    trace = trace_of(tmp_path)
    platform = tmp_path / "p.xml"
    platform.write_text(PLATFORM)
    result = replay(trace, platform=platform, hosts=["a"] * 3)
    assert result.io is not None
    counted = [
        {way: {**use[way], "over_time": []} for way in ("reads", "writes")}  # type: ignore[literal-required]
        for use in result.io["files"]
    ]
    inspection = inspect(trace)
    assert [use["name"] for use in inspection.files] == ["out.%03d", "shared"]
    assert [{way: use[way] for way in ("reads", "writes")} for use in inspection.files] == counted  # type: ignore[literal-required]
    out = inspection.files[0]
    assert (out["opens"], out["writes"]["calls"], out["writes"]["consecutive"]) == (3, 9, 3)
    assert (out["reads"]["calls"], out["reads"]["consecutive"]) == (9, 3)
    assert inspection.files[1]["writes"]["aligned"] == 3


def test_the_command_prints_a_table_of_files(tisim: CommandLine, tmp_path: Path) -> None:
    printed = tisim("inspect", str(trace_of(tmp_path)))
    assert printed.status == 0
    row = next(line.split() for line in printed.out.splitlines() if "shared" in line.split()[:1])
    assert row[-2:] == ["file", "100%"] or row[-1] == "100%"
    as_json = json.loads(tisim("inspect", "--json", "-", str(trace_of(tmp_path))).out)
    assert [use["name"] for use in as_json["files"]] == ["out.%03d", "shared"]


def test_traces_without_files_have_no_table(tisim: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "t.txt"
    path.write_text("0 compute 1e9\n")
    printed = tisim("inspect", str(path))
    assert "files:" not in printed.out


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
