"""The report: a self-contained page, read offline in a browser."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import tisim
from tests.support import GRAPHENE, RING
from tests.unit.command_line import CommandLine
from tests.unit.report.browser import Page, needs_browser, report_of
from tisim.analysis.report import page, write_report
from tisim.analysis.report.page import page_modules, page_script, static_page
from tisim.analysis.viewer.server import page_files
from tisim.platform import new
from tisim.traces import pack
from tisim.traces.generate import Ring

TABS = ("summary", "gantt", "breakdown", "waits", "path", "matrix", "links", "config")


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of 10,000 ranks."""
    directory = tmp_path_factory.mktemp("many")
    Ring(ranks=10_000, iterations=2).write(directory / "ring.tit")
    platform = new.cluster(10_000, bandwidth="1GBps", latency="1us", speed="1Gf")
    result = tisim.replay(directory / "ring.tit", platform=platform, event_log=True)
    write_report(result, directory / "many.html")
    return directory / "many.html"


def test_it_needs_nothing_else(lu: Path) -> None:
    text = lu.read_text()
    assert not re.search(r"https?://", text)
    assert not re.search(r"<link[^>]*stylesheet|<script[^>]*src|<img|@import|url\(", text)
    assert_sealed(text)
    assert len(text) < 500_000


def assert_sealed(text: str) -> None:
    """Check that a page's policy allows exactly its own styles and scripts, by their hashes."""
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert "unsafe" not in policy
    assert " style=" not in re.sub(r"<script.*?</script>", "", text, flags=re.S)
    for kind in ("style", "script"):
        digests = [
            base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
            for part in re.findall(f"<{kind}>(.*?)</{kind}>", text, re.S)
        ]
        assert digests and re.findall(rf"{kind}-src ([^;]*)", policy) == [
            " ".join(f"'sha256-{digest}'" for digest in digests)
        ]


def test_pages_of_sections_have_a_policy_of_hashes() -> None:
    styled = '<i style="width:50%"></i><b style="width:50%"></b><u style="left:1&quot;"></u>'
    text = static_page("a title", [("a heading", styled)])
    assert_sealed(text)
    assert '<i data-style="0"></i><b data-style="0"></b><u data-style="1"></u>' in text
    assert '[data-style="1"]{left:1"}' in text


def test_it_says_what_is_known(lu: Path) -> None:
    text = lu.read_text()
    assert len(text) < 500_000
    for words in (
        "lu.S.4 on graphene.xml: 79.3505 ms",
        "><b>late sender</b></a>: ",
        "><b>lower latency</b></a> could help most: by up to 39.9%",
        "graphene-3.nancy.grid5000.fr",
        "smpi/coll-selector",
        "AS_sgraphene1_link_0_limiter",
    ):
        assert words in text, words


def test_many_ranks_make_no_large_page(many: Path) -> None:
    text = many.read_text()
    assert len(text) < 2_000_000
    assert "Contains every state of every rank" in text
    assert "Each cell is the sum over 100 by 100 ranks" in text


def test_text_from_outside_is_no_html(tmp_path: Path) -> None:
    """A host may have any name."""
    name = "<script>alert(1)</script>"
    quoted = name.replace("<", "&lt;").replace(">", "&gt;")
    (tmp_path / "p.xml").write_text(
        f"<?xml version='1.0'?><platform version='4.1'><zone id='z' routing='Full'>"
        f"<host id='{quoted}' speed='1Gf'/><host id='b' speed='1Gf'/>"
        f"<link id='{quoted}' bandwidth='1GBps' latency='1us'/>"
        f"<route src='{quoted}' dst='b'><link_ctn id='{quoted}'/></route></zone></platform>"
    )
    traces = tmp_path / "t"
    traces.mkdir()
    (traces / "r0").write_text("0 send 1 0 1000000 6\n")
    (traces / "r1").write_text("1 compute 1e6\n1 recv 0 0 1000000 6\n")
    result = tisim.replay(traces, platform=tmp_path / "p.xml", event_log=True)
    write_report(result, tmp_path / "r.html")
    assert name in result.hosts
    text = (tmp_path / "r.html").read_text()
    assert name not in text
    data = re.search(r'id="data">(.*?)</script>', text, re.S)
    assert data is not None
    assert name in json.loads(data[1])["links"]["names"]


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = CommandLine(tmp_path, capsys)
    ring = str(RING)
    page = tmp_path / "ring.html"
    outcome = run.replay("--report", str(page), ring)
    assert (outcome.status, "simulated time" in outcome.out) == (0, True)
    assert page.read_text().startswith("<!DOCTYPE html>")
    wrong = run.replay("--report", str(tmp_path / "ring.pdf"), ring)
    assert (wrong.status, "the suffix of a report must be .html" in wrong.err) == (2, True)
    assert [file.name for file in tmp_path.iterdir()] == ["ring.html"]


