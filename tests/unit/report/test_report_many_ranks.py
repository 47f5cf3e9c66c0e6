"""The Gantt chart of a report of more ranks than have a row each, and heat maps."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from tests.unit.report.browser import needs_browser
from tests.unit.report.report_page import Page, report_of
from tisim.analysis.report.charts import heat_map

RANKS, SLOW = 400, 123


def run(directory: Path, iterations: int) -> Path:
    """The report of a ring, one of whose ranks computes three times as long as the others."""
    trace = ""
    for rank in range(RANKS):
        following, before = (rank + 1) % RANKS, (rank - 1) % RANKS
        step = f"{rank} compute {3e6 if rank == SLOW else 1e6:.0f}\n"
        step += f"{rank} irecv {before} 0 1000\n{rank} send {following} 0 1000\n"
        trace += iterations * f"{step}{rank} wait {before} {rank} 0\n"
    return report_of(directory, trace, RANKS)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("many"), 60)


def data_of(report: Path) -> dict[str, Any]:
    found = re.search(r'id="data"[^>]*>(.*?)</script>', report.read_text(), re.S)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_a_page_has_groups_single_ranks_and_every_state_of_a_part(report: Path) -> None:
    assert report.stat().st_size < 2_000_000
    data = data_of(report)
    assert data["ranks"] == RANKS
    assert [level["size"] for level in data["gantt"]["levels"]] == [10, 1]
    begin, end = data["typical"]
    assert data["detail"]["begin"] <= begin < end <= data["detail"]["end"]
    text = report.read_text()
    assert "groups of 10 ranks" in text and "single ranks in steps of" in text
    assert "<code>tisim view run.tir</code>" in text


def test_short_runs_of_many_ranks_have_every_state(tmp_path: Path) -> None:
    report = run(tmp_path, 3)
    assert data_of(report)["gantt"]["mode"] == "exact"
    assert "Every state of every rank is here" in report.read_text()


def tip_at(page: Page, down: float) -> str:
    """What the page says of a point of its chart: its middle, so far down."""
    from selenium.webdriver import ActionChains

    chart = page.find("#gantt-chart")
    height = int(chart.size["height"])
    offset = int(6 + down * (height - 40) - height / 2)
    ActionChains(page.driver).move_to_element_with_offset(chart, 20, offset).perform()
    return str(page.find("#tip").text)


@needs_browser
def test_ranks_are_zoomed_down_to_single_ones(driver: Any, report: Path) -> None:
    page = Page(driver, report, "#gantt")
    assert page.lanes() == (0, RANKS - 1)
    assert "A row is 10 ranks." in page.find("#gantt-note").text
    # Every state of the part that is shown first is known, also that of each rank of a row.
    assert re.match(r"ranks \d+-\d+, .*\n\d+ [a-z ]+", tip_at(page, 0.5))
    for _ in range(4):
        page.find("#lanes-in").click()
    first, last = page.lanes()
    assert last - first + 1 in (25, 26)
    assert f"ranks {first} to {last}" in page.find("#range").text
    assert "A row is" not in page.find("#gantt-note").text
    assert re.match(r"rank \d+: [a-z ]+, in \w+", tip_at(page, 0.5))
    assert page.complaints() == []


@needs_browser
def test_the_address_counts_ranks(driver: Any, report: Path) -> None:
    """The slow rank has its own row, also where not every state is known: it only computes."""
    data = data_of(report)
    known, end = data["detail"]["end"], data["end"]
    page = Page(driver, report, f"#gantt?t={known + 1e-6}..{end}&r={SLOW - 1}..{SLOW + 1}")
    assert page.lanes() == (SLOW - 1, SLOW + 1)
    assert "Columns are means over" in page.find("#gantt-note").text
    assert tip_at(page, 0.5).startswith(f"rank {SLOW}, ")
    assert "100.0% compute" in tip_at(page, 0.5)
    assert "100.0% compute" not in tip_at(page, 0.9)
    # Where only groups are known, the page says so.
    at = known + (end - known) / 2
    page = Page(driver, report, f"#gantt?t={at}..{at + 0.02 * end}&r={SLOW - 1}..{SLOW + 1}")
    assert "Rows are means over 10 ranks: tisim view shows" in page.find("#gantt-note").text
    assert tip_at(page, 0.5).startswith("ranks 120-129, ")
    assert page.complaints() == []


@needs_browser
def test_a_window_beyond_the_part_has_both(driver: Any, report: Path) -> None:
    data = data_of(report)
    begin, end = data["detail"]["begin"], data["detail"]["end"]
    assert begin > 0 or end < data["end"]
    window = f"t={begin - 0.3 * (end - begin)}..{end + 0.3 * (end - begin)}"
    page = Page(driver, report, f"#gantt?{window}&r={SLOW - 5}..{SLOW + 5}")
    note = page.find("#gantt-note").text
    assert " before " in note or " after " in note
    assert tip_at(page, 0.5).startswith(f"rank {SLOW}: ")
    assert page.colours("#gantt-chart") > 3
    assert page.complaints() == []


LONG = "latency[AS_sgraphene1_link_0_limiter]"


def test_long_names_of_axes_are_not_cut() -> None:
    drawn = ET.fromstring(
        heat_map(
            [[1.0, 2.0]],
            ["1"],
            ["5us", "10us"],
            row_label=f"rows of {LONG}",
            column_label=f"columns of {LONG}",
            show=str,
        )
    )
    width = float(drawn.get("width", 0))
    places = {text.text: (float(text.get("x", 0)), text.get("y")) for text in drawn.iter("text")}
    for name in ("rows of ", "columns of "):
        left, _ = places[name + LONG]
        assert left + 6.5 * len(name + LONG) < width
    # The name of the rows has a line of its own.
    assert [y for _, y in places.values()].count(places["rows of " + LONG][1]) == 1
