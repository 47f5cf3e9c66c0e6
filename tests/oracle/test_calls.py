"""Communicators and the calls beyond SimGrid's traces, against MPI programs run in SimGrid."""

from __future__ import annotations

import random

import pytest

from tests.oracle.cases import Case
from tests.oracle.compare import AGREES, BAD, ORACLE_FAILED, judge
from tests.oracle.programs.call_programs import draw_calls
from tests.oracle.programs.configs import SELECTORS
from tests.oracle.programs.given_up import GivingUpAuthor

pytestmark = pytest.mark.oracle


#: Together they have every call that `call_programs` writes; SimGrid can run them all.
KNOWN = (74, 20, 46, 48, 61, 3)


def known(seed: int) -> Case:
    return draw_calls(seed, selectors=SELECTORS if seed % 2 else ("default",))


@pytest.mark.parametrize("seed", KNOWN)
def test_a_known_program_agrees(seed: int) -> None:
    case = known(seed)
    verdict = judge(case)
    assert verdict.kind == AGREES, f"{case.label}: {verdict}"


def test_the_known_programs_have_every_call() -> None:
    words = {str(line.words[0]) for seed in KNOWN for line in known(seed).program.lines}
    assert words >= {
        "comm_split", "comm_dup", "comm_free", "waitany", "waitsome", "testall", "testany",
        "testsome", "probe", "iprobe", "ssend", "issend", "bsend", "ibsend", "send_init",
        "ssend_init", "bsend_init", "recv_init", "start", "ibarrier", "ibcast", "iallreduce",
    }  # fmt: skip


@pytest.mark.parametrize("draw", range(4))
def test_a_fresh_program_agrees(draw: int) -> None:
    for _ in range(10):
        seed = random.SystemRandom().randrange(10**9)
        verdict = judge(draw_calls(seed, selectors=SELECTORS))
        if verdict.kind != ORACLE_FAILED:
            break
    assert verdict.kind not in (*BAD, ORACLE_FAILED), (
        f"draw_calls({seed}, selectors=SELECTORS): {verdict}"
    )


#: Together they cancel receives and sends, and free requests of sends.
GIVEN_UP = (0, 7, 20)


@pytest.mark.parametrize("seed", GIVEN_UP)
def test_a_program_that_gives_requests_up_agrees(seed: int) -> None:
    case = draw_calls(seed, author=GivingUpAuthor)
    verdict = judge(case)
    assert verdict.kind == AGREES, f"{case.label}: {verdict}"


def test_the_known_programs_give_up_requests_of_each_kind() -> None:
    begun = set()
    for seed in GIVEN_UP:
        words = [line.words for line in draw_calls(seed, author=GivingUpAuthor).program.lines]
        tags = {word[3] for word in words if word[0] == "cancel"}
        begun |= {word[0] for word in words if word[0] in {"irecv", "issend"} and word[2] in tags}
        begun |= {word[0] for word in words if word[0] == "request_free"}
    assert begun == {"irecv", "issend", "request_free"}


def test_a_fresh_program_that_gives_requests_up_agrees() -> None:
    for _ in range(10):
        seed = random.SystemRandom().randrange(10**9)
        verdict = judge(draw_calls(seed, author=GivingUpAuthor))
        if verdict.kind != ORACLE_FAILED:
            break
    assert verdict.kind not in (*BAD, ORACLE_FAILED), (
        f"draw_calls({seed}, author=GivingUpAuthor): {verdict}"
    )
