"""A timeline appears whole or not at all; what was there before stays."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import tisim
from tests.oracle.paje import read_paje
from tests.support import GRAPHENE, RING, write_ranks
from tisim.kernel import driver

FILES = {
    "run.perfetto-trace": ["run.perfetto-trace"],
    "run.trace": ["run.trace"],
    "run.prv": ["run.pcf", "run.prv", "run.row"],
    "run.parquet": ["run.messages.parquet", "run.parquet"],
    "run.csv": ["run.csv", "run.messages.csv"],
    "run.timed.csv": ["run.timed.csv"],
    "run.tir": ["run.tir"],
}
each_format = pytest.mark.parametrize("name", FILES)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A directory with the files of an earlier run of every format."""
    folder = tmp_path / "out"
    folder.mkdir()
    for names in FILES.values():
        for name in names:
            (folder / name).write_text("as before")
    return folder


def assert_as_before(out: Path) -> None:
    assert sorted(path.name for path in out.iterdir()) == sorted(
        name for names in FILES.values() for name in names
    )
    assert {path.read_text() for path in out.iterdir()} == {"as before"}


@pytest.fixture
def deadlock(tmp_path: Path) -> Path:
    """A trace that cannot proceed."""
    folder = tmp_path / "deadlock"
    folder.mkdir()
    (folder / "rank-0.txt").write_text("0 compute 1e6\n0 send 1 0 10\n0 recv 1 0 8\n")
    (folder / "rank-1.txt").write_text("1 compute 1e6\n1 recv 0 0 10\n")
    return folder


@each_format
def test_a_deadlock_leaves_no_timeline(name: str, out: Path, deadlock: Path) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    command = [sys.executable, "-m", "tisim", "replay", "--platform", GRAPHENE, deadlock]
    run = subprocess.run(
        [*command, "--timeline", out / name], capture_output=True, text=True, timeout=60
    )
    assert run.returncode == 1
    assert "deadlock" in run.stderr
    assert_as_before(out)


@each_format
def test_ctrl_c_leaves_no_timeline(
    name: str, out: Path, monkeypatch: pytest.MonkeyPatch, nas_traces: Path
) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    monkeypatch.setattr(driver, "_REPORT_INTERVAL", 0.0)
    told = []

    def progress(simulated_time: float, actions: int, fraction: float) -> None:
        told.append(actions)
        if actions > 10_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tisim.replay(
            nas_traces / "lu.S.4", platform=GRAPHENE, timeline=out / name, progress=progress
        )
    assert told[-1] > 10_000
    assert_as_before(out)


def full_at_100_kilobytes() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))


@each_format
def test_a_disk_that_is_full_is_one_message(name: str, out: Path, nas_traces: Path) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    command = [sys.executable, "-m", "tisim", "replay", "--platform", GRAPHENE]
    run = subprocess.run(
        [*command, nas_traces / "lu.S.4", "--timeline", out / name],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=full_at_100_kilobytes,
    )
    assert run.returncode == 2, run.stderr
    assert "cannot be written: File too large" in run.stderr
    assert run.stderr.count("\n") == 1
    assert_as_before(out)


def test_all_timelines_are_complete_before_the_first_gets_its_name(
    out: Path, nas_traces: Path
) -> None:
    """The second file is too large; the first would have been in time."""
    command = [sys.executable, "-m", "tisim", "replay", "--platform", GRAPHENE, RING]
    program = (
        "import resource, signal, sys; from tisim.commands.cli import main;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1200, 1200)); main(sys.argv[1:])"
    )
    command[1:3] = ["-c", program]
    run = subprocess.run(
        [*command, "--timeline", out / "run.timed.csv", "--timeline", out / "run.trace"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.returncode == 2, run.stderr
    assert "run.trace: cannot be written: File too large" in run.stderr
    assert_as_before(out)


def test_a_directory_is_no_timeline(tmp_path: Path) -> None:
    (tmp_path / "run.csv").mkdir()
    with pytest.raises(tisim.InputError, match=r"run\.csv: is a directory; name a file to write"):
        tisim.replay(RING, platform=GRAPHENE, timeline=tmp_path / "run.csv")


def test_what_a_rank_was_at_when_it_was_killed_ends_there(tmp_path: Path) -> None:
    programs = ["compute 1e9;recv 1 0 9", "compute 1e9;compute 3.68e12"]
    host = "graphene-{}.nancy.grid5000.fr"
    actors = [f'<actor host="{host.format(r)}" function="{r}" kill_time="2"/>' for r in (0, 1)]
    deployment = tmp_path / "deployment.xml"
    deployment.write_text(f'<platform version="4.1">{"".join(actors)}</platform>')
    result = tisim.replay(
        write_ranks(tmp_path / "traces", *programs),
        platform=GRAPHENE,
        deployment=deployment,
        event_log=True,
        timeline=[tmp_path / "run.csv", tmp_path / "run.trace"],
    )
    last = result.timeline.groupby("rank").last()
    assert last["kind"].tolist() == ["recv", "compute"]
    assert last["end"].tolist() == [2.0, 2.0]
    assert read_paje(tmp_path / "run.trace").lives == {"rank-0": (0, 2), "rank-1": (0, 2)}
