"""Neighbourhood collectives: what is read, checked, packed, replayed."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path

import pytest

import tisim
from tests.support import GRAPHENE
from tests.unit.trace.test_trace_check import write
from tisim.traces import check, pack, unpack


def exchanges(seed: int, ranks: int, *, messages: bool, blocks: bool) -> list[str]:
    """Random topologies and sizes, as collectives or as the messages that they are."""
    choose = random.Random(seed)
    programs = [["init", f"comm_split 0 1 0 {ranks - rank}"] for rank in range(ranks)]
    for _ in range(6):
        pairs = choose.choices([*product(range(ranks), repeat=2)], k=3 * ranks)
        sizes = [choose.choice((0, 8, 5000, 200_000)) for _ in pairs]
        for rank, program in enumerate(programs):
            me = ranks - 1 - rank  # in the communicator
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
            trace = write(room, *exchanges(seed, ranks, messages=messages, blocks=blocks))
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
    write(tmp_path / "t", *exchanges(1, 4, messages=False, blocks=False))
    pack(tmp_path / "t", tmp_path / "p.tit")
    unpack(tmp_path / "p.tit", tmp_path / "again")
    for rank in range(4):
        name = f"rank-{rank}.txt"
        assert (tmp_path / "again" / name).read_text() == (tmp_path / "t" / name).read_text()


@pytest.mark.parametrize(
    ("programs", "what"),
    [
        # Neighbours that do not agree.
        (
            ("neighbor_alltoall 1 1 1 1 8 8", "neighbor_alltoall 1 0 1 0 8 9"),
            "expects 9 bytes of rank 0, which sends 8",
        ),
        (
            ("neighbor_alltoallv 2 1 1 0 4 5", "neighbor_alltoallv 0 2 0 0 5 4"),
            "does not expect what it is sent",
        ),
        (
            ("neighbor_allgather 1 1 1 1 0 0", "neighbor_allgather 1 -666 1 0 0 0"),
            "does not expect what it is sent",
        ),
        (("neighbor_alltoall 1 1 1 1 8 8", "barrier"), "calls barrier where rank 0"),
        # Arguments that do not fit.
        (
            ("neighbor_alltoall 1 2 1 1 8 8", "neighbor_alltoall 1 0 1 0 8 8"),
            "neighbor_alltoall: neighbour 2 is not a rank of a communicator of 2 ranks",
        ),
        (
            ("neighbor_alltoall 3 1 1 1 8 8", "neighbor_alltoall 1 0 1 0 8 8"),
            "neighbor_alltoall needs D to0..toD-1 S from0..fromS-1 scount rcount",
        ),
        # A rank waits for its neighbours, and for no others.
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
    report = check(write(tmp_path, *programs))
    said = " ".join(str(finding) for finding in report.findings)
    assert report.sound if what is None else what in said, said
