"""The formats of timelines: the files that each writes, and what they hold."""

from __future__ import annotations

import csv
import doctest
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tisim
from tests.support import GRAPHENE, RING, ROOT
from tisim.analysis.timeline import capture

FILES = {
    "run.perfetto-trace": {"run.perfetto-trace"},
    "run.trace": {"run.trace"},
    "run.prv": {"run.prv", "run.pcf", "run.row"},
    "run.parquet": {"run.parquet", "run.messages.parquet"},
    "run.csv": {"run.csv", "run.messages.csv"},
    "run.timed.csv": {"run.timed.csv"},
}


@pytest.mark.parametrize("name", FILES)
def test_each_format_has_its_files_and_the_same_bytes_each_time(name: str, tmp_path: Path) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    written = []
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        tisim.replay(RING, platform=GRAPHENE, timeline=tmp_path / place / name)
        written.append({path.name: path.read_bytes() for path in (tmp_path / place).iterdir()})
    assert written[0] == written[1]
    assert written[0].keys() == FILES[name] and all(written[0].values())


def test_parquet_has_no_bytes_that_nobody_set(tmp_path: Path) -> None:
    """Fresh memory is filled with another byte in each process, where glibc can do that."""
    pytest.importorskip("pyarrow")
    written = []
    for fill in ("0", "85"):
        path = tmp_path / fill / "run.parquet"
        path.parent.mkdir()
        arguments = f"{str(RING)!r}, platform={str(GRAPHENE)!r}, timeline={str(path)!r}"
        code = f"import tisim; tisim.replay({arguments})"
        memory = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_PERTURB_": fill}
        subprocess.run([sys.executable, "-c", code], env=os.environ | memory, check=True, cwd=ROOT)
        written.append({one.name: one.read_bytes() for one in path.parent.iterdir()})
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
    with pytest.raises(tisim.InputError, match=r"run\.xyz: a timeline's suffix is one of"):
        tisim.replay(RING, platform=GRAPHENE, timeline=tmp_path / "run.xyz")
    with pytest.raises(tisim.InputError, match="cannot be written: No such file or directory"):
        tisim.replay(RING, platform=GRAPHENE, timeline=tmp_path / "nowhere" / "run.csv")


TEXT = (ROOT / "docs" / "timelines.md").read_text()


def test_the_examples(tmp_path: Path) -> None:
    for name in ("platforms", "traces"):
        (tmp_path / name).symlink_to(ROOT / name)
    for block in re.findall(r"```console\n(.*?)```", TEXT, re.S):
        line, expected = block.split("\n", 1)
        program, *arguments = shlex.split(line.removeprefix("$ "))
        command = [sys.executable, "-m", "tisim"] if program == "tisim" else [program]
        run = subprocess.run([*command, *arguments], cwd=tmp_path, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        checker = doctest.OutputChecker()
        assert checker.check_output(expected, run.stdout, doctest.ELLIPSIS), run.stdout
    assert sorted(path.name for path in tmp_path.glob("run.*")) == [
        "run.csv",
        "run.messages.csv",
        "run.perfetto-trace",
    ]
    command = [sys.executable, "-m", "tisim", "replay", "--platform", "platforms/graphene.xml"]
    command += ["--timeline", "run.timed.csv", "traces/ring.4"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    (python,) = re.findall(r"```python\n(.*?)```", TEXT, re.S)
    test = doctest.DocTestParser().get_doctest(python, {}, "docs/timelines.md", None, 0)
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        assert doctest.DocTestRunner().run(test).failed == 0
    finally:
        os.chdir(before)


def test_every_suffix_is_explained() -> None:
    from tisim.analysis.timeline.formats import SUFFIXES

    assert all(f"| `{suffix}` |" in TEXT for suffix in SUFFIXES)
