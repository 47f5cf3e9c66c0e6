"""tisim and SimGrid, live, on cases that nobody has seen before."""

from __future__ import annotations

import random

import pytest

from tests.campaign import campaign
from tests.oracle.cases import Case
from tests.oracle.compare import BAD, ORACLE_FAILED, judge
from tests.oracle.platforms.families import FAMILIES
from tests.oracle.programs.configs import SELECTORS

pytestmark = pytest.mark.oracle

DRAWS = campaign(2, 4)


@pytest.mark.parametrize("draw", range(DRAWS))
@pytest.mark.parametrize("family", FAMILIES)
def test_a_fresh_case_agrees(family: str, draw: int) -> None:
    """Draw until SimGrid can run the case (it cannot run them all), then compare every rank."""
    selectors = ("default",) if draw < DRAWS // 2 else SELECTORS
    for _ in range(10):
        seed = random.SystemRandom().randrange(10**9)
        case = Case.draw(seed, families=(family,), selectors=selectors)
        verdict = judge(case)
        if verdict.kind != ORACLE_FAILED:
            break
    again = f"Case.draw({seed}, families={(family,)}, selectors={selectors})"
    assert verdict.kind not in (*BAD, ORACLE_FAILED), f"{verdict}\n{again}"
