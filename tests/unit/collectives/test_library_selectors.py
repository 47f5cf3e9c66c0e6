"""The selectors of MPI libraries: complete messages and known decisions."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest

from tests.unit.collectives.schedule_checks import execute
from tisim.actions.collectives.catalogue import ALGORITHMS, algorithm, nonblocking
from tisim.actions.script import (
    IRECV,
    ISEND,
    RECV,
    RECV_HALF,
    SEND,
    SENDRECV,
    SSEND,
    WAITALL,
    Script,
)

_SIZES = (0, 1, 7, 60, 500, 5000, 50_000, 400_000, 2 << 20)
_SELECTORS = ("openmpi-4.1", "mpich-4")
_SENDS = (SEND, SSEND, ISEND, SENDRECV)
_RECEIVES = (RECV, IRECV, RECV_HALF)


def _arguments(operation: str, n: int, ranks: int, root: int) -> tuple[object, ...]:
    counts = [n] * ranks
    forms: dict[str, tuple[object, ...]] = {
        "barrier": (),
        "bcast": (n, 1, root),
        "reduce": (n, 1, root),
        "allreduce": (n, 1),
        "scan": (n, 1),
        "exscan": (n, 1),
        "gather": (n, 1, n, 1, root),
        "scatter": (n, 1, n, 1, root),
        "gatherv": (n, 1, counts, 1, root),
        "scatterv": (counts, 1, n, 1, root),
        "allgather": (n, 1, n, 1),
        "alltoall": (n, 1, n, 1),
        "allgatherv": (n, 1, counts, 1),
        "alltoallv": (counts, 1, counts, 1),
        "reduce_scatter": (counts, 1),
    }
    return forms[operation]


def _script(selector: str, operation: str, rank: int, ranks: int, n: int, root: int) -> Script:
    script = Script(rank, ranks)
    algorithm(operation, selector)(script, *_arguments(operation, n, ranks, root))
    return script


# `test_algorithms.py` executes what they write for up to 16 ranks.
@pytest.mark.parametrize("operation", ALGORITHMS)
@pytest.mark.parametrize("selector", _SELECTORS)
def test_what_is_sent_is_received(selector: str, operation: str) -> None:
    for ranks, n in itertools.product((5, 17, 33), _SIZES):
        sent: Counter[tuple[int, int]] = Counter()
        received: Counter[tuple[int, int]] = Counter()
        for rank in range(ranks):
            script = _script(selector, operation, rank, ranks, n, ranks // 2)
            for kind, peer in zip(script.kinds, script.peers, strict=True):
                if kind in _SENDS:
                    sent[rank, peer] += 1
                elif kind in _RECEIVES:
                    received[peer, rank] += 1
        assert sent == received, (ranks, n)


@pytest.mark.parametrize("operation", ["barrier", "bcast", "reduce", "allreduce", "reduce_scatter"])
@pytest.mark.parametrize("selector", _SELECTORS)
def test_many_ranks_have_an_algorithm_for_every_size(selector: str, operation: str) -> None:
    for ranks, n in itertools.product((64, 100, 130, 260, 600, 1100), _SIZES):
        script = _script(selector, operation, 1, ranks, n, 0)
        assert script.kinds or n == 0, (ranks, n)


def test_a_broadcast_of_one_megabyte_on_four_ranks_is_a_chain_of_whole_messages() -> None:
    for rank in range(4):
        script = _script("openmpi-4.1", "bcast", rank, 4, 1 << 20, 1)
        sends = [
            (peer, size)
            for kind, peer, size in zip(script.kinds, script.peers, script.sizes, strict=True)
            if kind in _SENDS
        ]
        assert sends == ([] if rank == 0 else [((rank + 1) % 4, 1 << 20)])


def test_a_broadcast_of_sixty_kilobytes_on_eight_ranks_is_linear() -> None:
    script = _script("openmpi-4.1", "bcast", 3, 8, 60_000, 3)
    assert script.kinds.count(ISEND) == 7


def test_only_open_mpi_5_leaves_empty_messages_out_of_an_alltoallv() -> None:
    for selector, number in (("openmpi-4.1", 7), ("openmpi-5.0", 1)):
        script = Script(0, 8)
        counts = [0, 0, 5, 0, 0, 0, 0, 0]
        algorithm("alltoallv", selector)(script, counts, 1, counts, 1)
        assert script.kinds.count(ISEND) == script.kinds.count(IRECV) == number


def test_mpich_sends_short_all_to_alls_block_by_block_on_eight_ranks_and_not_on_nine() -> None:
    for ranks, messages in ((8, 8), (9, 4)):  # a block of a rank's own is a message too
        script = _script("mpich-4", "alltoall", 0, ranks, 100, 0)
        assert sum(kind in _SENDS for kind in script.kinds) == messages


def test_mpich_divides_a_vector_evenly() -> None:
    script = _script("mpich-4", "allreduce", 0, 4, 10, 0)  # parts of 3, 3, 2 and 2 bytes
    rows = zip(script.kinds, script.sizes, strict=True)
    sent = [int(size) for kind, size in rows if kind in _SENDS]
    assert sent == [4, 3, 3, 6]


@pytest.mark.parametrize("operation", ALGORITHMS)
@pytest.mark.parametrize("selector", _SELECTORS)
def test_rounds_of_non_blocking_collectives_fit_together(selector: str, operation: str) -> None:
    for ranks, n in itertools.product((1, 2, 3, 4, 5, 7, 8, 16, 17), (1, 60, 5000, 100_000)):
        for root in {0, ranks // 2, ranks - 1}:
            arguments = _arguments(operation, n, ranks, root)
            scripts = []
            for rank in range(ranks):
                script = Script(rank, ranks)
                nonblocking(operation, selector)(script, *arguments)
                assert {*script.kinds} <= {ISEND, IRECV, WAITALL}
                waited = [
                    slot
                    for kind, slot in zip(script.kinds, script.slots, strict=True)
                    if kind == WAITALL and slot >= 0
                ]
                script.waitall([slot for slot in range(script.requests) if slot not in waited])
                scripts.append(script)
            seen = [outcome.seen for outcome in execute(scripts)]
            if operation in ("allreduce", "allgather", "alltoall", "barrier", "reduce_scatter"):
                assert all(len(ranks_seen) == ranks for ranks_seen in seen)
            if operation in ("reduce", "gather"):
                assert len(seen[root]) == ranks
            if operation in ("bcast", "scatter"):
                assert all(root in ranks_seen for ranks_seen in seen)


def test_mpichs_ring_waits_for_each_step() -> None:
    script = Script(0, 5)
    nonblocking("allgather", "mpich-4")(script, 100_000, 1, 100_000, 1)
    headers = [kind for kind, slot in zip(script.kinds, script.slots, strict=True) if slot < 0]
    assert headers == [WAITALL] * 3
    assert script.kinds.count(ISEND) == script.kinds.count(IRECV) == 4


def test_rabenseifners_allreduce_moves_each_part_twice() -> None:
    script = Script(3, 8)
    nonblocking("allreduce", "openmpi-4.1")(script, 80_000, 1)
    rows = zip(script.kinds, script.sizes, strict=True)
    assert [size for kind, size in rows if kind == ISEND] == [
        40_000, 20_000, 10_000, 10_000, 20_000, 40_000,
    ]  # fmt: skip
    assert script.kinds[0] == WAITALL  # a copy
