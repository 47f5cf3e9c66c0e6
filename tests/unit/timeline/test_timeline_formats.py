"""Timeline formats: their files, their contents, and failures while writing."""

from __future__ import annotations

import csv
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tisim
from tests.oracle.test_paje import read_paje
from tests.support import GRAPHENE, RING, ROOT, platform_file, tisim_process, write_ranks
from tisim.analysis.timeline import capture
from tisim.kernel import driver

FILES = {
    "run.perfetto-trace": {"run.perfetto-trace"},
    "run.trace": {"run.trace"},
    "run.prv": {"run.prv", "run.pcf", "run.row"},
    "run.parquet": {"run.parquet", "run.messages.parquet"},
    "run.csv": {"run.csv", "run.messages.csv"},
    "run.timed.csv": {"run.timed.csv"},
    "run.tir": {"run.tir"},
}


@pytest.fixture(params=FILES)
def name(request: pytest.FixtureRequest) -> str:
    """A file of each format."""
    if request.param.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    return str(request.param)


def test_each_format_has_its_files_and_the_same_bytes_each_time(name: str, tmp_path: Path) -> None:
    written = []
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        tisim.replay(RING, platform=GRAPHENE, timeline=tmp_path / place / name)
        written.append({path.name: path.read_bytes() for path in (tmp_path / place).iterdir()})
    assert written[0] == written[1]
    assert written[0].keys() == FILES[name] and all(written[0].values())


def test_parquet_has_no_bytes_that_nobody_set(tmp_path: Path) -> None:
    """Fresh memory is filled with a different byte in each process, if glibc supports it."""
    pytest.importorskip("pyarrow")
    written = []
    for fill in ("0", "85"):
        path = tmp_path / fill / "run.parquet"
        path.parent.mkdir()
        arguments = f"{str(RING)!r}, platform={str(GRAPHENE)!r}, timeline={str(path)!r}"
        code = f"import tisim; tisim.replay({arguments})"
        memory = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_PERTURB_": fill}
        subprocess.run([sys.executable, "-c", code], env=os.environ | memory, check=True, cwd=ROOT)
        written.append({file.name: file.read_bytes() for file in path.parent.iterdir()})
    assert written[0] == written[1]


