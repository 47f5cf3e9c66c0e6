"""Times of real Open MPI 4.1.4 runs over TCP, reached with messages in order.

The programs ran on network namespaces whose links were shaped to 80 Mbit/s (`testbed.xml`; 1 MB is
2**20 bytes). The median of nine seeds of a small jitter is the prediction. Where a figure is a
range, both ends were measured.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tisim
from tests.support import write_trace

_PLATFORM = Path(__file__).with_name("testbed.xml")
_MB = 1 << 20
_SEEDS = range(9)

Program = Callable[[int], Iterator[str]]


def _exchanges(*calls: str) -> Program:
    """Five exchanges of two ranks, whose calls are posted in this order."""

    def program(rank: int) -> Iterator[str]:
        for tag in range(5):
            for call in calls:
                yield f"{call} {1 - rank} {tag} {_MB} 6"
            yield "waitall"

    return program


def _chain(rank: int) -> Iterator[str]:
    """64 messages through four ranks."""
    for tag in range(64):
        if rank > 0:
            yield f"recv {rank - 1} {tag} 16384 6"
        if rank < 3:
            yield f"send {rank + 1} {tag} 16384 6"


def _call(line: str) -> Program:
    def program(rank: int) -> Iterator[str]:
        yield line

    return program


def _predict(ranks: int, program: Program, folder: Path, config: dict[str, object]) -> float:
    trace = write_trace(folder, *(("init", *program(rank), "finalize") for rank in range(ranks)))
    jitter: dict[str, object] = {"tisim/jitter-start": "3e-4", "tisim/jitter-size": "0.005"}
    times = [
        tisim.replay(
            trace, platform=_PLATFORM, config=config | jitter | {"tisim/jitter-seed": seed}
        ).simulated_time
        for seed in _SEEDS
    ]
    return statistics.median(times)


_ALLGATHER = f"allgather {_MB} {_MB} 6 6"
_CASES = {
    "exchanges, irecv first": (2, _exchanges("irecv", "isend"), {}, (0.88, 0.99)),
    "exchanges, isend first": (2, _exchanges("isend", "irecv"), {}, (0.56, 0.56)),
    "neighbour exchange, 4 ranks": (
        4,
        _call(_ALLGATHER),
        {"smpi/allgather": "ompi_neighborexchange"},
        (0.552, 0.564),
    ),
    "neighbour exchange of 512 KiB": (
        4,
        _call(f"allgather {_MB // 2} {_MB // 2} 6 6"),
        {"smpi/allgather": "ompi_neighborexchange"},
        (0.281, 0.283),
    ),
    "allgather, recursive doubling": (4, _call(_ALLGATHER), {"smpi/allgather": "rdb"}, (0.568,)),
    "neighbour exchange, 8 ranks": (
        8,
        _call(_ALLGATHER),
        {"smpi/allgather": "ompi_neighborexchange"},
        (1.46,),
    ),
    "allreduce, recursive doubling": (
        4,
        _call(f"allreduce {_MB} 0 6"),
        {"smpi/allreduce": "rdb"},
        (0.334,),
    ),
    "allreduce, Rabenseifner": (
        4,
        _call(f"allreduce {_MB} 0 6"),
        {"smpi/allreduce": "rab_rdb"},
        (0.283,),
    ),
    "allreduce of 4 MB, Rabenseifner": (
        4,
        _call(f"allreduce {4 * _MB} 0 6"),
        {"smpi/allreduce": "rab_rdb"},
        (1.14,),
    ),
    "a chain of short messages": (4, _chain, {}, (0.12, 0.13)),
}


@pytest.mark.parametrize("name", _CASES)
def test_a_real_time_is_predicted_within_ten_per_cent(name: str, tmp_path: Path) -> None:
    ranks, program, config, measured = _CASES[name]
    predicted = _predict(ranks, program, tmp_path, dict(config))
    assert 0.9 * min(measured) <= predicted <= 1.1 * max(measured)


def test_the_order_of_posting_matters_only_where_messages_are_in_order(tmp_path: Path) -> None:
    orders = [_exchanges("irecv", "isend"), _exchanges("isend", "irecv")]
    fair, fifo = (
        [_predict(2, program, tmp_path, {"network/ordering": ordering}) for program in orders]
        for ordering in ("fair", "fifo")
    )
    assert fair[0] == pytest.approx(fair[1], rel=0.02)
    assert fifo[0] > 1.5 * fifo[1]


def test_without_jitter_a_symmetric_program_never_falls_into_half_duplex(tmp_path: Path) -> None:
    trace = write_trace(tmp_path, *map(_exchanges("irecv", "isend"), range(2)))
    time = tisim.replay(trace, platform=_PLATFORM).simulated_time
    assert time == pytest.approx(0.55, rel=0.02)
