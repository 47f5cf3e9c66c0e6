"""The benchmarks: their traces, tables and comparisons, without timing."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks import __main__ as command
from benchmarks import (
    answers,
    applications,
    instructions,
    loggopsim,
    more_ranks,
    process,
    replays,
    report,
    scale,
    topologies,
    traces,
    whole_programs,
)
from tisim.traces import check
from tisim.traces.generate import Ring


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a separate directory for the traces."""
    directory = tmp_path_factory.mktemp("cache")
    monkeypatch.setattr(traces, "CACHE", directory)
    return directory


# Traces


@pytest.mark.parametrize(("name", "ranks"), [("cg.S.16", 16), ("mg.S.16", 16), ("is.S.16", 16)])
def test_repeated_traces_are_sound(name: str, ranks: int) -> None:
    once, twice = (check(traces.repeated(name, times, ranks).get()) for times in (1, 2))
    assert once.sound and twice.sound
    assert once.ranks == twice.ranks == ranks
    assert twice.actions == 2 * once.actions - 2 * ranks  # one init and one finalize per rank
    assert twice.flops == pytest.approx(2 * once.flops)


# Topologies


def test_an_incast_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    (incast,) = (pattern for pattern in topologies.patterns() if pattern.name == "incast")
    assert check(incast.make(5).get()).sound
    monkeypatch.setattr(loggopsim, "missing", lambda: "not here")
    case = topologies.Case(incast, 5, "cluster")
    cost = topologies.measure(case, repeats=2, start_up=0.0, with_simgrid=False)
    assert (cost.actions, len(cost.cpu), cost.speedup, cost.difference) == (19, 2, None, None)
    packed = next(pattern for pattern in topologies.patterns() if pattern.name.startswith("ring"))
    assert check(packed.make(3).get()).ranks == 3
    assert packed.make(3).get().suffix == ".tit"


def test_a_wrong_time_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def in_simgrid(*_: object) -> tuple[None, float]:
        return None, 1.0

    monkeypatch.setattr(topologies, "replay_in_simgrid", in_simgrid)
    with pytest.raises(answers.WrongAnswerError, match=r"sparse of 64 on cluster: tisim 0\.00"):
        topologies.check_times(lambda part: None)


# Programs


def test_a_wrong_answer_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reference = process.ROOT / "tests" / "golden" / "reference.json"
    (case, *_) = json.loads(reference.read_text())["cases"]
    answers._check(case)
    case["ends"][2] *= 1 + 2e-6
    with pytest.raises(answers.WrongAnswerError, match=r"lu\.S\.4 on backbone : rank 2 ends at"):
        answers._check(case)


# Tables


def measured() -> report.Measured:
    case = replays.Case(traces.generated("ring", "ring", 3, ""), "backbone", 1e6)
    rate = replays.Rate(case, actions=2_000_000, simulated=2.0, wall=[3.0, 1.0, 2.0], cpu=[1.0])
    rate.process, rate.peak_bytes, rate.simgrid_simulated = [4.0], 50_000_000, 2.000001
    rate.simgrid_wall, rate.simgrid_cpu = [40.0], [30.0]
    goals = [scale.Goal("load", 12e6, 10e6, "", at_least=True), scale.Goal("start", 0.6, 0.5, "s")]
    counts = [instructions.Count("lu", 1_040, 1_000)]
    return report.Measured(71, 3, [rate], goals, counts, ["something: failed"])


def test_the_tables() -> None:
    text = report.markdown(measured())
    assert "71 cases of the reference" in text
    assert (
        "| ring | backbone | 3 | 2,000,000 | 2 | 1,000,000 | 1,000,000 | 40 | 20 | 30 | 10 | 50 | "
        "5e-07 |" in text
    )
    assert "| load | 12,000,000 | at least 10,000,000 | yes |" in text
    assert "| start | 0.6 s | at most 0.5 s | no |" in text
    assert "| lu | 1,040 | 1,000 | +4.00% |" in text
    assert "- something: failed" in text


# Instructions


