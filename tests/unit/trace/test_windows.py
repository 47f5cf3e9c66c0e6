"""One-sided communication and neighbourhood collectives: read, checked, packed, replayed."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path

import pytest

import tisim
from tests.support import GRAPHENE, platform_file, write_ranks
from tisim.errors import InputError
from tisim.traces import check, pack, unpack

#: Every action, used correctly.
ALL = """\
init; win_create 0 1000; win_allocate 1 8; win_allocate_shared 2 8; win_create_dynamic 3;
win_fence 0 noprecede; put 0 {other} 10 0; get 0 {other} 10; accumulate 0 {other} 10;
win_fence 0 nosucceed; win_post 1 {other}; win_start 1 {other}; put 1 {other} 70000;
win_complete 1; win_wait 1; win_lock 0 {other} exclusive; get_accumulate 0 {other} 3 0;
fetch_and_op 0 {other} 1 0; compare_and_swap 0 {other} 1 0; win_flush 0 {other};
win_flush_local 0 {other}; win_unlock 0 {other}; win_lock_all 2; rput 2 {other} 9 request=0;
rget 2 {other} 9 request=1; raccumulate 2 {other} 9 request=2;
rget_accumulate 2 -666 9 request=3; win_flush_all 2; win_flush_local_all 2; win_unlock_all 2;
wait request=0; waitall requests=1,2,3; win_free 0; win_free 1; win_free 2; win_free 3; finalize"""
#: One link of 1 GB/s and 10 us between two hosts.
PLATFORM = """<zone id="z" routing="Full"><host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
<link id="l" bandwidth="1GBps" latency="10us"/><route src="a" dst="b"><link_ctn id="l"/></route>
</zone>"""
PLAIN = {
    "smpi/bw-factor": "1",
    "smpi/lat-factor": "1",
    "network/weight-S": "0",
    "network/TCP-gamma": "0",
    "network/crosstraffic": "no",
}


def both(text: str) -> tuple[str, str]:
    text = text.replace("\n", " ").replace(";  ", "; ")
    return text.format(other=1), text.format(other=0)


def replay(tmp_path: Path, *ranks: str, **config: str) -> list[float]:
    result = tisim.replay(
        write_ranks(tmp_path / "t", *ranks),
        platform=platform_file(tmp_path, PLATFORM, "p.xml"),
        hosts=["a", "b"],
        config={**PLAIN, **{key.replace("_", "/"): value for key, value in config.items()}},
    )
    return [float(end) for end in result.finish]


@pytest.mark.parametrize("model", ["simgrid", "rdma", "openmpi", "mpich"])
def test_every_call_is_sound_packed_and_replayed(tmp_path: Path, model: str) -> None:
    traces = tmp_path / "t"
    ends = replay(tmp_path, *both(ALL), smpi_rma=model)
    report = check(traces)
    assert report.sound, [str(finding) for finding in report.findings]
    puts = next(count for count in report.counts if count.name == "put")
    assert (puts.messages, puts.bytes) == (4, 2 * (80 + 70000))
    pack(traces, tmp_path / "p.tit")
    unpack(tmp_path / "p.tit", tmp_path / "again")
    for rank in (0, 1):
        name = f"rank-{rank}.txt"
        assert (tmp_path / "again" / name).read_text() == (traces / name).read_text()
    packed = tisim.replay(
        tmp_path / "p.tit",
        platform=tmp_path / "p.xml",
        hosts=["a", "b"],
        config={**PLAIN, "smpi/rma": model},
    )
    assert list(packed.finish) == ends


def test_an_access_by_the_network_takes_latency_and_bytes_by_bandwidth(tmp_path: Path) -> None:
    made = "win_create 0 8; win_lock_all 0"
    empty = replay(tmp_path, made, made, smpi_rma="rdma")
    first = f"{made}; put 0 1 1000000; win_flush 0 1"
    ends = replay(tmp_path, first, made, smpi_rma="rdma")
    assert ends[0] - empty[0] == pytest.approx(1e-5 + 1e-3, rel=1e-12)
    # Two concurrent transfers share the link; the target does not wait.
    ends = replay(
        tmp_path,
        f"{made}; put 0 1 1000000; put 0 1 1000000; win_flush_all 0",
        made,
        smpi_rma="rdma",
    )
    assert ends[0] - empty[0] == pytest.approx(1e-5 + 2e-3, rel=1e-12)
    assert ends[1] == empty[1]


def test_an_access_by_the_network_keeps_the_order_of_its_connection(tmp_path: Path) -> None:
    made = "win_create 0 8; win_lock_all 0"
    fifo = {"smpi_rma": "rdma", "network_ordering": "fifo"}
    empty = replay(tmp_path, made, made, **fifo)
    accesses = f"{made}; put 0 1 1000000; get 0 1 1000; put 0 1 1000000; win_flush_all 0"
    ends = replay(tmp_path, accesses, made, **fifo)
    # The link is always busy, with 2,001,000 bytes at 1 GB/s; the latency is paid once.
    assert ends[0] - empty[0] == pytest.approx(1e-5 + 2.001e-3, rel=1e-12)
    assert ends[1] == empty[1]


#: Seconds for a message about a lock and for eight bytes with their headers between the hosts of
#: PLATFORM.
TOLD = 1e-5 + (16 + 16) / 1e9
STORED = 1e-5 + (8 + 72 + 16) / 1e9


@pytest.mark.parametrize("ordering", ["fair", "fifo"])
@pytest.mark.parametrize(
    ("calls", "seconds"),
    [
        ("", 2 * TOLD + 2 * TOLD),
        ("accumulate 0 1 1 0; ", 2 * TOLD + STORED + TOLD),
        ("put 0 1 1 0; ", 2 * TOLD + STORED + TOLD),
        ("put 0 1 1 0; win_flush 0 1; ", 2 * TOLD + STORED + TOLD + 2 * TOLD),
        ("win_flush 0 1; ", 2 * TOLD + 2 * TOLD + 2 * TOLD),
    ],
)
def test_locks_by_messages_take_two_round_trips(
    tmp_path: Path, ordering: str, calls: str, seconds: float
) -> None:
    """Lock request and answer; then the stored data with the unlock, and its answer."""
    by_messages = {"smpi_rma": "openmpi", "network_ordering": ordering}
    made = "win_create 0 8"
    empty = replay(tmp_path, made, made, **by_messages)
    ends = replay(
        tmp_path, f"{made}; win_lock 0 1 exclusive; {calls}win_unlock 0 1", made, **by_messages
    )
    assert ends[0] - empty[0] == pytest.approx(seconds, rel=1e-9)
    assert ends[1] == empty[1]
    # A rank needs no message for its own lock or to accumulate in its own memory.
    own = f"{made}; win_lock 0 0 exclusive; accumulate 0 0 1 0; win_flush 0 0; win_unlock 0 0"
    assert replay(tmp_path, own, made, **by_messages) == empty


@pytest.mark.parametrize("ordering", ["fair", "fifo"])
def test_mpich_answers_what_is_stored_before_it_unlocks(tmp_path: Path, ordering: str) -> None:
    by_messages = {"smpi_rma": "mpich", "network_ordering": ordering}
    made, told = "win_create 0 8", 1e-5 + (32 + 16) / 1e9
    stored = 1e-5 + (8 + 88 + 16) / 1e9
    empty = replay(tmp_path, made, made, **by_messages)
    for calls, seconds in (
        ("", 4 * told),
        ("put 0 1 1 0; ", 5 * told + stored),
        ("put 0 1 1 0; win_flush 0 1; ", 5 * told + stored),
    ):
        locked = f"{made}; win_lock 0 1 exclusive; {calls}win_unlock 0 1"
        ends = replay(tmp_path, locked, made, **by_messages)
        assert ends[0] - empty[0] == pytest.approx(seconds, rel=1e-9)


def test_a_target_that_computes_reads_neither_requests_nor_data(tmp_path: Path) -> None:
    made = "win_create 0 8"
    locks = f"{made}; win_lock 0 1 exclusive; put 0 1 1 0; win_unlock 0 1"
    assert replay(tmp_path, locks, f"{made}; sleep 1", network_ordering="fifo")[0] < 1e-3
    by_messages = {"smpi_rma": "openmpi", "network_ordering": "fifo"}
    # A rank reads messages when it locks, when a collective waits for all ranks, and at its end.
    waits = {**by_messages, "smpi_barrier-collectives": "yes"}
    for ends in ("", "; win_lock 0 1 shared; win_unlock 0 1", "; barrier", "; bcast 8 0"):
        other = "" if "lock" in ends else ends
        late = replay(tmp_path, locks + other, f"{made}; sleep 1{ends}", **waits)
        assert 1 + TOLD + STORED + TOLD < late[0] < 1 + 1e-3
    # Its own lock waits until it has read the other rank's unlock.
    locks = f"{made}; win_lock 0 1 exclusive; sleep 0.5; win_unlock 0 1"
    test = f"{made}; recv 0 0 1; win_lock 0 1 exclusive; win_unlock 0 1"
    sends = locks.replace("sleep", "send 1 0 1; sleep")
    late = replay(tmp_path, sends, test, **by_messages)
    assert 0.5 < late[1] < late[0] < 0.501


def test_who_shares_a_lock_is_waited_for(tmp_path: Path) -> None:
    ends = replay(
        tmp_path,
        "win_create 0 8; win_lock 0 0 shared; sleep 1; win_unlock 0 0",
        "win_create 0 8; sleep 0.5; win_lock 0 0 exclusive; win_unlock 0 0",
    )
    assert ends[1] == pytest.approx(ends[0])


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("put 4 0 1", "put of window 4, which no win_create or win_allocate created"),
        ("win_create 0 8; put 0 0 1", "put of window 0 at rank 0 outside an epoch"),
        ("win_create 0 8; win_fence 0; get 0 0 1; win_lock 0 0 shared", "inside the epoch of the"),
        ("win_create 0 8; win_complete 0", "win_complete of window 0 without a win_start"),
        ("win_create 0 8; win_lock 0 0 shared; win_fence 0", "win_fence of window 0 inside an epo"),
        ("win_create 0 8; win_unlock 0 0", "of rank 0, which is not locked"),
        ("win_create 0 8; win_free 0; win_fence 0", "which line 2 freed"),
        ("win_create 0 8; win_create 0 8", "which line 1 created; free it first"),
    ],
)
def test_a_call_that_its_window_does_not_allow(tmp_path: Path, lines: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        replay(tmp_path, lines, lines)
    said = [str(finding) for finding in check(tmp_path / "t").findings]
    assert any(message in one and "error" in one for one in said), said


def test_an_epoch_that_never_ends_is_an_error(tmp_path: Path) -> None:
    report = check(write_ranks(tmp_path, "win_create 0 8; win_lock 0 0 shared"))
    assert "begins an epoch of window 0 that never ends" in str(report.findings[0])


def test_ranks_that_wait_for_one_another_are_named(tmp_path: Path) -> None:
    lines = "win_create 0 8; win_start 0 {other}; win_post 0 {other}; win_complete 0; win_wait 0"
    with pytest.raises(tisim.SimulationError, match="win_start waits for the win_post of rank 1"):
        replay(tmp_path, *both(lines))
    assert not check(tmp_path / "t").sound


def test_a_lock_that_nobody_gives_back_is_named(tmp_path: Path) -> None:
    with pytest.raises(tisim.SimulationError, match="the lock of rank 0 of the window, which rank"):
        replay(
            tmp_path,
            "win_create 0 8; win_lock 0 0 exclusive; recv 1 0 8; win_unlock 0 0",
            "win_create 0 8; sleep 1; win_lock 0 0 shared; send 0 0 8; win_unlock 0 0",
        )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("win_lock 0 0 both", "win_lock needs window target exclusive or shared"),
        ("put 0 5 1", "target|destination 5 does not exist"),
        ("put 0 0 1 request=3", "put does not accept request="),
        ("win_fence 99999999", "window '99999999' is not between 0 and 8388607"),
    ],
)
def test_a_line_that_cannot_be_read(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        replay(tmp_path, line, line)


def exchanges(seed: int, ranks: int, *, messages: bool, blocks: bool) -> list[str]:
    """Random topologies and sizes, as collectives or as the equivalent messages."""
    choose = random.Random(seed)
    programs = [["init", f"comm_split 0 1 0 {ranks - rank}"] for rank in range(ranks)]
    for _ in range(6):
        pairs = choose.choices([*product(range(ranks), repeat=2)], k=3 * ranks)
        sizes = [choose.choice((0, 8, 5000, 200_000)) for _ in pairs]
        for rank, program in enumerate(programs):
            me = ranks - 1 - rank  # rank in the communicator
            sent = [(to, size) for (by, to), size in zip(pairs, sizes, strict=True) if by == me]
            got = [(by, size) for (by, to), size in zip(pairs, sizes, strict=True) if to == me]
            program.append(f"compute {choose.randrange(10**6)}")
            if not messages:
                lists = " ".join(
                    " ".join(map(str, [len(side), *(other for other, _ in side)]))
                    for side in (sent, got)
                )
                counts = " ".join(str(size) for _, size in [*sent, *got])
                word = "neighbor_alltoallv" if blocks else "ineighbor_alltoallv"
                program.append(f"{word} {lists} {counts} comm=1".replace("  ", " "))
            else:
                program += [f"irecv {other} 7 {size} comm=1" for other, size in got]
                program += [f"isend {other} 7 {size} comm=1" for other, size in sent]
            if not blocks:
                program.append("compute 20000")
            if messages or not blocks:
                program.append("waitall")
    return ["; ".join([*program, "finalize"]) for program in programs]


@pytest.mark.parametrize("blocks", [True, False])
def test_times_are_those_of_the_messages(tmp_path: Path, blocks: bool) -> None:
    for seed, ranks in product(range(2), (2, 5)):
        times = []
        for messages in (False, True):
            room = tmp_path / f"{seed}-{ranks}-{messages}"
            room.mkdir()
            trace = write_ranks(room, *exchanges(seed, ranks, messages=messages, blocks=blocks))
            report = check(trace)
            assert report.sound, [str(finding) for finding in report.findings]
            pack(trace, tmp_path / "p.tit")
            replays = [(trace, "core"), (trace, "simpy"), (tmp_path / "p.tit", "core")]
            times += [
                list(tisim.replay(one, platform=GRAPHENE, kernel=kernel).finish)
                for one, kernel in replays
            ]
        for other in times[1:]:
            assert other == pytest.approx(times[0], rel=1e-9)


def test_packed_lines_come_back(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    write_ranks(tmp_path / "t", *exchanges(1, 4, messages=False, blocks=False))
    pack(tmp_path / "t", tmp_path / "p.tit")
    unpack(tmp_path / "p.tit", tmp_path / "again")
    for rank in range(4):
        name = f"rank-{rank}.txt"
        assert (tmp_path / "again" / name).read_text() == (tmp_path / "t" / name).read_text()


@pytest.mark.parametrize(
    ("programs", "what"),
    [
        # Neighbours that disagree.
        (
            ("neighbor_alltoall 1 1 1 1 8 8", "neighbor_alltoall 1 0 1 0 8 9"),
            "expects 9 bytes of rank 0, which sends 8",
        ),
        (
            ("neighbor_alltoallv 2 1 1 0 4 5", "neighbor_alltoallv 0 2 0 0 5 4"),
            "expects sizes other than those sent to it",
        ),
        (
            ("neighbor_allgather 1 1 1 1 0 0", "neighbor_allgather 1 -666 1 0 0 0"),
            "expects sizes other than those sent to it",
        ),
        (("neighbor_alltoall 1 1 1 1 8 8", "barrier"), "calls barrier where rank 0"),
        # Invalid arguments.
        (
            ("neighbor_alltoall 1 2 1 1 8 8", "neighbor_alltoall 1 0 1 0 8 8"),
            "neighbor_alltoall: neighbour 2 is not a rank of a communicator of 2 ranks",
        ),
        (
            ("neighbor_alltoall 3 1 1 1 8 8", "neighbor_alltoall 1 0 1 0 8 8"),
            "neighbor_alltoall needs D to0..toD-1 S from0..fromS-1 scount rcount",
        ),
        # A rank waits only for its neighbours.
        (
            (
                "recv 1 0 8; neighbor_alltoall 1 1 1 1 8 8",
                "neighbor_alltoall 1 0 1 0 8 8; send 0 0 8",
            ),
            "waits in neighbor_alltoall for a message from rank 0",
        ),
        (
            ("recv 1 0 8; neighbor_alltoall 1 1 0 8 8", "neighbor_alltoall 0 1 0 8 8; send 0 0 8"),
            "deadlock",
        ),
        (
            ("recv 1 0 8; neighbor_alltoall 0 1 1 8 8", "neighbor_alltoall 1 0 0 8 8; send 0 0 8"),
            None,
        ),
    ],
)
def test_what_a_check_says(tmp_path: Path, programs: tuple[str, str], what: str | None) -> None:
    report = check(write_ranks(tmp_path, *programs))
    said = " ".join(str(finding) for finding in report.findings)
    assert report.sound if what is None else what in said, said
