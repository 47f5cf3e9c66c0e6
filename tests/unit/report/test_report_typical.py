"""The part of a run that its report shows first."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tisim
from tests.unit.command_line import CommandLine
from tests.unit.report.browser import needs_browser
from tests.unit.report.report_page import Page, report_of
from tisim.analysis.report.page_data import typical_part
from tisim.platform import new

ROOT = Path(__file__).resolve().parents[3]


@needs_browser
def test_a_typical_part_is_shown_first(driver: Any, lu: Path) -> None:
    page = Page(driver, lu)
    page.open_tab("gantt")
    begin, end = part = page.seen()
    assert 0 < begin < end < 0.079
    assert f"Shown first: {1e6 * (end - begin):.3g} us in which" in page.find("#gantt").text
    page.find("#zoom-all").click()
    assert page.seen()[0] == 0
    page.find("#zoom-typical").click()
    assert page.seen() == pytest.approx(part)
    assert page.complaints() == []


@needs_browser
def test_a_path_of_many_turns_does_not_hide_the_run(driver: Any, lu: Path) -> None:
    """In a picture of the whole run the path has thousands of turns: they are faint."""
    page = Page(driver, lu, "#gantt")
    page.find("#show-path").click()

    def heavy() -> float:
        """The part of the picture that the path hides."""
        return float(
            driver.execute_script(
                """const chart = document.getElementById("gantt-chart");
                const name = getComputedStyle(document.documentElement).getPropertyValue("--path");
                const red = [1, 3, 5].map((at) => parseInt(name.trim().slice(at, at + 2), 16));
                const { width, height } = chart;
                const { data } = chart.getContext("2d").getImageData(0, 0, width, height);
                let count = 0;
                for (let i = 0; i < data.length; i += 4) {
                  if (red.every((one, place) => data[i + place] === one)) count += 1;
                }
                return count / (data.length / 4);"""
            )
        )

    assert heavy() > 0.001
    page.find("#zoom-all").click()
    assert heavy() < 0.02


@needs_browser
def test_a_long_run_has_every_state_of_its_typical_part(driver: Any, tmp_path: Path) -> None:
    from selenium.webdriver import ActionChains

    lines = [f"{rank} compute 10000\n{rank} allreduce 100 0\n" for rank in range(2)]
    report = report_of(tmp_path, "".join(lines * 20_500), 2)
    assert '"mode": "shares"' in report.read_text()
    page = Page(driver, report)
    page.open_tab("gantt")
    chart = page.find("#gantt-chart")
    ActionChains(driver).move_to_element_with_offset(chart, 5, -20).perform()
    assert re.match(r"rank 0: [A-Za-z ]+, in (compute|allreduce)", page.find("#tip").text)
    page.find("#zoom-all").click()
    ActionChains(driver).move_to_element_with_offset(chart, 9, -20).perform()
    assert re.match(r"rank 0, .* to .*\n[\d.]+% ", page.find("#tip").text)
    assert page.complaints() == []


def test_the_typical_part_is_like_the_whole(tmp_path: Path) -> None:
    """A run that starts by computing, and then mostly waits for messages."""
    lines = [f"{rank} compute 1000000" for rank in range(2) for _ in range(200)]
    for _ in range(2000):
        lines += ["0 compute 10000", "0 send 1 0 1000", "1 recv 0 0 1000", "1 compute 10000"]
    (tmp_path / "t.txt").write_text("\n".join(lines) + "\n")
    platform = new.cluster(2, bandwidth="1GBps", latency="1us", speed="1Gf")
    result = tisim.replay(tmp_path / "t.txt", platform=platform, event_log=True)
    log = result.require_event_log()
    begin, end = typical_part(log)
    assert (begin, end) == typical_part(log)
    assert 0.0 <= begin < end <= result.simulated_time
    assert end - begin < result.simulated_time / 10
    together = np.zeros(2, np.int32)

    def shares(of: tuple[float, float]) -> Any:
        seconds = log.seconds_by_state(together, 1, 1, *of)[0, 0]
        return seconds / seconds.sum()

    whole = shares((0.0, result.simulated_time))
    length = end - begin
    others = np.arange(20) * (result.simulated_time - length) / 19
    apart = [np.abs(shares((one, one + length)) - whole).sum() for one in others]
    assert np.abs(shares((begin, end)) - whole).sum() <= min(apart) + 0.02


def test_a_part_of_pictures_can_be_chosen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = CommandLine(tmp_path, capsys)
    ring = str(ROOT / "traces/ring.4")
    page, chart = str(tmp_path / "r.html"), str(tmp_path / "r.svg")
    chosen = ["--begin", "1ms", "--end", "2ms"]
    assert run.replay("--report", page, "--gantt", chart, *chosen, ring).status == 0
    assert '"typical": [0.001, 0.002]' in Path(page).read_text()
    assert "Percentages are those of the whole simulation" in Path(chart).read_text()
    outcome = run.replay(*chosen, ring)
    assert (outcome.status, "give one too" in outcome.err) == (2, True)
    outcome = run.replay("--report", page, "--begin", "2h", ring)
    assert (outcome.status, "the simulation lasts from 0 to" in outcome.err) == (2, True)
    outcome = run.replay("--report", page, "--begin", "soon", ring)
    assert (outcome.status, "--begin" in outcome.err) == (2, True)
