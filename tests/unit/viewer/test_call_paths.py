"""Call sites, the call path of a rank over time, and colours by function."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tisim
from tests.support import BACKBONE, GRAPHENE
from tests.unit.trace_library.recorded import TEXT, Program
from tests.unit.viewer.viewer import needs_viewer
from tisim.analysis.timeline.columns import WAITS
from tisim.analysis.timeline.run_file import RecordClasses, RunFile, Window
from tisim.analysis.viewer.call_path import CallPathView
from tisim.analysis.viewer.call_sites import Sites, site_sums
from tisim.analysis.viewer.causes import Causes
from tisim.analysis.viewer.state_colours import ColourClass, StateColours
from tisim.platform import new
from tisim.traces.samples import RankSamples, Samples, add_samples

pytest.importorskip("pyarrow")


@pytest.fixture
def late(tmp_path: Path) -> RunFile:
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
    trace = program.write(tmp_path / "late.tit")
    tisim.replay(trace, platform=BACKBONE, timeline=tmp_path / "late.tir")
    return RunFile(tmp_path / "late.tir")


def test_a_wait_and_its_cause(late: RunFile) -> None:
    details = Causes(late).details(0, 1e-3)
    assert details["state"]["state"] == "late sender" and details["state"]["cause"] == 1
    assert details["site"] == "main (late.c:5) > get (late.c:20)"
    assert details["message"]["source"] == 1 and details["message"]["bytes"] == 1000
    (origin,) = details["chain"]
    assert (origin["rank"], origin["state"], origin["kind"]) == (1, "compute", "compute")


def test_without_the_trace_there_is_no_site(late: RunFile) -> None:
    late.path.with_suffix(".tit").unlink()
    details = Causes(late).details(0, 1e-3)
    assert details["site"] is None and details["call"]["kind"] == "recv"


def test_a_computation_lies_between_calls(late: RunFile) -> None:
    details = Causes(late).details(1, 1e-3)
    assert details["state"]["state"] == "compute"
    assert details["site"] == "between main (late.c:3) and main (late.c:7) > put (late.c:30)"


def test_a_computation_has_no_messages(tmp_path: Path) -> None:
    """A receive posted at the same instant, in zero time, does not belong to the computation."""
    (tmp_path / "posted.txt").write_text(
        "0 init\n1 init\n0 irecv 1 0 1000\n0 compute 1e9\n0 wait 1 0 0\n1 send 0 0 1000\n"
    )
    tisim.replay(tmp_path / "posted.txt", platform=BACKBONE, timeline=tmp_path / "posted.tir")
    run = RunFile(tmp_path / "posted.tir")
    assert run.messages.read(0).reals("received")[0] == run.messages.read(0).reals("posted")[0]
    details = Causes(run).details(0, 1e-3)
    assert details["state"]["state"] == "compute"
    assert details["message"] is None and details["messages"] == []


def test_sums_by_call_site(late: RunFile) -> None:
    window = Window(late, 0.0, late.end, 0, 1)
    answer = site_sums(window, Sites(late))
    rows = {(row["path"], row["state"]): row for row in answer["rows"]}
    wait = rows["main (late.c:5) > get (late.c:20)", "late sender"]
    assert wait["count"] == 1 and wait["kind"] == "recv"
    assert wait["seconds"] == wait["longest"]
    assert wait["seconds"] == pytest.approx(rows["", "compute"]["seconds"], rel=1e-3)
    total = sum(row["seconds"] for row in answer["rows"])
    trace = late.path.with_suffix(".tit")
    assert total == pytest.approx(sum(tisim.replay(trace, platform=BACKBONE).finish))
    trace.unlink()
    assert site_sums(window, Sites(late)) == {"known": False, "rows": []}


def test_short_names_are_there_in_full(tmp_path: Path) -> None:
    program = Program(1)
    (rank,) = program.ranks
    site = rank.attribute("call_site", TEXT)
    where = rank.text("main (a.cpp:3) > void f<int>(std::vector<int> const&) (a.cpp:9)")
    rank.call("barrier", attributes={site: where})
    rank.call("sleep 1", attributes={site: where})
    trace = program.write(tmp_path / "cpp.tit")
    tisim.replay(trace, platform=BACKBONE, timeline=tmp_path / "cpp.tir")
    run = RunFile(tmp_path / "cpp.tir")
    answer = site_sums(Window(run, 0.0, run.end, 0, 0), Sites(run))
    assert {row["path"] for row in answer["rows"]} == {"main (a.cpp:3) > f<...> (a.cpp:9)"}
    assert answer["whole"] == {"f<...> (a.cpp:9)": "void f<int>(std::vector<int> const&) (a.cpp:9)"}


def test_a_computation_says_who_waits_for_it(late: RunFile) -> None:
    causes = Causes(late)
    computation = causes.details(1, 1e-3)
    wait = causes.details(0, 1e-3)["state"]
    (waiting,) = computation["waiting"]
    assert waiting["rank"] == 0
    assert waiting["seconds"] == pytest.approx(computation["state"]["end"] - wait["start"])
    assert causes.details(0, 1e-3)["waiting"] == []


pytestmark = needs_viewer

_SOLVE = "main (a.c:9) > solve (a.c:20)"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFile:
    """Two sends in a nested function, then a collective in another; four ranks."""
    folder = tmp_path_factory.mktemp("depth")
    program = Program(4)
    for number, rank in enumerate(program.ranks):
        site = rank.attribute("call_site", TEXT)
        rank.call("init", attributes={site: rank.text("main (a.c:3)")})
        for line in (31, 32):
            rank.compute(1_000_000 * (number + 1))
            where = rank.text(f"{_SOLVE} > exchange (a.c:{line})")
            call = f"{'recv' if number % 2 else 'send'} {number ^ 1} 0 1000"
            rank.call(call, attributes={site: where})
        rank.compute(1_000_000)
        where = rank.text(f"{_SOLVE} > norm (a.c:40)")
        rank.call("allreduce 1000 10", attributes={site: where})
        rank.call("finalize", attributes={site: rank.text("main (a.c:12)")})
    trace = program.write(folder / "a.tit")
    tisim.replay(trace, platform=GRAPHENE, timeline=folder / "a.tir")
    return RunFile(folder / "a.tir")


def test_functions_are_above_the_calls_that_they_make(run: RunFile) -> None:
    whole = Window(run, 0.0, run.end, 0, 3)
    shown = CallPathView(run, Sites(run)).within(whole, 2)
    depths = shown["depths"]
    assert isinstance(depths, list) and shown["known"]
    # Before the first call of solve, only main is known; between its calls, solve is known.
    assert [name for *_, name in depths[0]] == ["main"]
    assert [name for *_, name in depths[1]] == ["compute", "solve"]
    assert [name for *_, name in depths[2]] == ["exchange", "compute", "norm"]
    assert [name for *_, name in depths[3]] == ["send", "compute", "send", "allreduce"]
    exchange, first, last = depths[2][0], depths[3][0], depths[3][2]
    assert (exchange[0], exchange[1]) == (first[0], last[1])
    end = max(span[1] for row in depths for span in row)
    assert depths[0][0][:2] == [0.0, pytest.approx(end)]


def test_messages_of_collectives_are_below(run: RunFile) -> None:
    whole = Window(run, 0.0, run.end, 0, 3)
    messages = CallPathView(run, Sites(run)).within(whole, 0)["messages"]
    assert isinstance(messages, list) and messages
    for block in range(run.messages.blocks):
        rows = run.messages.read(block)
        own = (rows.numbers("source") == 0) | (rows.numbers("destination") == 0)
        inner = rows.rows(own & (rows.numbers("collective") == 1))
        assert sorted(message["start"] for message in messages) == sorted(
            inner.reals("started").tolist()
        )
    # Messages in flight concurrently are in different rows.
    for message in messages:
        for other in messages:
            if message is not other and message["row"] == other["row"]:
                assert message["end"] <= other["start"] or other["end"] <= message["start"]


def test_without_call_sites_there_are_calls(run_file: Path) -> None:
    lu = RunFile(run_file)
    shown = CallPathView(lu, Sites(lu)).within(Window(lu, 0.03, 0.0305, 0, 3), 1)
    depths = shown["depths"]
    assert isinstance(depths, list) and len(depths) == 1 and not shown["known"]
    assert {"recv", "send", "compute"} <= {name for *_, name in depths[0]}
    # A long window contains its longest calls, never more than fit in the picture.
    whole = CallPathView(lu, Sites(lu)).within(Window(lu, 0.0, lu.end, 0, 3), 1)["depths"]
    assert isinstance(whole, list) and len(whole[0]) <= 4000


def _sampled_run(folder: Path, *, with_sites: bool) -> RunFile:
    """Write a run with two computations of 1 ms before barriers; the first has ten samples."""
    program = Program(2)
    for rank in program.ranks:
        where = {}
        if with_sites:
            where[rank.attribute("call_site", TEXT)] = rank.text(f"{_SOLVE} > wait (a.c:7)")
        rank.call("init")
        for _ in range(2):
            rank.compute(1_000_000)
            rank.call("barrier", attributes=where)
        rank.call("finalize")
    trace = program.write(folder / "sampled.tit")
    places = [(0, "main"), (1, "solve"), (2, "inner"), (2, "outer"), (1, "assemble")]
    # solve has 4 of the samples, assemble 6
    runs = [(5, 2), (3, 1), (5, 3), (4, 3), (5, 1)]
    one = RankSamples(seconds=2e-3, signals=10, computations=[(1, runs)])
    add_samples(trace, Samples(places, {0: one}))
    platform = new.cluster(2, bandwidth="1GBps", latency="1us", speed="1Gf")
    tisim.replay(trace, platform=platform, timeline=folder / "sampled.tir")
    return RunFile(folder / "sampled.tir")


@pytest.mark.parametrize("with_sites", [False, True])
def test_sampled_computations_have_functions(tmp_path: Path, with_sites: bool) -> None:
    sampled = _sampled_run(tmp_path, with_sites=with_sites)
    shown = CallPathView(sampled, Sites(sampled)).within(Window(sampled, 0.0, sampled.end, 0, 1), 0)
    depths = shown["depths"]
    assert isinstance(depths, list) and shown["sampled"] and shown["known"] is with_sites
    # Functions with the most samples come first, with lengths proportional to their samples.
    assert depths[0][0] == [0.0, pytest.approx(sampled.end, rel=1e-2), "main"]
    parts = {name: end - start for start, end, name in depths[1] if start < 0.99e-3}
    assert parts.pop("assemble") == pytest.approx(0.6e-3)
    if not with_sites:
        assert parts.pop("solve") == pytest.approx(0.4e-3)
        assert [name for *_, name in depths[2][:4]] == ["compute", "outer", "inner"]
        assert depths[2][1][1] - depths[2][1][0] == pytest.approx(0.3e-3)
        # The barrier and unsampled time belong to the common function, which is unknown here.
        assert {name for *_, name in depths[1]} >= {"barrier", "compute"}
    else:
        # The barrier continues the function that the samples led to.
        assert [name for *_, name in depths[1]] == ["assemble", "solve"]
        assert "wait" in {name for *_, name in depths[2]}


def test_a_selected_computation_has_its_samples(tmp_path: Path) -> None:
    causes = Causes(_sampled_run(tmp_path, with_sites=False))
    shares = [
        ("main > assemble", 0.6),
        ("main > solve > outer", 0.3),
        ("main > solve > inner", 0.1),
    ]
    found = causes.details(0, 0.5e-3)["sampled"]
    assert found == [(path, pytest.approx(share)) for path, share in shares]
    assert causes.details(0, 0.5e-3)["order"] == {
        "runs": [
            ("main > assemble", 2),
            ("main > solve > inner", 1),
            ("main > assemble", 3),
            ("main > solve > outer", 3),
            ("main > assemble", 1),
        ],
        "count": 5,
    }
    for other in (causes.details(0, 1.5e-3), causes.details(1, 0.5e-3)):
        assert other["sampled"] == [] and other["order"] == {"runs": [], "count": 0}


def test_sums_and_colours_follow_samples(tmp_path: Path) -> None:
    sampled = _sampled_run(tmp_path, with_sites=False)
    first = Window(sampled, 0.0, 1e-3, 0, 0)
    rows = site_sums(first, Sites(sampled))["rows"]
    assert isinstance(rows, list)
    sums = {row["path"]: row["seconds"] for row in rows if row["state"] == "compute"}
    assert sums == {
        "main > assemble": pytest.approx(0.6e-3),
        "main > solve > outer": pytest.approx(0.3e-3),
        "main > solve > inner": pytest.approx(0.1e-3),
    }
    # Colours show the path with the most samples.
    assert _sums(first, sampled, "procedure")["assemble"] == pytest.approx(1e-3, rel=1e-3)
    assert _sums(first, sampled, "procedure", 1)["main"] == pytest.approx(1e-3, rel=1e-3)


def _sums(window: Window, run: RunFile, by: str, depth: int = 0) -> dict[str, float]:
    """Return the seconds of each class, from the picture of a window."""
    found = StateColours(run, Sites(run)).classes(window, by, depth)
    assert not isinstance(found, str)
    legend: list[ColourClass]
    classes: RecordClasses
    legend, classes = found
    tile = window.tile(300, window.ranks, classes)
    sums = np.bincount(tile.key, weights=tile.seconds, minlength=len(legend))
    assert len({entry.colour for entry in legend}) == len(legend)
    return {one.name: float(sums[i]) for i, one in enumerate(legend) if sums[i] > 0}


def test_colours_by_procedure(run: RunFile) -> None:
    whole = Window(run, 0.0, run.end, 0, 3)
    assert {*_sums(whole, run, "procedure")} == {"main", "solve", "exchange", "norm"}
    assert {*_sums(whole, run, "procedure", 2)} == {"main", "solve"}
    assert {*_sums(whole, run, "procedure", 1)} == {"main"}
    total = sum(_sums(whole, run, "procedure").values())
    assert total == pytest.approx(sum(_sums(whole, run, "distance").values()), rel=1e-5)


def test_colours_by_the_distance_of_the_other_rank(run: RunFile) -> None:
    ends = Window(run, 0.0, run.end, 0, 3)
    sums = _sums(ends, run, "distance")
    assert {"no other rank", "1"} <= {*sums} <= {"no other rank", "1", "2 to 3"}


def test_colours_by_the_rank_that_is_waited_for(run_file: Path) -> None:
    lu = RunFile(run_file)
    window = Window(lu, 0.03, 0.031, 0, 3)
    sums = _sums(window, lu, "cause")
    rows = window.records(100_000)
    assert rows is not None
    waits = [lu.info["states"].index(name) for name in WAITS]
    rows = rows.rows(np.isin(rows.numbers("state"), waits))
    inside = np.minimum(rows.reals("end"), 0.031) - np.maximum(rows.reals("start"), 0.03)
    expected = np.bincount(rows.numbers("cause"), weights=inside)
    for rank, seconds in enumerate(expected.tolist()):
        assert sums.get(f"for rank {rank}", 0.0) == pytest.approx(seconds, rel=1e-4)


def test_what_has_no_such_colours_says_so(run_file: Path) -> None:
    lu = RunFile(run_file)
    window = Window(lu, 0.03, 0.031, 0, 3)
    found = StateColours(lu, Sites(lu)).classes(window, "procedure", 0)
    assert found == "Coloured by state: the trace of this run has neither call sites nor samples."
