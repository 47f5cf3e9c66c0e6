"""Every rank of larger traces ends when SimGrid says; see README.md for the provenance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import tisim

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CASES: list[dict[str, Any]] = json.loads((HERE / "class_a.json").read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['trace']}-{case['platform']}")
def test_every_rank_ends_when_simgrid_says(case: dict[str, Any]) -> None:
    platform = ROOT / "platforms" / case["platform"]
    result = tisim.replay(
        ROOT / "traces" / f"{case['trace']}.tar.xz",
        platform=platform.with_suffix(".xml"),
        hosts=platform.with_suffix(".hosts").read_text().split(),
    )
    assert result.finish.tolist() == pytest.approx(case["ends"], rel=1e-6, abs=1e-9)
