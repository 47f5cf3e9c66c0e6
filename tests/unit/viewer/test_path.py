"""The critical path of a run file."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

import tisim
from tests.unit.viewer import viewer as viewers
from tisim.analysis.timeline.run_file import RunFile, Window
from tisim.analysis.viewer.critical_path import RunPath

pytestmark = pytest.mark.skipif(
    viewers.missing() is not None, reason=f"needs the viewer: {viewers.missing()}"
)

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> tuple[tisim.Result, RunFile]:
    path = tmp_path_factory.mktemp("path") / "run.tir"
    result = tisim.replay(
        ROOT / "traces/npb.S.tar.xz/lu.S.4",
        platform=ROOT / "platforms/graphene.xml",
        timeline=path,
        event_log=True,
    )
    return result, RunFile(path)


def test_it_is_the_path_of_the_result(replayed: tuple[tisim.Result, RunFile]) -> None:
    result, run = replayed
    known = result.critical_path.parts
    whole = RunPath(run).within(Window(run, 0.0, run.end, 0, 3))
    assert whole["parts"] == len(known)
    assert whole["seconds"] == pytest.approx(run.end, rel=1e-12)
    drawn, kinds = whole["drawn"], whole["kinds"]
    assert isinstance(drawn, dict) and isinstance(kinds, list)
    by_kind = result.critical_path.by_kind
    expected = {(str(row.state), str(row.kind)): row.seconds for row in by_kind.itertuples()}
    found = {(row["state"], row["kind"]): row["seconds"] for row in kinds}
    assert found == pytest.approx(expected, rel=1e-9)
    # More parts than can be drawn: the longest are there.
    assert len(drawn["start"]) <= 4000 < len(known)
    longest = known.iloc[int((known["end"] - known["start"]).to_numpy().argmax())]
    assert longest["start"] in drawn["start"]


def test_a_window_has_the_parts_in_it(replayed: tuple[tisim.Result, RunFile]) -> None:
    result, run = replayed
    known = result.critical_path.parts
    begin, end = 0.03, 0.0305
    shown = RunPath(run).within(Window(run, begin, end, 0, 3))
    inside = known[(known["end"] > begin) & (known["start"] < end)]
    drawn, ranks = shown["drawn"], shown["ranks"]
    assert isinstance(drawn, dict) and isinstance(ranks, list)
    assert np.array_equal(drawn["start"], inside["start"])
    assert np.array_equal(drawn["source"], inside["rank"])
    assert np.array_equal(drawn["destination"], inside["destination"])
    assert shown["seconds"] == pytest.approx(end - begin, rel=1e-9)
    # The rank that once computes for too long.
    assert ranks[0]["rank"] == 3


def test_a_file_that_lacks_what_it_needs_says_so(run_file: Path, tmp_path: Path) -> None:
    measured = tmp_path / "measured.tir"
    with zipfile.ZipFile(run_file) as source, zipfile.ZipFile(measured, "w") as target:
        for member in source.infolist():
            content = source.read(member)
            if member.filename == "run.json":
                content = json.dumps({**json.loads(content), "measured": True}).encode()
            target.writestr(member, content)
    run = RunFile(measured)
    answer = RunPath(run).within(Window(run, 0.0, run.end, 0, 3))
    assert str(answer["unknown"]).startswith("This run was measured")


def test_a_run_without_messages(tmp_path: Path) -> None:
    (tmp_path / "t.0").write_text("0 init\n0 compute 1e9\n0 finalize\n")
    (tmp_path / "t.txt").write_text("t.0\n")
    shutil.copy(ROOT / "platforms/graphene.xml", tmp_path / "p.xml")
    tisim.replay(tmp_path / "t.txt", platform=tmp_path / "p.xml", timeline=tmp_path / "run.tir")
    run = RunFile(tmp_path / "run.tir")
    shown = RunPath(run).within(Window(run, 0.0, run.end, 0, 0))
    assert (shown["parts"], shown["seconds"]) == (1, pytest.approx(run.end))
