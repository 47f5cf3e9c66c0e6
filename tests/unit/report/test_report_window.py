"""The window of a report's Gantt chart, in time and ranks: buttons, mouse, keys, address."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.unit.report.browser import needs_browser
from tests.unit.report.report_page import Page, report_of

pytestmark = needs_browser


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
    # A drag up shows what is below; its time is the whole already.
    ActionChains(driver).drag_and_drop_by_offset(chart, 0, -200).perform()
    lower = page.lanes()
    assert lower[0] > first and lower[1] - lower[0] == last - first
    # With Shift, a window is selected in both directions.
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
    # Meaningless parts of an address are ignored.
    strange = Page(driver, report, "#gantt?t=2..x&r=9..1")
    assert strange.lanes() == (0, 15)
    assert strange.complaints() == []
    assert strange.requests() == [report.as_uri()]
