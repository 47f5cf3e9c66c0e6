"""The chain of causes of a wait, and the viewer's findings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

import tisim
from tests.support import GRAPHENE, ROOT, platform_file
from tests.unit.report import browser as chromium
from tests.unit.viewer import viewer as viewers
from tests.unit.viewer.test_page import assert_quiet, panel_says, wait_for, window
from tests.unit.viewer.viewer import LATE, record_late_rank
from tisim.analysis.report import write_report
from tisim.analysis.report.findings import findings
from tisim.analysis.timeline.run_file import RunFile, Window
from tisim.analysis.viewer.answers import Answers
from tisim.analysis.viewer.causes import Causes
from tisim.analysis.viewer.search import Search
from tisim.platform import new
from tisim.traces.generate import Halo3D, Wavefront

pytest.importorskip("pyarrow")


def run_of(folder: Path, ranks: int, text: str) -> RunFile:
    (folder / "t.txt").write_text(text)
    platform = new.cluster(ranks, bandwidth="1GBps", latency="1us", speed="1Gf")
    tisim.replay(folder / "t.txt", platform=platform, timeline=folder / "t.tir")
    return RunFile(folder / "t.tir")


def test_what_lies_before_a_collective_is_forgotten(tmp_path: Path) -> None:
    """Rank 5 is late once before a barrier, and less late before it sends to rank 3."""
    lines = ""
    for rank in range(8):
        first, second = (50e6, 5e6) if rank == 5 else (1e6, 1e6)
        lines += f"{rank} init\n{rank} compute {first}\n{rank} barrier\n{rank} compute {second}\n"
        lines += {3: "3 recv 5 0 8\n", 5: "5 send 3 0 8\n"}.get(rank, "")
    causes = Causes(run_of(tmp_path, 8, lines))
    details = causes.details(3, 53e-3)
    assert details["state"]["state"] == "late sender"
    (origin,) = details["chain"]
    assert (origin["rank"], origin["state"]) == (5, "compute")
    assert origin["end"] - origin["start"] == pytest.approx(5e-3)
    assert origin["explains"] == pytest.approx(4e-3, rel=0.01)
    (cause,) = details["causes"]
    assert (cause["rank"], cause["share"], cause["origin"]) == (5, 1.0, True)


def test_a_late_rank_that_has_waited_is_no_origin(tmp_path: Path) -> None:
    """Rank 0 is late for rank 1, which is therefore late for rank 2 after its own computation."""
    text = "0 init\n0 compute 6e6\n0 send 1 0 8\n"
    text += (
        "1 init\n1 recv 0 0 8\n1 compute 2e6\n1 send 2 0 8\n2 init\n2 compute 2e6\n2 recv 1 0 8\n"
    )
    causes = Causes(run_of(tmp_path, 3, text))
    details = causes.details(2, 7e-3)
    # Rank 1 does not compute longer than rank 2.
    waited, origin = details["chain"]
    assert (waited["rank"], waited["state"]) == (1, "late sender")
    assert waited["share"] < 0.01
    assert (origin["rank"], origin["state"]) == (0, "compute")
    assert origin["explains"] == pytest.approx(6e-3)
    assert sum(cause["explains"] for cause in details["causes"]) == pytest.approx(
        details["state"]["end"] - details["state"]["start"], abs=1e-15
    )


pytestmark = viewers.needs_viewer

_SLOW, _RANKS = "old-0", (499, 999)
_PLATFORM = """<zone id="world" routing="Full">
<cluster id="new" prefix="new-" suffix="" radical="0-498" speed="3Gf" bw="10Gbps" lat="1us"
  router_id="n"/>
<cluster id="old" prefix="old-" suffix="" radical="0-0" speed="2Gf" bw="10Gbps" lat="1us"
  router_id="o"/>
