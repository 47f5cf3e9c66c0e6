"""A headless Chromium, and a report in it as seen by its readers."""

from __future__ import annotations

import importlib.util
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import tisim
from tisim.analysis.report import write_report
from tisim.platform import new

_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1400,1000",
)


def missing() -> str | None:
    """Return why there is no browser to test with; None if there is one."""
    if importlib.util.find_spec("selenium") is None:
        return "selenium is not installed"
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            return f"{program} is not installed"
    return None


needs_browser = pytest.mark.skipif(missing() is not None, reason=f"needs a browser: {missing()}")


@contextmanager
def browser(profile: Path) -> Iterator[Any]:
    """Start a browser that logs its console and its requests."""
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for flag in (*_FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = Chrome(options, Service(executable_path=shutil.which("chromedriver")))
    try:
        driver.set_page_load_timeout(60)
        driver.set_script_timeout(60)
        yield driver
    finally:
        driver.quit()


def report_of(folder: Path, trace: str, ranks: int) -> Path:
    """Write the report of a trace on a cluster with one rank per host."""
    (folder / "t.txt").write_text(trace)
    platform = new.cluster(ranks, bandwidth="1GBps", latency="1us", speed="1Gf")
    result = tisim.replay(folder / "t.txt", platform=platform, event_log=True)
    write_report(result, folder / "r.html")
    return folder / "r.html"


class Page:
    """A report in a browser."""

    def __init__(self, driver: Any, file: Path, tab: str = "") -> None:
        from selenium.webdriver.support.ui import WebDriverWait

        self.driver = driver
        driver.get_log("browser"), driver.get_log("performance")
        driver.get("about:blank")  # otherwise another tab of the same page would not reload it
        driver.get(file.as_uri() + tab)
        body = "return document.body.dataset.ready"
        WebDriverWait(driver, 60).until(lambda d: d.execute_script(body) == "yes")

    def find(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def open_tab(self, name: str) -> None:
        self.find(f"[data-tab={name}]").click()

    def seen(self) -> tuple[float, float]:
        """Return the interval that the Gantt chart shows."""
        chart = self.find("#gantt-chart")
        return float(chart.get_attribute("data-begin")), float(chart.get_attribute("data-end"))

    def lanes(self) -> tuple[int, int]:
        """Return the first and last lane that the Gantt chart shows."""
        chart = self.find("#gantt-chart")
        return int(chart.get_attribute("data-first")), int(chart.get_attribute("data-last"))

    def colours(self, canvas: str) -> int:
        """Return the number of colours in a picture."""
        return int(
            self.driver.execute_script(
                "const c = document.querySelector(arguments[0]);"
                "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
                "return new Set(new Uint32Array(d.buffer)).size",
                canvas,
            )
        )

    def picture(self, canvas: str) -> str:
        script = "return document.querySelector(arguments[0]).toDataURL()"
        return str(self.driver.execute_script(script, canvas))

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Return the URLs that the page has requested."""
        events = [json.loads(e["message"])["message"] for e in self.driver.get_log("performance")]
        asked = [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]
        # A new window starts with the browser's own page, which may still be loading.
        return [
            url for url in asked if not url.startswith(("data:", "chrome:", "chrome-untrusted:"))
        ]
