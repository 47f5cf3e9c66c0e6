"""The viewer elsewhere: in a notebook, and as a folder for any web server."""

from __future__ import annotations

import base64
import functools
import http.server
import json
import re
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
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
from tests.unit.viewer.viewer import Viewer
from tisim.analysis.report.page import page_file
from tisim.analysis.timeline.run_file import RunFile
from tisim.analysis.viewer import NotebookView
from tisim.analysis.viewer import notebook as widgets
from tisim.analysis.viewer.answers import Answers
from tisim.analysis.viewer.folder import write_folder
from tisim.analysis.viewer.notebook import KernelAnswers
from tisim.analysis.viewer.server import Guard
from tisim.errors import InputError

pytestmark = viewers.needs_viewer


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
    with pytest.raises(InputError, match="give one run file"):
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


@chromium.needs_browser
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


# A page like a notebook's, with a model whose messages are sent to the test.
_PAGE = """<!doctype html><title>notebook</title><div id="cell"></div>
<script type="module">
import widget from "./widget.js";
const listeners = new Set();
const bytesOf = (text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0));
const bytes = (text) => new DataView(bytesOf(text).buffer);
const model = {
  on: (name, listener) => listeners.add(listener),
  off: (name, listener) => listeners.delete(listener),
  send: async (content) => {
    const response = await fetch("message", { method: "POST", body: JSON.stringify(content) });
    const answer = await response.json();
    for (const one of [...listeners]) one(answer.content, answer.buffers.map(bytes));
  },
};
window.end = await widget.render({ model, el: document.getElementById("cell") });
window.listeners = listeners;
</script>"""


@pytest.fixture(scope="module")
def answers(run_file: Path) -> Answers:
    return Answers([RunFile(run_file)])


def test_messages_are_answered(answers: Answers) -> None:
    answer = KernelAnswers(answers, 300)
    told, body = answer({"id": "7", "name": "run", "query": {}})
    assert told == {"id": "7"} and body is not None and json.loads(body)["ranks"] == 4
    told, body = answer({"id": "8", "name": "page"})
    page = json.loads(body or b"")
    assert page["height"] == 300 and {"viewer.html", "viewer.js", "viewer.css"} <= {*page["files"]}
    # A picture is identical to the server's.
    query = {"columns": "50", "lanes": "4"}
    assert answer({"id": "9", "name": "tile", "query": query})[1] == answers.answer("tile", query)


@pytest.mark.parametrize(
    ("question", "error"),
    [
        ("no question", "a question must have a name and a query"),
        ({"id": "1", "name": "run"}, "a question must have a name and a query"),
        ({"id": "1", "name": "run", "query": {"of": 3}}, "a query has texts by name"),
        ({"id": "1", "name": "passwords", "query": {}}, "no such question"),
        ({"id": "1", "name": "run", "query": {"of": "c"}}, "no run 'c'"),
    ],
)
def test_senseless_messages_get_an_error(answers: Answers, question: object, error: str) -> None:
    told, body = KernelAnswers(answers, 300)(question)
    assert told["error"] == error and body is None


