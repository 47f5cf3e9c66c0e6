"""Cases are predicted and compared; thresholds decide the exit status."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

import tisim
from tests.unit.command_line import BACKBONE, RING, CommandLine
from tests.unit.record.programs import ENVIRONMENT, libraries
from tisim.studies.validation import Case, Study, Thresholds, validate
from tisim.studies.validation.page import page

PREDICTED = tisim.replay(RING, platform=BACKBONE).simulated_time


def case(name: str, *real: float, **more: object) -> Case:
    made = Case(name, Path(RING), Path(BACKBONE), real=real)
    return dataclasses.replace(made, **more)  # type: ignore[arg-type]


def test_errors_and_their_intervals() -> None:
    found = validate(Study((case("ring", PREDICTED / 0.8, PREDICTED / 0.9, PREDICTED),)))
    (ring,) = found.results
    assert ring.prediction == PREDICTED
    assert ring.error == pytest.approx(-0.1)
    assert ring.error_interval == pytest.approx((-0.2, 0.0))
    assert ring.is_noisy  # the quartiles are more than a tenth apart
    assert found.passed


def test_groups_and_thresholds() -> None:
    cases = (
        case("a", PREDICTED, group="exact"),
        case("b", PREDICTED / 1.1, group="wrong"),
        case("c", PREDICTED / 0.7, group="wrong"),
        case("d", PREDICTED * 0.5, PREDICTED, PREDICTED * 2, group="wrong"),  # too noisy
    )
    thresholds = {"": Thresholds(median=0.05), "wrong": Thresholds(mean=0.3, worst=0.25)}
    found = validate(Study(cases, thresholds))
    exact, wrong, everything = found.summaries
    assert (exact.mean, exact.worst) == pytest.approx((0, 0))
    assert (wrong.cases, wrong.noisy) == (3, 1)
    assert (wrong.mean, wrong.median, wrong.worst) == pytest.approx((0.2, 0.2, 0.3))
    assert everything.median == pytest.approx(0.1)
    assert found.violations == (
        "the median error of all cases is 10.0%, above 5.0%",
        "the worst error of 'wrong' is 30.0%, above 25.0%",
    )
    assert not found.passed


def test_the_page_shows_each_case() -> None:
    found = validate(Study((case("ring <1>", PREDICTED, PREDICTED * 1.01),)))
    text = page("a & b", found, ["yesterday"])
    assert "<h1>a &amp; b</h1>" in text
    assert "ring &lt;1&gt;" in text
    assert text.count("<circle") == 2  # the case, and its group in the legend
    assert "yesterday" in text


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = CommandLine(tmp_path, capsys)
    study = command.write(
        "study.toml",
        f'thresholds = {{worst = 0.1}}\n[[case]]\nname = "ring"\ntrace = "{RING}"\n'
        f'platform = "{BACKBONE}"\nreal = [{PREDICTED / 1.05}]\n'
        f'[[case]]\nname = "slow"\ntrace = "{RING}"\nplatform = "{BACKBONE}"\n'
        f"real = [{PREDICTED / 2}]\n",
    )
    html, result = tmp_path / "study.html", tmp_path / "study.json"
    ran = command("validate", study, "-o", str(html), "--json", str(result))
    assert ran.status == 1
    assert "+5.0%" in ran.out
    assert "the worst error of all cases is 100.0%, above 10.0%" in ran.err
    assert html.read_text().endswith("</html>\n")
    errors = {one["name"]: one["error"] for one in json.loads(result.read_text())["cases"]}
    assert errors == {"ring": pytest.approx(0.05), "slow": pytest.approx(1.0)}
    assert command("validate", str(tmp_path / "none.toml")).status == 2


def test_a_real_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ring on one host has no likeness to the backbone: the error is large and explained."""
    if not libraries():
        pytest.skip("no mpicc and mpirun are installed")
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    mpi = libraries()[0]
    executed = dataclasses.replace(case("ring"), command=(mpi.run,), compiler=mpi.cc, speed=1e12)
    stuck_trace = tmp_path / "stuck.txt"
    stuck_trace.write_text("0 recv 1 0 1\n1 recv 0 0 1\n")
    stuck = dataclasses.replace(executed, name="stuck", trace=stuck_trace, time_limit=1.0)
    found = validate(Study((executed, stuck), large=0.0, noisy=1e9))
    (ring,) = found.results
    assert len(ring.real) == 5
    assert ring.busy is not None
    assert ring.differences != () or ring.spread > abs(ring.error)
    assert [name for name, _ in found.failed] == ["stuck"]
    assert not found.passed


def test_seeds_spread_the_prediction() -> None:
    found = validate(Study((case("ring", PREDICTED, seeds=5),)))
    (ring,) = found.results
    assert len({*ring.predicted}) == 5
    assert ring.prediction == sorted(ring.predicted)[2]
    low, high = ring.error_interval
    assert low < ring.error < high
