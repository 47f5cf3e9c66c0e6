"""SimPy processes that drive MPI ranks: requests, and collectives in rounds."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

import tisim
from tests.support import GRAPHENE, ROOT, write_ranks, write_trace
from tisim.errors import InputError
from tisim.kernel import ANY_SOURCE, ANY_TAG, PROC_NULL, Environment, MpiRank, World

BACKBONE = tisim.Platform.load(ROOT / "platforms" / "backbone.xml")
HOSTS = ["c-0.me", "c-1.me", "c-2.me", "c-3.me"]

Process = Generator[Any, Any, Any]


def run(body: Callable[[MpiRank], Process], ranks: int = 2, config: Any = None) -> list[Any]:
    """Run one process per rank; returns their values."""
    env = Environment(BACKBONE, config)
    processes = [env.process(body(rank)) for rank in env.mpi(HOSTS[:ranks])]
    env.run()
    return [process.value for process in processes]


def test_a_world_is_a_sequence_of_ranks() -> None:
    world = Environment(BACKBONE).mpi(HOSTS)
    assert isinstance(world, World)
    assert len(world) == 4
    assert [rank.number for rank in world] == [0, 1, 2, 3]
    assert [rank.host for rank in world[1:3]] == HOSTS[1:3]
    assert world[-1].size == 4
    assert repr(world[0]) == "<rank 0 on c-0.me>"


def test_two_worlds_do_not_meet() -> None:
    env = Environment(BACKBONE)
    first, second = env.mpi(HOSTS[:2]), env.mpi(HOSTS[:2])
    first[0].send(1, 10)
    received = second[1].recv(0, 10)
    env.process(iter_of(second[0].sleep(1), lambda: second[0].send(1, 10)))
    env.run(until=received)
    assert env.now > 1


def iter_of(event: Any, then: Callable[[], Any]) -> Process:
    yield event
    yield then()


def test_requests_are_waited_for_one_by_one_or_together() -> None:
    def body(rank: MpiRank) -> Process:
        other = 1 - rank.number
        received = []
        for tag in (1, 2, 3):
            received.append((yield rank.irecv(other, 100, tag)))
        assert len(set(received)) == 3
        sent = yield rank.isend(other, 100, 2)
        yield rank.wait(received[1])
        at_two = rank.env.now
        yield rank.isend(other, 100, 1)
        yield rank.isend(other, 100, 3)
        yield rank.wait(sent)
        yield rank.waitall()
        with pytest.raises(tisim.InputError, match="has no pending request"):
            rank.wait(received[0])
        return at_two

    times = run(body)
    assert times[0] == times[1] > 0


@pytest.mark.parametrize("tag", [5, ANY_TAG])
def test_wildcards(tag: int) -> None:
    def body(rank: MpiRank) -> Process:
        if rank.number == 0:
            yield rank.recv(ANY_SOURCE, 10, tag)
        else:
            yield rank.send(0, 10, 5)
        return rank.env.now

    assert run(body)[0] > 0


def test_nobody_is_a_partner_that_takes_no_time() -> None:
    def body(rank: MpiRank) -> Process:
        yield rank.send(PROC_NULL, 1e9)
        yield rank.recv(PROC_NULL, 1e9)
        yield rank.wait((yield rank.irecv(PROC_NULL, 1)))
        yield rank.sendrecv(PROC_NULL, 1, PROC_NULL, 1)
        return rank.env.now

    assert run(body) == [0.0, 0.0]


def test_a_synchronous_send_waits_and_a_small_one_does_not() -> None:
    def body(rank: MpiRank) -> Process:
        if rank.number == 1:
            yield rank.sleep(1)
            yield rank.recv(0, 10)
            yield rank.sleep(1)
            yield rank.recv(0, 10)
            return None
        yield rank.send(1, 10)
        small = rank.env.now
        yield rank.ssend(1, 10)
        return small, rank.env.now > 2

    assert run(body)[0] == (0.0, True)


def test_volumes_beyond_32_bits() -> None:
    size = 3 * 2**32

    def body(rank: MpiRank) -> Process:
        yield rank.send(1, size) if rank.number == 0 else rank.recv(0, size)
        return rank.env.now

    assert run(body, config={"network/model": "raw"})[1] == pytest.approx(size / 1.25e8, rel=1e-4)


def test_a_second_call_before_the_first_has_returned() -> None:
    env = Environment(BACKBONE)
    rank = env.mpi(HOSTS[:2])[0]
    rank.recv(1, 10)
    for call in (lambda: rank.send(1, 10), rank.waitall, rank.barrier, lambda: rank.execute(1)):
        with pytest.raises(tisim.InputError, match="rank 0 is still in its last call"):
            call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.send(2, 1), "no rank 2; ranks are numbered from 0 to 1"),
        (lambda r: r.recv(-1, 1), "no rank -1"),
        (lambda r: r.bcast(1, 7), "no rank 7"),
        (lambda r: r.send(ANY_SOURCE, 1), "no rank -555"),
        (lambda r: r.send(1, -1), "a whole number of bytes, got -1"),
        (lambda r: r.send(1, 1.5), "a whole number of bytes, got 1.5"),
        (lambda r: r.send(1, 1, ANY_TAG), "a tag must be a whole number from 0 to 2147483647"),
        (lambda r: r.recv(1, 1, 2**31), "a tag must be a whole number"),
        (lambda r: r.execute(-1), "0 flops"),
        (lambda r: r.sleep(float("nan")), "0 seconds"),
        (lambda r: r.wait(3), "rank 0 has no pending request 3"),
        (lambda r: r.gatherv([1, 2, 3]), "a number of bytes for each of 2 ranks"),
    ],
)
def test_calls_that_cannot_be(call: Callable[[MpiRank], Any], message: str) -> None:
    rank = Environment(BACKBONE).mpi(HOSTS[:2])[0]
    with pytest.raises(tisim.InputError, match=message):
        call(rank)
    assert rank.barrier()  # the rank is still free


def test_worlds_that_cannot_be() -> None:
    env = Environment(BACKBONE)
    with pytest.raises(tisim.InputError, match="at least one host"):
        env.mpi([])
    with pytest.raises(tisim.InputError, match=r"a list of host names, such as \['c-0.me'\]"):
        env.mpi("c-0.me")


def test_a_deadlock_names_ranks_hosts_and_processes() -> None:
    def worker(rank: MpiRank) -> Process:
        yield rank.isend(1 - rank.number, 10**6, tag=9)
        yield rank.recv(1 - rank.number, 10, tag=rank.number)

    with pytest.raises(tisim.SimulationError) as error:
        run(worker)
    assert str(error.value).splitlines() == [
        "deadlock at 0 s: 2 ranks wait for events that will never happen",
        "  rank 0 on c-0.me (process worker): recv waits for a message from rank 1 with tag 0",
        "  rank 1 on c-1.me (process worker): recv waits for a message from rank 0 with tag 1",
    ]


def test_a_deadlock_in_waits() -> None:
    def worker(rank: MpiRank) -> Process:
        request = yield rank.isend(1 - rank.number, 10**6, tag=9)
        yield rank.irecv(ANY_SOURCE, 10, tag=3)
        yield rank.wait(request) if rank.number == 0 else rank.waitall()

    with pytest.raises(tisim.SimulationError) as error:
        run(worker)
    assert [line.partition("): ")[2] for line in str(error.value).splitlines()[1:]] == [
        "wait waits for rank 1 to receive 1000000 bytes with tag 9",
        "waitall waits for rank 0 to receive 1000000 bytes with tag 9; "
        "a message from any rank with tag 3",
    ]


def test_a_deadlock_in_a_sendrecv() -> None:
    def worker(rank: MpiRank) -> Process:
        yield rank.sendrecv(1 - rank.number, 10, 1 - rank.number, 10, recv_tag=4)

    with pytest.raises(tisim.SimulationError, match="sendrecv waits for a message from rank 1"):
        run(worker)


def test_a_collective_that_a_rank_never_enters() -> None:
    def worker(rank: MpiRank) -> Process:
        if rank.number != 2:
            yield rank.barrier()

    with pytest.raises(tisim.SimulationError) as error:
        run(worker, ranks=3)
    assert "barrier waits for the other ranks; rank 2 does not reach it" in str(error.value)


def test_different_collectives() -> None:
    def worker(rank: MpiRank) -> Process:
        yield rank.barrier() if rank.number else rank.bcast(10)

    with pytest.raises(tisim.SimulationError) as error:
        run(worker)
    assert str(error.value).splitlines()[1:3] == ["  rank 0 calls bcast", "  rank 1 calls barrier"]


def test_ranks_that_wake_together_act_one_after_the_other() -> None:
    """As in a trace, a rank acts until it blocks before the next rank woken at the same time."""

    def body(rank: MpiRank) -> Process:
        if rank.number == 2:
            order = []
            for _ in range(4):
                before = rank.env.now
                yield rank.recv(ANY_SOURCE, 10**6)
                order.append(rank.env.now - before)
            return order
        yield rank.execute(1e9)
        yield rank.send(2, 1000 + 60000 * rank.number)
        yield rank.send(2, 1000 + 60000 * rank.number)
        return None

    times = run(body, ranks=3)[2]
    assert times[1] < times[2] / 2  # both messages of rank 0, then both of rank 1


TWO_HOSTS = ["c-0.me", "c-1.me"]


def run_two(receiver: Callable[[MpiRank], Process], sender: Callable[[MpiRank], Process]) -> Any:
    """Run two processes; returns the value of the first one."""
    env = Environment(BACKBONE)
    first, second = env.mpi(TWO_HOSTS)
    process = env.process(receiver(first))
    env.process(sender(second))
    env.run()
    return process.value


def in_seconds(*tags: int) -> Callable[[MpiRank], Process]:
    """Return a process that sends each tag, in order, at that number of seconds."""

    def sender(rank: MpiRank) -> Process:
        for tag in tags:
            yield rank.sleep(tag - rank.env.now)
            yield rank.send(0, 100, tag)

    return sender


def receives(rank: MpiRank, *tags: int) -> Process:
    """Post a receive of each tag; returns the requests."""
    requests = []
    for tag in tags:
        requests.append((yield rank.irecv(1, 100, tag)))
    return requests


def test_waitall_waits_for_the_requests_that_it_lists() -> None:
    def receiver(rank: MpiRank) -> Process:
        one, two, three = yield from receives(rank, 1, 2, 3)
        yield rank.waitall([two, one])
        after_two = rank.env.now
        with pytest.raises(tisim.InputError, match="no pending request"):
            rank.wait(one)
        yield rank.waitall([])
        assert rank.env.now == after_two
        yield rank.waitall()
        with pytest.raises(tisim.InputError, match="no pending request"):
            rank.waitall([three])
        return after_two, rank.env.now

    after_two, after_three = run_two(receiver, in_seconds(1, 2, 3))
    assert 2 < after_two < 2.1
    assert 3 < after_three < 3.1


def test_waitany_says_which_request_is_complete() -> None:
    def receiver(rank: MpiRank) -> Process:
        three, one, two = yield from receives(rank, 3, 1, 2)
        nobody = yield rank.irecv(PROC_NULL, 1)
        assert (yield rank.waitany([three, nobody])) == nobody
        assert rank.env.now == 0
        assert (yield rank.waitany([three, two, one])) == one
        assert 1 < rank.env.now < 1.1
        yield rank.sleep(2)
        # Both have arrived: the one listed first completes.
        assert (yield rank.waitany([two, three])) == two
        assert (yield rank.waitany([three])) == three
        for wrong, words in (([three], "no pending request"), ([], "one request")):
            with pytest.raises(tisim.InputError, match=words):
                rank.waitany(wrong)
        return rank.env.now

    assert run_two(receiver, in_seconds(1, 2, 3)) < 3.2


def test_a_request_is_listed_once() -> None:
    def receiver(rank: MpiRank) -> Process:
        request = yield rank.irecv(1, 100, 1)
        with pytest.raises(tisim.InputError, match="names a request twice"):
            rank.waitany([request, request])
        yield rank.wait(request)

    run_two(receiver, in_seconds(1))


def test_a_cancelled_receive_leaves_its_message_to_the_next_one() -> None:
    def receiver(rank: MpiRank) -> Process:
        cancelled = yield rank.irecv(1, 100, 1)
        yield rank.cancel(cancelled)
        yield rank.wait(cancelled)
        at_once = rank.env.now
        yield rank.recv(1, 100, 1)
        return at_once, rank.env.now

    at_once, received = run_two(receiver, in_seconds(1))
    assert at_once == 0
    assert 1 < received < 1.1


def test_a_receive_that_has_a_message_is_not_cancelled() -> None:
    def receiver(rank: MpiRank) -> Process:
        request = yield rank.irecv(1, 100, 1)
        yield rank.sleep(2)
        yield rank.cancel(request)
        yield rank.wait(request)
        return rank.env.driver.core.rank_results(0)["messages_sent"][1]

    assert run_two(receiver, in_seconds(1)) == 1


def test_nobody_names_a_freed_request() -> None:
    def receiver(rank: MpiRank) -> Process:
        request = yield rank.irecv(1, 100, 1)
        yield rank.request_free(request)
        with pytest.raises(tisim.InputError, match="no pending request"):
            rank.cancel(request)
        yield rank.waitall()
        assert rank.env.now == 0
        yield rank.recv(1, 100, 2)
        return rank.env.now

    assert 2 < run_two(receiver, in_seconds(1, 2)) < 2.1


def test_several_messages_at_one_instant_wake_a_probe_once(tmp_path: Path) -> None:
    ranks = (
        ["probe 1 7", "irecv 1 7 100000", "irecv 2 7 100000", "waitall"],
        ["sleep 3", "send 0 7 100000", "send 3 9 8"],
        ["sleep 3", "send 0 7 100000"],
        ["probe 1 9", "recv 1 9 8"],
    )
    trace = write_trace(tmp_path, *ranks)
    result = tisim.replay(trace, platform=GRAPHENE, config={"smpi/iprobe": "0"})
    assert 3.0 < result.simulated_time < 3.1
    assert result.finish.min() > 3.0


#: Sizes of messages with one key; a computation follows each wait to expose its end.
SIZES = (200_000, 100, 3_000_000, 70_000, 5)
NOBODY = -666


def ends(tmp_path: Path, first: list[str], second: list[str]) -> list[float]:
    return tisim.replay(write_ranks(tmp_path, first, second), platform=BACKBONE).finish.tolist()


def program(between: int, *, tags: list[int], reverse: bool = False) -> tuple[list[str], list[str]]:
    """`between` requests to the null process are pending during the lookup of the others."""
    sends = [f"send 1 {tag} {size} 6" for tag, size in zip(tags, SIZES, strict=True)]
    receives = [f"irecv {NOBODY} 99 1 6"] * between
    receives += [f"irecv 0 {tag} {size} 6" for tag, size in zip(tags, SIZES, strict=True)]
    order = tags[::-1] if reverse else tags
    for tag in order:
        receives += [f"wait 0 1 {tag}", "compute 1e7"]
    return sends, receives


@pytest.mark.parametrize("between", [1, 15, 16, 17, 18, 300])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("tags", [[0, 1, 2, 3, 4], [7, 7, 7, 7, 7], [7, 1, 7, 1, 7]])
def test_the_oldest_of_a_key_is_found(
    tmp_path: Path, between: int, reverse: bool, tags: list[int]
) -> None:
    alone = ends(tmp_path, *program(0, tags=tags, reverse=reverse))
    assert ends(tmp_path, *program(between, tags=tags, reverse=reverse)) == alone


def test_a_key_that_nobody_has_is_waited_for_by_nobody(tmp_path: Path) -> None:
    sends, receives = program(300, tags=[0, 1, 2, 3, 4])
    extra = [line for line in receives for line in (line, "wait 0 1 55")]
    assert ends(tmp_path, sends, extra) == ends(tmp_path, sends, receives)


def test_a_started_receive_without_its_source_ends_the_index(tmp_path: Path) -> None:
    """SimGrid's tracer loses the source of a persistent receive; any source identifies it."""
    sends, receives = program(300, tags=[0, 1, 2, 3, 4])
    persistent = ["recv_init -555 50 100 6", "start -555 1 50"]
    alone = ends(tmp_path, ["send 1 50 100 6"], [*persistent, "wait 0 1 50", "compute 1e6"])
    assert alone[1] > 0
    both = ends(
        tmp_path,
        [*sends, "send 1 50 100 6"],
        [*receives, *receives[:300], *persistent, "wait 0 1 50", "compute 1e6"],
    )
    assert both[1] > ends(tmp_path, sends, receives)[1]


