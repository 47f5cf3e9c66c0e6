"""Two runs are aligned by their calls, and compared."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tisim
from tests.support import GRAPHENE, RING
from tests.unit.command_line import CommandLine, refused
from tests.unit.report import browser as chromium
from tests.unit.viewer import viewer as viewers
from tests.unit.viewer.test_page import assert_quiet, keys, panel_says, wait_for
from tisim.analysis.timeline.run_file import RunFile
from tisim.analysis.viewer.alignment import Alignment
from tisim.platform import new

# Rank 0 computes, and sends to rank 1, ten times.
_STEPS = "0 compute {volume}\n0 send 1 1 8\n1 recv 0 1 8\n"

pytestmark = viewers.needs_viewer


def written(folder: Path, name: str, slow: int | None, steps: int = 10, word: str = "send") -> Path:
    """A run of ten steps of a millisecond; the step `slow` takes 5 ms."""
    trace = folder / f"{name}.txt"
    volumes = [5_000_000 if step == slow else 1_000_000 for step in range(steps)]
    lines = "".join(_STEPS.format(volume=volume) for volume in volumes)
    trace.write_text("0 init\n1 init\n" + lines.replace("send", word))
    platform = new.cluster(2, bandwidth="1GBps", latency="1us", speed="1Gf")
    tisim.replay(trace, platform=platform, timeline=folder / f"{name}.tir")
    return folder / f"{name}.tir"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("two")
    return written(folder, "even", None), written(folder, "slow", 4)


@pytest.fixture(scope="module")
def viewer(runs: tuple[Path, Path]) -> Iterator[viewers.Viewer]:
    with viewers.viewer(*runs) as running:
        yield running


def test_times_are_aligned_by_calls(runs: tuple[Path, Path]) -> None:
    even, slow = (RunFile(path) for path in runs)
    alignment = Alignment(even, slow)
    step = even.end / 10
    for at in (1.0, 3.0):
        assert alignment.time(at * step, to_second=True) == pytest.approx(at * step, rel=1e-3)
    for at in (5.0, 9.0):
        later = alignment.time(at * step, to_second=True)
        assert later == pytest.approx(at * step + 4e-3, rel=1e-3)
        assert alignment.time(later, to_second=False) == pytest.approx(at * step, rel=1e-3)
    assert alignment.time(even.end, to_second=True) == slow.end
    delays = alignment.delays(11)
    assert delays[:, 3] == pytest.approx(0.0, abs=1e-6)
    assert delays[:, 9] == pytest.approx(4e-3, rel=1e-2)


def test_a_run_that_goes_on_is_aligned_as_far_as_both_go(tmp_path: Path) -> None:
    short, long = written(tmp_path, "short", None, 5), written(tmp_path, "long", None, 10)
    alignment = Alignment(RunFile(short), RunFile(long))
    assert alignment.time(2e-3, to_second=True) == pytest.approx(2e-3, rel=1e-6)


def test_runs_of_other_programs_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, "one", None)
    written(tmp_path, "other", None, word="ssend")
    tisim_ = CommandLine(tmp_path, capsys)
    arguments = ("view", str(tmp_path / "one.tir"), str(tmp_path / "other.tir"))
    refused(
        tisim_, tisim_(*arguments), r".*other.tir: is a run of another program: call 1 of rank 0.*"
    )
    tisim.replay(
        RING,
        platform=GRAPHENE,
        timeline=tmp_path / "other.tir",
    )
    refused(tisim_, tisim_(*arguments), r".*other.tir: has 4 ranks, .*one.tir has 2: only runs.*")


def test_the_server_answers_for_both(viewer: viewers.Viewer, runs: tuple[Path, Path]) -> None:
    def ask(path: str) -> Any:
        status, answer = viewer.get(f"ask/{path}")
        assert status == 200, answer
        return json.loads(answer)

    ends = [RunFile(path).end for path in runs]
    assert [ask(f"run?of={of}")["end"] for of in "ab"] == ends
    assert ask("run")["runs"] == 2
    assert ask(f"match?of=a&begin=0&end={ends[0]}") == {"begin": 0.0, "end": ends[1]}
    (step,) = ask("delays")["steps"]
    assert step["begin"] <= 0.45 * ends[0] <= step["end"] + 0.06 * ends[0]
    assert step["seconds"] == pytest.approx(4e-3, rel=1e-2)
    found = {(row["state"], row["kind"]): row["b"] - row["a"] for row in ask("differences")["rows"]}
    assert found["compute", "compute"] == pytest.approx(4e-3, rel=1e-3)
    assert found["late sender", "recv"] == pytest.approx(4e-3, rel=1e-2)
    assert viewer.get("ask/run?of=c")[0] == 400


@chromium.needs_browser
def test_the_page_shows_both(viewer: viewers.Viewer, tmp_path: Path) -> None:
    with chromium.browser(tmp_path) as driver:
        driver.get(viewer.address + "#tab=differences")
        for name in ("chart", "chart-b", "delays"):
            wait_for(driver, f"return document.getElementById('{name}').dataset.drawn")
        panel_says(driver, "The calls of the window take +4 ms in B")
        panel_says(driver, "Where B falls behind")
        keys(driver, "w")
        wait_for(
            driver, "return location.hash.includes('differences') && location.hash.length > 40"
        )
        driver.get("about:blank")
        driver.get(viewer.address + "#tab=selected&s=b:1@0.005")
        panel_says(driver, "late sender, 4.99")
        keys(driver, "c")
        panel_says(driver, "compute, 5 ms")
        # The call path of rank 1 in both: 5 ms of the second run, where the first computes for 1.
        driver.get("about:blank")
        driver.get(viewer.address + "#c=1&s=b:1@0.005&tab=statistics")
        for name, run in (("depth-chart", "A"), ("depth-chart-b", "B")):
            wait_for(driver, f"return document.getElementById('{name}').dataset.drawn === '1'")
            title = "depth-name" + name.removeprefix("depth-chart")
            text = driver.execute_script(f"return document.getElementById('{title}').textContent")
            assert text.startswith(f"{run}, rank 1: its calls")
        widths = "return [...document.querySelectorAll('#depth-box canvas')].map((one) => {"
        widths += "const box = one.getBoundingClientRect();"
        widths += (
            "const move = {clientX: box.left + 64 + (box.width - 64) * 0.5, clientY: box.top + 5};"
        )
        widths += "one.dispatchEvent(new PointerEvent('pointermove', move)); return one.title; })"
        assert driver.execute_script(widths) == ["recv, 1 ms", "recv, 5 ms"]
        assert_quiet(driver, viewer.address)
