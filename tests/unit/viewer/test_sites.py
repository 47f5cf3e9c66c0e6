"""A selected call says where in the source it was made."""

from __future__ import annotations

from pathlib import Path

import pytest

import tisim
from tests.unit.trace_library.recorded import TEXT, Program
from tisim.analysis.timeline.run_file import RunFile, Window
from tisim.analysis.viewer.call_sites import Sites, site_sums
from tisim.analysis.viewer.causes import Causes

pytest.importorskip("pyarrow")

PLATFORM = Path(__file__).parents[3] / "platforms" / "backbone.xml"


def recorded(folder: Path) -> Path:
    """Rank 1 sends late; rank 0 waits for it."""
    program = Program(2)
    first, second = program.ranks
    for number, rank in enumerate((first, second)):
        site = rank.attribute("call_site", TEXT)
        rank.call("init", attributes={site: rank.text("main (late.c:3)")})
        if number == 0:
            where = rank.text("main (late.c:5) > get (late.c:20)")
            rank.call("recv 1 0 1000", attributes={site: where})
        else:
            rank.compute(2_000_000_000)
            where = rank.text("main (late.c:7) > put (late.c:30)")
            rank.call("send 0 0 1000", attributes={site: where})
        rank.call("finalize")
    return program.write(folder / "late.tit")


def test_a_wait_and_its_cause(tmp_path: Path) -> None:
    tisim.replay(recorded(tmp_path), platform=PLATFORM, timeline=tmp_path / "late.tir")
    details = Causes(RunFile(tmp_path / "late.tir")).details(0, 1e-3)
    assert details["state"]["state"] == "late sender" and details["state"]["cause"] == 1
    assert details["site"] == "main (late.c:5) > get (late.c:20)"
    assert details["message"]["source"] == 1 and details["message"]["bytes"] == 1000
    (origin,) = details["chain"]
    assert (origin["rank"], origin["state"], origin["kind"]) == (1, "compute", "compute")


def test_without_the_trace_there_is_no_site(tmp_path: Path) -> None:
    trace = recorded(tmp_path)
    tisim.replay(trace, platform=PLATFORM, timeline=tmp_path / "late.tir")
    trace.unlink()
    details = Causes(RunFile(tmp_path / "late.tir")).details(0, 1e-3)
    assert details["site"] is None and details["call"]["kind"] == "recv"


def test_a_computation_lies_between_calls(tmp_path: Path) -> None:
    tisim.replay(recorded(tmp_path), platform=PLATFORM, timeline=tmp_path / "late.tir")
    details = Causes(RunFile(tmp_path / "late.tir")).details(1, 1e-3)
    assert details["state"]["state"] == "compute"
    assert details["site"] == "between main (late.c:3) and main (late.c:7) > put (late.c:30)"


def test_a_computation_has_no_messages(tmp_path: Path) -> None:
    """A receive that is posted at the same instant, in no time, is none of the computation's."""
    (tmp_path / "posted.txt").write_text(
        "0 init\n1 init\n0 irecv 1 0 1000\n0 compute 1e9\n0 wait 1 0 0\n1 send 0 0 1000\n"
    )
    tisim.replay(tmp_path / "posted.txt", platform=PLATFORM, timeline=tmp_path / "posted.tir")
    run = RunFile(tmp_path / "posted.tir")
    assert run.messages.read(0).reals("received")[0] == run.messages.read(0).reals("posted")[0]
    details = Causes(run).details(0, 1e-3)
    assert details["state"]["state"] == "compute"
    assert details["message"] is None and details["messages"] == []


def test_sums_by_call_site(tmp_path: Path) -> None:
    trace = recorded(tmp_path)
    tisim.replay(trace, platform=PLATFORM, timeline=tmp_path / "late.tir")
    run = RunFile(tmp_path / "late.tir")
    window = Window(run, 0.0, run.end, 0, 1)
    answer = site_sums(window, Sites(run))
    rows = {(row["path"], row["state"]): row for row in answer["rows"]}
    wait = rows["main (late.c:5) > get (late.c:20)", "late sender"]
    assert wait["count"] == 1 and wait["kind"] == "recv"
    assert wait["seconds"] == wait["longest"]
    assert wait["seconds"] == pytest.approx(rows["", "compute"]["seconds"], rel=1e-3)
    total = sum(row["seconds"] for row in answer["rows"])
    assert total == pytest.approx(sum(tisim.replay(trace, platform=PLATFORM).finish))
    trace.unlink()
    assert site_sums(window, Sites(run)) == {"known": False, "rows": []}


def test_a_computation_says_who_waits_for_it(tmp_path: Path) -> None:
    tisim.replay(recorded(tmp_path), platform=PLATFORM, timeline=tmp_path / "late.tir")
    causes = Causes(RunFile(tmp_path / "late.tir"))
    computation = causes.details(1, 1e-3)
    wait = causes.details(0, 1e-3)["state"]
    (waiting,) = computation["waiting"]
    assert waiting["rank"] == 0
    assert waiting["seconds"] == pytest.approx(computation["state"]["end"] - wait["start"])
    assert causes.details(0, 1e-3)["waiting"] == []
