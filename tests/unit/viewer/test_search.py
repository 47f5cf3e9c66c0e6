"""Searching the states of a run, orders of its ranks, and two runs side by side."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tisim
from tests.support import GRAPHENE, RING, platform_file, write_trace
from tests.unit.command_line import CommandLine, refused
from tests.unit.report import browser as chromium
from tests.unit.viewer import viewer as viewers
from tests.unit.viewer.test_page import assert_quiet, keys, panel_says, wait_for
from tests.unit.viewer.viewer import Viewer
from tisim.analysis.timeline.columns import WAITS
from tisim.analysis.timeline.run_file import RunFile, Window
from tisim.analysis.viewer.alignment import Alignment
from tisim.analysis.viewer.network import RunNetwork
from tisim.analysis.viewer.rank_orders import RankOrders
from tisim.analysis.viewer.search import Search
from tisim.errors import InputError
from tisim.platform import new


def found(run_file: Path, text: str) -> list[dict[str, object]]:
    run = RunFile(run_file)
    answer = Search(run, text).found(Window(run, 0.0, run.end, 0, run.ranks - 1), 5000)
    states = answer["states"]
    assert isinstance(states, list) and answer["matches"] == len(states)
    return states


def test_the_longest_come_first(run_file: Path) -> None:
    states = found(run_file, "wait > 0.1ms and rank in 1..2")
    lengths = [state["end"] - state["start"] for state in states]
    assert lengths == sorted(lengths, reverse=True) and lengths[-1] > 0.1e-3
    assert {state["rank"] for state in states} == {1, 2}
    assert {state["state"] for state in states} <= set(WAITS)


def test_calls_have_their_names_of_mpi(run_file: Path) -> None:
    states = found(run_file, "call = MPI_Allreduce and cause = 3")
    assert states == found(run_file, "cause = 3 and call = allreduce") != []
    assert {state["kind"] for state in states} == {"allreduce"}


def test_hosts_are_named_by_patterns(run_file: Path) -> None:
    run = RunFile(run_file)
    few = "line in 5..20"
    hosts = [run.info["hosts"][place] for place in run.info["host_of"]]
    states = found(run_file, f"{few} and host = {hosts[1]}")
    assert {hosts[int(str(state["rank"]))] for state in states} == {hosts[1]}
    every = len(found(run_file, f"{few} and host = *"))
    assert len(found(run_file, f"{few} and host != {hosts[1]}")) == every - len(states) > 0
    with pytest.raises(InputError, match="no rank of this run is on a host 'mars'; hosts are"):
        found(run_file, "host = mars")
    with pytest.raises(InputError, match="host must be compared with = or !=, not <"):
        found(run_file, "host < 3")


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("MPI_Allreduce", "call = allreduce"),
        ("allreduce rank 2", "call = allreduce and rank = 2"),
        (
            "late sender ranks 1 to 2 and wait > 0.1ms",
            "state = late sender and rank in 1..2 and wait > 0.1ms",
        ),
        ("Rank 3 and MPI_Send and line in 5..90", "rank = 3 and call = send and line in 5..90"),
        ("graphene-1 MPI_Allreduce", "call = allreduce and rank = 1"),
    ],
)
def test_words_alone_are_conditions(run_file: Path, text: str, same: str) -> None:
    assert found(run_file, text) == found(run_file, same) != []


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("state != compute and state != overhead and time >= 0.1ms", lambda one: True),
        ("line in 5..9", lambda one: 5 <= one["line"] <= 9),
        ("start < 1ms and end <= 1ms", lambda one: one["end"] <= 1e-3),
        ("bytes > 500", lambda one: one["bytes"] > 500),
    ],
)
def test_conditions(run_file: Path, text: str, fits: object) -> None:
    states = found(run_file, text)
    assert callable(fits) and states and all(map(fits, states))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rank", "'rank' is not a condition"),
        (
            "MPI_Allreduce at noon",
            "'at noon' is not a condition .* the calls allreduce, .* states ",
        ),
        ("rank > x", "rank must be a whole number, not 'x'"),
        ("rank in 3", "in needs a range such as 100..200"),
        ("wait in 1ms", "in needs a range such as 1ms..2ms"),
        ("wait > 1 parsec", "unknown unit"),
        ("call > send", "call must be compared with = or !=,"),
        ("call = MPI_Bakery", "this run has no call 'MPI_Bakery'; it has"),
        ("x" * 501, "at most 500 characters"),
    ],
)
def test_what_cannot_be_searched_for(run_file: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("'", ".")):
        found(run_file, text)


pytestmark = viewers.needs_viewer

_TWO_SWITCHES = """<cluster id="tree" prefix="n" suffix="" radical="0-3" speed="1Gf" bw="1GBps"
  lat="1us" topology="FAT_TREE" topo_parameters="2;2,2;1,1;1,1"/>"""


def _orders(run: RunFile) -> RankOrders:
    return RankOrders(run, RunNetwork(run))


def test_windows_in_an_order_have_the_states_of_each_rank(run_file: Path) -> None:
    run = RunFile(run_file)
    order = np.array([2, 0, 3, 1])
    classes = np.arange(len(run.info["keys"]), dtype=np.int32)
    # Both from levels and from records.
    for begin, end in ((0.0, run.end), (0.03, 0.031)):
        whole = Window(run, begin, end, 1, 3, order).tile(200, 3, classes)
        for lane, rank in enumerate(order[1:].tolist()):
            alone = Window(run, begin, end, rank, rank).tile(200, 1, classes)
            own = whole.lane == lane
            assert np.array_equal(whole.column[own], alone.column)
            assert np.array_equal(whole.key[own], alone.key)
            assert np.allclose(whole.seconds[own], alone.seconds, rtol=1e-6)


def test_ranks_by_what_they_do(run_file: Path) -> None:
    run = RunFile(run_file)
    orders = _orders(run)
    rows = [run.states.read(block) for block in range(run.states.blocks)]
    compute = run.info["states"].index("compute")
    seconds = np.zeros(run.ranks)
    for block in rows:
        own = block.rows(block.numbers("state") == compute)
        length = own.reals("end") - own.reals("start")
        seconds += np.bincount(own.numbers("rank"), weights=length, minlength=run.ranks)
    assert orders.order("state:compute").ranks.tolist() == np.argsort(-seconds).tolist()
    for name in orders.names():
        assert sorted(orders.order(str(name["name"])).ranks.tolist()) == [0, 1, 2, 3]
    with pytest.raises(InputError, match="no order of ranks 'luck'"):
        orders.order("luck")


def test_ranks_by_host_switch_and_communicator(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("n0\nn3\nn1\nn0\n")
    tisim.replay(
        write_trace(tmp_path, *["init; compute 1e6; barrier; finalize"] * 4),
        platform=platform_file(tmp_path, _TWO_SWITCHES),
        deployment=tisim.Deployment.from_hostfile(tmp_path / "hosts", 4),
        timeline=tmp_path / "run.tir",
    )
    orders = _orders(RunFile(tmp_path / "run.tir"))
    by_host = orders.order("host")
    assert by_host.ranks.tolist() == [0, 3, 1, 2]
    assert by_host.groups == [("n0", 0), ("n3", 2), ("n1", 3)]
    by_switch = orders.order("switch")
    assert by_switch.ranks.tolist() == [0, 2, 3, 1]
    assert [first for _, first in by_switch.groups] == [0, 3]
    assert orders.order("communicator").groups == [("the world only", 0)]


def test_alike_ranks_are_neighbours(tmp_path: Path) -> None:
    work = [5e9 if rank in (1, 4) else 1e6 * (rank + 1) for rank in range(6)]
    trace = write_trace(tmp_path, *(f"init; compute {flops}; barrier" for flops in work))
    tisim.replay(trace, platform=GRAPHENE, timeline=tmp_path / "run.tir")
    ranks = _orders(RunFile(tmp_path / "run.tir")).order("similarity").ranks.tolist()
    assert abs(ranks.index(1) - ranks.index(4)) == 1


def test_the_server_answers_in_an_order(viewer: Viewer) -> None:
    order = json.loads(viewer.get("ask/order?name=wait")[1])["ranks"]
    path = "ask/search?first=0&last=0&order=wait&q=time%20%3E%200s"
    found = json.loads(viewer.get(path)[1])["states"]
    assert {script["rank"] for script in found} == {order[0]}
    sums = json.loads(viewer.get("ask/statistics?order=wait&first=1&last=1")[1])
    alone = json.loads(viewer.get(f"ask/statistics?first={order[1]}&last={order[1]}")[1])
    assert sums["keys"] == alone["keys"]
    assert viewer.get("ask/tile?columns=9&lanes=2&order=luck")[0] == 400


# Rank 0 computes and sends to rank 1, ten times.
_STEPS = "0 compute {volume}\n0 send 1 1 8\n1 recv 0 1 8\n"


def written(folder: Path, name: str, slow: int | None, steps: int = 10, word: str = "send") -> Path:
    """Write a run of ten steps of a millisecond; the step `slow` takes 5 ms."""
    trace = folder / f"{name}.txt"
    volumes = [5_000_000 if step == slow else 1_000_000 for step in range(steps)]
    lines = "".join(_STEPS.format(volume=volume) for volume in volumes)
    trace.write_text("0 init\n1 init\n" + lines.replace("send", word))
    platform = new.cluster(2, bandwidth="1GBps", latency="1us", speed="1Gf")
    tisim.replay(trace, platform=platform, timeline=folder / f"{name}.tir")
    return folder / f"{name}.tir"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("two")
    return written(folder, "even", None), written(folder, "slow", 4)


@pytest.fixture(scope="module")
def viewer(runs: tuple[Path, Path]) -> Iterator[viewers.Viewer]:
    with viewers.viewer(*runs) as running:
        yield running


def test_times_are_aligned_by_calls(runs: tuple[Path, Path]) -> None:
    even, slow = (RunFile(path) for path in runs)
    alignment = Alignment(even, slow)
    step = even.end / 10
    for at in (1.0, 3.0):
        assert alignment.time(at * step, to_second=True) == pytest.approx(at * step, rel=1e-3)
    for at in (5.0, 9.0):
        later = alignment.time(at * step, to_second=True)
        assert later == pytest.approx(at * step + 4e-3, rel=1e-3)
        assert alignment.time(later, to_second=False) == pytest.approx(at * step, rel=1e-3)
    assert alignment.time(even.end, to_second=True) == slow.end
    delays = alignment.delays(11)
    assert delays[:, 3] == pytest.approx(0.0, abs=1e-6)
    assert delays[:, 9] == pytest.approx(4e-3, rel=1e-2)


def test_a_run_that_goes_on_is_aligned_as_far_as_both_go(tmp_path: Path) -> None:
    short, long = written(tmp_path, "short", None, 5), written(tmp_path, "long", None, 10)
    alignment = Alignment(RunFile(short), RunFile(long))
    assert alignment.time(2e-3, to_second=True) == pytest.approx(2e-3, rel=1e-6)


def test_runs_of_other_programs_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, "one", None)
    written(tmp_path, "other", None, word="ssend")
    tisim_ = CommandLine(tmp_path, capsys)
    arguments = ("view", str(tmp_path / "one.tir"), str(tmp_path / "other.tir"))
    refused(
        tisim_,
        tisim_(*arguments),
        r".*other.tir: is a run of a different program: call 1 of rank 0.*",
    )
    tisim.replay(
        RING,
        platform=GRAPHENE,
        timeline=tmp_path / "other.tir",
    )
    refused(
        tisim_, tisim_(*arguments), r".*other.tir: has 4 ranks, but .*one.tir has 2: only runs.*"
    )


def test_the_server_answers_for_both(viewer: viewers.Viewer, runs: tuple[Path, Path]) -> None:
    def ask(path: str) -> Any:
        status, answer = viewer.get(f"ask/{path}")
        assert status == 200, answer
        return json.loads(answer)

    ends = [RunFile(path).end for path in runs]
    assert [ask(f"run?of={of}")["end"] for of in "ab"] == ends
    assert ask("run")["runs"] == 2
    assert ask(f"match?of=a&begin=0&end={ends[0]}") == {"begin": 0.0, "end": ends[1]}
    (step,) = ask("delays")["steps"]
    assert step["begin"] <= 0.45 * ends[0] <= step["end"] + 0.06 * ends[0]
    assert step["seconds"] == pytest.approx(4e-3, rel=1e-2)
    found = {(row["state"], row["kind"]): row["b"] - row["a"] for row in ask("differences")["rows"]}
    assert found["compute", "compute"] == pytest.approx(4e-3, rel=1e-3)
    assert found["late sender", "recv"] == pytest.approx(4e-3, rel=1e-2)
    assert viewer.get("ask/run?of=c")[0] == 400


@chromium.needs_browser
def test_the_page_shows_both(viewer: viewers.Viewer, tmp_path: Path) -> None:
    with chromium.browser(tmp_path) as driver:
        driver.get(viewer.address + "#tab=differences")
        for name in ("chart", "chart-b", "delays"):
            wait_for(driver, f"return document.getElementById('{name}').dataset.drawn")
        panel_says(driver, "The calls of the window take +4 ms in B")
        panel_says(driver, "Where B falls behind")
        keys(driver, "w")
        wait_for(
            driver, "return location.hash.includes('differences') && location.hash.length > 40"
        )
        driver.get("about:blank")
        driver.get(viewer.address + "#tab=selected&s=b:1@0.005")
        panel_says(driver, "late sender, 4.99")
        keys(driver, "c")
        panel_says(driver, "compute, 5 ms")
        # The call path of rank 1 in both: 5 ms in the second run, 1 ms in the first.
        driver.get("about:blank")
        driver.get(viewer.address + "#c=1&s=b:1@0.005&tab=statistics")
        for name, run in (("depth-chart", "A"), ("depth-chart-b", "B")):
            wait_for(driver, f"return document.getElementById('{name}').dataset.drawn === '1'")
            title = "depth-name" + name.removeprefix("depth-chart")
            text = driver.execute_script(f"return document.getElementById('{title}').textContent")
            assert text.startswith(f"{run}, rank 1: its calls")
        widths = "return [...document.querySelectorAll('#depth-box canvas')].map((one) => {"
        widths += "const box = one.getBoundingClientRect();"
        widths += (
            "const move = {clientX: box.left + 64 + (box.width - 64) * 0.5, clientY: box.top + 5};"
        )
        widths += "one.dispatchEvent(new PointerEvent('pointermove', move)); return one.title; })"
        assert driver.execute_script(widths) == ["recv, 1 ms", "recv, 5 ms"]
        assert_quiet(driver, viewer.address)