# A message takes 1 ms, however many there are; everything else is free.
_PLATFORM = """<platform version="4.1">
<config><prop id="network/model" value="CM02"/><prop id="smpi/test" value="0"/></config>
<cluster id="c" prefix="n" suffix="" radical="0-15" speed="1Gf" bw="1TBps" lat="0.5ms"/>
</platform>
"""
_LIBNBC = {"smpi/coll-selector": "openmpi-4.1"}


def _replay(
    folder: Path, programs: dict[int, tuple[str, ...]] | tuple[str, ...], ranks: int, **options: str
) -> tisim.Result:
    """`programs`: of all ranks, or of some; the others execute that of rank 0."""
    (folder / "platform.xml").write_text(_PLATFORM)
    each = programs if isinstance(programs, dict) else {0: programs}
    trace = write_trace(folder, *(each.get(rank, each[0]) for rank in range(ranks)))
    config = {**_LIBNBC, **options}
    return tisim.replay(trace, platform=folder / "platform.xml", config=config)


def _finish(result: tisim.Result) -> list[float]:
    return [float(time) for time in result.column("finish")]


@pytest.mark.parametrize("ordering", ["fair", "fifo"])
def test_three_rounds_of_a_barrier_on_eight_ranks(tmp_path: Path, ordering: str) -> None:
    result = _replay(tmp_path, ("ibarrier", "waitall"), 8, **{"network/ordering": ordering})
    assert _finish(result) == pytest.approx([3e-3] * 8, abs=1e-6)


