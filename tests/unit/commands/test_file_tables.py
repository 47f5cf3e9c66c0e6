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
    words = ("replay", "--platform", str(platform), "--hostfile", str(hosts), str(trace))
    printed = tisim(*words, "--breakdown")
    assert printed.status == 0
    assert "2 calls of 10 to 100 kB, consecutive" in printed.out
    lines = [line.split() for line in printed.out.splitlines()]
    habits = next(line for line in lines if line[:3] == ["/p/f", "scratch", "writes"])
    assert habits[3:] == ["1", "2", "40", "kB", "10", "to", "100", "kB", "consecutive", "100%"]
    assert any(line[:3] == ["c-14", "(metadata)", "scratch"] for line in lines)
    assert "Who waits for which server, longest first" in printed.out
