"""Decisions of the selectors, at and around their thresholds, compared with MPI libraries."""

from __future__ import annotations

import doctest
import functools
import inspect
import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.support import ROOT
from tests.unit.collectives.schedule_checks import execute
from tisim.actions.collectives.catalogue import ALGORITHMS, SELECTORS, algorithm, nonblocking
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
from tisim.actions.selectors import impi, mpich, mvapich2, ompi
from tisim.actions.selectors.choice import Choice, Facts, read_tables
from tisim.actions.vocabulary import _OPERATIONS

OPERATIONS = (
    "allgather", "allgatherv", "allreduce", "alltoall", "alltoallv", "barrier", "bcast", "gather",
    "reduce", "reduce_scatter", "scatter",
)  # fmt: skip
DOCUMENTATION = ROOT / "docs" / "selectors.md"
MODULES = {"ompi": ompi, "mpich": mpich, "mvapich2": mvapich2, "impi": impi}
CHOOSE = {
    "ompi": ompi.choose,
    "mpich": mpich.choose,
    "mvapich2": mvapich2.choose,
    "impi": impi.choose,
}


@pytest.mark.parametrize("selector", ["ompi", "mvapich2", "impi", "openmpi"])
def test_bounds_ascend_and_nothing_is_left_over(selector: str) -> None:
    for operation, rows in read_tables(selector).items():
        for entries in (rows, *(row.sizes for row in rows), *(row.on_host for row in rows)):
            bounds = [entry[0] for entry in entries]
            assert bounds == sorted(set(bounds)), operation
            assert not bounds or bounds[-1] == math.inf, operation


# Inputs of a selector's decisions other than ranks and bytes.
FLAGS: dict[str, dict[str, tuple[int | None, ...]]] = {
    "ompi": {},
    "mpich": {"part": (False, True), "per_host": (None, 1)},
    "mvapich2": {"blocked": (False, True), "per_host": (None, 1, 2, 4, 16)},
    "impi": {"per_host": (1, 2, 3, 4, 8, 16)},
}


