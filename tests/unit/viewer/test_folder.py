"""The viewer as a folder for any web server."""

from __future__ import annotations

import functools
import http.server
import json
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support import GRAPHENE, RING
from tests.unit.command_line import CommandLine, refused
from tests.unit.report import browser as chromium
from tests.unit.viewer import viewer as viewers
from tests.unit.viewer.test_page import (
    assert_quiet,
    keys,
    open_tab,
    panel_says,
    wait_for,
    window,
)
from tisim.analysis.timeline.run_file import RunFile
from tisim.analysis.viewer.answers import Answers
from tisim.analysis.viewer.folder import write_folder

pytestmark = viewers.needs_viewer


@pytest.fixture(scope="module")
def folder(run_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("static") / "lu"
    written = write_folder(RunFile(run_file), path)
    assert written == sum(one.stat().st_size for one in path.rglob("*") if one.is_file())
    return path


def answer(folder: Path, name: str) -> Any:
    return json.loads(zlib.decompress((folder / "answers" / name).read_bytes()))


def test_its_answers_are_those_of_the_server(folder: Path, run_file: Path) -> None:
    answers = Answers([RunFile(run_file)])
    end = str(RunFile(run_file).end)
    assert answer(folder, "findings.z") == json.loads(answers.answer("findings", {}) or b"")
    whole = answer(folder, "window-0-0.z")
    query = {"begin": "0.0", "end": end}
    for name in ("path", "durations", "links"):
        assert whole[name] == json.loads(answers.answer(name, query) or b"")
    tile = {**query, "columns": "1024", "lanes": "4", "by": "key"}
    written = zlib.decompress((folder / "answers" / "tile-0-0.z").read_bytes())
    assert written == answers.answer("tile", tile)
    # All parts of each level of the pyramid are there, and windows overlap by half.
    index = json.loads((folder / "answers" / "index.json").read_bytes())
    names = {one.name for one in (folder / "answers").iterdir()}
    for level in range(index["levels"]):
        assert {f"tile-{level}-{part}.z" for part in range(1 << level)} <= names
    for level in range(index["pictured"]):
        assert {f"window-{level}-{part}.z" for part in range((2 << level) - 1)} <= names


def test_the_command_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tisim = CommandLine(tmp_path, capsys)
    made = tmp_path / "ring"
    arguments = ["--platform", str(GRAPHENE), str(RING)]
    said = tisim("view", "--static", str(made), *arguments)
    assert said.status == 0, said.err
    assert (made / "index.html").is_file() and (made / "page" / "viewer.js").is_file()
    assert f"tisim: wrote {made}, " in said.out
    before = {path: path.read_bytes() for path in made.rglob("*") if path.is_file()}
    again = tisim("view", "--static", str(made), *arguments)
    refused(tisim, again, "DIR/ring: is there already and not empty; name a new directory")
    assert {path: path.read_bytes() for path in made.rglob("*") if path.is_file()} == before
    two = tisim("view", "--static", str(tmp_path / "two"), "a.tir", "b.tir")
    refused(tisim, two, "--static shows one run")
    assert [path.name for path in tmp_path.iterdir()] == ["ring"]


@pytest.fixture
def address(folder: Path) -> Iterator[str]:
    """The folder on a web server that knows nothing of it."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@chromium.needs_browser
def test_any_web_server_shows_it(address: str, tmp_path: Path) -> None:
    with chromium.browser(tmp_path / "profile") as driver:
        driver.get(address)
        panel_says(driver, "Of the time of all ranks until they end")
        whole = window(driver)
        assert whole == "0.000 ms to 79.351 ms, ranks 0 to 3"
        # A finding leads to its window, its state and who waits for it.
        driver.execute_script("document.querySelectorAll('.findings button')[1].click()")
        panel_says(driver, "Who waits because of it: ")
        wait_for(driver, "return document.getElementById('chart').dataset.named > 0")
        open_tab(driver, "statistics")
        panel_says(driver, "Prepared for ")
        panel_says(driver, "By call and state")
        keys(driver, "k", "m", "0")
        assert window(driver) == whole
        wait_for(driver, "return document.getElementById('chart').dataset.path !== '0'")
        for tab in ("durations", "path", "links", "messages"):
            open_tab(driver, tab)
            panel_says(driver, "Prepared for 0.000 ms to 79.351 ms, all ranks.")
        hidden = "return getComputedStyle(document.getElementById('search-form')).display"
        assert driver.execute_script(hidden) == "none"
        assert_quiet(driver, address)
