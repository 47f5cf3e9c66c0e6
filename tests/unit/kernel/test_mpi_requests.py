"""What SimPy processes do with several requests, many, cancelled and freed ones."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

import tisim
from tests.support import GRAPHENE, ROOT, write_ranks, write_trace
from tisim.kernel import PROC_NULL, Environment, MpiRank

BACKBONE = tisim.Platform.load(ROOT / "platforms" / "backbone.xml")
HOSTS = ["c-0.me", "c-1.me"]

Process = Generator[Any, Any, Any]


def run(receiver: Callable[[MpiRank], Process], sender: Callable[[MpiRank], Process]) -> Any:
    """Run two processes; what the first one returns."""
    env = Environment(BACKBONE)
    first, second = env.mpi(HOSTS)
    process = env.process(receiver(first))
    env.process(sender(second))
    env.run()
    return process.value


def in_seconds(*tags: int) -> Callable[[MpiRank], Process]:
    """A process that sends each tag after as many seconds, in their order."""

    def sender(rank: MpiRank) -> Process:
        for tag in tags:
            yield rank.sleep(tag - rank.env.now)
            yield rank.send(0, 100, tag)

    return sender


def receives(rank: MpiRank, *tags: int) -> Process:
    """Post a receive of each tag; the requests."""
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

    after_two, after_three = run(receiver, in_seconds(1, 2, 3))
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
        # Both have arrived: the one that is listed first.
        assert (yield rank.waitany([two, three])) == two
        assert (yield rank.waitany([three])) == three
        for wrong, words in (([three], "no pending request"), ([], "one request or more")):
            with pytest.raises(tisim.InputError, match=words):
                rank.waitany(wrong)
        return rank.env.now

    assert run(receiver, in_seconds(1, 2, 3)) < 3.2


def test_a_request_is_listed_once() -> None:
    def receiver(rank: MpiRank) -> Process:
        request = yield rank.irecv(1, 100, 1)
        with pytest.raises(tisim.InputError, match="names a request twice"):
            rank.waitany([request, request])
        yield rank.wait(request)

    run(receiver, in_seconds(1))


def test_a_cancelled_receive_leaves_its_message_to_the_next_one() -> None:
    def receiver(rank: MpiRank) -> Process:
        cancelled = yield rank.irecv(1, 100, 1)
        yield rank.cancel(cancelled)
        yield rank.wait(cancelled)
        at_once = rank.env.now
        yield rank.recv(1, 100, 1)
        return at_once, rank.env.now

    at_once, received = run(receiver, in_seconds(1))
    assert at_once == 0
    assert 1 < received < 1.1


def test_a_receive_that_has_a_message_is_not_cancelled() -> None:
    def receiver(rank: MpiRank) -> Process:
        request = yield rank.irecv(1, 100, 1)
        yield rank.sleep(2)
        yield rank.cancel(request)
        yield rank.wait(request)
        return rank.env.driver.core.rank_results(0)["messages_sent"][1]

    assert run(receiver, in_seconds(1)) == 1


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

    assert 2 < run(receiver, in_seconds(1, 2)) < 2.1


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


#: Sizes of messages with one key; each wait is followed by a computation, so that its end shows.
SIZES = (200_000, 100, 3_000_000, 70_000, 5)
NOBODY = -666


def ends(tmp_path: Path, first: list[str], second: list[str]) -> list[float]:
    return tisim.replay(write_ranks(tmp_path, first, second), platform=BACKBONE).finish.tolist()


def program(between: int, *, tags: list[int], reverse: bool = False) -> tuple[list[str], list[str]]:
    """`between` requests to nobody are pending while the others are looked for."""
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
    """SimGrid's tracer loses the source of a persistent receive; any source names it."""
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
