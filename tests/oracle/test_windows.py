"""tisim and SimGrid, live, on random programs of one-sided communication."""

from __future__ import annotations

import random

import pytest

from tests.campaign import campaign
from tests.oracle.compare import AGREES, BAD, ORACLE_FAILED, judge
from tests.oracle.programs.call_programs import draw_calls
from tests.oracle.programs.windows import ACCESSES, MAKERS, WITH_REQUEST, WindowAuthor

pytestmark = pytest.mark.oracle

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
