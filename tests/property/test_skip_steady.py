"""Replays that skip iterations of steady states give the times of those that do not."""

from __future__ import annotations

from pathlib import Path

import pytest

import tisim
from tests.property.looping_programs import write
from tests.property.steady_programs import CLUSTER, agree, looks_steady, steady_program
from tisim.traces import pack

# Of each eight programs; `python -m tests.property.steady_programs` tries them all.
PROGRAMS = 12


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> tisim.Platform:
    file = tmp_path_factory.mktemp("platform") / "cluster.xml"
    file.write_text(CLUSTER)
    return tisim.Platform.load(file)


@pytest.mark.parametrize("first", range(0, 8 * PROGRAMS, PROGRAMS))
def test_programs_take_their_time(first: int, cluster: tisim.Platform, tmp_path: Path) -> None:
    skipping = 0
    for seed in range(first, first + PROGRAMS):
        trace = tmp_path / f"{seed}.tit"
        pack(write(steady_program(seed), tmp_path / str(seed)), trace)
        assert agree(trace, cluster, 1e-6), seed
        skipping += looks_steady(trace, cluster, 1e-6)
    assert skipping >= PROGRAMS // 4


def test_ties_that_rounding_decides_otherwise_later_are_no_steady_state(
    cluster: tisim.Platform, tmp_path: Path
) -> None:
    """Program 101 repeats itself until dates are above 0.5 s, where a tie is decided otherwise.

    From then on its period differs by a factor of 1.5 more in each iteration.
    """
    trace = tmp_path / "101.tit"
    pack(write(steady_program(101), tmp_path / "101"), trace)
    assert agree(trace, cluster, 1e-6)
