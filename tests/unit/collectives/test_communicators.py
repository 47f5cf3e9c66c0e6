"""Communicators: who is in them, and what is said when a trace uses them wrongly.

That their messages take the right time is checked with MPI programs: tests/oracle/test_random.py.
"""

from __future__ import annotations

import json

import pytest

from tests.unit.command_line import CommandLine

SPLIT = "comm_split 0 5 {color} {key}"


def bytes_sent(tisim: CommandLine, *ranks: str) -> list[int]:
    outcome = tisim.replay("--json", "-", tisim.trace(*ranks))
    assert outcome.status == 0, outcome.err
    return [rank["bytes_sent"] for rank in json.loads(outcome.out)["ranks"]]


def test_ranks_are_those_of_the_communicator(tisim: CommandLine) -> None:
    """Colours 0 and 1 alternate, keys turn the order round: rank 0 of each is the last."""
    lines = [SPLIT.format(color=rank % 2, key=-rank) for rank in range(4)]
    making = bytes_sent(tisim, *lines)
    send, receive = "send 1 7 1000000 6 comm=5", "recv 0 7 1000000 6 comm=5"
    sent = bytes_sent(tisim, *(f"{line}; {receive}" for line in lines[:2]),
                      *(f"{line}; {send}" for line in lines[2:]))  # fmt: skip
    assert [a - b for a, b in zip(sent, making, strict=True)] == [0, 0, 10**6, 10**6]


def test_one_number_names_other_communicators_on_other_ranks(tisim: CommandLine) -> None:
    lines = [SPLIT.format(color=rank // 2, key=0) for rank in range(4)]
    making = bytes_sent(tisim, *lines)
    sent = bytes_sent(tisim, *(f"{line}; bcast 500000 0 6 comm=5" for line in lines))
    assert [a - b for a, b in zip(sent, making, strict=True)] == [500000, 0, 500000, 0]


def test_who_is_in_none_goes_on_without(tisim: CommandLine) -> None:
    lines = [SPLIT.format(color=0 if rank else -1, key=0) for rank in range(3)]
    programs = [f"{line}; barrier comm=5" if rank else line for rank, line in enumerate(lines)]
    assert tisim.replay(tisim.trace(*programs)).status == 0


def test_a_freed_number_may_be_used_again(tisim: CommandLine) -> None:
    program = "; ".join(["comm_dup 0 9; barrier comm=9; comm_free 9"] * 3)
    assert tisim.replay(tisim.trace(program, program)).status == 0


def test_messages_of_two_communicators_do_not_match(tisim: CommandLine) -> None:
    outcome = tisim.replay(
        tisim.trace("comm_dup 0 1; send 1 0 100000 6", "comm_dup 0 1; recv 0 0 100000 6 comm=1")
    )
    assert outcome.status == 1
    assert "rank 1: recv waits for a message from rank 0 with tag 0" in outcome.err


@pytest.mark.parametrize(
    ("ranks", "message"),
    [
        (
            ["compute 1; barrier comm=3", "compute 1"],
            "r0.txt:2: rank 0 is in no communicator 3 here; it is made by comm_split or comm_dup",
        ),
        (
            [
                "comm_split 0 1 0 0; send 2 0 10 6 comm=1",
                "comm_split 0 1 0 0",
                "comm_split 0 1 -1 0",
            ],
            "r0.txt:2: rank 2 is not in communicator 1, whose ranks are 0 to 1",
        ),
        (
            ["comm_split 0 1 0 0", "comm_split 0 2 0 0"],
            "r1.txt:1: the new communicator is 2 here, but 1 for rank 0 (line 1 of its trace); "
            "all ranks of the parent give it the same number",
        ),
        (
            ["comm_dup 0 1; comm_dup 0 1", "comm_dup 0 1; comm_dup 0 1"],
            "rank 0 is in a communicator 1 already; comm_free it first or take another number",
        ),
        (["comm_free 0"], "r0.txt:1: communicator 0 is the world; it is neither made nor freed"),
    ],
)
def test_wrong_use(tisim: CommandLine, ranks: list[str], message: str) -> None:
    outcome = tisim.replay(tisim.trace(*ranks))
    assert outcome.status == 2
    assert message in outcome.err
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            "bcast 1 3 6 comm=1",
            "bcast: root 3 is not a rank of a communicator of 2 ranks; give one from 0 to 1",
        ),
        (
            "reducescatter 1 1 1 1 0 comm=1",
            "reducescatter needs r0..rP-1 flops [type], got 5 arguments "
            "(P is 2, the ranks of the communicator)",
        ),
    ],
)
def test_a_call_that_does_not_fit_its_communicator_names_file_and_line(
    tisim: CommandLine, call: str, message: str
) -> None:
    outcome = tisim.replay(tisim.trace(*[f"init; comm_dup 0 1; {call}; finalize"] * 2))
    assert outcome.status == 2
    assert f"r0.txt:3: {message}" in outcome.err
    assert "Traceback" not in outcome.err


def test_ranks_of_one_communicator_must_call_the_same(tisim: CommandLine) -> None:
    outcome = tisim.replay(
        tisim.trace("comm_dup 0 1; barrier comm=1", "comm_dup 0 1; bcast 10 comm=1")
    )
    assert outcome.status == 1
    assert "rank 0 calls barrier" in outcome.err
    assert "rank 1 calls bcast" in outcome.err


def test_who_is_missing_is_a_rank_of_the_world(tisim: CommandLine) -> None:
    """Communicator 5 has the world's ranks 2 and 1, in this order."""
    lines = [SPLIT.format(color=-1 if rank == 0 else 0, key=-rank) for rank in range(3)]
    outcome = tisim.replay(tisim.trace(lines[0], lines[1], f"{lines[2]}; barrier comm=5"))
    assert outcome.status == 1
    assert "rank 2: barrier waits for the other ranks; rank 1 never calls it" in outcome.err
