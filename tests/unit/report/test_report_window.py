"""The Gantt chart of a report: its window, many ranks, and heat maps."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tisim
from tests.support import RING
from tests.unit.command_line import CommandLine
from tests.unit.report.browser import Page, needs_browser, report_of
from tisim.analysis.report.charts import heat_map
from tisim.analysis.report.page_data import typical_part
from tisim.platform import new


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of 16 ranks."""
    directory = tmp_path_factory.mktemp("window")
    lines = [
        line
        for rank in range(16)
        for _ in range(20)
        for line in (f"{rank} compute {1_000_000 + 50_000 * rank}", f"{rank} allreduce 1000 0")
    ]
    return report_of(directory, "\n".join(lines) + "\n", 16)


@needs_browser
def test_buttons_zoom_in_time_and_ranks(driver: Any, report: Path) -> None:
    page = Page(driver, report, "#gantt")
    page.find("#zoom-all").click()
    begin, end = page.seen()
    assert (begin, page.lanes()) == (0, (0, 15))
    before = page.picture("#gantt-chart")
    page.find("#lanes-in").click()
    assert (page.seen(), page.lanes()) == ((0, end), (4, 11))
    assert "ranks 4 to 11" in page.find("#range").text
    assert page.picture("#gantt-chart") != before
    page.find("#zoom-in").click()
    assert (page.seen(), page.lanes()) == (pytest.approx((end / 4, 3 * end / 4)), (4, 11))
    page.find("#lanes-out").click()
    page.find("#zoom-back").click()
    assert page.lanes() == (4, 11)
    page.find("#zoom-back").click()
    assert page.seen() == (0, end)
    page.find("#zoom-back").click()
    assert page.lanes() == (0, 15)
    assert page.picture("#gantt-chart") == before
    assert page.complaints() == []


@needs_browser
def test_the_mouse_zooms_moves_and_selects(driver: Any, report: Path) -> None:
    from selenium.webdriver import ActionChains, Keys
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin

    page = Page(driver, report, "#gantt")
    page.find("#zoom-all").click()
    whole = page.seen()
    chart = page.find("#gantt-chart")
    origin = ScrollOrigin.from_element(chart, 100, 0)
    shifted = ActionChains(driver).key_down(Keys.SHIFT)
    shifted.scroll_from_origin(origin, 0, -200).key_up(Keys.SHIFT).perform()
    first, last = page.lanes()
    assert page.seen() == whole and 4 < last - first + 1 < 12
    # Dragging up shows what is below; the whole time is shown already.
    ActionChains(driver).drag_and_drop_by_offset(chart, 0, -200).perform()
    lower = page.lanes()
    assert lower[0] > first and lower[1] - lower[0] == last - first
    # A drag with Shift selects a window in both directions.
    page.find("#zoom-all").click()
    framed = (
        ActionChains(driver).key_down(Keys.SHIFT).move_to_element_with_offset(chart, -100, -150)
    )
    framed.click_and_hold().move_by_offset(300, 300).release().key_up(Keys.SHIFT).perform()
    begin, end = page.seen()
    first, last = page.lanes()
    assert 0 < begin < end < whole[1] and 0 < first < last < 15
    page.find("#zoom-back").click()
    assert (page.seen(), page.lanes()) == (whole, (0, 15))
    assert page.complaints() == []


@needs_browser
def test_keys_are_those_of_the_viewer(driver: Any, report: Path) -> None:
    from selenium.webdriver import Keys

    page = Page(driver, report, "#gantt")
    chart = page.find("#gantt-chart")
    chart.send_keys("0")
    _, end = page.seen()
    chart.send_keys("W")
    assert (page.seen(), page.lanes()) == ((0, end), (4, 11))
    chart.send_keys("D")
    assert page.lanes() == (6, 13)
    chart.send_keys("w", "a")
    assert page.seen() == pytest.approx((end / 8, 5 * end / 8))
    chart.send_keys(Keys.ARROW_DOWN)
    assert page.lanes() == (7, 14)
    chart.send_keys("S")
    assert page.lanes() == (0, 15)
    chart.send_keys(Keys.BACKSPACE)
    assert page.lanes() == (7, 14)
    chart.send_keys("0")
    assert (page.seen(), page.lanes()) == ((0, end), (0, 15))
    assert page.complaints() == []


@needs_browser
def test_the_address_holds_the_window(driver: Any, report: Path) -> None:
    from selenium.webdriver.support.ui import WebDriverWait

    page = Page(driver, report, "#gantt")
    page.find("#zoom-all").click()
    page.find("#lanes-in").click()
    page.find("#zoom-in").click()
    begin = page.find("#gantt-chart").get_attribute("data-begin")
    address = f"#gantt?t={begin}..", "&r=4..11"
    WebDriverWait(driver, 30).until(lambda d: all(part in d.current_url for part in address))
    shown, picture = page.seen(), page.picture("#gantt-chart")
    again = Page(driver, report, "#" + driver.current_url.partition("#")[2])
    assert (again.seen(), again.lanes()) == (shown, (4, 11))
    assert again.picture("#gantt-chart") == picture
    # Invalid parts of an address are ignored.
    strange = Page(driver, report, "#gantt?t=2..x&r=9..1")
    assert strange.lanes() == (0, 15)
    assert strange.complaints() == []
    assert strange.requests() == [report.as_uri()]


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
    """In a picture of the whole run the path has thousands of turns, which are faint."""
    page = Page(driver, lu, "#gantt")
    page.find("#show-path").click()

    def heavy() -> float:
        """Return the fraction of the picture that the path covers."""
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