<link id="between" bandwidth="1Tbps" latency="0us"/>
<zoneRoute src="new" dst="old" gw_src="n" gw_dst="o"><link_ctn id="between"/></zoneRoute>
</zone>"""


@pytest.fixture(scope="module")
def halo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two ranks per host on the platform of docs/howto/find_a_delay.md."""
    folder = tmp_path_factory.mktemp("halo")
    nodes = platform_file(folder, _PLATFORM)
    Halo3D(ranks=1000, iterations=20).write(folder / "halo.tit")
    tisim.replay(folder / "halo.tit", platform=nodes, timeline=folder / "halo.tir")
    return folder / "halo.tir"


def test_the_longest_waits_are_due_to_the_slow_node(halo: Path) -> None:
    run = RunFile(halo)
    causes = Causes(run)
    waits = Search(run, "state = late sender").found(Window(run, 0.0, run.end, 0, 999), 30)
    assert isinstance(waits["states"], list) and len(waits["states"]) == 30
    for wait in waits["states"]:
        details = causes.details(wait["rank"], (wait["start"] + wait["end"]) / 2)
        largest, origin = details["causes"][0], details["chain"][-1]
        assert largest["rank"] == origin["rank"] and largest["rank"] in _RANKS
        assert largest["state"] == origin["state"] == "compute"
        # 1 ms at 2 Gf each, where other ranks compute for 2/3 ms.
        assert largest["explains"] > 0.33e-3 * largest["parts"]
        assert largest["origin"] == (largest["share"] >= 0.5)
        times = [one["end"] for one in (details["state"], *details["chain"])]
        assert times == sorted(times, reverse=True)


@pytest.fixture(scope="module")
def viewer(halo: Path) -> Iterator[viewers.Viewer]:
    with viewers.viewer(halo) as running:
        yield running


@chromium.needs_browser
def test_the_node_is_found_in_the_page(viewer: viewers.Viewer, tmp_path: Path) -> None:
    with chromium.browser(tmp_path) as driver:
        driver.get(viewer.address)
        wait_for(driver, "return document.getElementById('chart').dataset.drawn")
        # A search, its longest wait, and the last step of its chain of causes.
        driver.execute_script("document.getElementById('search').value = 'wait > 0.3ms'")
        driver.execute_script("document.getElementById('search-form').requestSubmit()")
        panel_says(driver, "the longest first")
        driver.execute_script("document.querySelector('#panel tr.clickable').click()")
        panel_says(driver, f"in compute, on {_SLOW}. It explains")
        driver.execute_script("[...document.querySelectorAll('.chain button')].at(-1).click()")
        panel_says(driver, f"on {_SLOW}")
        panel_says(driver, "Who waits because of it: ")
        # The ranks by computing time: those of the slow node first, in table and picture.
        driver.execute_script("document.querySelector('[data-tab=ranks]').click()")
        panel_says(driver, "Ranks of the window")
        rows = "[...document.querySelectorAll('#panel tbody tr')].slice(0, 3)"
        first = driver.execute_script(f"return {rows}.map((row) => row.textContent)")
        assert sorted(text.startswith(f"{rank}{_SLOW}") for rank in _RANKS for text in first) == [
            *[False] * 4,
            *[True] * 2,
        ]
        driver.execute_script(
            "const order = document.getElementById('order'); order.value = 'state:compute';"
            "order.dispatchEvent(new Event('change'))"
        )
        wait_for(driver, "return location.hash.includes('o=state')")
        for _ in range(9):
            driver.execute_script(
                "document.dispatchEvent(new KeyboardEvent('keydown', {key: 'W'}))"
            )
        assert "positions" in window(driver)
        ranks = json.loads(viewer.get("ask/order?name=state:compute")[1])["ranks"]
        assert sorted(ranks[:2]) == [*_RANKS]
        assert_quiet(driver, viewer.address)


def found(path: Path) -> list[dict[str, object]]:
    answer = Answers([RunFile(path)]).answer("findings", {})
    assert answer is not None
    rows: list[dict[str, object]] = json.loads(answer)["findings"]
    return rows