def test_a_computation_overlaps_one_round(tmp_path: Path) -> None:
    result = _replay(tmp_path, ("ibarrier", "compute 5e7", "waitall"), 8)
    assert _finish(result) == pytest.approx([52e-3] * 8, abs=1e-6)


def test_a_test_begins_the_next_round(tmp_path: Path) -> None:
    tests = ("compute 1e7", "test request=0") * 3
    result = _replay(tmp_path, ("ibarrier request=0", *tests, "wait request=0"), 8)
    assert _finish(result) == pytest.approx([30e-3] * 8, abs=1e-6)


def test_waiting_for_anything_goes_on_with_all_collectives(tmp_path: Path) -> None:
    waits = ("ibarrier", "ibarrier", "irecv 1 7 1 6", "wait 1 0 7", "waitall")
    computes = ("ibarrier", "ibarrier", "compute 2e7", "send 0 7 1 6", "waitall")
    others = ("ibarrier", "ibarrier", "waitall")
    result = _replay(tmp_path, {0: waits, 1: computes, 2: others, 3: others}, 4)
    # Rank 2 needs a second round of rank 0, which waits for another message; rank 3 one of rank 1.
    assert _finish(result) == pytest.approx([21e-3, 21e-3, 2e-3, 21e-3], abs=1e-6)


