"""Reports on sweeps, and notebooks."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tests.support import ROOT, campaign
from tisim.commands.sweep import sweep_command
from tisim.errors import InputError
from tisim.studies.sweep.prices import Offer, Prices, pareto_front
from tisim.studies.sweep.report import Run, effects, write_sweep_report

STUDY = """
trace = "{root}/traces/npb.S.tar.xz/lu.S.4"
platform = "{root}/platforms/graphene.xml"
workers = 1
[vary]
bandwidth = ["x1", "x2", "x4"]
"smpi/coll-selector" = ["default", "ompi"]
[prices]
bandwidth = {{ "x1" = 100, "2x" = 180, "x4" = 330 }}
"""


def rows(times: dict[tuple[object, object], float]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "scenario": [f"a={a}, b={b}" for a, b in times],
            "a": [a for a, _ in times],
            "b": [b for _, b in times],
            "simulated_time": list(times.values()),
            "ratio": 1.0,
            "compute_mean": 0.5,
            "communication_mean": 0.5,
            "baseline_time": 1.0,
            "error": None,
            "warnings": None,
        }
    )


def test_an_effect_is_that_of_the_axis_alone() -> None:
    grid = [
        Run({"a": str(a), "b": b}, a**0.5 * extra)
        for a in (1, 4)
        for b, extra in (("x", 1.0), ("y", 1.1))
    ]
    first, second = effects(["a", "b"], grid)
    assert (first.axis, first.low_value, first.high_value) == ("a", "1", "4")
    assert (1 + first.high) / (1 + first.low) == pytest.approx(2.0)
    assert (1 + first.high) * (1 + first.low) == pytest.approx(1.0)
    assert (1 + second.high) / (1 + second.low) == pytest.approx(1.1)


def test_points_are_compared_to_the_baseline() -> None:
    measured_effects = effects(
        ["a", "b"], [Run({"a": "2"}, 0.5), Run({"b": "2"}, 0.9), Run({}, 1.0)]
    )
    assert [(script.axis, script.low_value, script.high_value) for script in measured_effects] == [
        ("a", "2", "baseline"),
        ("b", "2", "baseline"),
    ]


@given(st.lists(st.floats(0.1, 10.0), min_size=20, max_size=40, unique=True))
def test_samples_of_ranges_are_fitted(values: list[float]) -> None:
    runs = [
        Run({"a": repr(value), "b": repr(1.0 + place % 7)}, value**0.5)
        for place, value in enumerate(values)
    ]
    (found,) = [effect for effect in effects(["a", "b"], runs) if effect.axis == "a"]
    assert found.fitted
    expected = (max(values) / min(values)) ** 0.5
    assert (1 + found.high) / (1 + found.low) == pytest.approx(expected, rel=1e-6)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), min_size=1, max_size=30))
def test_no_offer_beats_one_of_the_front(points: list[tuple[int, int]]) -> None:
    offers = [Offer(cost, time, "") for cost, time in points]
    best = [offers[place] for place in pareto_front(offers)]
    for offer in offers:
        assert any(b.cost <= offer.cost and b.time <= offer.time for b in best)
    for b in best:
        better = (offer.cost <= b.cost and offer.time <= b.time and offer != b for offer in offers)
        assert not any(better)
    assert [b.cost for b in best] == sorted({b.cost for b in best})


def test_the_page_of_a_study(root: Path, tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(STUDY.format(root=root))
    page = tmp_path / "study.html"
    arguments = [str(study), "--output", str(tmp_path / "s.csv"), "--report", str(page)]
    outcome = CliRunner().invoke(sweep_command, arguments)
    assert outcome.exit_code == 0, outcome.output
    text = page.read_text()
    headings = re.findall("<h2>(.*?)</h2>", text)
    assert headings == [
        "Summary",
        "What to do next",
        "What matters most",
        "Time against cost",
        "Time over each axis",
        "Time over two axes",
        "All scenarios",
    ]
    assert text.count("<svg") == 5
    assert "http" not in text.replace("http-equiv", "")
    assert "Try values of bandwidth beyond x4: the time still decreases there." in text
    assert "Leave out smpi/coll-selector: it changes the time by less than 1%." in text
    fastest = "--bandwidth x4 --config smpi/coll-selector=ompi --report fastest.html TRACE"
    assert fastest in text
    assert "or real runs are stored next to graphene.xml" in text
    assert ">bandwidth, times</text>" in text
    assert "bandwidth matters most: from x4 to x1 the time grows by a factor of 1.15" in text
    assert text.count("</tr>") == 1 + 3 + 1 + 6


def test_replicates_become_ranges_and_failures_are_said(tmp_path: Path) -> None:
    frame = rows({(1, "x"): 1.0, (2, "x"): 2.0, (1, "y"): 1.5, (2, "y"): 3.0, (3, "y"): 1.0})
    frame = pd.concat([frame, frame.assign(simulated_time=frame["simulated_time"] * 1.2)])
    frame = frame.reset_index(drop=True)
    frame["error"] = frame["error"].astype(object)
    frame.loc[4, "error"] = "SimulationError: <deadlock>"
    frame["warnings"] = "the numbers of <alltoallv> are data"
    write_sweep_report(frame, tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    assert "from minimum to maximum" in text
    assert "1 scenarios failed" in text
    assert "Fix the failures first: a=3, b=y: SimulationError" in text
    assert "&lt;deadlock&gt;" in text
    assert text.count("the numbers of &lt;alltoallv&gt; are data") == 1


@pytest.mark.parametrize(
    ("prices", "said"),
    [
        ({"c": {"1": 1}}, "c has prices but does not vary; what varies: a, b"),
        ({"a": {"1": 1}}, "a = 2 has no price; values with one: 1"),
        ({"a": 3}, "the prices of a must be a price for each value"),
        ({"a": {"1": -1}}, "the price of a = 1 must be a non-negative number, not -1"),
    ],
)
def test_prices_that_do_not_fit(tmp_path: Path, prices: dict[str, object], said: str) -> None:
    frame = rows({(1, "x"): 1.0, (2, "x"): 2.0})
    with pytest.raises(InputError, match=said):
        write_sweep_report(frame, tmp_path / "r.html", prices=Prices(prices))
    assert not (tmp_path / "r.html").exists()


def test_what_is_wrong_is_said_before_the_sweep(root: Path, tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(STUDY.format(root=root).replace("= 330", '= "x"'))
    arguments = [str(study), "--output", str(tmp_path / "s.csv"), "--report"]
    outcome = CliRunner().invoke(sweep_command, [*arguments, str(tmp_path / "s.html")])
    assert isinstance(outcome.exception, InputError)
    assert f"{study}:9: the price of bandwidth = x4" in str(outcome.exception)
    outcome = CliRunner().invoke(sweep_command, [*arguments, str(tmp_path / "s.pdf")])
    assert "must be .html" in str(outcome.exception)
    assert not (tmp_path / "s.csv").exists()


def test_long_names_of_categories_are_points_with_slanted_names(tmp_path: Path) -> None:
    names = [f"platform-of-the-year-{year}" for year in range(2020, 2026)]
    frame = rows({(n, name): 1.0 + n for n in (1, 2) for name in names})
    write_sweep_report(frame, tmp_path / "r.html")
    text = (tmp_path / "r.html").read_text()
    assert text.count('transform="rotate(-30') == 6
    for name in names:
        assert f">{name}</text>" in text


TEXT = (ROOT / "docs" / "sweeps.md").read_text()


def test_every_column_is_explained() -> None:
    from tisim.studies.sweep.scenario import OUTCOMES

    for name in (*OUTCOMES, "ratio", "baseline_time", "key"):
        assert f"`{name}`" in TEXT


NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
SECONDS = 300  # per cell, on a busy machine


# `make docs` executes all of them, and fails if a cell does.
@pytest.mark.filterwarnings("default")  # of Jupyter's own
@pytest.mark.parametrize(
    "file", NOTEBOOKS[campaign(1, 0) : campaign(2, 4)], ids=lambda file: file.stem
)
def test_a_notebook_runs(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat", reason="needs the extra tisim[notebook]")
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient")
    pytest.importorskip("ipykernel", reason="needs the extra tisim[notebook]")
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    notebook = nbformat.read(file, as_version=4)
    client = nbclient.NotebookClient(
        notebook,
        timeout=SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(file.parent)}},
    )
    client.execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    pictures = [one for one in outputs if "image/png" in one.get("data", {})]
    told = [one["text"] for one in outputs if one.output_type == "stream" and one.name == "stderr"]
    assert pictures
    assert told == []


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_is_stored_without_output(file: Path) -> None:
    for cell in json.loads(file.read_text())["cells"]:
        assert not cell.get("outputs")
        assert not cell.get("execution_count")


def test_there_are_notebooks() -> None:
    assert [file.stem for file in NOTEBOOKS] == [
        "calibration",
        "first_replay",
        "training_layouts",
        "what_if_on_graphene",
    ]