@functools.cache
def choices() -> set[tuple[str, str, str, tuple[tuple[str, str], ...]]]:
    """(selector, operation, name, parameters) over many ranks, sizes and placements."""
    found = set()
    sizes = sorted({0, 1, *(1 << k for k in range(1, 24)), 45, 10000, 170000})
    ranks = (1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 127, 128, 300, 600, 1200, 3000, 9000)
    for selector, flags in FLAGS.items():
        for p, n, width, *values in itertools.product(ranks, sizes, (1, 8), *flags.values()):
            flagged = dict(zip(flags, values, strict=True))
            call = replace(Facts(p, n, n, n // width), **flagged)  # type: ignore[arg-type]
            for operation in OPERATIONS:
                choice = CHOOSE[selector](operation, call)
                if choice is not None:
                    parameters = tuple(choice.parameters.items())
                    found.add((selector, operation, choice.name, parameters))
    return found


def test_every_choice_exists_and_takes_its_parameters() -> None:
    seen = {choice[1:] for choice in choices()}
    assert len(seen) > 60
    for operation, name, parameters in seen:
        assert name in ALGORITHMS[operation] or name in SELECTORS, (operation, name)
        taken = inspect.signature(algorithm(operation, name)).parameters
        assert set(dict(parameters)) <= set(taken), (operation, name)


def test_impi_counts_other_placements_as_one_rank_a_host() -> None:
    def choose(ranks: int, nbytes: int, per_host: int | None) -> Choice:
        return impi.choose("allreduce", Facts(ranks, 0, nbytes, per_host=per_host))

    for per_host in (None, 3, 5, 6, 32):
        assert choose(6, 20000, per_host) == choose(6, 20000, 1)
    assert choose(8, 15000, 2) != choose(8, 15000, 1)


def test_the_documentation_has_every_choice() -> None:
    documented = set()
    for operation, section in sections():
        for row in section.split("\n"):
            cells = [cell.strip() for cell in row.strip("|").split("|")]
            if row.startswith("| `") and len(cells) == 1 + len(MODULES):
                name = cells[0].strip("`")
                takers = [s for s, cell in zip(MODULES, cells[1:], strict=True) if cell]
                documented |= {(selector, operation, name) for selector in takers}
    assert documented == {choice[:3] for choice in choices()}


def test_the_documentation_has_every_algorithm() -> None:
    for operation, section in sections():
        for name in ALGORITHMS[operation]:
            assert f"`{name}`" in section, (operation, name)


def test_the_documentation_s_examples() -> None:
    assert doctest.testfile(str(DOCUMENTATION), module_relative=False).failed == 0


def sections() -> list[tuple[str, str]]:
    """The operations of the documentation with their texts."""
    parts = DOCUMENTATION.read_text().split("### ")[1:]
    return [(part.split()[0], part) for part in parts]


_SIZES = (0, 1, 7, 60, 500, 5000, 50_000, 400_000, 2 << 20)
_SELECTORS = ("openmpi-4.1", "mpich-4")
_SENDS = (SEND, SSEND, ISEND, SENDRECV)
_RECEIVES = (RECV, IRECV, RECV_HALF)


def _arguments(operation: str, n: int, ranks: int, root: int) -> tuple[object, ...]:
    """Return an algorithm's arguments for blocks of `n` bytes (`tisim.actions.vocabulary`)."""
    blocks = {"count": n, "counts": [n] * ranks, "width": 1, "root": root}
    taken = dict(_OPERATIONS.values())[operation].split()
    return tuple(blocks[name.rpartition("_")[2]] for name in taken)


def _script(selector: str, operation: str, rank: int, ranks: int, n: int, root: int) -> Script:
    script = Script(rank, ranks)
    algorithm(operation, selector)(script, *_arguments(operation, n, ranks, root))
    return script


# `test_algorithms.py` executes the schedules of up to 16 ranks.
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


def test_mpich_sends_short_all_to_alls_block_by_block_on_eight_ranks_and_not_on_nine() -> None:
    for ranks, messages in ((8, 8), (9, 4)):  # a rank's own block is also a message
        script = _script("mpich-4", "alltoall", 0, ranks, 100, 0)
        assert sum(kind in _SENDS for kind in script.kinds) == messages


def _groups(script: Script) -> list[int]:
    """Return the number of requests that each call waits for."""
    rows = zip(script.kinds, script.peers, script.slots, strict=True)
    return [peer for kind, peer, slot in rows if kind == WAITALL and slot < 0]


@pytest.mark.parametrize("operation", ["alltoall", "alltoallv"])
@pytest.mark.parametrize(("ranks", "groups"), [(8, [14]), (32, [62]), (40, [62, 16])])
def test_mpich_exchanges_blocks_with_32_ranks_at_once(
    operation: str, ranks: int, groups: list[int]
) -> None:
    own = operation == "alltoall"  # a rank's own block is also a message
    script = _script("mpich-4", operation, 1, ranks, 20_000, 0)
    assert _groups(script) == [groups[0] + 2 * own, *groups[1:]]


def test_mpich_and_open_mpi_5_leave_empty_messages_out_of_an_alltoallv() -> None:
    for selector, number in (("openmpi-4.1", 7), ("openmpi-5.0", 1), ("mpich-4", 1)):
        script = Script(0, 8)
        counts = [0, 0, 5, 0, 0, 0, 0, 0]
        algorithm("alltoallv", selector)(script, counts, 1, counts, 1)
        assert script.kinds.count(ISEND) == script.kinds.count(IRECV) == number


def test_mpich_divides_a_vector_evenly() -> None:
    script = _script("mpich-4", "allreduce", 0, 4, 10, 0)  # parts of 3, 3, 2 and 2 bytes
    rows = zip(script.kinds, script.sizes, strict=True)
    sent = [int(size) for kind, size in rows if kind in _SENDS]
    assert sent == [4, 3, 3, 6]


def test_mpich_cuts_unequal_blocks_of_an_iallgatherv_into_pieces_of_32_kib() -> None:
    script = Script(1, 3)
    counts = [100, 100_000, 20]
    nonblocking("allgatherv", "mpich-4")(script, counts[1], 1, counts, 1)
    rows = zip(script.kinds, script.sizes, strict=True)
    sent = [int(size) for kind, size in rows if kind in _SENDS]
    assert sent == [32768, 32768, 32768, 1696, 100]


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
                _wait_for_the_rest(script)
                scripts.append(script)
            seen = [outcome.seen for outcome in execute(scripts)]
            if operation in ("allreduce", "allgather", "alltoall", "barrier", "reduce_scatter"):
                assert all(len(ranks_seen) == ranks for ranks_seen in seen)
            if operation in ("reduce", "gather"):
                assert len(seen[root]) == ranks
            if operation in ("bcast", "scatter"):
                assert all(root in ranks_seen for ranks_seen in seen)


def _wait_for_the_rest(script: Script) -> None:
    """Wait for the requests of the last round of a non-blocking collective."""
    assert {*script.kinds} <= {ISEND, IRECV, WAITALL}
    waited = [
        slot
        for kind, slot in zip(script.kinds, script.slots, strict=True)
        if kind == WAITALL and slot >= 0
    ]
    script.waitall([slot for slot in range(script.requests) if slot not in waited])


# Two ranks on each of four nodes.
_PAIRS = (0, 0, 1, 1, 2, 2, 3, 3)


def _sent(
    operation: str, arguments: tuple[int, ...], placement: Sequence[int], *, started: bool = False
) -> list[list[int]]:
    """Return the destinations of each rank's messages."""
    sent = []
    for rank in range(len(placement)):
        script = Script(rank, len(placement), placement)
        (nonblocking if started else algorithm)(operation, "mpich-4")(script, *arguments)
        rows = zip(script.kinds, script.peers, strict=True)
        sent.append([peer for kind, peer in rows if kind in _SENDS])
    return sent


@pytest.mark.parametrize(
    ("operation", "arguments", "sent"),
    [
        (
            "barrier", (),
            [[1, 2, 4, 1], [0], [3, 4, 6, 3], [2], [5, 6, 0, 5], [4], [7, 0, 2, 7], [6]],
        ),
        # The root sends the message to its leader, and gets it back.
        ("bcast", (100, 1, 3), [[1], [], [6, 4, 3], [2], [5], [], [0, 7], []]),
        # The root's node is the first.
        ("bcast", (20_000, 1, 3), [[1], [], [6, 4], [2], [5], [], [0, 7], []]),
        # The root's node is the last.
        ("reduce", (100, 1, 3), [[6], [0], [3], [], [2], [4], [2], [6]]),
        ("allreduce", (8, 1), [[2, 4, 1], [0], [0, 6, 3], [2], [6, 0, 5], [4], [4, 2, 7], [6]]),
        # The leader of the last node is the first to receive from the previous one.
        (
            "scan", (8, 1),
            [
                [1, 2, 4, 2, 1], [0, 0], [3, 0, 6, 4, 3, 3], [2, 2],
                [5, 6, 0, 6, 5, 5], [4, 4], [7, 4, 2, 7, 7], [6, 6],
            ],
        ),
    ],
)  # fmt: skip
def test_mpich_has_two_levels_on_nodes_of_several_ranks(
    operation: str, arguments: tuple[int, ...], sent: list[list[int]]
) -> None:
    assert _sent(operation, arguments, _PAIRS) == sent


def test_mpich_reduces_long_vectors_to_rank_0() -> None:
    sent = _sent("reduce", (20_000, 1, 3), _PAIRS)
    assert [peers[0] for peers in sent[1::2]] == [0, 2, 4, 6]
    assert sent[0][-1] == 3


@pytest.mark.parametrize(
    ("operation", "arguments", "placement"),
    [
        ("bcast", (600_000, 1, 3), _PAIRS),
        ("bcast", (20_000, 1, 3), (*_PAIRS, 4)),
        ("allreduce", (8, 1), (0,) * 8),
        ("scan", (8, 1), (0, 1) * 4),
        ("exscan", (8, 1), _PAIRS),
        ("gather", (8, 1, 8, 1, 3), _PAIRS),
    ],
)
def test_mpich_knows_no_nodes_otherwise(
    operation: str, arguments: tuple[int, ...], placement: tuple[int, ...]
) -> None:
    ranks = range(len(placement))
    assert _sent(operation, arguments, placement) == _sent(operation, arguments, ranks)


def test_the_leader_of_a_node_is_its_lowest_rank_for_mpich() -> None:
    script = Script(1, 4, (0, 0, 1, 1), order=(1, 0, 3, 2))  # ranks of the world
    algorithm("allreduce", "mpich-4")(script, 8, 1)
    assert (script.peers[0], script.kinds[0]) == (0, SEND)


@pytest.mark.parametrize("operation", ["bcast", "reduce", "scan"])
@pytest.mark.parametrize(
    "placement", [_PAIRS, (0, 1, 2) * 3, (0, 0, 0, 1, 2, 2, 2, 2), (0,) * 9, (0, 1, 1, 1, 1, 1)]
)
def test_rounds_on_nodes_of_several_ranks_fit_together(
    operation: str, placement: tuple[int, ...]
) -> None:
    ranks = len(placement)
    for n, root in itertools.product((60, 5000, 100_000), (0, ranks // 2, ranks - 1)):
        arguments = _arguments(operation, n, ranks, root)
        scripts = [Script(rank, ranks, placement) for rank in range(ranks)]
        for script in scripts:
            nonblocking(operation, "mpich-4")(script, *arguments)
            _wait_for_the_rest(script)
        seen = [outcome.seen for outcome in execute(scripts)]
        assert operation != "reduce" or len(seen[root]) == ranks
        assert operation != "bcast" or all(root in ranks_seen for ranks_seen in seen)
        assert operation != "scan" or all({*range(r)} <= seen[r] for r in range(ranks))


def test_mpichs_ring_waits_for_each_step() -> None:
    script = Script(0, 5)
    nonblocking("allgather", "mpich-4")(script, 100_000, 1, 100_000, 1)
    headers = [kind for kind, slot in zip(script.kinds, script.slots, strict=True) if slot < 0]
    assert headers == [WAITALL] * 3
    assert script.kinds.count(ISEND) == script.kinds.count(IRECV) == 4


@pytest.mark.parametrize(
    ("operation", "ranks", "exchange"),
    [
        ("allreduce", 4, [IRECV, ISEND]),
        ("allgatherv", 5, [IRECV, ISEND]),
        ("allgather", 5, [ISEND, IRECV]),
    ],
)
def test_mpich_posts_the_halves_of_an_exchange_in_its_order(
    operation: str, ranks: int, exchange: list[int]
) -> None:
    script = Script(0, ranks)
    nonblocking(operation, "mpich-4")(script, *_arguments(operation, 100_000, ranks, 0))
    assert [kind for kind in script.kinds if kind != WAITALL] == exchange * 4


def test_rabenseifners_allreduce_moves_each_part_twice() -> None:
    script = Script(3, 8)
    nonblocking("allreduce", "openmpi-4.1")(script, 80_000, 1)
    rows = zip(script.kinds, script.sizes, strict=True)
    assert [size for kind, size in rows if kind == ISEND] == [
        40_000, 20_000, 10_000, 10_000, 20_000, 40_000,
    ]  # fmt: skip
    assert script.kinds[0] == WAITALL  # a copy
