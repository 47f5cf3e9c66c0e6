"""Comparison of predictions with real runs: intervals, causes of differences, tables."""

from __future__ import annotations

import dataclasses
import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

import tisim
from benchmarks.public_hpl import Linpack
from benchmarks.public_tables import both_windows, read_imb, read_osu, turns, windows
from tests.unit.command_line import BACKBONE, RING, CommandLine
from tisim import PlatformBuilder, replay
from tisim.analysis.measured import MeasuredCalls, write_measured_run
from tisim.platform import new
from tisim.studies.uncertainty import Interval, ParameterSets
from tisim.studies.validation import Case, CaseResult, Study, load_study, validate
from tisim.studies.validation.comparison import (
    Coverage,
    median_interval,
    quartile_distance,
    store_errors,
)
from tisim.traces import Trace
from tisim.traces.volumes import PREDICTED_TIME

PREDICTED = tisim.replay(RING, platform=BACKBONE).simulated_time
SETS = ({"smpi/bw-factor": "0:0.9"}, {"smpi/bw-factor": "0:0.91"})


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(tmp_path, capsys)


def result(real: float, *, spread: float = 0.0, noisy: bool = False) -> CaseResult:
    """Return a case with a predicted time of one second, with two sets of parameters."""
    return CaseResult(
        Case("x", Path("x.tit"), Path("x.xml")),
        (real,),
        (1.0,),
        is_noisy=noisy,
        with_sets=(1.0 - spread, 1.0 + spread),
    )


@pytest.fixture
def nothing_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the errors that tisim ships with."""
    monkeypatch.setattr("tisim.studies.validation.comparison.shipped_programs", tuple)


def test_the_programs_that_tisim_comes_with_count_too() -> None:
    coverage = Coverage.of([result(1.0), result(1.0)])
    assert coverage is not None
    assert coverage.width > 0.02


@pytest.mark.usefixtures("nothing_shipped")
def test_cases_without_errors_have_the_least_width() -> None:
    coverage = Coverage.of([result(1.0), result(1.0)])
    assert coverage is not None
    assert coverage.width == pytest.approx(0.02)


def test_parameters_alone_hold_what_lies_between_them() -> None:
    coverage = Coverage.of([result(1.05, spread=0.1), result(1.2, spread=0.1)])
    assert coverage is not None
    assert (coverage.cases, coverage.parameters_alone) == (2, 1)


@pytest.mark.usefixtures("nothing_shipped")
def test_errors_of_other_cases_give_nine_tenths() -> None:
    rng = np.random.default_rng(5)
    real = np.exp(0.1 * rng.standard_normal(400))
    coverage = Coverage.of([result(float(one)) for one in real])
    assert coverage is not None
    assert coverage.parameters_alone == 0
    assert 0.87 <= coverage.with_errors / coverage.cases <= 0.93
    assert coverage.width == pytest.approx(2 * 1.645 * 0.1, rel=0.1)


@pytest.mark.usefixtures("nothing_shipped")
def test_a_case_does_not_know_its_own_error() -> None:
    coverage = Coverage.of([result(1.0), result(1.0), result(1.5)])
    assert coverage is not None
    assert coverage.with_errors == 2


@pytest.mark.usefixtures("nothing_shipped")
def test_a_case_knows_nothing_of_its_group() -> None:
    known = [result(1.5), result(1.5), *[result(1.0)] * 8]
    grouped = [
        dataclasses.replace(one, case=dataclasses.replace(one.case, group=group))
        for one, group in zip(known, "aabbbbbbbb", strict=True)
    ]
    coverage = Coverage.of(grouped)
    assert coverage is not None
    # The cases of `b` use the errors of a half in `a`; those of `a` use the errors of `b`, all
    # zero.
    assert coverage.with_errors == 8
    # No interval is narrower than 1 % of the prediction on either side.
    missed = (0.02 + 20 * 0.49) / 1.5
    assert coverage.score == pytest.approx((2 * missed + 8 * (1.5 - 1 / 1.5)) / 10)


def test_noisy_cases_have_no_interval() -> None:
    assert Coverage.of([result(1.0, noisy=True)]) is None
    assert Coverage.of([]) is None


def test_errors_are_kept_and_counted_in(tmp_path: Path) -> None:
    platform = tmp_path / "p.xml"
    platform.write_text(Path(BACKBONE).read_text())
    ParameterSets(1, SETS).write(platform)
    case = Case("a", Path(RING), platform, real=(2 * PREDICTED,))
    validation = validate(Study((case, dataclasses.replace(case, name="b", real=(PREDICTED,)))))
    assert store_errors(validation.results) == [str(tmp_path / "p.sets.json")]
    kept = ParameterSets.beside(platform)
    assert kept.sets == SETS
    assert [one.error for one in kept.validated] == pytest.approx((np.log(2), 0.0))
    assert [one.name for one in kept.validated] == ["a", "b"]
    assert kept.validated[0].shares == pytest.approx(validation.results[0].shares, abs=1e-4)
    interval = Interval.of((1.0, 1.0), 0, kept.validated)
    assert (interval.low, interval.high) == pytest.approx((0.5, 2.0))
    assert interval.text().endswith(
        "with 2 parameter sets and the errors of 2 programs validated on it"
    )


def test_the_command_keeps_errors(run: CommandLine, tmp_path: Path) -> None:
    platform = tmp_path / "p.xml"
    platform.write_text(Path(BACKBONE).read_text())
    ParameterSets(1, SETS).write(platform)
    study = tmp_path / "study.toml"
    study.write_text(
        f"""
