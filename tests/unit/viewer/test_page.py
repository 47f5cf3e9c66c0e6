"""The viewer's page, operated as by a user."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tisim
from tests.support import tisim_process
from tests.unit.report import browser as chromium
from tests.unit.viewer import viewer as viewers
from tests.unit.viewer.viewer import LATE, Viewer, record_late_rank

pytestmark = chromium.needs_browser


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium.browser(tmp_path_factory.mktemp("profile")) as one:
        yield one


@pytest.fixture
def page(driver: Any, viewer: Viewer) -> Iterator[Any]:
    """The page, freshly loaded; it must log nothing and request nothing but the viewer."""
    for kind in ("browser", "performance"):
        driver.get_log(kind)
    driver.get("about:blank")
    driver.get(viewer.address)
    wait_for(driver, "return document.getElementById('chart').dataset.drawn")
    yield driver
    assert_quiet(driver, viewer.address)


def assert_quiet(driver: Any, address: str) -> None:
    """Check that since the last call nothing was logged, and only a viewer was queried."""
    assert driver.get_log("browser") == []
    asked = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    addresses = {
        one["params"]["request"]["url"]
        for one in asked
        if one["method"] == "Network.requestWillBeSent"
    }
    outside = {one for one in addresses if one.startswith(("http", "ws", "ftp"))}
    assert {one for one in outside if not one.startswith(address)} == set()
    assert outside


def wait_for(driver: Any, script: str) -> Any:
    for _ in range(1200):
        if value := driver.execute_script(script):
            return value
        time.sleep(0.05)
    raise AssertionError(f"never true: {script}; {driver.get_log('browser')}")


def keys(driver: Any, *pressed: str) -> None:
    for key in pressed:
        driver.execute_script(
            "document.dispatchEvent(new KeyboardEvent('keydown', {key: arguments[0]}))", key
        )


def window(driver: Any) -> str:
    return str(driver.execute_script("return document.getElementById('window').textContent"))


def panel_says(driver: Any, words: str) -> None:
    script = f"return document.getElementById('panel').textContent.includes({json.dumps(words)})"
    wait_for(driver, script)


def click_at(driver: Any, across: float, down: float) -> None:
    driver.execute_script(
        """const canvas = document.getElementById('chart'), box = canvas.getBoundingClientRect();
        canvas.setPointerCapture = () => {};
        const x = box.left + 76 + (box.width - 76) * arguments[0];
        const at = {clientX: x, clientY: box.top + (box.height - 22) * arguments[1], button: 0};
        for (const one of ['pointerdown', 'pointerup'])
          canvas.dispatchEvent(new PointerEvent(one, {...at, buttons: 1, bubbles: true}));
        """,
        across,
        down,
    )


def test_zoom_in_both_directions_and_back(page: Any) -> None:
    whole = window(page)
    assert whole == "0.000 ms to 79.351 ms, ranks 0 to 3"
    keys(page, "w")
    assert window(page) == "19.838 ms to 59.513 ms, ranks 0 to 3"
    keys(page, "W")
    assert window(page) == "19.838 ms to 59.513 ms, ranks 1 to 2"
    keys(page, "D")
    assert window(page).endswith("ranks 2 to 3")
    keys(page, "Backspace", "Backspace", "Backspace")
    assert window(page) == whole
    page.execute_script(
        """const canvas = document.getElementById('chart'), box = canvas.getBoundingClientRect();
        const at = {clientX: box.left + 300, clientY: box.top + 50};
        canvas.dispatchEvent(new WheelEvent('wheel', {...at, deltaY: -300, cancelable: true}));"""
    )
    assert window(page) != whole


def test_every_state_of_the_legend_is_drawn(page: Any) -> None:
    colours = page.execute_script(
        """const canvas = document.getElementById('chart'), context = canvas.getContext('2d');
        const {data} = context.getImageData(64, 0, canvas.width - 64, canvas.height - 30);
        return [...new Set(new Uint32Array(data.buffer))].map((one) => (one & 0xffffff));"""
    )
    legend = page.execute_script(
        "return [...document.querySelectorAll('#legend i')].map((one) => one.style.background)"
    )
    assert len(legend) >= 5
    for colour in legend:
        red, green, blue = map(int, colour.removeprefix("rgb(").removesuffix(")").split(","))
        assert red | green << 8 | blue << 16 in colours


def test_a_click_on_the_picture_selects_a_state(page: Any) -> None:
    click_at(page, 0.5, 0.4)
    panel_says(page, "of the trace of rank 1")
    keys(page, "n")
    panel_says(page, "of the trace of rank 1")


def test_the_address_holds_the_view(page: Any, viewer: Viewer) -> None:
    keys(page, "w", "w", "m")
    click_at(page, 0.5, 0.1)
    panel_says(page, "of the trace of rank 0")
    shown = window(page)
    address = wait_for(page, "return location.hash.includes('m=1') && location.href")
    page.get("about:blank")
    page.get(address)
    panel_says(page, "of the trace of rank 0")
    assert window(page) == shown
    assert page.execute_script("return document.getElementById('arrows').checked")


def test_tables_are_sorted_and_filtered(page: Any) -> None:
    open_tab(page, "statistics")
    panel_says(page, "By call and state")
    page.execute_script("document.querySelector('[data-tab=ranks]').click()")
    panel_says(page, "Ranks of the window")
    first = "return document.querySelector('#panel tbody td').textContent"
    page.execute_script("document.querySelector('#panel th').click()")
    assert wait_for(page, first) == "3"
    page.execute_script("document.querySelector('#panel th').click()")
    assert wait_for(page, first) == "0"


def test_a_refused_search_leaves_no_hits_of_another(page: Any) -> None:
    search(page, "MPI_Allreduce rank 2")
    panel_says(page, "states of the window,")
    search(page, "rank")
    panel_says(page, "'rank' is not a condition")
    assert page.execute_script("return document.querySelector('#panel table')") is None
    page.get_log("browser")


def test_it_opens_with_findings_that_lead_to_their_windows(page: Any) -> None:
    panel_says(page, "Of the time of all ranks,")
    whole = window(page)
    page.execute_script("document.querySelectorAll('.findings button')[1].click()")
    panel_says(page, "Call: ")
    assert window(page) != whole
    keys(page, "Backspace")
    assert window(page) == whole


def search(page: Any, text: str) -> None:
    page.execute_script("document.getElementById('search').value = arguments[0]", text)
    page.execute_script("document.getElementById('search-form').requestSubmit()")


def point_at(page: Any, across: float, down: float) -> None:
    page.execute_script(
        """const canvas = document.getElementById('chart'), box = canvas.getBoundingClientRect();
        const x = box.left + 76 + (box.width - 76) * arguments[0];
        const at = {clientX: x, clientY: box.top + (box.height - 22) * arguments[1]};
        canvas.dispatchEvent(new PointerEvent('pointermove', {...at, bubbles: true}));""",
        across,
        down,
    )


def tip_says(page: Any, words: str) -> None:
    box = "document.getElementById('tip')"
    wait_for(page, f"return !{box}.hidden && {box}.textContent.includes({json.dumps(words)})")


def colours(page: Any) -> dict[int, int]:
    """Return the number of pixels of each colour in the chart."""
    counted = page.execute_script(
        """const canvas = document.getElementById('chart'), copy = document.createElement('canvas');
        [copy.width, copy.height] = [canvas.width, canvas.height];
        const context = copy.getContext('2d', {willReadFrequently: true});
        context.drawImage(canvas, 0, 0);
        const {data} = context.getImageData(76, 0, canvas.width - 76, canvas.height - 30);
        const counts = {};
        for (const one of new Uint32Array(data.buffer)) counts[one] = (counts[one] || 0) + 1;
        return counts;"""
    )
    return {int(colour): int(count) for colour, count in counted.items()}


def test_a_bar_has_its_name_and_a_tooltip(page: Any, viewer: Viewer) -> None:
    (longest,) = json.loads(viewer.get("ask/search?q=rank%201%20recv&most=1")[1])["states"]
    begin, end = longest["start"], longest["end"]
    named = "return document.getElementById('chart').dataset.named"
    page.get("about:blank")
    page.get(f"{viewer.address}#t={begin}..{end}&r=1..1")
    wait_for(page, f"{named} === '1'")
    point_at(page, 0.5, 0.5)
    tip_says(page, f"{longest['state']} in {longest['kind']}, ")
    tip_says(page, "rank 1 on graphene-1.nancy.grid5000.fr")
    tip_says(page, "with rank ")
    # The tooltip of a column with many states shows their shares.
    keys(page, "0")
    wait_for(page, f"{named} === '0'")
    for _ in range(200):  # the picture may be that of the previous window
        point_at(page, 0.5, 0.5)
        if "% " in page.execute_script("return document.getElementById('tip').textContent"):
            break
        time.sleep(0.05)
    tip_says(page, "% ")


def test_what_is_not_on_the_critical_path_is_dimmed(page: Any, viewer: Viewer) -> None:
    page.get("about:blank")
    page.get(f"{viewer.address}#t=0.03..0.0305")
    wait_for(page, "return document.getElementById('chart').dataset.drawn")
    bright = colours(page)
    transfer, compute = 0xFFA97001, 0xFFA0D6A5  # #0170A9 and #A5D6A0, as pixels
    keys(page, "k")
    wait_for(page, "return document.getElementById('chart').dataset.path !== '0'")
    dimmed = colours(page)
    assert dimmed.get(transfer, 0) < bright[transfer] / 4
    assert 0 < dimmed[compute] < bright[compute]


def test_durations_are_drawn_by_call(page: Any, viewer: Viewer) -> None:
    answer = json.loads(viewer.get("ask/durations")[1])
    open_tab(page, "durations")
    panel_says(page, "How long calls take")
    names = "return [...document.querySelectorAll('.of-kind button')].map((one) => one.textContent)"
    assert wait_for(page, names) == [kind["kind"] for kind in answer["kinds"]]
    page.execute_script("document.querySelector('.of-kind button').click()")
    panel_says(page, f"call = {answer['kinds'][0]['kind']}; the longest first")


def test_many_ranks_are_groups_that_open(driver: Any, tmp_path: Path) -> None:
    tisim_process("generate", "halo3d", "--ranks", "512", "--iterations", "1", "-o", tmp_path / "h")
    fat_tree = ("--nodes", "512", "--speed", "1Gf", "--bandwidth", "10Gbps", "--latency", "1us")
    tisim_process("platform", "new", "fat-tree", *fat_tree, "-o", tmp_path / "f.xml")
    tisim.replay(tmp_path / "h", platform=tmp_path / "f.xml", timeline=tmp_path / "h.tir")
    with viewers.viewer(tmp_path / "h.tir") as running:
        driver.get(running.address + "#tab=links")
        says = "return document.getElementById('said').textContent"
        found = wait_for(driver, f"{says}.match(/a group of ([0-9]+) ranks/)?.[1]")
        size = int(found)
        assert 512 % size == 0 and size & (size - 1) == 0
        # The strips have one level each, and the picture of so many hosts is drawn on a click.
        panel_says(driver, "hosts to level 1 (512)")
        assert driver.execute_script("return document.querySelector('img.platform')") is None
        click_at(driver, -0.02, 0.999)
        assert window(driver).endswith(f"ranks {512 - size} to 511")
        wait_for(driver, f"{says}.includes('A lane is a rank.')")
    driver.get_log("browser")
    driver.get_log("performance")


def test_a_window_after_the_end_of_its_ranks_says_so(page: Any, viewer: Viewer) -> None:
    head = viewer.get("ask/tile?columns=10&lanes=1&first=0&last=0&begin=0.0793505&end=0.07936")[1]
    length = int.from_bytes(head[:4], "little")
    note = json.loads(head[4 : 4 + length])["note"]
    assert note.startswith("Nothing happens here: the last rank shown ended at 79.")


def test_an_error_is_one_sentence(page: Any) -> None:
    page.execute_script("document.getElementById('search').value = 'rank'")
    page.execute_script("document.getElementById('search-form').requestSubmit()")
    text = wait_for(
        page, "const m = document.getElementById('message'); return !m.hidden && m.textContent"
    )
    assert text.startswith("'rank' is not a condition such as: MPI_Allreduce, rank 31, wait")
    # The browser logs the status of every refused request.
    refused = page.get_log("browser")
    assert all("status of 400" in entry["message"] for entry in refused)


def test_a_phone_has_no_sideways_scrolling(page: Any, viewer: Viewer) -> None:
    device = {"width": 420, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", device)
    try:
        page.get(viewer.address)
        panel_says(page, "Findings")
        assert page.execute_script("return document.documentElement.scrollWidth") <= 420
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_dark_mode(page: Any) -> None:
    media = {"features": [{"name": "prefers-color-scheme", "value": "dark"}]}
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    try:
        ground = page.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert ground == "rgb(23, 25, 28)"
    finally:
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_windows_are_kept_and_come_back(page: Any, viewer: Viewer) -> None:
    whole = window(page)
    keys(page, "w", "w")
    near = window(page)
    assert near != whole
    keys(page, "b", "0")
    assert window(page) == whole
    keys(page, "Backspace")
    assert window(page) == near
    page.find_element("css selector", "#redo").click()
    assert window(page) == whole
    name = page.find_element("css selector", ".bookmarks input")
    assert name.get_attribute("value") == "window 1"
    page.execute_script("arguments[0].select()", name)
    name.send_keys("slow @ start\n")
    page.find_element("css selector", ".bookmarks button").click()
    assert window(page) == near
    # The address is updated a little later.
    wait_for(page, "return /slow/.test(location.hash) && !/t=0[.][.]/.test(location.hash)")
    kept = page.execute_script("return location.hash")
    page.get("about:blank")
    page.get(viewer.address + kept)
    wait_for(page, "return document.getElementById('chart').dataset.drawn")
    assert window(page) == near
    name = page.find_element("css selector", ".bookmarks input")
    assert name.get_attribute("value") == "slow @ start"
    page.find_element("css selector", ".bookmarks button[title]").click()
    wait_for(page, "return !location.hash.includes('slow')")


def open_tab(page: Any, name: str) -> None:
    page.execute_script(f"document.querySelector('[data-tab={name}]').click()")


def test_the_critical_path_leads_to_the_long_computation(page: Any, viewer: Viewer) -> None:
    page.get("about:blank")
    page.get(viewer.address + "#t=0.03..0.0305&r=0..3&tab=path&k=1")
    panel_says(page, "Ranks on the path")
    drawn = "return document.getElementById('chart').dataset.path"
    wait_for(page, f"{drawn} === '44'")
    # Its longest parts include one of rank 3.
    rows = "[...document.querySelectorAll('#panel tr.clickable')]"
    page.execute_script(f"{rows}.find((one) => /compute/.test(one.textContent)).click()")
    panel_says(page, "compute, 105.2 us")
    keys(page, "k")
    wait_for(page, f"{drawn} === '0'")


def test_links_are_drawn_on_the_platform(page: Any, viewer: Viewer) -> None:
    page.get("about:blank")
    page.get(viewer.address + "#t=0.03..0.0305&tab=links")
    panel_says(page, "Links used in this window: 12")
    size = wait_for(page, "return document.querySelector('#panel img.platform').naturalWidth")
    assert size > 300


def test_a_selected_receive_has_its_message_and_its_route(page: Any, viewer: Viewer) -> None:
    page.get("about:blank")
    # A receive whose message has arrived already, and one that waits for it.
    for at in ("2@0.0302", "0@0.03005"):
        page.get(viewer.address + f"#t=0.03..0.0305&tab=selected&s={at}")
        panel_says(page, "Its route: 4 links")
        panel_says(page, "graphene-1, " if at.startswith("0") else "graphene-3, ")


def test_colours_orders_and_the_call_path(page: Any, viewer: Viewer) -> None:
    page.get("about:blank")
    page.get(viewer.address + "#t=0.03..0.0305&r=0..3&by=cause&o=wait&c=1")
    legend = "return document.getElementById('legend').textContent.includes('for rank')"
    wait_for(page, legend)
    wait_for(page, "return document.getElementById('window').textContent.includes('positions')")
    wait_for(page, "return document.getElementById('depth-chart').dataset.drawn === '1'")
    order = json.loads(viewer.get("ask/order?name=wait")[1])["ranks"]
    click_at(page, 0.5, 0.1)
    panel_says(page, "of the trace of rank" if order else "")
    panel_says(page, f"{order[0]} on graphene-{order[0]}")
    says = f"return document.getElementById('depth-name').textContent.includes('Rank {order[0]}:')"
    wait_for(page, says)
    page.execute_script(
        """const order = document.getElementById('order');
        order.value = 'host'; order.dispatchEvent(new Event('change'));"""
    )
    wait_for(page, "return location.hash.includes('o=host')")
    page.execute_script(
        """const by = document.getElementById('by');
        by.value = 'procedure'; by.dispatchEvent(new Event('change'));"""
    )
    # This trace has no call sites.
    wait_for(page, "return document.getElementById('said').textContent.startsWith('Coloured by')")


def test_arrows_are_bundles_of_those_that_cannot_be_told_apart(viewer: Viewer) -> None:
    few = json.loads(viewer.get("ask/messages?most=5000&columns=20&lanes=4")[1])
    every = json.loads(viewer.get("ask/messages?most=5000")[1])
    assert every["all"] == few["all"] == len(every["messages"]) > 10 * len(few["messages"])

    assert sum(message["count"] for message in few["messages"]) == every["all"]
    waits = [message["waited"] for message in few["messages"]]
    assert waits == sorted(waits, reverse=True)
    assert sum(waits) == pytest.approx(sum(message["waited"] for message in every["messages"]))
    assert {message["count"] for message in every["messages"]} == {1}


def test_a_killed_server_is_noticed(driver: Any, run_file: Path) -> None:
    with viewers.viewer(run_file) as running:
        driver.get(running.address)
        wait_for(driver, "return document.getElementById('chart').dataset.drawn")
        running.process.kill()
        running.process.communicate(timeout=60)
        keys(driver, "w")
        says = "const message = document.getElementById('message'); return !message.hidden && "
        wait_for(driver, says + "message.textContent.includes('was tisim view stopped?')")
    driver.get_log("browser")
    driver.get_log("performance")


def test_a_rank_that_is_once_late_is_found_by_clicks(driver: Any, tmp_path: Path) -> None:
    platform = Path(__file__).resolve().parents[3] / "platforms/graphene.xml"
    trace = record_late_rank(tmp_path)
    tisim.replay(trace, platform=platform, timeline=tmp_path / "late.tir")
    with viewers.viewer(tmp_path / "late.tir") as running:
        driver.get(running.address + "#tab=statistics")
        panel_says(driver, "By call and state")
        # Computations, the longest first.
        rows = "[...document.querySelectorAll('#panel tr.clickable')]"
        driver.execute_script(f"{rows}.find((one) => /^compute/.test(one.textContent)).click()")
        panel_says(driver, "the longest first")
        driver.execute_script("document.querySelector('#panel tbody tr').click()")
        panel_says(driver, f"{LATE} on graphene-{LATE}")
        panel_says(driver, "exchange (lu.c:")
        panel_says(driver, "Who waits because of it: 7 ranks")
        # One of the waiting ranks leads back to it, even through other waiting ranks.
        driver.execute_script("document.querySelectorAll('#panel tbody tr')[6].click()")
        panel_says(driver, "What it waited for")
        panel_says(driver, f"The origin: rank {LATE} in compute, on graphene-{LATE}")
        # The flame graph has a box for each function, call and state.
        open_tab(driver, "sites")
        wait_for(driver, "return document.querySelector('canvas.flame')?.dataset.boxes >= 12")
        # Also via the critical path, and via the ranks that compute most.
        driver.execute_script("document.querySelector('[data-tab=path]').click()")
        panel_says(driver, "Its longest parts")
        longest = "return [...document.querySelectorAll('#panel table')].at(-1).tBodies[0]"
        text = driver.execute_script(f"{longest}.rows[0].textContent")
        assert text.startswith(f"{LATE}compute")
        order = json.loads(running.get("ask/order?name=state:compute")[1])["ranks"]
        assert order[0] == LATE
    driver.get_log("browser")
    driver.get_log("performance")