@needs_browser
@pytest.mark.parametrize("which", ["lu", "many"])
def test_every_tab_opens(driver: Any, which: str, request: pytest.FixtureRequest) -> None:
    file = request.getfixturevalue(which)
    page = Page(driver, file)
    for tab in TABS:
        page.open_tab(tab)
        shown = [
            section.get_attribute("id")
            for section in driver.find_elements("css selector", "main > section")
            if section.is_displayed()
        ]
        assert shown == [tab]
        assert page.find(f"[data-tab={tab}]").get_attribute("aria-selected") == "true"
        assert page.find(f"#{tab}").text.strip()
        if tab in ("gantt", "matrix", "links"):
            chart = page.find(f"#{tab}-chart")
            assert int(chart.get_attribute("width")) == chart.size["width"]
            assert page.colours(f"#{tab}-chart") >= 4
    assert page.complaints() == []
    assert page.requests() == [file.as_uri()]


@needs_browser
def test_the_address_names_the_tab(driver: Any, lu: Path) -> None:
    page = Page(driver, lu)
    page.open_tab("waits")
    assert driver.current_url == lu.as_uri() + "#waits"
    for name, shown in (("links", "links"), ("nonsense", "summary")):
        page = Page(driver, lu, f"#{name}")
        assert page.find(f"#{shown}").is_displayed()
        assert page.complaints() == []