[[case]]
name = "ring"
trace = "{RING}"
platform = "p.xml"
uncertainty = 2
real = [{PREDICTED}]
"""
    )
    assert load_study(study).cases[0].uncertainty == 2
    ran = run("validate", str(study), "--keep-errors", "--json", str(tmp_path / "f.json"))
    assert ran.status == 0
    assert "90 % intervals contain" in ran.out
    assert "p.sets.json" in ran.err
    coverage = json.loads((tmp_path / "f.json").read_text())["coverage"]
    assert coverage["cases"] == 1
    replayed = run("replay", "--platform", str(platform), "--uncertainty", "2", RING)
    assert "and the errors of 1 programs validated on it and 340 programs" in replayed.out


def test_one_set_is_no_interval(run: CommandLine, tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(
        f'[[case]]\nname = "a"\ntrace = "{RING}"\nplatform = "{BACKBONE}"\nuncertainty = 1\n'
    )
    ran = run("validate", str(study))
    assert ran.status == 2
    assert "uncertainty must be 0, or at least 2" in ran.err


def test_few_values_are_all_that_is_known() -> None:
    assert median_interval([3.0]) == (3.0, 3.0)
    assert median_interval([5.0, 1.0, 4.0, 2.0, 3.0]) == (1.0, 5.0)


def test_many_values_say_more() -> None:
    # With 20 values, the sixth and the fifteenth: the classical table of the sign test.
    assert median_interval([float(value) for value in range(1, 21)]) == (6.0, 15.0)


@pytest.mark.parametrize("count", [6, 9, 15, 40])
def test_it_holds_the_median_often_enough(count: int) -> None:
    draw = random.Random(count)
    held = 0
    for _ in range(2000):
        low, high = median_interval([draw.lognormvariate(0, 1) for _ in range(count)])
        held += low <= 1 <= high
    assert held / 2000 >= 0.945


def test_quartiles() -> None:
    assert quartile_distance([1.0]) == 0
    assert quartile_distance([1.0, 2.0, 3.0, 4.0, 5.0]) == pytest.approx(2 / 3)
    assert quartile_distance([2.0] * 5) == 0


pytest.importorskip("pyarrow")

# Rank 0 has a processor for one of two seconds, rank 1 for all of its 1.5 seconds.
TRACE = """\
# counter: time, seconds of processor time times 1e+09 (nanoseconds)
0 barrier
1 barrier
0 compute 1e9
1 compute 1.5e9
0 isend 1 0 1000000
0 waitall
1 recv 0 0 1000000
"""
# Lines of each rank, and begin and end of their calls.
CALLS = [([2, 6, 7], [0.0, 2.1, 2.1], [0.1, 2.6, 2.6]), ([3, 8], [0.0, 1.6], [0.1, 2.6])]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Return the command's arguments: a platform, the trace and its run."""
    names = [str(tmp_path / name) for name in ("p.xml", "two.txt", "two.tir")]
    new.cluster(2, bandwidth="10MBps", latency="1us", speed="1Gf").write(names[0])
    Path(names[1]).write_text(TRACE)
    calls = [MeasuredCalls(np.array(lines), *map(np.array, times)) for lines, *times in CALLS]
    write_measured_run(Trace.open(names[1]), enumerate(calls), names[2])
    return ["explain", "--platform", *names]


def parts_of(tisim: CommandLine, files: list[str]) -> dict[str, tuple[float, float]]:
    out = json.loads(tisim(*files, "--json", "-").out)
    assert sum(part["share"] for part in out["parts"]) == pytest.approx(1.0)
    sizes = [abs(part["difference"]) for part in out["parts"]]
    assert sizes == sorted(sizes, reverse=True)
    return {part["name"]: (part["real"], part["predicted"]) for part in out["parts"]}