@pytest.mark.parametrize(("now", "status"), [(1_000, 0), (1_029, 0), (1_031, 1), (969, 1)])
def test_a_change_of_instructions_is_told(
    now: int, status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def count(progress: Callable[[float], None]) -> list[instructions.Count]:
        progress(1.0)
        return [instructions.Count("lu", now, 1_000)]

    monkeypatch.setattr(instructions, "RECORD", tmp_path / "instructions.json")
    monkeypatch.setattr(instructions, "missing", lambda: None)
    monkeypatch.setattr(instructions, "count", count)
    outcome = CliRunner().invoke(command.main, ["--instructions"])
    assert outcome.exit_code == status
    assert f"lu: {now:,} instructions (1,000, " in outcome.output
    assert ("more than 3% of change" in outcome.output) == bool(status)
    assert CliRunner().invoke(command.main, ["--instructions", "--record"]).exit_code == 0
    assert json.loads(instructions.RECORD.read_text())["instructions"] == {"lu": now}


def test_what_is_recorded_is_what_is_counted() -> None:
    recorded = json.loads(instructions.RECORD.read_text())
    assert [*recorded["instructions"]] == [name for name, _, _ in instructions._REPLAYS]


def test_extrapolated_traces_are_compared_and_replayed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for ranks in (4, 8, 16, 32):
        Ring(ranks=ranks, iterations=5).write(tmp_path / f"ring.{ranks}.tit")
    platform = process.ROOT / "platforms" / "backbone.xml"
    arguments = ["--check", "32", "--to", "64", "--platform", str(platform)]
    assert more_ranks.main([str(tmp_path), *arguments]) == 0
    shown = capsys.readouterr().out
    assert "32 ranks: 704 lines, all equal" in shown
    assert "simulated time" in shown
    Ring(ranks=32, iterations=6).write(tmp_path / "ring.32.tit")
    assert more_ranks.main([str(tmp_path), *arguments[:4]]) == 1


def test_whole_programs_count_where_nothing_disturbed_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def case(name: str, real: list[float], had: list[float], noise: float) -> dict[str, object]:
        times = (real, noise, had, 0.9, (0.8, 1.0), 0.95, 1.2)
        prediction = whole_programs.Prediction("LU", name, 2, 4e7, ["small", "four"], True, *times)
        return asdict(prediction)

    (tmp_path / "whole").mkdir()
    quiet = case("quiet", [1.0, 1.1, 0.9], [0.99, 0.97, 0.2], 0.1)
    shared = case("shared", [2.0, 2.0, 2.0], [0.6, 0.97, 0.7], 0.0)
    noisy = case("noisy", [1.8, 1.8, 1.8], [1.0, 1.0, 1.0], 0.11)
    (tmp_path / "whole" / "LU.cases.json").write_text(json.dumps([quiet, shared, noisy]))
    assert whole_programs.main([str(tmp_path), "CoMD"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("CoMD: left out, there is no ")
    assert said[1] == (
        "3 cases of 1 programs, median error 50.0%, mean 38.3%, worst 55.0%; the 1 that nothing "
        "disturbed: median error 10.0%, mean 10.0%, worst 10.0%"
    )
    rows = (tmp_path / "whole" / "table.md").read_text().splitlines()
    assert rows[2].split(" | ")[3:5] == ["40 MB", "small and cold, four"]
    assert rows[2].split(" | ")[8:] == [
        "0.900 s",
        "-10.0%",
        "-20.0%",
        "-5.0%",
        "x1.20",
        "97%",
        "10% |",
    ]
    assert [row.split(" | ")[9] for row in rows[3:5]] == ["(-55.0%)", "(-50.0%)"]


def test_applications_say_what_they_need(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert applications.main([]) == 2
    said = capsys.readouterr().err
    assert "make applications APPLICATIONS=DIR" in said
    assert "LULESH, CoMD, miniFE, miniAMR, SNAP, AMG, Nekbone, hpcg, hpcc, LAMMPS, mpi4py" in said
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert applications.main([str(tmp_path)]) == 0
    assert f"SNAP: left out, there is no {tmp_path}/SNAP\n" in capsys.readouterr().out
