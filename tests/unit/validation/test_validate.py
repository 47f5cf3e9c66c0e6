"""Cases are predicted and compared; thresholds decide the exit status."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

import tisim
from tests.unit.command_line import BACKBONE, RING, CommandLine
from tests.unit.record.programs import Mpi
from tisim.errors import InputError
from tisim.studies.validation import Case, Study, Thresholds, load_study, validate
from tisim.studies.validation.page import page

PREDICTED = tisim.replay(RING, platform=BACKBONE).simulated_time


def case(name: str, *real: float, **more: object) -> Case:
    made = Case(name, Path(RING), Path(BACKBONE), real=real)
    return dataclasses.replace(made, **more)  # type: ignore[arg-type]


def test_errors_and_their_intervals() -> None:
    validation = validate(Study((case("ring", PREDICTED / 0.8, PREDICTED / 0.9, PREDICTED),)))
    (ring,) = validation.results
    assert ring.prediction == PREDICTED
    assert ring.error == pytest.approx(-0.1)
    assert ring.error_interval == pytest.approx((-0.2, 0.0))
    assert ring.is_noisy  # the quartiles are more than a tenth apart
    assert validation.passed


def test_groups_and_thresholds() -> None:
    cases = (
        case("a", PREDICTED, group="exact"),
        case("b", PREDICTED / 1.1, group="wrong"),
        case("c", PREDICTED / 0.7, group="wrong"),
        case("d", PREDICTED * 0.5, PREDICTED, PREDICTED * 2, group="wrong"),  # too noisy
    )
    thresholds = {"": Thresholds(median=0.05), "wrong": Thresholds(mean=0.3, worst=0.25)}
    validation = validate(Study(cases, thresholds))
    exact, wrong, everything = validation.summaries
    assert (exact.mean, exact.worst) == pytest.approx((0, 0))
    assert (wrong.cases, wrong.noisy) == (3, 1)
    assert (wrong.mean, wrong.median, wrong.worst) == pytest.approx((0.2, 0.2, 0.3))
    assert everything.median == pytest.approx(0.1)
    assert validation.violations == (
        "the median error of all cases is 10.0%, above 5.0%",
        "the worst error of 'wrong' is 30.0%, above 25.0%",
    )
    assert not validation.passed


def test_without_a_case_that_counts_there_is_no_number(tmp_path: Path) -> None:
    """JSON has no NaN, and a missing error exceeds no threshold."""
    noisy = case("d", PREDICTED * 0.5, PREDICTED, PREDICTED * 2)
    validation = validate(Study((noisy,), {"": Thresholds(median=0.05)}))
    assert validation.violations == (
        "the median error of all cases is unknown: no case ran whose real times are close enough "
        "to each other",
    )
    text = json.dumps(validation.to_dict(), allow_nan=False)
    assert json.loads(text)["groups"][-1]["median"] is None


def test_the_page_shows_each_case() -> None:
    validation = validate(Study((case("ring <1>", PREDICTED, PREDICTED * 1.01),)))
    text = page("a & b", validation, ["yesterday"])
    assert "<h1>a &amp; b</h1>" in text
    assert "ring &lt;1&gt;" in text
    assert text.count("<circle") == 2  # the point, and the one of the legend
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
    ran = command("validate", study, "--report", str(html), "--json", str(result))
    assert ran.status == 1
    assert "+5.0%" in ran.out
    assert "the worst error of all cases is 100.0%, above 10.0%" in ran.err
    assert html.read_text().endswith("</html>\n")
    errors = {one["name"]: one["error"] for one in json.loads(result.read_text())["cases"]}
    assert errors == {"ring": pytest.approx(0.05), "slow": pytest.approx(1.0)}
    assert command("validate", str(tmp_path / "none.toml")).status == 2
    text = command("validate", study, "--report", str(tmp_path / "study.txt"))
    assert (text.status, text.out) == (2, "")


def test_a_real_run(one_mpi: Mpi, tmp_path: Path) -> None:
    """A ring on one host does not resemble the backbone: the error is large and explained."""
    run = {"command": (one_mpi.run,), "compiler": one_mpi.cc}
    executed = dataclasses.replace(case("ring"), **run, speed=1e12)
    stuck_trace = tmp_path / "stuck.txt"
    stuck_trace.write_text("0 recv 1 0 1\n1 recv 0 0 1\n")
    stuck = dataclasses.replace(executed, name="stuck", trace=stuck_trace, time_limit=1.0)
    validation = validate(Study((executed, stuck), large=0.0, noisy=1e9))
    (ring,) = validation.results
    assert len(ring.real) == 5
    assert ring.busy is not None
    assert ring.differences != () or ring.spread > abs(ring.error)
    assert [name for name, _ in validation.failed] == ["stuck"]
    assert not validation.passed


def test_seeds_spread_the_prediction() -> None:
    validation = validate(Study((case("ring", PREDICTED, seeds=5),)))
    (ring,) = validation.results
    assert len({*ring.predicted}) == 5
    assert ring.prediction == sorted(ring.predicted)[2]
    low, high = ring.error_interval
    assert low < ring.error < high


CASE = '[[case]]\nname = "ring"\ntrace = "ring.txt"\nplatform = "p.xml"\n'


def study(directory: Path, text: str) -> Path:
    path = directory / "study.toml"
    path.write_text(text)
    return path


def test_everything_that_a_study_may_say(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("case,seconds\nring,0.5\nring,0.6\n")
    path = study(
        tmp_path,
        'real_times = "runs.csv"\nnoisy = 0.2\nlarge = 0.5\n'
        '[defaults]\nrepeat = 3\ncommand = ["mpirun", "--host", "a,b"]\n'
        'config = {"smpi/os" = "0"}\n'
        "[thresholds]\nmedian = 0.1\n[thresholds.rings]\nworst = 1\n"
        f'{CASE}group = "rings"\nseeds = 4\nspeed = 2e9\n'
        f'{CASE.replace("ring", "other")}hosts = ["b", "a"]\nreal = [1.0]\n',
    )
    found = load_study(path)
    ring, other = found.cases
    assert (ring.trace, ring.platform) == (tmp_path / "ring.txt", tmp_path / "p.xml")
    assert (ring.group, ring.repeat, ring.seeds, ring.speed) == ("rings", 3, 4, 2e9)
    assert ring.command == ("mpirun", "--host", "a,b")
    assert ring.config == {"smpi/os": "0"}
    assert ring.real == (0.5, 0.6)
    assert (other.group, other.hosts, other.real) == ("all", ("b", "a"), (1.0,))
    assert (found.noisy, found.large) == (0.2, 0.5)
    assert found.thresholds == {"": Thresholds(median=0.1), "rings": Thresholds(worst=1)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "contains no case; a case begins with"),
        ("case = 3", "contains no case; a case begins with"),
        ("cases = 3", "the study has no key 'cases'; did you mean case?"),
        ("a b", "this is not TOML: "),
        (f"{CASE}tracer = 1", "the case 'ring' has no key 'tracer'; did you mean trace?"),
        (CASE.replace("trace", "group"), "the case 'ring' has no trace"),
        (f'{CASE}repeat = "3"', "the case 'ring': repeat must be a whole number, not '3'"),
        (f"{CASE}repeat = true", "the case 'ring': repeat must be a whole number, not True"),
        (f"{CASE}real = [0]", "real times must be positive numbers"),
        (f"{CASE}real = []", "real is empty; omit it to execute the case"),
        (f"{CASE}seeds = 0", "seeds must be at least 1"),
        (CASE * 2, "has two cases called 'ring'"),
        (f'real_times = "no.csv"\n{CASE}', "no.csv: cannot read these real times: No such file"),
        (f'real_times = "bad.csv"\n{CASE}', "bad.csv:2: expected a time in seconds"),
        (f'real_times = "other.csv"\n{CASE}', "contains times of 'halo', which is not a case"),
        (f"noisy = -1\n{CASE}", "noisy must be a fraction such as 0.1, not -1"),
        (f"[thresholds.halo]\nmean = 1\n{CASE}", "thresholds for 'halo', but no"),
        (f"[thresholds]\naverage = 1\n{CASE}", "thresholds has no key 'average'"),
    ],
)
def test_what_is_wrong(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("case,seconds\nring,fast\n")
    (tmp_path / "other.csv").write_text("case,seconds\nhalo,1\n")
    with pytest.raises(InputError) as caught:
        load_study(study(tmp_path, text))
    assert message in str(caught.value)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        load_study(tmp_path / "none.toml")
