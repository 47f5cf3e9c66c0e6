"""The oracle itself, and tisim beside it on random programs of one-sided communication."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests.campaign import campaign
from tests.oracle.compare import AGREES, BAD, ORACLE_FAILED, judge
from tests.oracle.programs.call_programs import draw_calls
from tests.oracle.programs.windows import ACCESSES, MAKERS, WITH_REQUEST, WindowAuthor
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


#: Together they have every call; in the last two, ranks race for a list at one instant.
KNOWN = (0, 2, 5, 10, 13, 17, 20, 36, 2064, 2094)


@pytest.mark.parametrize("seed", KNOWN)
def test_a_known_program_agrees(seed: int) -> None:
    case = draw_calls(seed, author=WindowAuthor)
    verdict = judge(case)
    assert verdict.kind == AGREES, f"{case.label}: {verdict}"


def test_the_known_programs_have_every_call() -> None:
    words = {
        str(line.words[0])
        for seed in KNOWN
        for line in draw_calls(seed, author=WindowAuthor).program.lines
    }
    epochs = "win_fence win_post win_start win_complete win_wait win_lock win_unlock win_lock_all"
    flushes = "win_flush win_flush_local win_flush_all win_flush_local_all win_unlock_all win_free"
    assert words >= {*ACCESSES, *WITH_REQUEST, *MAKERS, *epochs.split(), *flushes.split()}


@pytest.mark.parametrize("_", range(campaign(0, 300)))
def test_a_fresh_program_agrees(_: int) -> None:
    for _ in range(10):
        seed = random.SystemRandom().randrange(10**9)
        case = draw_calls(seed, author=WindowAuthor)
        verdict = judge(case)
        if verdict.kind != ORACLE_FAILED:
            break
    assert verdict.kind not in (*BAD, ORACLE_FAILED), f"{seed}: {case.label}: {verdict}"
