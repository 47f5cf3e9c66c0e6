"""Speeds, bandwidths and latencies that change: tisim and SimGrid, live, every rank."""

from __future__ import annotations

from pathlib import Path

import pytest

import tisim
from tests.oracle.cases import Case, run_simgrid
from tests.oracle.changes import ChangingCase, with_profiles
from tests.oracle.compare import RELATIVE, difference, replay_here
from tests.oracle.simgrid_exec import OracleError, run_oracle

pytestmark = pytest.mark.oracle


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "kinds", [("speed",), ("bandwidth",), ("latency",), ("speed", "bandwidth", "latency")], ids=len
)
def test_changes_under_way(kinds: tuple[str, ...], seed: int, tmp_path: Path) -> None:
    """Seeds at which SimGrid finishes (a weight that rounding makes negative stops it)."""
    case = ChangingCase.draw(seed, kinds)
    case.write(tmp_path)
    options = [f"{key}:{value}" for key, value in case.config.items()]
    platform = tmp_path / "platform.xml"
    theirs = run_oracle(platform, tmp_path / "hosts", tmp_path / "traces", options)
    ours = tisim.replay(
        tmp_path / "traces", platform=platform, hosts=list(case.hosts), config=case.config
    )
    worst, rank = difference([float(end) for end in ours.finish], theirs)
    assert worst <= RELATIVE, f"rank {rank}: {ours.finish[rank]} instead of {theirs[rank]}"


@pytest.mark.parametrize("seed", range(8))
def test_a_case_of_the_campaign(seed: int, tmp_path: Path) -> None:
    """Any program, on platforms of all kinds that have hosts and links of their own."""
    case = Case.draw(
        seed, families=("full", "floyd", "zones", "nested"), selectors=("default", "ompi")
    )
    case.write(tmp_path)
    changing, profiles = with_profiles(case, seed, max(replay_here(case, tmp_path)))
    for name, text in profiles.items():
        (tmp_path / name).write_text(text)
    try:
        theirs = run_simgrid(changing, tmp_path)
    except OracleError as error:
        pytest.skip(f"SimGrid cannot run it: {error}")
    worst, rank = difference(replay_here(changing, tmp_path), theirs)
    assert worst <= RELATIVE, f"rank {rank} of {changing.label}"
