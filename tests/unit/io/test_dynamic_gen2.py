"""Collective writes of OMPIO on striped files: aggregators, rounds that overlap, and stripes."""

from __future__ import annotations

from pathlib import Path

import pytest

import tisim
from tisim.actions.two_phase import dynamic_gen2
from tisim.actions.two_phase.plan import Hints, Request, Striping
from tisim.analysis.result import Result
from tisim.platform.deployment import Deployment

# A link and servers that take a second each for 100 bytes.
PLATFORM = """<platform version="4.1"><zone id="z" routing="Full">
  <prop id="tisim/file-system/pfs" value="mount=/p,servers=a,read=100Bps,write=100Bps,STRIPE"/>
  <host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
  <link id="l" bandwidth="100Bps" latency="0"/>
  <route src="a" dst="b"><link_ctn id="l"/></route></zone></platform>"""
PLAIN = {
    "network/bandwidth-factor": "1",
    "network/latency-factor": "1",
    "network/TCP-gamma": "0",
    "network/crosstraffic": "no",
}


def _replay(tmp_path: Path, stripe: int, buffer: int, **more: str) -> Result:
    """Rank 1 writes 800 bytes over rank 0, the only aggregator, which is on the server."""
    platform, trace = tmp_path / "platform.xml", tmp_path / "trace.txt"
    platform.write_text(PLATFORM.replace("STRIPE", f"header=0B,stripe={stripe}"))
    trace.write_text(
        "0 file_open 0 /p/f wc\n0 file_write_at_all 0 0 0\n"
        "1 file_open 0 /p/f wc\n1 file_write_at_all 0 800 0\n"
    )
    config = {"tisim/collective-io": "ompio", "tisim/cb-buffer-size": str(buffer)}
    return tisim.replay(
        trace,
        platform=platform,
        deployment=Deployment.cyclic(["a", "b"], 2),
        config=PLAIN | config | more,
    )


def test_data_move_while_the_round_before_is_written(tmp_path: Path) -> None:
    """Two rounds are under way at a time and share the link, so they arrive together.

    A message has 16 bytes of its own on the link. Of 8 rounds, each with a second on the disk, the
    last two arrive after 8 * 1.16 s and are written then: 11.28 s. In one round all is one message
    of 8.16 s, then it is written: 16.16 s.
    """
    eight = _replay(tmp_path, 100, 200).simulated_time
    one = _replay(tmp_path, 100, 1600).simulated_time
    assert one - eight == pytest.approx(16.16 - 11.28, rel=1e-6)


def test_a_write_ends_with_its_stripe(tmp_path: Path) -> None:
    result = _replay(tmp_path, 300, 1600)
    assert result.io is not None
    (use,) = result.io["files"]
    assert (use["writes"]["calls"], use["writes"]["bytes"]) == (3, 800)
    assert list(result.io["bytes_written"]) == [800, 0]


def test_an_aggregator_for_each_server() -> None:
    assert dynamic_gen2.aggregators(16, Striping(1, 4), 0) == [0, 4, 8, 12]
    assert dynamic_gen2.aggregators(10, Striping(1, 4), 3) == [0, 2, 5, 7]
    assert dynamic_gen2.aggregators(2, Striping(1, 4), 0) == [0, 1]
    assert dynamic_gen2.aggregators(8, Striping(1, 1), 2) == [0, 4]


def test_every_wanted_byte_belongs_to_one_round() -> None:
    request = Request([5, 130, 90], [80, 300, 40], True, [0, 1, 2], Hints(cb_buffer_size=50))
    plan = dynamic_gen2.plan_of(request, Striping(64, 2))
    assert isinstance(plan, dynamic_gen2.TwoPhase)
    moved: dict[int, int] = {}
    for number, aggregator in enumerate(plan.rounds.aggregators):
        for one in plan.rounds.of_aggregator[aggregator]:
            assert sum(end - begin for begin, end, _ in one.pieces) <= 25
            for begin, end, rank in one.pieces:
                assert begin // 64 % 2 == number
                moved[rank] = moved.get(rank, 0) + end - begin
    assert moved == {0: 80, 1: 300, 2: 40}
