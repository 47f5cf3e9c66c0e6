"""Deadlocked replays report which ranks wait, and for what."""

from __future__ import annotations

import re

from tests.unit.command_line import CommandLine, Outcome, refused


def stuck(tisim: CommandLine, outcome: Outcome, *lines: str) -> None:
    refused(tisim, outcome, "\n  ".join(map(re.escape, lines)), status=1)


def test_two_ranks_that_receive_first(tisim: CommandLine) -> None:
    trace = tisim.trace("compute 1e9; recv 1 7 10; send 1 0 10", "init; recv 0 0 10; send 0 7 10")
    stuck(
        tisim,
        tisim.replay(trace),
        "deadlock at 1 s: 2 ranks wait for events that will never happen",
        "DIR/trace/r0.txt:2: rank 0: recv waits for a message from rank 1 with tag 7",
        "DIR/trace/r1.txt:2: rank 1: recv waits for a message from rank 0 with tag 0",
    )


def test_two_ranks_that_send_too_much_first(tisim: CommandLine) -> None:
    trace = tisim.trace(
        "isend 1 3 10; send 1 0 1e6; recv 1 0 1e6", "irecv 0 5 1; isend 0 0 1e6; wait 1 0 0"
    )
    stuck(
        tisim,
        tisim.replay(trace),
        "deadlock at 0 s: 2 ranks wait for events that will never happen",
        "DIR/trace/r0.txt:2: rank 0: send waits for rank 1 to receive 1000000 bytes with tag 0",
        "DIR/trace/r1.txt:3: rank 1: wait waits for rank 0 to receive 1000000 bytes with tag 0",
    )


def test_requests_that_never_end(tisim: CommandLine) -> None:
    trace = tisim.trace("irecv 1 1 10; irecv 1 2 10; waitall", "send 0 2 10; irecv -555 9 10")
    stuck(
        tisim,
        tisim.replay(trace),
        "deadlock at 0.00120905813 s: 2 ranks wait for events that will never happen",
        "DIR/trace/r0.txt:3: rank 0: waitall waits for a message from rank 1 with tag 1",
        "DIR/trace/r1.txt: rank 1: the end of its trace waits for a message from any rank "
        "with tag 9",
    )


def test_a_collective_that_one_rank_never_enters(tisim: CommandLine) -> None:
    trace = tisim.trace("allreduce 8 1", "compute 1; allreduce 8 1", "compute 1")
    outcome = tisim.replay(trace)
    assert outcome.status == 1
    for line in (
        "DIR/trace/r0.txt:1: rank 0: allreduce waits for the other ranks; rank 2 never calls it",
        "DIR/trace/r1.txt:2: rank 1: allreduce waits for the other ranks; rank 2 never calls it",
    ):
        assert line in outcome.err.replace(str(tisim.directory), "DIR")


def test_a_collective_that_nobody_waits_in(tisim: CommandLine) -> None:
    """The root of a small broadcast continues immediately; the others must still call it."""
    stuck(
        tisim,
        tisim.replay(tisim.trace("init; bcast 10", "init; finalize")),
        "a collective is missing: rank 1 never calls bcast, as all ranks of a communicator must",
        "DIR/trace/r0.txt:2: rank 0 calls it",
    )


def test_different_collectives_at_the_same_point(tisim: CommandLine) -> None:
    stuck(
        tisim,
        tisim.replay(tisim.trace("compute 1e9; barrier", "bcast 10")),
        "the ranks call different collectives at the same point, at 1 s:",
        "DIR/trace/r1.txt:1: rank 1 calls bcast",
        "DIR/trace/r0.txt:2: rank 0 calls barrier",
        "all ranks of a communicator must make the same collective calls in the same order",
    )


def test_the_report_names_every_blocked_rank(tisim: CommandLine) -> None:
    outcome = tisim.replay(tisim.trace(*[f"recv {(r + 1) % 100} 0 1" for r in range(100)]))
    assert outcome.status == 1
    assert len(outcome.err.splitlines()) == 101
    for rank in range(100):
        assert f"r{rank}.txt:1: rank {rank}: recv waits for a message" in outcome.err


def test_the_mistaken_null_is_told_of(tisim: CommandLine) -> None:
    trace = tisim.trace("recv -333 0 10; compute 1e9", "send -333 0 10; compute 2e9")
    outcome = tisim.replay(trace)
    stuck(
        tisim,
        outcome,
        "deadlock at 2 s: 1 rank waits for events that will never happen",
        "DIR/trace/r0.txt:1: rank 0: recv waits for a message from any rank with tag 0",
        "(a receive from -333 was interpreted as MPI_ANY_SOURCE; SimGrid's tracer also writes -333 "
        "for MPI_PROC_NULL: use --config tisim/null-source=proc-null for that)",
    )
    outcome = tisim.replay("--config", "tisim/null-source=proc-null", trace)
    assert (outcome.status, outcome.err) == (0, "")
