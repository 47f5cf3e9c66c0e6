"""A report in a browser, as tests look at it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import tisim
from tisim.analysis.report import write_report
from tisim.platform import new


def report_of(folder: Path, trace: str, ranks: int) -> Path:
    """The report of a trace on a cluster, a rank a host."""
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
        driver.get("about:blank")  # another tab of the same page would not load it again
        driver.get(file.as_uri() + tab)
        body = "return document.body.dataset.ready"
        WebDriverWait(driver, 60).until(lambda d: d.execute_script(body) == "yes")

    def find(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def open_tab(self, name: str) -> None:
        self.find(f"[data-tab={name}]").click()

    def seen(self) -> tuple[float, float]:
        """The part of the time that the Gantt chart shows."""
        chart = self.find("#gantt-chart")
        return float(chart.get_attribute("data-begin")), float(chart.get_attribute("data-end"))

    def lanes(self) -> tuple[int, int]:
        """The first and the last of the lanes that the Gantt chart shows."""
        chart = self.find("#gantt-chart")
        return int(chart.get_attribute("data-first")), int(chart.get_attribute("data-last"))

    def colours(self, canvas: str) -> int:
        """How many colours there are in a picture."""
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
        """What the page has asked for."""
        events = [json.loads(e["message"])["message"] for e in self.driver.get_log("performance")]
        asked = [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]
        # A new window begins with the browser's own page, which may still be loading.
        return [
            url for url in asked if not url.startswith(("data:", "chrome:", "chrome-untrusted:"))
        ]
