"""Collective reads and writes: two-phase I/O, and aggregators of striped files."""

from __future__ import annotations

from pathlib import Path

import pytest

import tisim
from tests.support import write_trace
from tests.unit.io.conftest import Replay
from tisim.actions.two_phase import dynamic_gen2, lustre, ompio, romio
from tisim.actions.two_phase.plan import Hints, Parts, Request, Striping
from tisim.analysis.result import Result
from tisim.errors import DiskFullError, InputError
from tisim.platform.deployment import Deployment

OPEN = "file_open 0 /scratch/f rwc"


def _config(way: str, **hints: object) -> dict[str, str]:
    options = {f"tisim/{name.replace('_', '-')}": str(value) for name, value in hints.items()}
    return {"tisim/collective-io": way, **options}


def _sums(result: Result) -> tuple[list[int], list[int]]:
    assert result.io is not None
    return result.io["bytes_read"], result.io["bytes_written"]


def test_by_default_each_rank_has_its_own_part(replay: Replay) -> None:
    ranks = [f"{OPEN}; file_write_at_all 0 40 {40 * (3 - rank)}" for rank in range(4)]
    assert _sums(replay(*ranks)) == ([0] * 4, [40] * 4)


def test_romio_leaves_parts_alone_that_follow_the_order_of_ranks(replay: Replay) -> None:
    follow = [f"{OPEN}; file_write_at_all 0 40 {40 * rank}" for rank in range(4)]
    assert _sums(replay(*follow, config=_config("romio"))) == ([0] * 4, [40] * 4)
    enabled = _config("romio", cb_write="enable")
    assert _sums(replay(*follow, config=enabled)) == ([0] * 4, [160, 0, 0, 0])
    back = [f"{OPEN}; file_write_at_all 0 40 {40 * (3 - rank)}" for rank in range(4)]
    assert _sums(replay(*back, config=_config("romio"))) == ([0] * 4, [160, 0, 0, 0])
    disabled = _config("romio", cb_write="disable")
    assert _sums(replay(*back, config=disabled)) == ([0] * 4, [40] * 4)


def test_romio_has_an_aggregator_on_each_host(replay: Replay) -> None:
    ranks = [f"{OPEN}; file_write_at_all 0 10 {10 * rank}" for rank in range(4)]
    two = _config("romio", cb_write="enable")
    assert _sums(replay(*ranks, hosts="abab", config=two))[1] == [20, 20, 0, 0]
    one = two | {"tisim/cb-nodes": "1"}
    assert _sums(replay(*ranks, hosts="abab", config=one))[1] == [40, 0, 0, 0]


def test_romio_reads_a_buffer_with_holes_before_it_writes_it(replay: Replay) -> None:
    parts = (0, 30), (50, 20)
    made = f"{OPEN}; file_set_size 0 60"
    ranks = [f"{made}; file_write_at_all 0 {size} {offset}" for offset, size in parts]
    enabled = _config("romio", cb_write="enable")
    # The file ends at 60 bytes, so that 60 of the 70 bytes can be read.
    assert _sums(replay(*ranks, config=enabled)) == ([60, 0], [70, 0])
    # Buffers of 10 bytes that consist of parts are written without a read; holes are left alone.
    small = enabled | {"tisim/cb-buffer-size": "10"}
    assert _sums(replay(*ranks, config=small)) == ([0, 0], [50, 0])
    uneven = enabled | {"tisim/cb-buffer-size": "40"}
    assert _sums(replay(*ranks, config=uneven)) == ([40 + 20, 0], [40 + 30, 0])


def test_rounds_take_their_time_one_after_the_other(replay: Replay) -> None:
    # The disk of host a writes 80 bytes/s and reads 200.
    ranks = [f"{OPEN}; file_write_at_all 0 200 {200 * (3 - rank)}" for rank in range(4)]
    back = [f"{one}; file_read_at_all 0 200 {200 * (3 - r)}" for r, one in enumerate(ranks)]
    for buffer in ("1000", "100"):
        result = replay(*back, config=_config("romio", cb_buffer_size=buffer))
        assert result.finish.tolist() == pytest.approx([14.0] * 4, abs=0.01)
        assert _sums(result) == ([800, 0, 0, 0], [800, 0, 0, 0])


def test_ompio_moves_only_what_ranks_want(replay: Replay) -> None:
    ranks = [f"{OPEN}; file_write_at_all 0 10 {100 * rank}" for rank in range(4)]
    assert _sums(replay(*ranks, config=_config("ompio"))) == ([0] * 4, [40, 0, 0, 0])
    two = _config("ompio", cb_nodes=2)
    assert _sums(replay(*ranks, config=two)) == ([0] * 4, [20, 0, 20, 0])
    read = [f"{one}; file_read_at_all 0 10 {100 * (3 - r)}" for r, one in enumerate(ranks)]
    assert _sums(replay(*read, config=two)) == ([20, 0, 20, 0], [20, 0, 20, 0])
    disabled = _config("ompio", cb_write="disable")
    assert _sums(replay(*ranks, config=disabled)) == ([0] * 4, [10] * 4)


