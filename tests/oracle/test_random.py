"""Compare tisim and SimGrid, live, on random programs: known ones and new ones."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

import tisim
from tests.oracle.cases import Case
from tests.oracle.compare import AGREES, BAD, ORACLE_FAILED, judge
from tests.oracle.platforms.families import FAMILIES
from tests.oracle.programs.call_programs import GivingUpAuthor, NumberedAuthor, draw_calls
from tests.oracle.programs.configs import SELECTORS
from tests.oracle.simgrid_exec import run_oracle
from tests.oracle.wide import draw_wide
from tests.support import campaign
from tisim.traces.generate import PATTERNS

pytestmark = pytest.mark.oracle

DRAWS = campaign(2, 4)


def calls(seed: int) -> Case:
    """Draw communicators and the calls that SimGrid's traces lack."""
    return draw_calls(seed, selectors=SELECTORS if seed % 2 else ("default",))


def given_up(seed: int) -> Case:
    """Draw requests that are cancelled and freed."""
    return draw_calls(seed, author=GivingUpAuthor)


def numbered(seed: int) -> Case:
    """Draw numbered requests, subsets of which are waited for."""
    return Case.draw(seed, author=NumberedAuthor)


#: SimGrid can run all of these programs, and together they contain every call.
KNOWN: dict[Callable[[int], Case], tuple[int, ...]] = {
    calls: (74, 20, 46, 48, 61, 3),
    given_up: (0, 7, 20),
    numbered: (10, 45, 71, 138),
}


def a_fresh_case_agrees(draw: Callable[[int], Case]) -> None:
    """Draw until SimGrid can run the case (it cannot run all of them), then compare every rank."""
    for _ in range(10):
        seed = random.SystemRandom().randrange(10**9)
        case = draw(seed)
        verdict = judge(case)
        if verdict.kind != ORACLE_FAILED:
            break
    assert verdict.kind not in (*BAD, ORACLE_FAILED), f"{seed}: {case.label}: {verdict}"


@pytest.mark.parametrize("draw", range(DRAWS))
@pytest.mark.parametrize("family", FAMILIES)
def test_a_fresh_case_agrees(family: str, draw: int) -> None:
    selectors = ("default",) if draw < DRAWS // 2 else SELECTORS
    a_fresh_case_agrees(lambda seed: Case.draw(seed, families=(family,), selectors=selectors))


@pytest.mark.parametrize("draw", KNOWN, ids=lambda draw: draw.__name__)
def test_a_fresh_program_agrees(draw: Callable[[int], Case]) -> None:
    for _ in range(DRAWS):
        a_fresh_case_agrees(draw)


def test_a_fresh_case_of_rarer_forms_agrees() -> None:
    for _ in range(DRAWS):
        a_fresh_case_agrees(draw_wide)


@pytest.mark.parametrize(
    ("draw", "seed"), [(draw, seed) for draw, seeds in KNOWN.items() for seed in seeds]
)
def test_a_known_program_agrees(draw: Callable[[int], Case], seed: int) -> None:
    case = draw(seed)
    verdict = judge(case)
    assert verdict.kind == AGREES, f"{case.label}: {verdict}"


def test_the_known_programs_have_every_call() -> None:
    words = {str(line.words[0]) for seed in KNOWN[calls] for line in calls(seed).program.lines}
    assert words >= {
        "comm_split", "comm_dup", "comm_free", "waitany", "waitsome", "testall", "testany",
        "testsome", "probe", "iprobe", "ssend", "issend", "bsend", "ibsend", "send_init",
        "ssend_init", "bsend_init", "recv_init", "start", "ibarrier", "ibcast", "iallreduce",
    }  # fmt: skip


def test_the_known_programs_give_up_requests_of_each_kind() -> None:
    begun = set()
    for seed in KNOWN[given_up]:
        words = [line.words for line in given_up(seed).program.lines]
        tags = {word[3] for word in words if word[0] == "cancel"}
        begun |= {word[0] for word in words if word[0] in {"irecv", "issend"} and word[2] in tags}
        begun |= {word[0] for word in words if word[0] == "request_free"}
    assert begun == {"irecv", "issend", "request_free"}


def test_the_known_programs_name_requests_in_every_way() -> None:
    named = {
        str(line.words[0])
        for seed in KNOWN[numbered]
        for line in numbered(seed).program.lines
        if any("request" in str(word) for word in line.words)
    }
    assert named >= {"isend", "irecv", "wait", "test", "waitall", "waitany", "waitsome"}


# Rank 0 waits for two sets of its requests that overlap in time; rank 1 sends the messages of the
# second set only after rank 0 has completed the first.
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


RANKS = 512
PLATFORM = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="flat" prefix="node-" suffix="" radical="0-511" speed="1Gf" bw="125MBps" lat="50us"
           sharing_policy="SPLITDUPLEX"/>
</platform>
"""


@pytest.mark.oracle
@pytest.mark.parametrize("imbalance", (0.0, 0.05))
def test_every_rank_of_a_halo_exchange_ends_when_simgrid_says(
    imbalance: float, tmp_path: Path
) -> None:
    platform, hostfile, trace = tmp_path / "flat.xml", tmp_path / "hosts", tmp_path / "halo"
    platform.write_text(PLATFORM)
    hosts = [f"node-{rank}" for rank in range(RANKS)]
    hostfile.write_text("".join(f"{host}\n" for host in hosts))
    halo = PATTERNS["halo3d"](
        ranks=RANKS, grid=(8, 8, 8), iterations=campaign(1, 3), allreduce=8, imbalance=imbalance
    )
    halo.write(trace)
    theirs = run_oracle(platform, hostfile, trace)
    ours = tisim.replay(trace, platform=platform, hosts=hosts)
    assert list(ours.finish) == pytest.approx(theirs, rel=1e-6, abs=1e-9)
