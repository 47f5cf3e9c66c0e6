"""The benchmarks: their traces, their tables, what they compare. Nothing is timed here."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
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
)
from tisim import Platform
from tisim.traces import check
from tisim.traces.generate import Ring


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place of their own for the traces."""
    directory = tmp_path_factory.mktemp("cache")
    monkeypatch.setattr(traces, "CACHE", directory)
    return directory


# Traces


@pytest.mark.parametrize(("name", "ranks"), [("cg.S.16", 16), ("mg.S.16", 16), ("is.S.16", 16)])
def test_repeated_traces_are_sound(name: str, ranks: int) -> None:
    once, twice = (check(traces.repeated(name, times, ranks).get()) for times in (1, 2))
    assert once.sound and twice.sound
    assert once.ranks == twice.ranks == ranks
    assert twice.actions == 2 * once.actions - 2 * ranks  # they begin and end once
    assert twice.flops == pytest.approx(2 * once.flops)


def test_generated_and_handed_out_traces(root: Path, cache: Path) -> None:
    made = traces.generated("ring", "ring", 3, "--iterations 2")
    assert check(made.get()).ranks == 3
    assert not made.is_rewritten
    lu = traces.handed_out("lu.S.4", root / "traces" / "npb.S.tar.xz", 4)
    assert [file.name for file in traces.files_of(lu.get())] == [f"rank-{r}.txt" for r in range(4)]
    assert lu.is_rewritten
    index = lu.get_for_simgrid()
    files = [Path(line) for line in index.read_text().splitlines()]
    assert [file.name for file in files] == [f"rank-{rank}.txt" for rank in range(4)]
    for file in files:
        text = (lu.get() / file.name).read_text()
        assert file.read_text() == text.replace("-333", "-555") != text
    assert sorted(path.name for path in cache.iterdir()) == ["lu.S.4", "lu.S.4.simgrid", "ring"]


def test_class_a_or_what_stands_in_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = traces.repeated("cg.S.16", 7, 16)
    monkeypatch.setattr(traces, "ROOT", tmp_path)
    assert list(traces.nas("cg.A.64", 64, stand_in)) == [stand_in]
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "cg.A.64.tar.xz").touch()
    (found,) = traces.nas("cg.A.64", 64, stand_in)
    assert (found.name, found.ranks) == ("cg.A.64", 64)


def test_the_cluster(tmp_path: Path) -> None:
    platform = Platform.load(traces.flat_cluster(5))
    assert len(platform.hosts) == 5


def test_cases_have_goals_or_stand_in() -> None:
    cases = list(replays.cases())
    assert {case.platform for case in cases} == {"backbone", "graphene"}
    assert [case.goal for case in cases if case.trace.name == "lu.A.8"] == [10e6, 2.5e6]
    assert any(case.quick for case in cases)
    names = [(case.trace.name, case.platform) for case in cases]
    assert len({*names}) == len(names)


# Topologies


def test_patterns_reach_as_many_ranks_as_the_table_promises() -> None:
    sizes = {pattern.name: max(pattern.sizes) for pattern in topologies.patterns()}
    assert sizes["sparse"] == sizes["halo3d"] == 16384
    assert sizes["incast"] == 10_000
    assert sizes["halo3d, one iteration"] == sizes["ring, one iteration"] == 1_000_000
    names = [case.name for case in topologies.cases()]
    assert len({*names}) == len(names)
    assert "transpose of 256 on fat-tree" in names


def test_an_incast_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    (incast,) = (one for one in topologies.patterns() if one.name == "incast")
    assert check(incast.make(5).get()).sound
    monkeypatch.setattr(loggopsim, "missing", lambda: "not here")
    case = topologies.Case(incast, 5, "cluster")
    cost = topologies.measure(case, repeats=2, start_up=0.0, with_simgrid=False)
    assert (cost.actions, len(cost.cpu), cost.times_as_fast, cost.difference) == (19, 2, None, None)
    packed = next(one for one in topologies.patterns() if one.name.startswith("ring"))
    assert check(packed.make(3).get()).ranks == 3
    assert packed.make(3).get().suffix == ".tit"


def cost(ranks: int, kind: str, cpu: float) -> topologies.Cost:
    case = topologies.Case(topologies.SPARSE, ranks, kind)
    return topologies.Cost(case, 0.5, 1000 * ranks, 2.0, [cpu], 50_000_000)