def test_ompio_writes_while_data_of_the_next_round_move(tmp_path: Path) -> None:
    # The link between the hosts and the disk each take a second for a round of 100 bytes.
    platform = tmp_path / "slow.xml"
    platform.write_text(
        """<platform version="4.1"><zone id="z" routing="Full">
          <host id="a" speed="1Gf"><disk id="d" read_bw="100" write_bw="100"/></host>
          <host id="b" speed="1Gf"><disk id="d" read_bw="100" write_bw="100"/></host>
          <link id="l" bandwidth="100Bps" latency="0"/>
          <route src="a" dst="b"><link_ctn id="l"/></route></zone></platform>"""
    )
    trace = tmp_path / "trace.txt"
    trace.write_text("0 file_open 0 f wc\n0 file_write_at_all 0 0 0\n"
                     "1 file_open 0 f wc\n1 file_write_at_all 0 800 0\n")  # fmt: skip
    config = _config("ompio", cb_nodes=1, cb_buffer_size=200) | {
        "network/bandwidth-factor": "1",
        "network/latency-factor": "1",
        "network/TCP-gamma": "0",
        "network/crosstraffic": "no",
    }

    def seconds(size: str) -> float:
        result = tisim.replay(
            trace,
            platform=platform,
            deployment=Deployment.cyclic(["a", "b"], 2),
            config=config | {"tisim/cb-buffer-size": size},
        )
        return float(result.finish[0])

    # With 8 rounds of 100 bytes, all but the first exchange overlap with writes: 9 s in total. With
    # 2 of 400 bytes, none does: 16 s. Each message has an envelope of 16 bytes, as in SMPI.
    assert seconds("800") - seconds("200") == pytest.approx(16 - 9 - (8 - 2) * 0.16)


def test_positions_lengths_and_requests_are_those_of_other_calls(replay: Replay) -> None:
    config = _config("romio", cb_write="enable", cb_read="enable")
    ranks = [
        f"{OPEN}; file_seek 0 {20 * rank}; file_write_all 0 20; file_write_at 0 5 {60 + 5 * rank}; "
        f"file_sync 0; file_seek 0 0; file_read_all 0 70; file_read_at_all 0 10 60; file_close 0"
        for rank in range(2)
    ]
    replay(*ranks, config=config)
    behind = ranks[0].replace("file_read_at_all 0 10 60", "file_read_at_all 0 11 60")
    with pytest.raises(InputError, match=r"reads 11 bytes from offset 60 of .* ends at 70"):
        replay(behind, ranks[1], config=config)
    full = [f"{OPEN}; file_write_at_all 0 600 {600 * rank}" for rank in range(2)]
    with pytest.raises(DiskFullError, match="is full at"):
        replay(*full, config=config)


def test_a_communicator_and_ranks_that_want_nothing(replay: Replay) -> None:
    text = "file_open 0 /scratch/f.{0} wc comm=1; file_write_at_all 0 {1} 0 comm=1; barrier"
    ranks = [
        f"comm_split 0 1 {rank % 2} 0; {text.format(rank % 2, 40 if rank < 2 else 0)}"
        for rank in range(4)
    ]
    for way in ("romio", "ompio"):
        result = replay(*ranks, config=_config(way, cb_write="enable"))
        assert _sums(result)[1] == [40, 40, 0, 0]


def _request(offsets: list[int], sizes: list[int], **hints: int) -> Request:
    return Request(offsets, sizes, True, [0] * len(sizes), Hints(**hints))


def test_libraries_choose_aggregators() -> None:
    eight = _request([0] * 8, [1] * 8)
    assert romio.aggregators(eight) == [0]
    hosts = Request([0] * 6, [1] * 6, True, [3, 3, 5, 3, 5, 4], Hints())
    assert romio.aggregators(hosts) == [0, 2, 5]
    assert ompio.aggregators(eight) == [0]
    assert ompio.aggregators(_request([0] * 8, [1] * 8, cb_nodes=3)) == [0, 3, 6]
    assert ompio.aggregators(_request([0] * 4, [1] * 4, cb_nodes=9)) == [0, 1, 2, 3]
    # Large parts need more aggregators, at most one per eight ranks.
    assert ompio.aggregator_count(64, 1 << 20, ompio.BUFFER) >= 1
    assert ompio.aggregator_count(64, 1 << 30, ompio.BUFFER) == 8
    assert ompio.aggregator_count(4, 1 << 30, ompio.BUFFER) == 1


def test_options_are_checked() -> None:
    with pytest.raises(InputError, match="tisim/collective-io"):
        tisim.Config({"tisim/collective-io": "posix"})