def test_several_timelines_of_one_replay(tmp_path: Path) -> None:
    names = ["a.csv", "b.trace", "c.prv"]
    tisim.replay(RING, platform=GRAPHENE, timeline=[tmp_path / name for name in names])
    alone = tmp_path / "alone"
    alone.mkdir()
    for name in names:
        tisim.replay(RING, platform=GRAPHENE, timeline=alone / name)
    for path in alone.iterdir():
        assert (tmp_path / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("room", [1, 100])
def test_it_does_not_matter_how_often_events_are_taken(
    room: int, nas_traces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace, file = nas_traces / "lu.S.4", "run.perfetto-trace"
    plain = tisim.replay(trace, platform=GRAPHENE)
    tisim.replay(trace, platform=GRAPHENE, timeline=tmp_path / file)
    expected = (tmp_path / file).read_bytes()
    monkeypatch.setattr(capture, "_BATCH", room)
    result = tisim.replay(trace, platform=GRAPHENE, timeline=tmp_path / file)
    assert result.finish.tolist() == plain.finish.tolist()
    assert (tmp_path / file).read_bytes() == expected


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_row_an_action_and_a_row_a_message(tmp_path: Path) -> None:
    result = tisim.replay(RING, platform=GRAPHENE, timeline=tmp_path / "ring.csv")
    actions = rows_of(tmp_path / "ring.csv")
    assert len(actions) == result.actions
    by_rank = [[a for a in actions if a["rank"] == str(rank)] for rank in range(4)]
    assert [a["kind"] for a in by_rank[0]] == ["nop", "compute", "send", "recv", "nop"]
    assert [a["peer"] for a in by_rank[0]] == ["-1", "-1", "1", "3", "-1"]
    assert [a["bytes"] for a in by_rank[0]] == ["-1", "-1", "1000000", "1000000", "-1"]
    assert [a["line"] for a in by_rank[0]] == ["2", "3", "4", "5", "6"]
    for rank, of_rank in enumerate(by_rank):
        assert [a["end"] for a in of_rank[:-1]] == [a["start"] for a in of_rank[1:]]
        assert float(of_rank[-1]["end"]) == pytest.approx(result.finish[rank], abs=1e-12)
    messages = rows_of(tmp_path / "ring.messages.csv")
    pairs = [(m["source"], m["destination"], m["bytes"]) for m in messages]
    assert sorted(pairs) == [(str(r), str((r + 1) % 4), "1000000") for r in range(4)]
    for message in messages:
        assert float(message["posted"]) <= float(message["started"]) < float(message["arrived"])


def test_the_timed_trace(tmp_path: Path) -> None:
    result = tisim.replay(RING, platform=GRAPHENE, timeline=tmp_path / "ring.timed.csv")
    rows = rows_of(tmp_path / "ring.timed.csv")
    assert not list(tmp_path.glob("*.messages.csv"))
    durations = np.zeros(4)
    for row in rows:
        durations[int(row["rank"])] += float(row["duration"])
    assert durations == pytest.approx(result.finish, abs=1e-11)
    (compute,) = (r for r in rows if r["rank"] == "0" and r["action"] == "compute")
    assert float(compute["volume"]) == 1e6


def test_an_unknown_suffix_is_refused_before_the_replay(tmp_path: Path) -> None:
    with pytest.raises(
        tisim.InputError, match=r"run\.xyz: the suffix of a timeline must be one of"
    ):
        tisim.replay(RING, platform=GRAPHENE, timeline=tmp_path / "run.xyz")
    with pytest.raises(tisim.InputError, match="cannot be written: No such file or directory"):
        tisim.replay(RING, platform=GRAPHENE, timeline=tmp_path / "nowhere" / "run.csv")


TEXT = (ROOT / "docs" / "timelines.md").read_text()


def test_every_suffix_is_explained() -> None:
    from tisim.analysis.timeline.formats import SUFFIXES

    assert all(f"| `{suffix}` |" in TEXT for suffix in SUFFIXES)


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


def test_a_deadlock_leaves_no_timeline(name: str, out: Path, deadlock: Path) -> None:
    run = tisim_process("replay", "--platform", GRAPHENE, deadlock, "--timeline", out / name)
    assert run.returncode == 1
    assert "deadlock" in run.stderr
    assert_as_before(out)


def test_ctrl_c_leaves_no_timeline(
    name: str, out: Path, monkeypatch: pytest.MonkeyPatch, nas_traces: Path
) -> None:
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


def test_a_disk_that_is_full_is_one_message(name: str, out: Path, nas_traces: Path) -> None:
    run = tisim_process(
        *("replay", "--platform", GRAPHENE, nas_traces / "lu.S.4", "--timeline", out / name),
        preexec_fn=full_at_100_kilobytes,
    )
    assert run.returncode == 2, run.stderr
    assert "cannot be written: File too large" in run.stderr
    assert run.stderr.count("\n") == 1
    assert_as_before(out)


def test_all_timelines_are_complete_before_the_first_gets_its_name(
    out: Path, nas_traces: Path
) -> None:
    """The second file is too large; the first one alone would fit."""
    program = (
        "import resource, signal, sys; from tisim.commands.cli import main;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1200, 1200)); main(sys.argv[1:])"
    )
    files = ("--timeline", out / "run.timed.csv", "--timeline", out / "run.trace")
    command = [sys.executable, "-c", program, "replay", "--platform", GRAPHENE, RING, *files]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 2, run.stderr
    assert "run.trace: cannot be written: File too large" in run.stderr
    assert_as_before(out)


def test_a_directory_is_no_timeline(tmp_path: Path) -> None:
    (tmp_path / "run.csv").mkdir()
    with pytest.raises(tisim.InputError, match=r"run\.csv: is a directory; give the name"):
        tisim.replay(RING, platform=GRAPHENE, timeline=tmp_path / "run.csv")


def test_what_a_rank_was_at_when_it_was_killed_ends_there(tmp_path: Path) -> None:
    programs = ["compute 1e9;recv 1 0 9", "compute 1e9;compute 3.68e12"]
    host = "graphene-{}.nancy.grid5000.fr"
    actors = [f'<actor host="{host.format(r)}" function="{r}" kill_time="2"/>' for r in (0, 1)]
    deployment = platform_file(tmp_path, "".join(actors), "deployment.xml")
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
