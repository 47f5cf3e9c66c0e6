"""The formats of timelines: which files each writes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import tisim
from tisim.analysis.timeline import playback

ROOT = Path(__file__).resolve().parents[3]
GRAPHENE = ROOT / "platforms/graphene.xml"
RING = ROOT / "traces/ring.4"

FILES = {
    "run.perfetto-trace": {"run.perfetto-trace"},
    "run.trace": {"run.trace"},
    "run.prv": {"run.prv", "run.pcf", "run.row"},
    "run.parquet": {"run.parquet", "run.messages.parquet"},
    "run.csv": {"run.csv", "run.messages.csv"},
    "run.timed.csv": {"run.timed.csv"},
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_each_format_and_no_others(name: str, tmp_path: Path) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    tisim.replay(RING, platform=GRAPHENE, timeline=tmp_path / name)
    assert {path.name for path in tmp_path.iterdir()} == FILES[name]
    assert all(path.stat().st_size > 0 for path in tmp_path.iterdir())


@pytest.mark.parametrize("name", FILES)
def test_two_replays_write_the_same_bytes(name: str, tmp_path: Path) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    written = []
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        tisim.replay(RING, platform=GRAPHENE, timeline=tmp_path / place / name)
        written.append({path.name: path.read_bytes() for path in (tmp_path / place).iterdir()})
    assert written[0] == written[1]


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
    monkeypatch.setattr(playback, "_BATCH", room)
    result = tisim.replay(trace, platform=GRAPHENE, timeline=tmp_path / file)
    assert result.finish.tolist() == plain.finish.tolist()
    assert (tmp_path / file).read_bytes() == expected
