"""How often intervals hold the real times, and the spread of these."""

from __future__ import annotations

import dataclasses
import json
import random
from pathlib import Path

import numpy as np
import pytest

import tisim
from tests.unit.command_line import BACKBONE, RING, CommandLine
from tisim.studies.uncertainty import Interval, ParameterSets
from tisim.studies.validation import Case, CaseResult, Study, load_study, validate
from tisim.studies.validation.comparison import (
    Coverage,
    keep_errors,
    median_interval,
    quartile_distance,
)

PREDICTED = tisim.replay(RING, platform=BACKBONE).simulated_time
SETS = ({"smpi/bw-factor": "0:0.9"}, {"smpi/bw-factor": "0:0.91"})


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(tmp_path, capsys)


def result(real: float, *, spread: float = 0.0, noisy: bool = False) -> CaseResult:
    """A case that is predicted to take a second, with two sets of parameters."""
    return CaseResult(
        Case("x", Path("x.tit"), Path("x.xml")),
        (real,),
        (1.0,),
        is_noisy=noisy,
        with_sets=(1.0 - spread, 1.0 + spread),
    )


def test_parameters_alone_hold_what_lies_between_them() -> None:
    coverage = Coverage.of([result(1.05, spread=0.1), result(1.2, spread=0.1)])
    assert coverage is not None
    assert (coverage.cases, coverage.parameters_alone) == (2, 1)


def test_errors_of_other_cases_give_nine_tenths() -> None:
    rng = np.random.default_rng(5)
    real = np.exp(0.1 * rng.standard_normal(400))
    coverage = Coverage.of([result(float(one)) for one in real])
    assert coverage is not None
    assert coverage.parameters_alone == 0
    assert 0.87 <= coverage.with_errors / coverage.cases <= 0.93
    assert coverage.width == pytest.approx(2 * 1.645 * 0.1, rel=0.1)


def test_a_case_does_not_know_its_own_error() -> None:
    coverage = Coverage.of([result(1.0), result(1.0), result(1.5)])
    assert coverage is not None
    assert coverage.with_errors == 2


def test_a_case_knows_nothing_of_its_group() -> None:
    known = [result(1.5), result(1.5), *[result(1.0)] * 8]
    grouped = [
        dataclasses.replace(one, case=dataclasses.replace(one.case, group=group))
        for one, group in zip(known, "aabbbbbbbb", strict=True)
    ]
    coverage = Coverage.of(grouped)
    assert coverage is not None
    # Those of `b` know that errors of a half occur; those of `a` that there are none.
    assert coverage.with_errors == 8
    # No interval is narrower than 1 % of the prediction either way.
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
    found = validate(Study((case, dataclasses.replace(case, name="b", real=(PREDICTED,)))))
    assert keep_errors(found.results) == [str(tmp_path / "p.sets.json")]
    kept = ParameterSets.beside(platform)
    assert kept.sets == SETS
    assert [one.error for one in kept.validated] == pytest.approx((np.log(2), 0.0))
    assert [one.name for one in kept.validated] == ["a", "b"]
    assert kept.validated[0].shares == pytest.approx(found.results[0].shares, abs=1e-4)
    interval = Interval.of((1.0, 1.0), 0, kept.validated)
    assert (interval.low, interval.high) == pytest.approx((0.5, 2.0))
    assert interval.text().endswith(
        "with 2 sets of parameters and the errors of 2 programs validated on it"
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
    assert "90 % intervals hold" in ran.out
    assert "p.sets.json" in ran.err
    coverage = json.loads((tmp_path / "f.json").read_text())["coverage"]
    assert coverage["cases"] == 1
    replayed = run("replay", "--platform", str(platform), "--uncertainty", "2", RING)
    assert "and the errors of 1 programs validated on it" in replayed.out


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
    # With 20 values the sixth and the fifteenth: the classical table of the sign test.
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