# A link and servers that take one second per 100 bytes.
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
    """Replay a write of 800 bytes by rank 1; rank 0, the only aggregator, is on the server."""
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
    """Two rounds are in flight at once and share the link, so they arrive together.

    A message has an envelope of 16 bytes. Of 8 rounds, each with a second on the disk, the last
    two arrive after 8 * 1.16 s and are then written: 11.28 s. A single round is one message of
    8.16 s, followed by the write: 16.16 s.
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


# Four hosts for ranks, four servers that write 100 bytes/s each, and links of negligible time.
# A file is striped over all servers, 100 bytes on each.
STRIPED = """<platform version="4.1"><zone id="z" routing="Full">
  <prop id="tisim/file-system/pfs" value="mount=/p,servers=c-{4-7},read=100Bps,write=100Bps,
stripe=100,count=all,header=0B,metadata=c-8"/>
  <cluster id="c" prefix="c-" suffix="" radical="0-8" speed="1Gf" bw="1GBps" lat="0"/>
</zone></platform>""".replace(",\n", ",")
NO_FACTORS = {
    "network/bandwidth-factor": "1",
    "network/latency-factor": "1",
    "network/TCP-gamma": "0",
}


def _replay_striped(tmp_path: Path, *ranks: str, **options: str) -> Result:
    platform = tmp_path / "platform.xml"
    platform.write_text(STRIPED)
    config = {f"tisim/{name.replace('_', '-')}": value for name, value in options.items()}
    return tisim.replay(
        write_trace(tmp_path, *ranks),
        platform=platform,
        deployment=Deployment.cyclic([f"c-{number}" for number in range(4)], len(ranks)),
        config=NO_FACTORS | {"tisim/collective-io": "romio"} | config,
    )


def _written(result: Result) -> list[int]:
    assert result.io is not None
    return [int(number) for number in result.io["bytes_written"]]


OPEN_STRIPED = "file_open 0 /p/f rwc"
# Eight stripes, two per rank.
PARTS = [f"{OPEN_STRIPED}; file_write_at_all 0 200 {200 * rank}" for rank in range(4)]


def test_each_aggregator_writes_to_one_server(tmp_path: Path) -> None:
    result = _replay_striped(tmp_path, *PARTS)
    assert _written(result) == [200] * 4
    assert result.io is not None
    servers = result.io["file_systems"]["pfs"]
    assert servers["bytes_written"][:4] == [200] * 4
    # Two rounds; in each, all four servers write a stripe: 2 s. Without aggregation, each rank
    # writes both of its stripes at once to two servers, which two ranks use.
    assert result.simulated_time == pytest.approx(2, abs=1e-4)
    alone = _replay_striped(tmp_path, *PARTS, collective_io="independent")
    assert alone.simulated_time == pytest.approx(2, abs=1e-4)


def test_fewer_aggregators_than_servers(tmp_path: Path) -> None:
    result = _replay_striped(tmp_path, *PARTS, cb_nodes="3")
    assert _written(result) == [400, 400, 0, 0]  # three does not divide four servers
    # Four rounds of two stripes.
    assert result.simulated_time == pytest.approx(4, abs=1e-4)


def test_the_generic_driver_divides_the_file_evenly(tmp_path: Path) -> None:
    enabled = {"collective_io_driver": "generic", "cb_write": "enable"}
    result = _replay_striped(tmp_path, *PARTS, **enabled)
    assert _written(result) == [200] * 4
    # Aggregators 0 and 2 write to servers 0 and 1, 1 and 3 to 2 and 3: 200 bytes per server.
    assert result.simulated_time == pytest.approx(2, abs=1e-4)


def test_hints_that_disable_it(tmp_path: Path) -> None:
    uneven = [
        f"{OPEN_STRIPED}; file_write_at_all 0 {100 + 50 * rank} {200 * rank}" for rank in range(4)
    ]
    assert _written(_replay_striped(tmp_path, *uneven, cb_write="disable")) == [100, 150, 200, 250]


def test_a_stripe_with_a_hole_is_read_first(tmp_path: Path) -> None:
    made = f"{OPEN_STRIPED}; file_set_size 0 800"
    parts = [(0, 30), (60, 10), (200, 100), (350, 50)]
    ranks = [f"{made}; file_write_at_all 0 {size} {offset}" for offset, size in parts]
    result = _replay_striped(tmp_path, *ranks)
    # The only stripe of aggregator 0 ends at 70, the end of the requested range; that of 3 starts
    # at 350.
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
    result = _replay_striped(tmp_path, *read, cb_nodes="3")
    assert result.io is not None  # 800 bytes are not split into 267 each
    assert list(result.io["bytes_read"]) == [300, 200, 300, 0]


def test_every_wanted_byte_of_stripes_belongs_to_one_round() -> None:
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