@needs_browser
def test_the_typical_part_is_like_the_whole(tmp_path: Path) -> None:
    """The run starts by computing, and then mostly waits for messages."""
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


@needs_browser
def test_a_part_of_pictures_can_be_chosen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = CommandLine(tmp_path, capsys)
    ring = str(RING)
    page, chart = str(tmp_path / "r.html"), str(tmp_path / "r.svg")
    chosen = ["--begin", "1ms", "--end", "2ms"]
    assert run.replay("--report", page, "--gantt", chart, *chosen, ring).status == 0
    assert '"typical": [0.001, 0.002]' in Path(page).read_text()
    assert "Percentages are those of the whole simulation" in Path(chart).read_text()
    outcome = run.replay(*chosen, ring)
    assert (outcome.status, "--timeline" in outcome.err) == (2, True)
    outcome = run.replay("--report", page, "--begin", "2h", ring)
    assert (outcome.status, "the simulation lasts from 0 to" in outcome.err) == (2, True)
    outcome = run.replay("--report", page, "--begin", "soon", ring)
    assert (outcome.status, "--begin" in outcome.err) == (2, True)


RANKS, SLOW = 400, 123


def run(directory: Path, iterations: int) -> Path:
    """Write the report of a ring in which one rank computes three times as long as the others."""
    trace = ""
    for rank in range(RANKS):
        following, before = (rank + 1) % RANKS, (rank - 1) % RANKS
        step = f"{rank} compute {3e6 if rank == SLOW else 1e6:.0f}\n"
        step += f"{rank} irecv {before} 0 1000\n{rank} send {following} 0 1000\n"
        trace += iterations * f"{step}{rank} wait {before} {rank} 0\n"
    return report_of(directory, trace, RANKS)


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("many"), 60)


def data_of(crowded: Path) -> dict[str, Any]:
    match = re.search(r'id="data"[^>]*>(.*?)</script>', crowded.read_text(), re.S)
    assert match
    data: dict[str, Any] = json.loads(match[1])
    return data


def test_a_page_has_groups_single_ranks_and_every_state_of_a_part(crowded: Path) -> None:
    assert crowded.stat().st_size < 2_000_000
    data = data_of(crowded)
    assert data["ranks"] == RANKS
    assert [level["size"] for level in data["gantt"]["levels"]] == [10, 1]
    begin, end = data["typical"]
    assert data["detail"]["begin"] <= begin < end <= data["detail"]["end"]
    text = crowded.read_text()
    assert "groups of 10 ranks" in text and "single ranks in steps of" in text
    assert "<code>tisim view run.tir</code>" in text


def test_short_runs_of_many_ranks_have_every_state(tmp_path: Path) -> None:
    crowded = run(tmp_path, 3)
    assert data_of(crowded)["gantt"]["mode"] == "exact"
    assert "Contains every state of every rank" in crowded.read_text()


def tip_at(page: Page, down: float) -> str:
    """Return the tooltip at the horizontal centre of the chart, at a fraction of its height."""
    from selenium.webdriver import ActionChains

    chart = page.find("#gantt-chart")
    height = int(chart.size["height"])
    offset = int(6 + down * (height - 40) - height / 2)
    ActionChains(page.driver).move_to_element_with_offset(chart, 20, offset).perform()
    return str(page.find("#tip").text)


@needs_browser
def test_ranks_are_zoomed_down_to_single_ones(driver: Any, crowded: Path) -> None:
    page = Page(driver, crowded, "#gantt")
    assert page.lanes() == (0, RANKS - 1)
    assert "A row is 10 ranks." in page.find("#gantt-note").text
    # Every state of the initial part is known, also for each rank of a row.
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
def test_the_address_counts_ranks(driver: Any, crowded: Path) -> None:
    """The slow rank has its own row even where not every state is known: it only computes."""
    data = data_of(crowded)
    known, end = data["detail"]["end"], data["end"]
    page = Page(driver, crowded, f"#gantt?t={known + 1e-6}..{end}&r={SLOW - 1}..{SLOW + 1}")
    assert page.lanes() == (SLOW - 1, SLOW + 1)
    assert "Columns are means over" in page.find("#gantt-note").text
    assert tip_at(page, 0.5).startswith(f"rank {SLOW}, ")
    assert "100.0% compute" in tip_at(page, 0.5)
    assert "100.0% compute" not in tip_at(page, 0.9)
    # Where only groups are known, the page says so.
    at = known + (end - known) / 2
    page = Page(driver, crowded, f"#gantt?t={at}..{at + 0.02 * end}&r={SLOW - 1}..{SLOW + 1}")
    assert "Rows are means over 10 ranks: tisim view shows" in page.find("#gantt-note").text
    assert tip_at(page, 0.5).startswith("ranks 120-129, ")
    assert page.complaints() == []


@needs_browser
def test_a_window_beyond_the_part_has_both(driver: Any, crowded: Path) -> None:
    data = data_of(crowded)
    begin, end = data["detail"]["begin"], data["detail"]["end"]
    assert begin > 0 or end < data["end"]
    window = f"t={begin - 0.3 * (end - begin)}..{end + 0.3 * (end - begin)}"
    page = Page(driver, crowded, f"#gantt?{window}&r={SLOW - 5}..{SLOW + 5}")
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
    # The name of the rows has its own line.
    assert [y for _, y in places.values()].count(places["rows of " + LONG][1]) == 1
