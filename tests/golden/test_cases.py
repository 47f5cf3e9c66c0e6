"""Small cases in which a detail decides: every rank ends when SimGrid says (README.md)."""

from __future__ import annotations

from pathlib import Path

import pytest

import tisim
from tests.golden.small_cases import CASES, SmallCase

RELATIVE = 1e-6
ABSOLUTE = 1e-9  # seconds


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_rank_ends_when_simgrid_says(case: SmallCase, tmp_path: Path) -> None:
    trace, platform = case.write(tmp_path)
    result = tisim.replay(trace, platform=platform, hosts=case.hosts, config=case.config)
    assert result.finish.tolist() == pytest.approx(case.ends, rel=RELATIVE, abs=ABSOLUTE)