@viewers.needs_viewer
@pytest.mark.parametrize("which", ["late rank", "npb.S.tar.xz/lu.S.4", "tied links"])
def test_they_are_those_of_the_report(tmp_path: Path, which: str) -> None:
    trace = record_late_rank(tmp_path) if which == "late rank" else ROOT / "traces" / which
    if which == "tied links":
        trace = tmp_path / "t"
        Wavefront(ranks=32, planes=62, iterations=5, compute=5e6).write(trace)
    run, page = tmp_path / "run.tir", tmp_path / "run.html"
    result = tisim.replay(trace, platform=GRAPHENE, timeline=run, event_log=True)
    write_report(result, page)
    listed = re.findall(r'<ul class="said">(.*?)</ul>', page.read_text())[0]
    told = [unescape(re.sub("<[^>]*>", "", one)) for one in listed.split("</li>") if one]
    own = [str(script["text"]).replace("**", "") for script in found(run)]
    assert own[:-1] == told[:-1]
    # A run file contains only mean link loads, and hosts are named without their domain.
    link = told[-1].replace(".nancy.grid5000.fr", "")
    assert link.startswith(own[-1].removesuffix("."))
    assert len(own) > 3


@viewers.needs_viewer
def test_each_leads_to_what_it_says(tmp_path: Path) -> None:
    tisim.replay(
        record_late_rank(tmp_path),
        platform=GRAPHENE,
        timeline=tmp_path / "run.tir",
    )
    late = found(tmp_path / "run.tir")[1]
    assert str(late["text"]).startswith(f"**Rank {LATE} computes once for 10.6 ms**")
    rank, time = late["point"]  # type: ignore[misc]
    assert rank == LATE and 0.011 < time < 0.022
    assert late["begin"] < time < late["end"]  # type: ignore[operator]
    assert late["first"] <= LATE <= late["last"]  # type: ignore[operator]


@viewers.needs_viewer
def test_waits_that_are_nothing_have_no_cause(tmp_path: Path) -> None:
    """In 1 s of computation a rank waits for 5 us, because of 5 us more in the other one."""
    for rank, flops in enumerate((1e9, 1.000005e9)):
        (tmp_path / f"r{rank}").write_text(f"{rank} compute {flops}\n{rank} barrier\n")
    platform = new.cluster(2, bandwidth="1GBps", latency="1us", speed="1Gf")
    log = tisim.replay(tmp_path, platform=platform, event_log=True).require_event_log()
    assert len(log.causes)
    texts = [finding.text for finding in findings(log, "", None)]
    assert "0.0% waiting for late ranks." in texts[0]
    assert not any("Most of that waiting" in text for text in texts)


def test_long_histories_are_not_added_up(run_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every = [str(script["text"]) for script in found(run_file)]
    monkeypatch.setattr("tisim.analysis.timeline.causes._MAX_COMPARED_STATES", 100)
    fewer = [str(script["text"]) for script in found(run_file)]
    (said,) = (text for text in fewer if "single wait" in text)
    assert not any("is due to" in text or "because of it" in text for text in fewer)
    # Findings that do not need the sums are unchanged.
    assert all(any(text[:60] == one[:60] for one in every) for text in fewer if text != said)
    assert any("Most of that waiting is" in text for text in fewer)
    # The ranks waiting because of a state are not computed either; the causes of a wait are.
    answers = Answers([RunFile(run_file)])
    wait = json.loads(answers.answer("search", {"q": "late sender", "most": "1"}) or b"")["states"][
        0
    ]
    at = {"rank": str(wait["rank"]), "time": str(wait["start"])}
    record = json.loads(answers.answer("record", at) or b"")
    assert record["waiting"] is None and record["causes"]


@viewers.needs_viewer
def test_of_long_runs_only_sums_are_said(run_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every = found(run_file)
    monkeypatch.setattr("tisim.analysis.viewer.findings._MAX_RECORDS", 100)
    shares, note = found(run_file)
    assert shares["text"] == every[0]["text"]
    assert "too many states" in str(note["text"])