def test_costs_are_compared_with_the_cluster_and_with_fewer_ranks() -> None:
    flat, small, large = cost(8, "cluster", 2.5), cost(8, "torus", 4.5), cost(16, "torus", 32.5)
    small.simgrid_cpu, small.simgrid_simulated, small.bound_cpu = 9.0, 2.0002, 0.8
    assert topologies.growth([flat, small, large], small) is None
    assert topologies.growth([flat, small, large], large) == pytest.approx(2.0)
    text = report.markdown(report.Measured(costs=[flat, small, large]))
    assert "| sparse | torus | 8 | 8,000 | 500 | 2 | - | 50 | 9 | 2 | 100 | 1e-04 |" in text
    assert "| sparse | torus | 16 | 16,000 | 2e+03 | - | +2.00 | 50 | - | - | - | - |" in text


def test_a_wrong_time_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def in_simgrid(*_: object) -> tuple[None, float]:
        return None, 1.0

    monkeypatch.setattr(topologies, "replay_in_simgrid", in_simgrid)
    with pytest.raises(answers.WrongAnswerError, match=r"sparse of 64 on cluster: tisim 0\.00"):
        topologies.check_times(lambda part: None)


def test_schedules_in_goal(tmp_path: Path) -> None:
    lines = (
        ["init", "compute 3.2", "irecv 1 0 8", "isend 1 0 8", "waitall", "allreduce 8 1"],
        ["init", "send 0 0 8", "recv 0 0 8", "alltoall 4 4", "finalize"],
    )
    files = [tmp_path / "0", tmp_path / "1"]
    for rank, (file, actions) in enumerate(zip(files, lines, strict=True)):
        file.write_text("".join(f"{rank} {action}\n" for action in actions))
    assert "".join(loggopsim.schedules(files)).split("\n\n") == [
        "num_ranks 2",
        "rank 0 {\nl0: calc 100\n"
        "l1: recv 8b from 1 tag 0\nl1 requires l0\nl2: send 8b to 1 tag 0\nl2 requires l0\n"
        "l3: calc 0\nl3 requires l1\nl3 requires l2\n"
        "l4: recv 8b from 1 tag 9999\nl4 requires l3\n"
        "l5: send 8b to 1 tag 9999\nl5 requires l3\n"
        "l6: calc 0\nl6 requires l4\nl6 requires l5\n}",
        "rank 1 {\nl0: send 8b to 0 tag 0\nl1: recv 8b from 0 tag 0\nl1 requires l0\n"
        "l2: recv 4b from 0 tag 9999\nl2 requires l1\n"
        "l3: send 4b to 0 tag 9999\nl3 requires l1\n"
        "l4: calc 0\nl4 requires l2\nl4 requires l3\n}\n",
    ]
    files[0].write_text("0 bcast 8 0\n")
    with pytest.raises(ValueError, match="no GOAL for bcast 8 0"):
        [*loggopsim.schedules(files)]


# Programs


def test_what_a_program_takes() -> None:
    code = "x = bytearray(50_000_000)\nfor i in range(len(x) // 4096): x[i * 4096] = 1\nprint('hi')"
    ran = process.run([sys.executable, "-c", code])
    assert ran.output == "hi\n"
    assert ran.peak_bytes > 50_000_000
    assert ran.cpu_seconds > 0
    with pytest.raises(process.ProgramError, match="oh no"):
        process.run([sys.executable, "-c", "raise SystemExit('oh no')"])
    with pytest.raises(process.ProgramError, match=r"was killed after 0\.1 s"):
        process.run(["sleep", "60"], timeout=0.1)


def test_a_wrong_answer_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reference = process.ROOT / "tests" / "golden" / "reference.json"
    (case, *_) = json.loads(reference.read_text())["cases"]
    answers._check(case)
    case["ends"][2] *= 1 + 2e-6
    with pytest.raises(answers.WrongAnswerError, match=r"lu\.S\.4 on backbone : rank 2 ends at"):
        answers._check(case)


def test_a_result_is_read_without_its_ranks(root: Path) -> None:
    result, _ = scale.timed_replay(root / "traces" / "ring.4", root / "platforms" / "backbone.xml")
    assert result["actions"] == 20
    assert result["wall_time"] > 0


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


def test_the_page_has_a_place_for_the_tables(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(report.PAGE.read_text())
    report.write(measured(), page)
    once = page.read_text()
    assert "| start | 0.6 s |" in once
    report.write(measured(), page)
    again = page.read_text()
    assert [again.count(text) for text in (report._BEGIN, report._END, "| start |")] == [1, 1, 1]
    kept = report.PAGE.read_text().partition(report._BEGIN)[0]
    assert once.startswith(kept)
    assert once.endswith(report.PAGE.read_text().partition(report._END)[2])
    assert list(tmp_path.iterdir()) == [page]


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


def test_without_valgrind_nothing_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    outcome = CliRunner().invoke(command.main, ["--instructions"])
    assert (outcome.exit_code, outcome.output) == (0, "skipped: valgrind is not installed\n")


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