def test_rabenseifner_sends_nothing_before_the_wait(tmp_path: Path) -> None:
    line = "iallreduce 10000 0 0"  # on four ranks: two rounds of halving, two of collecting
    assert _finish(_replay(tmp_path, (line, "waitall"), 4)) == pytest.approx([4e-3] * 4, rel=2e-2)
    computing = _finish(_replay(tmp_path, (line, "compute 5e7", "waitall"), 4))
    assert computing == pytest.approx([54e-3] * 4, rel=2e-2)


def test_a_collective_that_nobody_waits_for_ends_with_its_rank(tmp_path: Path) -> None:
    assert _finish(_replay(tmp_path, ("ibarrier",), 8)) == pytest.approx([3e-3] * 8, abs=1e-6)


def test_waitany_takes_a_collective_in_rounds(tmp_path: Path) -> None:
    programs = ("ibarrier request=0", "waitany requests=0", "barrier")
    assert _finish(_replay(tmp_path, programs, 8))[0] > 3e-3


def test_the_simpy_kernel_refuses_rounds(tmp_path: Path) -> None:
    _replay(tmp_path, ("ibarrier", "waitall"), 4)
    with pytest.raises(InputError, match="does not support ibarrier in rounds"):
        tisim.replay(
            tmp_path / "trace.txt",
            platform=tmp_path / "platform.xml",
            config=_LIBNBC,
            kernel="simpy",
        )


def test_a_computation_overlaps_one_round_of_mpich(tmp_path: Path) -> None:
    program = ("ibcast 1000 0 6", "compute 5e7", "waitall")
    result = _replay(tmp_path, program, 8, **{"smpi/coll-selector": "mpich-4"})
    # Ranks 1, 2 and 4 have the message before they wait, and forward it in the wait.
    times = [50, 50, 50, 51, 50, 51, 51, 52]
    assert [1e3 * time for time in _finish(result)] == pytest.approx(times, abs=1e-2)
    assert not result.warnings
