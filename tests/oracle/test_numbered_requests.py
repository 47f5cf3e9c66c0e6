"""Requests with numbers, against MPI programs that wait for subsets of theirs in SimGrid."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

import tisim
from tests.oracle.cases import Case
from tests.oracle.compare import AGREES, BAD, ORACLE_FAILED, judge
from tests.oracle.programs.call_programs import draw_calls
from tests.oracle.programs.communicators import PENDING_TAG
from tests.oracle.programs.numbered import NumberedAuthor
from tests.oracle.programs.numbered_calls import with_numbers
from tests.oracle.simgrid_exec import run_oracle

pytestmark = pytest.mark.oracle

#: Together they have every call that names a request by a number.
KNOWN = (10, 45, 71, 138)

# Rank 0 waits for two sets of its requests that overlap in time; rank 1 sends what belongs to the
# second set only after rank 0 is done with the first.
SETS = (
    """0 init
0 irecv 1 1 100000 6 request=0
0 irecv 1 1 200000 6 request=1
0 irecv 1 3 300000 6 request=2
0 iallreduce 1000 100 6 request=3
0 waitall requests=0,1
0 send 1 9 8 6
0 waitany requests=2
0 send_init 1 4 70000 6 request=0
0 startall requests=0
0 waitall requests=3,0
0 start request=0
0 wait request=0
""",
    """1 init
1 send 0 1 100000 6
1 isend 0 1 200000 6 request=5
1 recv 0 9 8 6
1 issend 0 3 300000 6 request=0
1 iallreduce 1000 100 6 request=1
1 recv_init 0 4 70000 6 request=2
1 start request=2
1 waitall requests=2,1,0
1 start request=2
1 waitsome requests=2
1 waitall
""",
)


def test_two_overlapping_sets_end_as_in_simgrid(root: Path, tmp_path: Path) -> None:
    platform = root / "platforms" / "graphene.xml"
    hosts = [f"graphene-{number}.nancy.grid5000.fr" for number in (1, 2)]
    (tmp_path / "hosts").write_text("".join(f"{host}\n" for host in hosts))
    traces = tmp_path / "traces"
    traces.mkdir()
    for rank, text in enumerate(SETS):
        (traces / f"rank-{rank}.txt").write_text(text)
    expected = run_oracle(platform, tmp_path / "hosts", traces)
    result = tisim.replay(traces, platform=platform, hosts=hosts)
    assert result.finish.tolist() == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("seed", KNOWN)
def test_a_known_program_agrees(seed: int) -> None:
    case = Case.draw(seed, author=NumberedAuthor)
    verdict = judge(case)
    assert verdict.kind == AGREES, f"{case.label}: {verdict}"


def test_the_known_programs_name_requests_in_every_way() -> None:
    named = {
        str(line.words[0])
        for seed in KNOWN
        for line in Case.draw(seed, author=NumberedAuthor).program.lines
        if any("request" in str(word) for word in line.words)
    }
    assert named >= {"isend", "irecv", "wait", "test", "waitall", "waitany", "waitsome"}


@pytest.mark.parametrize("draw", range(4))
def test_a_fresh_program_agrees(draw: int) -> None:
    for _ in range(10):
        seed = random.SystemRandom().randrange(10**9)
        verdict = judge(Case.draw(seed, author=NumberedAuthor))
        if verdict.kind != ORACLE_FAILED:
            break
    assert verdict.kind not in (*BAD, ORACLE_FAILED), (
        f"Case.draw({seed}, author=NumberedAuthor): {verdict}"
    )


#: Together they have a collective and a persistent request with a number, and name them.
NUMBERED_CALLS = (12, 61, 100, 102)


def numbered_calls(seed: int) -> Case:
    case = draw_calls(seed)
    return replace(case, program=with_numbers(case.program))


@pytest.mark.parametrize("seed", NUMBERED_CALLS)
def test_calls_of_all_kinds_whose_requests_have_numbers_agree(seed: int) -> None:
    case = numbered_calls(seed)
    verdict = judge(case)
    assert verdict.kind == AGREES, f"{case.label}: {verdict}"


def test_collectives_and_persistent_requests_have_numbers() -> None:
    words = {
        str(line.words[0])
        for seed in NUMBERED_CALLS
        for line in numbered_calls(seed).program.lines
        if str(line.words[-1]).startswith("request=")
    }
    assert words >= {"wait", "test", "start", "isend", "irecv", "send_init", "recv_init"}
    assert any(word[1:] in PENDING_TAG for word in words)
