"""The generator of cases: SimGrid runs what it draws; and what the campaign does with a case."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.oracle import compare
from tests.oracle.campaign import Shrinker
from tests.oracle.cases import Case, run_simgrid
from tests.oracle.compare import AGREES, CHAOTIC, DISAGREES, ROUNDING, TISIM_FAILED, judge
from tests.oracle.programs.program import Each, Line, Peer, Program


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
