"""The oracle itself: the generator of cases, the campaign, the executor in SimGrid."""

from __future__ import annotations

import json
import os
import random
from dataclasses import replace
from pathlib import Path

import pytest

from tests.oracle import compare
from tests.oracle.campaign import Shrinker
from tests.oracle.cases import Case, run_simgrid
from tests.oracle.compare import (
    AGREES,
    BAD,
    CHAOTIC,
    DISAGREES,
    ORACLE_FAILED,
    ROUNDING,
    TISIM_FAILED,
    judge,
    run_tisim,
)
from tests.oracle.programs.call_programs import draw_calls
from tests.oracle.programs.program import Each, Line, Peer, Program
from tests.oracle.programs.windows import ACCESSES, MAKERS, WITH_REQUEST, WindowAuthor
from tests.oracle.simgrid_exec import OracleError, run_oracle
from tests.support import campaign


def test_a_seed_gives_one_case() -> None:
    assert Case.draw(7) == Case.draw(7)
    assert Case.draw(7) != Case.draw(8)


def test_a_program_still_fits_together_without_a_rank() -> None:
    for seed in range(40):
        program = Case.draw(seed).program
        smaller = program.without_rank(program.ranks // 2)
        for line in smaller.lines:
            assert 0 <= line.rank < smaller.ranks
            for word in line.words:
                if isinstance(word, Peer):
                    assert 0 <= word.rank < smaller.ranks
                if isinstance(word, Each):
                    assert len(word.values) == smaller.ranks


def test_dropping_a_rank_renumbers_the_others() -> None:
    program = Program(
        3,
        (
            Line(1, 0, ("send", Peer(2), 5, 10)),
            Line(1, 2, ("recv", Peer(0), 5, 10)),
            Line(2, 1, ("send", Peer(0), 5, 10)),
            Line(2, 0, ("recv", Peer(1), 5, 10)),
            Line(3, 2, ("alltoallv", 6, Each((1, 2, 3)), 6, Each((1, 2, 3)))),
        ),
    )
    assert program.without_rank(1).texts() == [
        "0 send 1 5 10\n",
        "1 recv 0 5 10\n1 alltoallv 6 1 3 6 1 3\n",
    ]


def test_the_shrinker_leaves_what_matters() -> None:
    case = next(case for case in map(Case.draw, range(50)) if len(case.program.events()) > 30)
    wanted = case.program.events()[20]
    rank = next(line.rank for line in case.program.lines if line.event == wanted)

    def holds(other: Case) -> bool:
        return wanted in other.program.events()

    small = Shrinker(holds).shrink(case)
    assert small.program.events() == [wanted]
    assert small.config == {}
    assert small.program.ranks <= len({line.rank for line in case.program.lines})
    assert any(line.event == wanted for line in case.program.lines if line.rank == rank)


def test_the_shrinker_drops_factors_with_their_model() -> None:
    config = {"network/model": "CM02", "network/bandwidth-factor": "0.5", "cpu/maxmin": "1"}
    case = replace(Case.draw(0), config=config)
    asked: list[Case] = []

    def holds(other: Case) -> bool:
        asked.append(other)
        return "network/bandwidth-factor" in other.config

    assert "network/model" in Shrinker(holds).drop_config(case).config
    assert {"cpu/maxmin": "1"} in [other.config for other in asked]


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("factor", "kind"), [(1.0, AGREES), (1 + 1e-7, AGREES), (1 + 1e-4, DISAGREES)]
)
def test_judge_compares_every_rank(
    factor: float, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case.draw(3, families=("cluster",))
    ends = run_simgrid(case, tmp_path)
    ends[-1] *= factor
    monkeypatch.setattr(compare, "replay_here", lambda case, directory: ends)
    assert judge(case).kind == kind


@pytest.mark.oracle
@pytest.mark.parametrize(
    ("by_compute", "by_latency", "kind"),
    [(2e-4, 0.0, CHAOTIC), (2e-5, 2e-4, ROUNDING), (2e-5, 2e-5, DISAGREES)],
)
def test_judge_asks_how_sure_simgrid_is(
    by_compute: float,
    by_latency: float,
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = Case.draw(3, families=("cluster",))
    ends = [end * 1.001 for end in run_simgrid(case, tmp_path)]
    answers = iter([by_compute, by_latency])
    monkeypatch.setattr(compare, "replay_here", lambda case, directory: ends)
    monkeypatch.setattr(compare, "moves", lambda variants, ends, directory: next(answers))
    assert judge(case).kind == kind


def test_jitter_changes_latencies_alone() -> None:
    case = Case.draw(3, families=("zones",))
    jittered = case.jittered(0, relative=0.5).platform
    words, others = case.platform.split(), jittered.split()
    changed = [word for word, other in zip(words, others, strict=True) if word != other]
    assert changed
    assert all("lat" in word for word in changed)


@pytest.mark.oracle
def test_judge_survives_what_tisim_does(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case.draw(3, families=("cluster",))

    def raises(case: Case, directory: Path) -> list[float]:
        raise ValueError("no such thing")

    monkeypatch.setattr(compare, "replay_here", raises)
    verdict = judge(case)
    assert (verdict.kind, verdict.cause) == (TISIM_FAILED, "ValueError: no such thing")
    monkeypatch.setattr(compare, "replay_here", lambda case, directory: os._exit(3))
    assert judge(case).cause == "crashed, exit status 3"


@pytest.mark.oracle
@pytest.mark.parametrize("trace", ["lu.S.4", "dt.S.BH", "is.S.16"])
@pytest.mark.parametrize("platform", ["backbone", "graphene", "fattree"])
def test_it_gives_the_reference(root: Path, nas_traces: Path, trace: str, platform: str) -> None:
    cases = json.loads((root / "tests/golden/reference.json").read_text())["cases"]
    base = root / "platforms" / platform
    for case in cases:
        if (case["trace"], case["platform"]) == (trace, platform):
            ends = run_oracle(f"{base}.xml", f"{base}.hosts", nas_traces / trace, case["cfg"])
            assert ends == pytest.approx(case["ends"], rel=1e-12)


@pytest.mark.oracle
def test_a_deadlock_is_an_error(root: Path, tmp_path: Path) -> None:
    for rank in (0, 1):
        (tmp_path / f"rank-{rank}.txt").write_text(f"{rank} recv {1 - rank} 0 8\n")
    base = root / "platforms/backbone"
    with pytest.raises(OracleError, match=r"[Dd]eadlock"):
        run_oracle(f"{base}.xml", f"{base}.hosts", tmp_path)


@pytest.mark.oracle
def test_an_unknown_action_is_an_error(root: Path, tmp_path: Path) -> None:
    (tmp_path / "rank-0.txt").write_text("0 frobnicate\n")
    base = root / "platforms/backbone"
    with pytest.raises(OracleError, match="unknown action frobnicate"):
        run_oracle(f"{base}.xml", f"{base}.hosts", tmp_path)


#: Together they contain every call; in the last two, ranks compete for a list at the same instant.
KNOWN = (0, 2, 5, 10, 13, 17, 20, 36, 2064, 2094)


@pytest.mark.oracle
@pytest.mark.parametrize("seed", KNOWN)
def test_a_known_program_agrees(seed: int) -> None:
    case = draw_calls(seed, author=WindowAuthor)
    verdict = judge(case)
    assert verdict.kind == AGREES, f"{case.label}: {verdict}"


@pytest.mark.parametrize("ordering", ["fair", "fifo"])
@pytest.mark.parametrize("library", ["openmpi", "mpich"])
@pytest.mark.parametrize("seed", KNOWN)
def test_a_known_program_ends_with_locks_by_messages(
    seed: int, library: str, ordering: str, tmp_path: Path
) -> None:
    """No rank waits forever for a target to read the data sent to it."""
    case = draw_calls(seed, author=WindowAuthor)
    options = {"smpi/rma": library, "network/ordering": ordering}
    case = replace(case, config={**case.config, **options})
    case.write(tmp_path)
    ends = run_tisim(case, tmp_path)
    assert not isinstance(ends, str), ends


@pytest.mark.oracle
def test_the_known_programs_have_every_call() -> None:
    words = {
        str(line.words[0])
        for seed in KNOWN
        for line in draw_calls(seed, author=WindowAuthor).program.lines
    }
    epochs = "win_fence win_post win_start win_complete win_wait win_lock win_unlock win_lock_all"
    flushes = "win_flush win_flush_local win_flush_all win_flush_local_all win_unlock_all win_free"
    assert words >= {*ACCESSES, *WITH_REQUEST, *MAKERS, *epochs.split(), *flushes.split()}


@pytest.mark.oracle
@pytest.mark.parametrize("_", range(campaign(0, 300)))
def test_a_fresh_program_agrees(_: int) -> None:
    for _ in range(10):
        seed = random.SystemRandom().randrange(10**9)
        case = draw_calls(seed, author=WindowAuthor)
        verdict = judge(case)
        if verdict.kind != ORACLE_FAILED:
            break
    assert verdict.kind not in (*BAD, ORACLE_FAILED), f"{seed}: {case.label}: {verdict}"
