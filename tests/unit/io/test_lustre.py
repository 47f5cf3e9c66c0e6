"""Collective reads and writes of striped files: aggregators and servers, stripe by stripe."""

from __future__ import annotations

from pathlib import Path

import pytest

import tisim
from tests.support import write_trace
from tisim.actions.two_phase import lustre, romio
from tisim.actions.two_phase.plan import Hints, Parts, Request, Striping
from tisim.analysis.result import Result
from tisim.platform.deployment import Deployment

# Four hosts for ranks, four servers that write 100 bytes a second each, and links that take no
# time beside. A file lies on all servers, 100 bytes on each.
PLATFORM = """<platform version="4.1"><zone id="z" routing="Full">
  <prop id="tisim/file-system/pfs" value="mount=/p,servers=c-{4-7},read=100Bps,write=100Bps,
stripe=100,count=all,header=0B,metadata=c-8"/>
  <cluster id="c" prefix="c-" suffix="" radical="0-8" speed="1Gf" bw="1GBps" lat="0"/>
</zone></platform>""".replace(",\n", ",")
PLAIN = {"network/bandwidth-factor": "1", "network/latency-factor": "1", "network/TCP-gamma": "0"}


def _replay(tmp_path: Path, *ranks: str, **options: str) -> Result:
    platform = tmp_path / "platform.xml"
    platform.write_text(PLATFORM)
    config = {f"tisim/{name.replace('_', '-')}": value for name, value in options.items()}
    return tisim.replay(
        write_trace(tmp_path, *ranks),
        platform=platform,
        deployment=Deployment.cyclic([f"c-{number}" for number in range(4)], len(ranks)),
        config=PLAIN | {"tisim/collective-io": "romio"} | config,
    )


def _written(result: Result) -> list[int]:
    assert result.io is not None
    return [int(number) for number in result.io["bytes_written"]]


OPEN = "file_open 0 /p/f rwc"
# Eight stripes, two of each rank.
PARTS = [f"{OPEN}; file_write_at_all 0 200 {200 * rank}" for rank in range(4)]


def test_each_aggregator_writes_to_one_server(tmp_path: Path) -> None:
    result = _replay(tmp_path, *PARTS)
    assert _written(result) == [200] * 4
    assert result.io is not None
    servers = result.io["file_systems"]["pfs"]
    assert servers["bytes_written"][:4] == [200] * 4
    # Two rounds, in each of which all four servers write a stripe: 2 s. Alone, ranks write both
    # their stripes at once to two servers, which two ranks use.
    assert result.simulated_time == pytest.approx(2, abs=1e-4)
    alone = _replay(tmp_path, *PARTS, collective_io="independent")
    assert alone.simulated_time == pytest.approx(2, abs=1e-4)


def test_fewer_aggregators_than_servers(tmp_path: Path) -> None:
    result = _replay(tmp_path, *PARTS, cb_nodes="3")
    assert _written(result) == [400, 400, 0, 0]  # three do not divide four servers
    # Four rounds of two stripes.
    assert result.simulated_time == pytest.approx(4, abs=1e-4)


def test_the_generic_driver_divides_the_file_evenly(tmp_path: Path) -> None:
    enabled = {"collective_io_driver": "generic", "cb_write": "enable"}
    result = _replay(tmp_path, *PARTS, **enabled)
    assert _written(result) == [200] * 4
    # Aggregators 0 and 2 write to servers 0 and 1, as 1 and 3 do to 2 and 3: 200 bytes a server.
    assert result.simulated_time == pytest.approx(2, abs=1e-4)


def test_hints_that_disable_it(tmp_path: Path) -> None:
    uneven = [f"{OPEN}; file_write_at_all 0 {100 + 50 * rank} {200 * rank}" for rank in range(4)]
    assert _written(_replay(tmp_path, *uneven, cb_write="disable")) == [100, 150, 200, 250]


def test_a_stripe_with_a_hole_is_read_first(tmp_path: Path) -> None:
    made = f"{OPEN}; file_set_size 0 800"
    parts = [(0, 30), (60, 10), (200, 100), (350, 50)]
    ranks = [f"{made}; file_write_at_all 0 {size} {offset}" for offset, size in parts]
    result = _replay(tmp_path, *ranks)
    # The only stripe of aggregator 0 ends for it at 70, the end of what is wanted; that of 3 is
    # written from 350 on.
    assert _written(result) == [70, 0, 100, 50]
    assert result.io is not None
    assert list(result.io["bytes_read"]) == [70, 0, 0, 0]


@pytest.mark.parametrize(
    ("candidates", "count", "number"),
    [(8, 8, 8), (20, 8, 8), (8, 60, 6), (7, 8, 4), (3, 7, 1), (1, 64, 1), (40, 64, 32)],
)
def test_aggregators_are_as_many_as_servers_or_divide_them(
    candidates: int, count: int, number: int
) -> None:
    assert lustre.aggregator_count(candidates, count) == number


def test_domains_of_reads_end_with_stripes(tmp_path: Path) -> None:
    assert romio.domain_ends(0, 1000, 4, 0) == [250, 500, 750, 1000]
    assert romio.domain_ends(0, 1000, 4, 100) == [300, 500, 800, 1000]
    assert romio.domain_ends(10, 130, 3, 100) == [100, 100, 130]
    read = [f"{one}; file_read_at_all 0 200 {200 * (3 - r)}" for r, one in enumerate(PARTS)]
    result = _replay(tmp_path, *read, cb_nodes="3")
    assert result.io is not None  # 800 bytes are not divided into 267 each
    assert list(result.io["bytes_read"]) == [300, 200, 300, 0]


def test_every_wanted_byte_belongs_to_one_round() -> None:
    request = Request([5, 130, 90, 700], [80, 300, 40, 0], True, [0, 1, 2, 3], Hints())
    plan = lustre.plan_of(request, Striping(64, 4))
    assert isinstance(plan, lustre.TwoPhase)
    pieces = sorted(
        (begin, end, rank)
        for rounds in plan.rounds.of_aggregator.values()
        for one in rounds
        for begin, end, rank in one.pieces
    )
    joined: dict[int, int] = {}
    for begin, end, rank in pieces:
        joined[rank] = joined.get(rank, 0) + end - begin
        assert begin // 64 == (end - 1) // 64
    assert joined == {0: 80, 1: 300, 2: 40}
    assert Parts(request).end == 430
