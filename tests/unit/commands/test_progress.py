"""The progress bar of long commands, and the progress that a replay reports."""

from __future__ import annotations

import gzip
import io
import random
import re
import tarfile
from pathlib import Path

import pytest

import tisim
from tests.unit.command_line import BACKBONE
from tisim.support import progress
from tisim.support.progress import ProgressBar
from tisim.traces import Trace, pack


class Terminal(io.StringIO):
    """A terminal that records its output."""

    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, *, wanted: bool = True) -> str:
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with ProgressBar("replay", wanted=wanted) as bar:
        bar.show_simulation(0.5, 1000, 0.25)
        bar.show_simulation(1.25, 2_000_000, 0.5)
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", stream.getvalue())


def test_a_terminal_sees_part_time_left_rate_and_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_DELAY", 0.0)
    monkeypatch.setattr(progress, "_INTERVAL", 0.0)
    text = shown(monkeypatch, Terminal())
    assert "replay" in text
    assert "50%" in text
    assert re.search(r"\d:\d\d:\d\d", text)  # remaining time
    assert re.search(r"[\d,]+ actions/s, simulated 1\.25 s", text)


def test_what_is_short_or_goes_to_a_file_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, Terminal()) == ""
    monkeypatch.setattr(progress, "_DELAY", 0.0)
    assert shown(monkeypatch, io.StringIO()) == ""
    assert shown(monkeypatch, Terminal(), wanted=False) == ""


def test_the_title_can_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_DELAY", 0.0)
    monkeypatch.setattr(progress, "_INTERVAL", 0.0)
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with ProgressBar("calibrate") as bar:
        bar.show(0.1)
        bar.show(0.5, title="simulate")
    assert "calibrate" in terminal.getvalue()
    assert "simulate" in terminal.getvalue()


@pytest.mark.parametrize("packed", [False, True])
def test_a_replay_tells_how_far_it_is(
    packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fraction of the processed lines, whether they are long or short."""
    monkeypatch.setattr("tisim.kernel.driver._REPORT_INTERVAL", 0.001)
    lines = 600_000
    trace = tmp_path / "trace"
    trace.mkdir()
    for rank in range(2):
        short = f"{rank} send {rank} 0 1\n{rank} recv {rank} 0 1\n" * (lines // 4)
        (trace / f"{rank}").write_text(short + f"{rank}   compute  1000000\n" * (lines // 2))
    if packed:
        pack(trace, tmp_path / "trace.tit")
        trace = tmp_path / "trace.tit"
    told: list[tuple[float, int, float]] = []
    result = tisim.replay(trace, platform=BACKBONE, progress=lambda *report: told.append(report))
    assert len(told) >= 2
    for column in zip(*told, strict=True):
        assert list(column) == sorted(column)
    assert told[-1][0] <= result.simulated_time
    assert 0 < told[-1][1] <= result.actions == 2 * lines
    assert 0 < told[-1][2] <= 1


@pytest.mark.parametrize("form", ["directory", "compressed files", "files", "list", "archive"])
def test_opening_a_trace_tells_how_far_it_is(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tisim.traces.spool._SECONDS_BETWEEN_REPORTS", 0.0)
    monkeypatch.setattr("tisim.traces.spool._CHUNK", 1000)
    files = [tmp_path / "trace" / f"rank-{rank}.txt" for rank in range(8)]
    files[0].parent.mkdir()
    for rank, file in enumerate(files):
        numbers = random.Random(rank)  # poorly compressible
        text = "".join(f"{rank} compute {numbers.random()}\n" for _ in range(2000))
        file.write_bytes(gzip.compress(text.encode()) if "compressed" in form else text.encode())
    source: Path | list[Path] = files if form == "files" else files[0].parent
    if form == "list":
        source = tmp_path / "list.txt"
        source.write_text("".join(f"{file}\n" for file in files))
    if form == "archive":
        source = tmp_path / "trace.tar.xz"
        with tarfile.open(source, "w:xz") as tar:
            tar.add(files[0].parent, "trace")
    told: list[float] = []
    assert Trace.open(source, progress=told.append).ranks == 8
    assert told == sorted(told)
    assert 0 <= told[0] < 0.2
    assert told[-1] <= 1
    assert len({fraction for fraction in told if fraction < 0.8}) >= 5
