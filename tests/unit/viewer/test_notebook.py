"""The viewer in a notebook: as a widget, and in a frame."""

from __future__ import annotations

import http.server
import json
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.report import browser as chromium
from tests.unit.viewer import viewer as viewers
from tests.unit.viewer.viewer import Viewer
from tisim.analysis.viewer import NotebookView
from tisim.analysis.viewer.server import Guard
from tisim.errors import InputError

pytestmark = pytest.mark.skipif(
    viewers.missing() is not None, reason=f"needs the viewer: {viewers.missing()}"
)


@pytest.fixture
def shown(run_file: Path) -> Iterator[NotebookView]:
    view = NotebookView(run_file, frame=True)
    yield view
    view.close()


def html_of(view: NotebookView) -> str:
    return str(view._repr_mimebundle_()[0]["text/html"])


def test_only_the_page_is_framed_and_only_on_request() -> None:
    frame = {"host": "127.0.0.1:1", "sec-fetch-site": "cross-site", "sec-fetch-dest": "iframe"}
    fetch = {**frame, "sec-fetch-dest": "empty"}
    guard = Guard(1, "t", framed=True)
    assert guard.refusal("GET", "/t/", frame) is None
    assert guard.refusal("GET", "/t/", fetch) is not None
    assert guard.refusal("GET", "/t/ask/run", frame) is not None
    assert guard.refusal("GET", "/x/", frame) is not None
    assert guard.refusal("GET", "/t/", {**frame, "origin": "http://evil.example"}) is not None
    assert "frame-ancestors http://127.0.0.1:* " in guard.headers["Content-Security-Policy"]
    plain = Guard(1, "t")
    assert plain.refusal("GET", "/t/", frame) is not None
    assert plain.headers["Content-Security-Policy"].endswith("frame-ancestors 'none'")


def test_the_kernel_is_the_server(shown: NotebookView) -> None:
    (address,) = re.findall(r'src="([^"]+)"', html_of(shown))
    assert address == shown.address
    status, answer = Viewer(None, address).get("ask/run")  # type: ignore[arg-type]
    assert status == 200 and json.loads(answer)["ranks"] == 4
    shown.close()
    with pytest.raises(OSError):
        Viewer(None, address).get("ask/run")  # type: ignore[arg-type]


def test_it_shows_one_run_or_two(run_file: Path) -> None:
    with pytest.raises(InputError, match="show one run file"):
        NotebookView()
    view = NotebookView(run_file, run_file, frame=True)
    _, answer = Viewer(None, str(view.address)).get("ask/run")  # type: ignore[arg-type]
    assert json.loads(answer)["runs"] == 2
    view.close()


def test_the_command_says_how(run_file: Path) -> None:
    with viewers.viewer("--notebook", run_file) as running:
        frame = {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Dest": "iframe"}
        assert running.get("", frame)[0] == 200
        assert running.get("ask/run", frame)[0] == 403


@pytest.mark.skipif(chromium.missing() is not None, reason=f"needs a browser: {chromium.missing()}")
def test_a_page_of_another_port_shows_it(shown: NotebookView, tmp_path: Path) -> None:
    page = tmp_path / "notebook.html"
    page.write_text(f"<!doctype html><title>n</title>{html_of(shown)}")

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments, directory=str(tmp_path))  # type: ignore[arg-type]

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with chromium.browser(tmp_path / "profile") as driver:
            driver.get(f"http://localhost:{server.server_port}/notebook.html")
            driver.switch_to.frame(0)
            script = "return document.getElementById('chart')?.dataset.drawn"
            for _ in range(1200):
                if driver.execute_script(script):
                    break
                time.sleep(0.05)
            assert driver.execute_script(script)
        server.shutdown()
