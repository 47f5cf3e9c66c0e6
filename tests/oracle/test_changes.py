"""Speeds, bandwidths and latencies that change: tisim and SimGrid, live, every rank."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.campaign import campaign
from tests.oracle.cases import Case, run_simgrid
from tests.oracle.changes import with_profiles
from tests.oracle.compare import RELATIVE, difference, replay_here
from tests.oracle.simgrid_exec import OracleError

pytestmark = pytest.mark.oracle


@pytest.mark.parametrize("seed", range(campaign(6, 40)))
@pytest.mark.parametrize(
    "kinds", [("speed",), ("bandwidth",), ("latency",), ("speed", "bandwidth", "latency")], ids=len
)
def test_changes_under_way(kinds: tuple[str, ...], seed: int, tmp_path: Path) -> None:
    """Any program, on platforms of all kinds that have hosts and links of their own."""
    case = Case.draw(
        seed, families=("full", "floyd", "zones", "nested"), selectors=("default", "ompi")
    )
    case.write(tmp_path)
    plain = replay_here(case, tmp_path)
    changing, profiles = with_profiles(case, seed, kinds, max(plain))
    for name, text in profiles.items():
        (tmp_path / name).write_text(text)
    try:
        theirs = run_simgrid(changing, tmp_path)
    except OracleError as error:  # a weight that rounding makes negative stops it
        pytest.skip(f"SimGrid cannot run it: {error}")
    worst, rank = difference(replay_here(changing, tmp_path), theirs)
    assert worst <= RELATIVE, f"rank {rank} of {changing.label}"