@needs_browser
def test_the_gantt_chart_answers_questions(driver: Any, lu: Path) -> None:
    from selenium.webdriver import ActionChains

    page = Page(driver, lu)
    page.open_tab("gantt")
    page.find("#zoom-all").click()
    chart = page.find("#gantt-chart")
    height = chart.size["height"]
    ActionChains(driver).move_to_element_with_offset(chart, 0, -height // 2 + 30).perform()
    assert re.match(r"rank 0: [a-z ]+, in [a-z]+", page.find("#tip").text)
    before = page.picture("#gantt-chart")
    page.find("#show-messages").click()
    page.find("#show-path").click()
    note = page.find("#gantt-note").text
    assert "Arrows: the 100 of 4,619 messages in view that were waited for longest." in note
    assert "Red line: the critical path." in note
    assert page.picture("#gantt-chart") != before
    for _ in range(6):
        page.find("#zoom-in").click()
    assert "Arrows: all messages in view" in page.find("#gantt-note").text
    page.open_tab("matrix")
    page.find("input[value=messages]").click()
    assert "585 messages" in page.find("#matrix-ramp").text
    assert page.complaints() == []


def test_a_short_run_is_shown_whole(late: Path) -> None:
    assert '"typical": [0.0, 0.' in late.read_text()
    assert "Shown first" not in late.read_text()


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of twelve ranks, of which rank 7 computes 30 times as long once."""
    directory = tmp_path_factory.mktemp("late")
    trace = ""
    for rank in range(12):
        for step in range(20):
            volume = 30_000_000 if (rank, step) == (7, 9) else 1_000_000
            trace += f"{rank} compute {volume}\n{rank} allreduce 1000 0\n"
    return report_of(directory, trace, 12)


def test_the_first_page_names_what_delays_everybody(late: Path) -> None:
    text = late.read_text()
    for words in (
        "<b>Rank 7 computes once for 30 ms</b></a>, 30 times as long as usual, at ",
        "11 ranks wait because of it, 319 ms in total.",
        "rank 7 computes for 30 ms, usually 1 ms",
        "tisim replay --speed x2",
    ):
        assert words in text, words


@needs_browser
def test_the_finding_leads_to_the_chart(driver: Any, late: Path) -> None:
    page = Page(driver, late)
    page.find("#summary li a[href^='#gantt?']").click()
    assert page.find("#gantt").is_displayed()
    begin, end = page.seen()
    assert begin < 0.0095 < 0.035 < end < 0.08
    assert page.lanes() == (0, 11)
    assert page.complaints() == []


@needs_browser
def test_a_row_of_a_table_leads_to_the_chart(driver: Any, late: Path) -> None:
    page = Page(driver, late, "#waits")
    page.find("tr[data-look]").click()
    assert page.find("#gantt").is_displayed()
    begin, end = page.seen()
    assert begin < 0.0095 < 0.035 < end < 0.08
    first, last = page.lanes()
    assert first <= 7 <= last and last - first < 11
    page.find("#zoom-all").click()
    page.find("#lanes-in").click()
    assert page.lanes() == (3, 8)
    assert "ranks 3 to 8" in page.find("#range").text
    page = Page(driver, late, "#gantt?t=0.01..0.02&r=6..7")
    assert page.seen() == pytest.approx((0.01, 0.02))
    assert page.lanes() == (6, 7)
    assert page.complaints() == []


@needs_browser
def test_tables_are_sorted_and_searched(driver: Any, lu: Path) -> None:
    page = Page(driver, lu, "#waits")
    # The last table: pairs of waiting and late ranks.
    rows = (
        "return [...[...document.querySelectorAll('#waits table')].pop().tBodies[0].rows]"
        ".filter((row) => !row.hidden).map((row) => [...row.cells].map((one) => one.textContent))"
    )
    head = "const cells = [...document.querySelectorAll('#waits table')].pop().tHead.rows[0].cells;"
    times = [int(row[5]) for row in driver.execute_script(rows)]
    driver.execute_script(head + "cells[5].click()")
    assert [int(row[5]) for row in driver.execute_script(rows)] == sorted(times, reverse=True)
    driver.execute_script(head + "cells[5].click()")
    assert [int(row[5]) for row in driver.execute_script(rows)] == sorted(times)
    driver.find_elements("css selector", "#waits .filter")[-1].send_keys("wait at barrier")
    assert {row[0] for row in driver.execute_script(rows)} == {"wait at barrier"}
    assert page.complaints() == []


@needs_browser
def test_the_page_can_be_dark(driver: Any, lu: Path) -> None:
    def look(scheme: str) -> tuple[str, str]:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        page = Page(driver, lu, "#gantt")
        colour = "return getComputedStyle(document.body).backgroundColor"
        return str(driver.execute_script(colour)), page.picture("#gantt-chart")

    dark, light = look("dark"), look("light")
    assert (dark[0], light[0]) == ("rgb(23, 25, 28)", "rgb(255, 255, 255)")
    assert dark[1] != light[1]


@needs_browser
def test_all_parts_are_printed(driver: Any, lu: Path) -> None:
    page = Page(driver, lu)

    def shown() -> list[str]:
        sections = driver.find_elements("css selector", "main > section")
        return [section.get_attribute("id") for section in sections if section.is_displayed()]

    assert shown() == ["summary"]
    driver.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    assert {*TABS} <= {*shown()}
    for chart in ("gantt", "matrix", "links"):
        assert page.colours(f"#{chart}-chart") >= 4
    driver.execute_script("window.dispatchEvent(new Event('afterprint'))")
    assert shown() == ["summary"]
    assert page.complaints() == []


@needs_browser
def test_a_narrow_page_scrolls_down_only(driver: Any, lu: Path) -> None:
    size = driver.get_window_size()
    driver.set_window_size(420, 900)
    try:
        page = Page(driver, lu)
        for tab in ("summary", "gantt", "waits", "links"):
            page.open_tab(tab)
            script = "return document.documentElement.scrollWidth - window.innerWidth"
            assert int(driver.execute_script(script)) <= 0, tab
    finally:
        driver.set_window_size(size["width"], size["height"])


def test_a_packed_trace_says_what_the_application_does(tmp_path: Path, lu: Path) -> None:
    """A section is derived from the structure of a packed trace; others would have to be packed.

    The trace file may be gone by then.
    """
    trace = tmp_path / "ring.tit"
    Ring(ranks=4, iterations=500).write(tmp_path / "ring")
    pack(tmp_path / "ring", trace)
    result = tisim.replay(trace, platform=GRAPHENE, event_log=True)
    write_report(result, tmp_path / "ring.html")
    text = (tmp_path / "ring.html").read_text()
    assert text.count('data-tab="application"') == 1
    section = text.partition('<section id="application" hidden>')[2].partition("</section>")[0]
    assert "<h2>Loops</h2>" in section
    assert "500" in section
    assert "&lt;by rank&gt;" in section
    trace.unlink()
    write_report(result, tmp_path / "without.html")
    for file in (tmp_path / "without.html", lu):
        assert "application" not in file.read_text().partition("<script")[0].replace(
            'type="application/json"', ""
        )


def test_the_viewer_sends_what_the_report_contains() -> None:
    shared = page_modules("report.js").keys() & page_modules("viewer.js").keys()
    assert {"gestures.js", "canvas.js", "tile.js", "format.js"} <= shared
    script, sent = page_script("report.js"), page_files()
    for name in shared:
        assert sent[name].decode() == page.page_file(name)
        assert script.count(f'modules["{name}"] = (() => {{') == 1


def test_modules_come_after_those_that_they_import() -> None:
    script = page_script("report.js")
    places = [
        script.index(f'modules["{name}"] = ') for name in ("format.js", "gantt.js", "report.js")
    ]
    assert places == sorted(places)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_imports_have_other_names_where_they_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "main.js": 'import {\n  one as first,\n  two,\n} from "./other.js";\n\nconst one = 10;\n'
        "console.log(first() + one + two);\n",
        "other.js": "export function one() { return 1; }\n\nexport const two = 2;\n",
    }
    monkeypatch.setattr(page, "page_file", files.__getitem__)
    (tmp_path / "script.js").write_text(page_script("main.js"))
    run = subprocess.run(
        ["node", tmp_path / "script.js"], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout == "13\n"


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_tiles_are_painted_from_below_and_have_bars(tmp_path: Path) -> None:
    cells = "column: [0, 0, 1, 2, 3], lane: [0, 0, 0, 0, 0], key: [0, 1, 1, 1, 0]"
    (tmp_path / "script.js").write_text(
        page_script("tile.js")
        + "globalThis.ImageData = class {\n  constructor(width, height) {\n"
        + "    this.data = new Uint8ClampedArray(4 * width * height);\n  }\n};\n"
        + 'const { barsOf, cellsAt, paint } = modules["tile.js"];\n'
        + f"const tile = {{ columns: 4, lanes: 1, cells: 5, {cells},\n"
        + "  share: [128, 127, 255, 255, 255], seen: [0, 0, 0, 0, 0] };\n"
        + "const rows = new Uint32Array(paint(tile, 4, [7, 8], 0).data.buffer);\n"
        + "console.log(JSON.stringify([rows[0], rows[4], rows[8], rows[12]]));\n"
        + "console.log(JSON.stringify(barsOf(tile, 2)), JSON.stringify(cellsAt(tile, 0, 0)));\n"
    )
    run = subprocess.run(
        ["node", tmp_path / "script.js"], capture_output=True, text=True, check=True, timeout=60
    )
    painted, rest = run.stdout.split("\n", 1)
    assert painted == "[8,8,7,7]"  # the first class is at the bottom
    assert rest == '[{"lane":0,"key":1,"from":1,"to":3}] {"from":0,"to":2}\n'


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_names_of_gpus_come_before_those_of_their_streams(tmp_path: Path) -> None:
    (tmp_path / "script.js").write_text(
        page_script("format.js")
        + 'const { namedLanes } = modules["format.js"];\n'
        + "const hosts = [0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2];\n"
        + "const named = (first, apart) => namedLanes(first, 10, apart, (at) => hosts[at]);\n"
        + "console.log(JSON.stringify([named(0, 1), named(0, 2), named(0, 3.5), named(5, 2)]"
        + ".map((lanes) => lanes.sort((a, b) => a - b))));\n"
    )
    run = subprocess.run(
        ["node", tmp_path / "script.js"], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout == "[[0,1,2,3,4,5,6,7,8,9,10],[0,2,4,7,9],[0,4,8],[5,7,9]]\n"


def test_other_forms_of_modules_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "page_file", {"main.js": "export default 1;\n"}.__getitem__)
    with pytest.raises(ValueError, match=r"main\.js: 'export default 1;' is not a form that pages"):
        page_script("main.js")
