"""The page that shows how two results differ."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import tisim
from tests.unit.sweep.samples import GRAPHENE, ROOT
from tisim import InputError
from tisim.analysis.report.charts import Step, waterfall
from tisim.commands.compare import compare_command

LU = ROOT / "traces" / "npb.S.tar.xz" / "lu.S.4"


def test_the_page(tmp_path: Path) -> None:
    files = []
    for name, config in (("a", {}), ("b<", {"smpi/coll-selector": "ompi"})):
        files.append(str(tmp_path / f"{name}.json"))
        made = tisim.replay(LU, platform=GRAPHENE, config=config, event_log=True)
        Path(files[-1]).write_text(made.to_json())
    page = tmp_path / "difference.html"
    outcome = CliRunner().invoke(compare_command, [*files, "--report", str(page)])
    assert outcome.exit_code == 0, outcome.output
    assert "b takes 0.9985 times as long as a" in outcome.output
    text = page.read_text()
    assert re.findall("<h2>(.*?)</h2>", text) == [
        "Where the difference comes from",
        "Summary",
        "Where the time goes",
        "Ranks",
        "Options and other inputs that differ",
    ]
    assert text.count("<svg") == 5
    first = text.index(
        "<b>b takes 0.9985 times as long as a (-122.884 us); most of it is the state"
    )
    assert first < text.index("<svg") < text.index("b&lt;.json")
    assert "the axis does not begin at 0" in text
    assert "b&lt;.json" in text
    assert "b takes 0.9985 times as long as a" in text
    assert "http" not in text.replace("http-equiv", "")


def test_a_waterfall_ends_where_b_does() -> None:
    steps = [Step("a", 4.0, is_sum=True), Step("wait", -3.0), Step("b", 1.0, is_sum=True)]
    drawn = waterfall(steps, label="time", show=lambda value: f"{value:g} s")
    width = [float(value) for value in re.findall(r'<rect .*? width="([^"]+)"', drawn)]
    assert width[0] == pytest.approx(width[1] + width[2], abs=0.2)
    assert "-3 s" in drawn
    assert "does not begin at 0" not in drawn


def test_equal_results_have_no_charts(tmp_path: Path) -> None:
    made = tmp_path / "a.json"
    made.write_text(tisim.replay(LU, platform=GRAPHENE).to_json())
    page = tmp_path / "same.html"
    outcome = CliRunner().invoke(compare_command, [str(made), str(made), "--report", str(page)])
    assert outcome.exit_code == 0, outcome.output
    assert "both take the same simulated time" in page.read_text()
    assert "<svg" not in page.read_text()


def test_what_results_warn_of_is_said(tmp_path: Path) -> None:
    made = tisim.replay(LU, platform=GRAPHENE)
    a, b, page = (tmp_path / name for name in ("a.json", "b.json", "c.html"))
    a.write_text(made.to_json())
    made.warnings.append("the numbers of alltoallv are data, approximate: means")
    b.write_text(made.to_json())
    for first, which in ((a, "b"), (b, "both")):
        arguments = [str(first), str(b), "--report", str(page)]
        outcome = CliRunner().invoke(compare_command, arguments)
        assert f"tisim: warning: {which}: the numbers of alltoallv" in outcome.output
        assert f"{which}: the numbers of alltoallv are data" in page.read_text()


def test_another_suffix(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(compare_command, ["a", "b", "--report", str(tmp_path / "a.txt")])
    assert isinstance(outcome.exception, InputError)
    assert "call it .html" in str(outcome.exception)