def test_what_a_prediction_does_not_have_is_named(tisim: CommandLine, files: list[str]) -> None:
    parts = parts_of(tisim, files)
    assert parts["computing"] == pytest.approx((1.25, 1.25))
    assert parts["off the processor"] == pytest.approx((0.5, 0.0))
    assert parts["isend"][0] == pytest.approx(0.25)
    assert parts["recv"][0] == pytest.approx(0.5)
    shown = tisim(*files).out
    assert shown.startswith("real 2.6 s, predicted 1.6")
    assert "off the processor" in shown
    assert "lacks the CPU time with cold caches" not in shown


@pytest.mark.parametrize("counter", ["another one", PREDICTED_TIME])
def test_computing_is_all_time_between_calls_where_nothing_says_more(
    counter: str, tisim: CommandLine, files: list[str]
) -> None:
    trace = Path(files[-2])
    trace.write_text(f"# counter: {counter}\n{TRACE.partition(chr(10))[2]}")
    assert parts_of(tisim, files)["computing"] == pytest.approx((1.75, 1.25))
    assert "lacks the CPU time of ranks" in tisim(*files).out


def test_a_call_that_became_several_actions_is_one(
    tisim: CommandLine, files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def attributes_of(trace: Trace, rank: int) -> Iterator[tuple[int, Mapping[str, object]]]:
        yield from ((line, {"duration": 1}) for line in ((2, 6), (3, 8))[rank])

    monkeypatch.setattr(Trace, "attributes_of", attributes_of)
    parts = parts_of(tisim, files)
    assert parts["isend + waitall"][0] == pytest.approx(0.25)
    assert parts["isend + waitall"][1] > 0.0
    assert "waitall" not in parts


def test_a_prediction_is_no_real_run(tisim: CommandLine, files: list[str], tmp_path: Path) -> None:
    predicted = str(tmp_path / "predicted.tir")
    assert tisim.replay("--timeline", predicted, files[-2], platform=files[2]).status == 0
    ran = tisim(*files[:-1], predicted)
    assert ran.status == 2
    assert "is the run file of a prediction" in ran.err


def text(programs: object) -> str:
    """Return the lines of all ranks."""
    assert isinstance(programs, (list, tuple))
    return "".join(f"{rank} {line}\n" for rank, lines in enumerate(programs) for line in lines)


@pytest.fixture
def platform(tmp_path: Path) -> Path:
    builder = PlatformBuilder()
    builder.cluster("node", 6, speed="1Gf", bandwidth="1e12Bps", latency="1ns")
    builder.build().write(tmp_path / "platform.xml")
    return tmp_path / "platform.xml"


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize(("rows", "columns", "rings"), [(2, 3, 1), (3, 2, 2), (1, 6, 2), (6, 1, 1)])
def test_linpack_computes_what_it_must(
    tmp_path: Path, platform: Path, rows: int, columns: int, rings: int, ahead: bool
) -> None:
    run = Linpack(1000, 20, rows, columns, rings, ahead, a_triple=1e-9)
    program = [list(run.lines(rank)) for rank in range(rows * columns)]
    words = [line.split() for lines in program for line in lines]
    computed = sum(float(word[1]) for word in words if word[0] == "compute")
    # A multiplication and an addition are two of the 2/3 N^3 operations; each row of processes
    # solves the triangular systems of its columns itself.
    assert computed == pytest.approx(1000**3 / 3 + (rows - 1) * 1000**2 * 20 / 4, rel=0.01)
    (tmp_path / "trace").write_text(text(program))
    assert replay(tmp_path / "trace", platform=platform).simulated_time > 1 / 3 / rows / columns


@pytest.mark.parametrize("program", [windows(3, 100), both_windows(100), turns("Bcast", 100, 3)])
def test_programs_of_benchmarks_come_to_their_end(
    tmp_path: Path, platform: Path, program: object
) -> None:
    (tmp_path / "trace").write_text(text(program))
    assert replay(tmp_path / "trace", platform=platform).simulated_time > 0


def test_tables_are_read(tmp_path: Path) -> None:
    assert read_osu("# Size  Latency (us)\n1      2.50\n1024   3\n") == [(1, 2.5), (1024, 3.0)]
    (tmp_path / "imb").write_text(
        "# Benchmarking PingPong\n #bytes #repetitions t[usec] Mbytes/sec\n 8 1000 1.5 5\n"
        "# Benchmarking Bcast\n #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n"
        " 8 1000 1.0 3.0 2.0\n"
    )
    assert read_imb(tmp_path / "imb") == {"Bcast": [(8, 2.0)]}
