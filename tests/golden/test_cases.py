"""Small cases in which a detail decides; each has its origin and SimGrid's answer in case.json."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tisim

CASES = sorted((Path(__file__).resolve().parent / "cases").iterdir())

RELATIVE = 1e-6
ABSOLUTE = 1e-9  # seconds


@pytest.mark.parametrize("directory", CASES, ids=lambda directory: directory.name)
def test_every_rank_ends_when_simgrid_says(directory: Path) -> None:
    case = json.loads((directory / "case.json").read_text())
    result = tisim.replay(
        directory / "trace.txt",
        platform=directory / "platform.xml",
        hosts=case["hosts"],
        config=case["config"],
    )
    assert result.finish.tolist() == pytest.approx(case["ends"], rel=RELATIVE, abs=ABSOLUTE)
