"""The oracle itself: it gives the golden numbers, and says what went wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.oracle.simgrid_exec import OracleError, run_oracle

pytestmark = pytest.mark.oracle


@pytest.mark.parametrize("trace", ["lu.S.4", "dt.S.BH", "is.S.16"])
@pytest.mark.parametrize("platform", ["backbone", "graphene", "fattree"])
def test_it_gives_the_reference(root: Path, nas_traces: Path, trace: str, platform: str) -> None:
    cases = json.loads((root / "tests/golden/reference.json").read_text())["cases"]
    base = root / "platforms" / platform
    for case in cases:
        if (case["trace"], case["platform"]) == (trace, platform):
            ends = run_oracle(f"{base}.xml", f"{base}.hosts", nas_traces / trace, case["cfg"])
            assert ends == pytest.approx(case["ends"], rel=1e-12)


def test_a_deadlock_is_an_error(root: Path, tmp_path: Path) -> None:
    for rank in (0, 1):
        (tmp_path / f"rank-{rank}.txt").write_text(f"{rank} recv {1 - rank} 0 8\n")
    base = root / "platforms/backbone"
    with pytest.raises(OracleError, match=r"[Dd]eadlock"):
        run_oracle(f"{base}.xml", f"{base}.hosts", tmp_path)


def test_an_unknown_action_is_an_error(root: Path, tmp_path: Path) -> None:
    (tmp_path / "rank-0.txt").write_text("0 frobnicate\n")
    base = root / "platforms/backbone"
    with pytest.raises(OracleError, match="unknown action frobnicate"):
        run_oracle(f"{base}.xml", f"{base}.hosts", tmp_path)