def test_a_notebook_shows_a_widget(run_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("anywidget")
    view = NotebookView(run_file, height=500)
    assert view.widget is not None and view.address is None
    bundle, _ = view._repr_mimebundle_()
    shown: Any = bundle["application/vnd.jupyter.widget-view+json"]
    assert shown["model_id"] == view.widget.model_id
    assert "export default { render }" in view.widget.get_state()["_esm"]
    sent: list[tuple[dict[str, str], list[bytes]]] = []
    monkeypatch.setattr(view.widget, "send", lambda *message: sent.append(message))
    view.widget._handle_custom_msg({"id": "1", "name": "run", "query": {}}, [])
    ((told, (body,)),) = sent
    assert told == {"id": "1"} and json.loads(body)["ranks"] == 4
    view.close()


def test_without_anywidget_there_is_a_frame(
    run_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    assert widgets.make_widget(Answers([RunFile(run_file)]), 100) is None
    view = NotebookView(run_file)
    html = str(view._repr_mimebundle_()[0]["text/html"])
    assert html.startswith(f'<iframe src="{view.address}"') and "pip install" in html
    view.close()


@pytest.mark.filterwarnings("default")  # of Jupyter's own
def test_a_notebook_that_runs_has_it(run_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("anywidget", "ipykernel", "nbclient", "nbformat"):
        pytest.importorskip(name)
    import nbclient
    import nbformat

    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    code = f"from tisim.analysis.viewer import NotebookView\nNotebookView({str(run_file)!r})"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    (output,) = notebook.cells[0].outputs
    model = output["data"]["application/vnd.jupyter.widget-view+json"]["model_id"]
    state = notebook.metadata["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
    assert "askKernel" in state[model]["state"]["_esm"]


@contextmanager
def _notebook_page(answer: KernelAnswers) -> Iterator[str]:
    """Serve a page with the widget, whose messages are answered by `answer`."""
    script = page_file("widget.js").encode()
    files = {"/": ("text/html", _PAGE.encode()), "/widget.js": ("text/javascript", script)}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(*files.get(self.path, ("text/plain", b"")))

        def do_POST(self) -> None:
            question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            told, body = answer(question)
            buffers = [] if body is None else [base64.b64encode(body).decode()]
            text = json.dumps({"content": told, "buffers": buffers})
            self._send("application/json", text.encode())

        def _send(self, kind: str, content: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@chromium.needs_browser
def test_the_page_asks_by_messages(answers: Answers, tmp_path: Path) -> None:
    page = _notebook_page(KernelAnswers(answers, 700))
    with page as address, chromium.browser(tmp_path / "profile") as driver:
        driver.get(address)
        wait_for(driver, "return document.querySelector('iframe')?.style.height === '700px'")
        driver.switch_to.frame(0)
        wait_for(driver, "return document.getElementById('chart')?.dataset.drawn")
        panel_says(driver, "Of the time of all ranks,")
        # Here, too, the address of the page contains the view, and errors are sentences.
        driver.execute_script("location.hash = '#tab=found&q=state+%3D+late+sender'")
        panel_says(driver, "the longest first")
        # Meanwhile the page may write its view to the address.
        nonsense = "location.hash = '#tab=found&q=nonsense'"
        wait_for(driver, f"{nonsense}; return !document.getElementById('message').hidden")
        driver.switch_to.default_content()
        assert [one for one in driver.get_log("browser") if "favicon" not in one["message"]] == []
        asked = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
        urls = {
            one["params"]["request"]["url"]
            for one in asked
            if one["method"] == "Network.requestWillBeSent"
        }
        assert {url for url in urls if url.startswith("http") and "/ask/" in url} == set()
        driver.execute_script("window.end()")
        assert driver.execute_script("return window.listeners.size") == 0


@pytest.fixture(scope="module")
def folder(run_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("static") / "lu"
    written = write_folder(RunFile(run_file), path)
    assert written == sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
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
    # All parts of each level of the pyramid exist, and windows overlap by half.
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
    refused(tisim, again, "DIR/ring: already exists and is not empty; choose a new directory")
    assert {path: path.read_bytes() for path in made.rglob("*") if path.is_file()} == before
    two = tisim("view", "--static", str(tmp_path / "two"), "a.tir", "b.tir")
    refused(tisim, two, "--static supports only one run")
    assert [path.name for path in tmp_path.iterdir()] == ["ring"]


@pytest.fixture
def address(folder: Path) -> Iterator[str]:
    """Serve the folder by a plain web server."""

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
        panel_says(driver, "Of the time of all ranks,")
        whole = window(driver)
        assert whole == "0.000 ms to 79.351 ms, ranks 0 to 3"
        # A finding links to its window, its state and the ranks waiting for it.
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
