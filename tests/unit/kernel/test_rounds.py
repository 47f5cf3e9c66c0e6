"""Non-blocking collectives in rounds: who goes on, when, and what refuses them."""

from __future__ import annotations

from pathlib import Path

import pytest

import tisim
from tests.support import write_trace
from tisim.errors import InputError

# A message of one rank to another takes 1 ms, however many there are; nothing else costs anything.
_PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
<config><prop id="network/model" value="CM02"/><prop id="smpi/test" value="0"/></config>
<cluster id="c" prefix="n" suffix="" radical="0-15" speed="1Gf" bw="1TBps" lat="0.5ms"/>
</platform>
"""
_LIBNBC = {"smpi/coll-selector": "openmpi-4.1"}


def _replay(
    folder: Path, programs: dict[int, tuple[str, ...]] | tuple[str, ...], ranks: int, **options: str
) -> tisim.Result:
    """`programs`: of all ranks, or of some; the others do as rank 0 does."""
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
    with pytest.raises(InputError, match="cannot carry out ibarrier in rounds"):
        tisim.replay(
            tmp_path / "trace.txt",
            platform=tmp_path / "platform.xml",
            config=_LIBNBC,
            kernel="simpy",
        )


def test_a_computation_overlaps_one_round_of_mpich(tmp_path: Path) -> None:
    program = ("ibcast 1000 0 6", "compute 5e7", "waitall")
    result = _replay(tmp_path, program, 8, **{"smpi/coll-selector": "mpich-4"})
    # Ranks 1, 2 and 4 have it before they wait, and pass it on then.
    times = [50, 50, 50, 51, 50, 51, 51, 52]
    assert [1e3 * time for time in _finish(result)] == pytest.approx(times, abs=1e-2)
    assert not result.warnings
