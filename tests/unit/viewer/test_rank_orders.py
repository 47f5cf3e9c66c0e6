"""Orders of ranks, and windows of ranks in an order."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import tisim
from tests.unit.viewer.viewer import Viewer, needs_viewer
from tisim.analysis.timeline.run_file import RunFile, Window
from tisim.analysis.viewer.network import RunNetwork
from tisim.analysis.viewer.rank_orders import RankOrders
from tisim.errors import InputError

pytestmark = needs_viewer

_TWO_SWITCHES = """<?xml version="1.0"?>
<platform version="4.1">
  <cluster id="tree" prefix="n" suffix="" radical="0-3" speed="1Gf" bw="1GBps" lat="1us"
           topology="FAT_TREE" topo_parameters="2;2,2;1,1;1,1"/>
</platform>
"""


def _orders(run: RunFile) -> RankOrders:
    return RankOrders(run, RunNetwork(run))


def test_windows_in_an_order_have_the_states_of_each_rank(run_file: Path) -> None:
    run = RunFile(run_file)
    order = np.array([2, 0, 3, 1])
    classes = np.arange(len(run.info["keys"]), dtype=np.int32)
    # From the levels, and from the records.
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
    with pytest.raises(InputError, match="there is no order of ranks 'luck'"):
        orders.order("luck")


def test_ranks_by_host_switch_and_communicator(tmp_path: Path) -> None:
    (tmp_path / "tree.xml").write_text(_TWO_SWITCHES)
    (tmp_path / "hosts").write_text("n0\nn3\nn1\nn0\n")
    for rank in range(4):
        calls = ["init", f"comm_split {rank % 2} 0", "compute 1e6", "barrier", "finalize"]
        calls = [one for one in calls if "split" not in one]
        (tmp_path / f"t.{rank}").write_text("".join(f"{rank} {one}\n" for one in calls))
    (tmp_path / "t.txt").write_text("".join(f"t.{rank}\n" for rank in range(4)))
    tisim.replay(
        tmp_path / "t.txt",
        platform=tmp_path / "tree.xml",
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
    for rank in range(6):
        work = 5e9 if rank in (1, 4) else 1e6 * (rank + 1)
        (tmp_path / f"t.{rank}").write_text(f"{rank} init\n{rank} compute {work}\n{rank} barrier\n")
    (tmp_path / "t.txt").write_text("".join(f"t.{rank}\n" for rank in range(6)))
    root = Path(__file__).resolve().parents[3]
    tisim.replay(
        tmp_path / "t.txt", platform=root / "platforms/graphene.xml", timeline=tmp_path / "run.tir"
    )
    ranks = _orders(RunFile(tmp_path / "run.tir")).order("similarity").ranks.tolist()
    assert abs(ranks.index(1) - ranks.index(4)) == 1


def test_the_server_answers_in_an_order(viewer: Viewer) -> None:
    order = json.loads(viewer.get("ask/order?name=wait")[1])["ranks"]
    path = "ask/search?first=0&last=0&order=wait&q=time%20%3E%200s"
    found = json.loads(viewer.get(path)[1])["states"]
    assert {one["rank"] for one in found} == {order[0]}
    sums = json.loads(viewer.get("ask/statistics?order=wait&first=1&last=1")[1])
    alone = json.loads(viewer.get(f"ask/statistics?first={order[1]}&last={order[1]}")[1])
    assert sums["keys"] == alone["keys"]
    assert viewer.get("ask/tile?columns=9&lanes=2&order=luck")[0] == 400
