"""The links of messages and the critical path, as the viewer shows them."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path

import numpy as np
import pytest

import tisim
from tests.support import GRAPHENE, ROOT
from tests.unit.viewer.viewer import needs_viewer
from tisim.analysis.timeline.run_file import RunFile, Window
from tisim.analysis.viewer.causes import Causes
from tisim.analysis.viewer.critical_path import RunPath
from tisim.analysis.viewer.network import RunNetwork

pytestmark = needs_viewer

_PAIR = """<?xml version="1.0"?>
<platform version="4.1">
  <zone id="world" routing="Full">
    <host id="a.site.org" speed="1Gf"/><host id="b.site.org" speed="1Gf"/>
    <link id="cable" bandwidth="1MBps" latency="1ms"/>
    <link id="wide" bandwidth="4MBps" latency="1ms"/>
    <route src="a.site.org" dst="b.site.org"><link_ctn id="cable"/><link_ctn id="wide"/></route>
  </zone>
</platform>
"""


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> tuple[tisim.Result, RunFile]:
    path = tmp_path_factory.mktemp("path") / "run.tir"
    result = tisim.replay(
        ROOT / "traces/npb.S.tar.xz/lu.S.4",
        platform=GRAPHENE,
        timeline=path,
        event_log=True,
    )
    return result, RunFile(path)


def test_links_carry_what_the_core_counts(replayed: tuple[tisim.Result, RunFile]) -> None:
    result, run = replayed
    answer = RunNetwork(run).used(0.0, run.end)
    rows = answer["rows"]
    assert isinstance(rows, list) and answer["all"] == len(result.links.table) == 12
    counted = result.links.table.set_index("link")
    for row in rows:
        assert row["bytes"] == pytest.approx(counted["bytes"][row["link"]], rel=1e-12)
        assert row["load"] == pytest.approx(counted["mean"][row["link"]], rel=1e-12)
    # The halves of the run are the whole of it.
    halves = [RunNetwork(run).used(*part)["rows"] for part in ((0.0, 0.03), (0.03, run.end))]
    for row in rows:
        parts = [
            one["bytes"]
            for half in halves
            if isinstance(half, list)
            for one in half
            if one["link"] == row["link"]
        ]
        assert sum(parts) == pytest.approx(row["bytes"], rel=1e-12)


def test_a_message_alone_has_all_of_its_narrowest_link(tmp_path: Path) -> None:
    (tmp_path / "pair.xml").write_text(_PAIR)
    for rank, call in ((0, "send 1"), (1, "recv 0")):
        calls = ["init", f"{call} 0 1000000 6", f"{call} 0 1000000 6", "finalize"]
        text = "".join(f"{rank} {one}\n" for one in calls)
        (tmp_path / f"t.{rank}").write_text(text)
    (tmp_path / "t.txt").write_text("t.0\nt.1\n")
    tisim.replay(
        tmp_path / "t.txt",
        platform=tmp_path / "pair.xml",
        config={"network/model": "raw", "network/crosstraffic": False},
        timeline=tmp_path / "run.tir",
    )
    run = RunFile(tmp_path / "run.tir")
    rows = run.messages.read(0)
    message = {name: rows.numbers(name)[0] for name in ("source", "destination", "bytes")}
    times = {name: float(rows.reals(name)[0]) for name in ("started", "arrived")}
    route = RunNetwork(run).route_of({**message, **times})
    assert route is not None
    # With an envelope of 16 bytes; it takes some time until the first byte arrives.
    moving = 1.000016 / (times["arrived"] - times["started"])
    assert [row["link"] for row in route] == ["cable", "wide"]
    assert [row["share"] for row in route] == pytest.approx([moving, moving / 4])
    assert [row["load"] for row in route] == pytest.approx([moving, moving / 4])
    assert [row["messages"] for row in route] == [1, 1]
    assert 0.99 < moving < 1.0


def test_the_picture_is_that_of_the_platform(run_file: Path) -> None:
    picture = RunNetwork(RunFile(run_file)).used(0.0, 0.01)["picture"]
    assert isinstance(picture, str)
    assert "graphene" in picture
    ET.fromstring(picture)


def test_names_of_links_lack_the_domain_that_all_hosts_have(run_file: Path) -> None:
    rows = RunNetwork(RunFile(run_file)).used(0.0, 0.01)["rows"]
    assert isinstance(rows, list)
    assert {"graphene-0, up", "graphene-3, both ways"} <= {row["words"] for row in rows}


def test_it_is_the_path_of_the_result(replayed: tuple[tisim.Result, RunFile]) -> None:
    result, run = replayed
    known = result.critical_path.parts
    whole = RunPath(run, Causes(run)).within(Window(run, 0.0, run.end, 0, 3))
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
    shown = RunPath(run, Causes(run)).within(Window(run, begin, end, 0, 3))
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
    answer = RunPath(run, Causes(run)).within(Window(run, 0.0, run.end, 0, 3))
    assert str(answer["unknown"]).startswith("This run was measured")


def test_a_run_without_messages(tmp_path: Path) -> None:
    (tmp_path / "t.0").write_text("0 init\n0 compute 1e9\n0 finalize\n")
    (tmp_path / "t.txt").write_text("t.0\n")
    shutil.copy(GRAPHENE, tmp_path / "p.xml")
    tisim.replay(tmp_path / "t.txt", platform=tmp_path / "p.xml", timeline=tmp_path / "run.tir")
    run = RunFile(tmp_path / "run.tir")
    shown = RunPath(run, Causes(run)).within(Window(run, 0.0, run.end, 0, 0))
    assert (shown["parts"], shown["seconds"]) == (1, pytest.approx(run.end))
