"""The viewer's server: access control, and messages about damaged run files."""

from __future__ import annotations

import contextlib
import gzip
import json
import signal
import socket
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from random import Random
from urllib.parse import urlsplit

import pytest

from tests.support import GRAPHENE, RING, campaign
from tests.torture.mutations import mutate
from tests.unit.command_line import CommandLine, refused
from tests.unit.viewer import viewer as viewers
from tests.unit.viewer.viewer import Viewer, needs_viewer
from tisim.analysis.timeline.run_file import RunFile
from tisim.analysis.viewer.answers import Answers
from tisim.analysis.viewer.server import Guard, listen, make_server
from tisim.errors import InputError


@viewers.needs_viewer
def test_a_trace_is_replayed_first() -> None:
    platform, trace = GRAPHENE, RING
    with viewers.viewer("--platform", platform, trace) as running:
        status, answer = running.get("ask/run")
        assert status == 200
        shown = json.loads(answer)
        assert (shown["ranks"], shown["title"]) == (4, "ring.4 on graphene.xml")
        late = "search?q=state = late sender and rank = 1".replace(" ", "%20")
        (wait,) = json.loads(running.get(f"ask/{late}")[1])["states"]
        details = json.loads(running.get(f"ask/record?rank=1&time={wait['start']}")[1])
        assert details["chain"][0]["rank"] == 0


@viewers.needs_viewer
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.tir"], "nothing.tir: cannot be read: No such file or directory"),
        (["text.tir"], "text.tir: is not a run file, or damaged.*"),
        (["."], ".: is a directory, not a run file; to replay a trace first, give --platform FILE"),
        (["--hosts", "hosts.txt", "run.tir"], "--hosts needs --platform"),
        (["--platform", "nothing.xml", "text.tir"], "nothing.xml: cannot read this file: .*"),
    ],
)
def test_what_it_cannot_show(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    tisim = CommandLine(tmp_path, capsys)
    tisim.write("text.tir", "text")
    refused(tisim, tisim("view", *arguments), message)


def test_it_sends_the_page_and_its_files(viewer: Viewer) -> None:
    status, page = viewer.get("")
    assert status == 200 and b"page/viewer.js" in page
    assert viewer.get("page/viewer.js")[0] == 200
    assert b"http" not in page


@pytest.mark.parametrize("root", ["/", "/wrong/", "//", "/%2e%2e/"])
def test_nothing_without_the_token(viewer: Viewer, root: str) -> None:
    for path in ("", "ask/run", "page/viewer.js"):
        assert viewer.get(path, root=root)[0] == 404


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1:1"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
    ],
)
def test_pages_of_other_origins_get_nothing(
    viewer: Viewer, headers: dict[str, str], status: int
) -> None:
    assert viewer.get("ask/run", headers)[0] == status


def test_its_own_origin_is_allowed(viewer: Viewer) -> None:
    port = urlsplit(viewer.address).port
    assert viewer.get("ask/run", {"Origin": f"http://127.0.0.1:{port}"})[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_can_be_changed(viewer: Viewer, method: str) -> None:
    assert viewer.get("ask/run", method=method)[0] == 405


@pytest.mark.parametrize(
    "path",
    [
        "page/../server.py",
        "page/..%2fserver.py",
        "page/%2e%2e/server.py",
        "page//etc/passwd",
        "page/%2fetc%2fpasswd",
        "../../etc/passwd",
        "page/",
        "ask/__class__",
        "ask/nothing",
    ],
)
def test_no_other_file_is_sent(viewer: Viewer, path: str) -> None:
    assert viewer.get(path)[0] == 404


@pytest.mark.parametrize(
    ("question", "reason"),
    [
        ("tile?columns=5000&lanes=4", "columns must be at most 4096"),
        ("tile?columns=100&lanes=99999999", "lanes must be at most 2048"),
        ("tile?columns=x&lanes=4", "columns must be a whole number, not 'x'"),
        ("tile?columns=10&lanes=4&begin=nan", "begin must be a number, not 'nan'"),
        ("tile?columns=10&lanes=4&begin=2&end=1", "must be within 0 to"),
        ("tile?columns=10&lanes=4&by=luck", "by must be one of state, kind, key, procedure"),
        ("tile?columns=10&lanes=4&first=3&last=1", "first must not be above last"),
        ("record?rank=4&time=0", "rank must be at most 3"),
        ("record?rank=1", "time must be a number, not ''"),
        ("messages?most=999999999", "most must be at most 5000"),
        ("search?q=wat>1", "cannot search for 'wat'"),
    ],
)
def test_senseless_questions_get_an_error(viewer: Viewer, question: str, reason: str) -> None:
    status, answer = viewer.get(f"ask/{question}")
    assert status == 400
    assert reason in json.loads(answer)["error"]


def test_huge_requests_end_with_an_error(viewer: Viewer) -> None:
    assert viewer.get("ask/search?q=" + "x" * 10_000)[0] == 414
    assert viewer.get("ask/search?q=" + "x" * 1_000)[0] == 400
    parts = urlsplit(viewer.address)
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nA: " + b"x" * 100_000)
        assert connection.recv(64).startswith(b"HTTP/1.1 400")
    assert viewer.get("ask/run")[0] == 200


def test_half_open_connections_lock_nobody_out(viewer: Viewer) -> None:
    parts = urlsplit(viewer.address)
    with contextlib.ExitStack() as stack:
        for number in range(100):
            connection = socket.create_connection((parts.hostname, parts.port), timeout=60)
            stack.enter_context(connection)
            if number % 2:
                connection.sendall(b"GET / HTTP/1.1\r\nA: ")
        for _ in range(3):
            assert viewer.get("ask/run")[0] == 200


def test_the_head_of_a_request_has_to_come_in_time(viewer: Viewer) -> None:
    parts = urlsplit(viewer.address)
    with socket.create_connection((parts.hostname, parts.port), timeout=60) as connection:
        with contextlib.suppress(ConnectionError):  # single bytes do not extend the timeout
            while True:
                connection.sendall(b"G")
                time.sleep(0.2)
        with contextlib.suppress(ConnectionError):
            assert connection.recv(64) == b""
    assert viewer.get("ask/run")[0] == 200


def test_long_answers_are_compressed(viewer: Viewer) -> None:
    plain = viewer.get("page/viewer.css")[1]
    packed = viewer.get("page/viewer.css", {"Accept-Encoding": "gzip"})[1]
    assert gzip.decompress(packed) == plain and len(packed) < len(plain) / 2


def test_ctrl_c_ends_it(run_file: Path) -> None:
    with viewers.viewer(run_file) as running:
        running.process.send_signal(signal.SIGINT)
        _, errors = running.process.communicate(timeout=60)
        assert running.process.returncode == 0
        assert errors.endswith("tisim: stopped\n") and "Traceback" not in errors
    assert [path.name for path in run_file.parent.iterdir()] == [run_file.name]


class _SlowAnswers(Answers):
    """Answers nothing until it is allowed to."""

    def __init__(self) -> None:
        self.asked, self.may = threading.Event(), threading.Event()

    def answer(self, name: str, query: Mapping[str, str]) -> bytes | None:
        self.asked.set()
        self.may.wait(60)
        return b"{}"


@viewers.needs_viewer
def test_what_it_ends_under_way_is_no_error(capfd: pytest.CaptureFixture[str]) -> None:
    answers = _SlowAnswers()
    with listen(0) as listener:
        port = listener.getsockname()[1]
        guard = Guard(port)
        server = make_server(answers, guard, lambda _: None)
        serving = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        serving.start()
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            head = f"GET /{guard.token}/ask/run HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"
            connection.sendall(head.encode())
            assert answers.asked.wait(60)
            server.should_exit = True
            connection.settimeout(60)
            while connection.recv(4096):
                pass
        answers.may.set()
        serving.join()
    assert capfd.readouterr() == ("", "")


def test_a_killed_viewer_leaves_nothing_behind(run_file: Path) -> None:
    with viewers.viewer(run_file) as running:
        assert running.get("ask/run")[0] == 200
        running.process.kill()
        running.process.communicate(timeout=60)
        port = urlsplit(running.address).port
    assert [path.name for path in run_file.parent.iterdir()] == [run_file.name]
    # The file and the port can be reused immediately.
    with viewers.viewer("--port", str(port), run_file) as again:
        assert again.get("ask/run")[0] == 200


@pytest.mark.parametrize(("port", "option"), [("22", ""), ("2222", "-p 2222 ")])
def test_in_an_ssh_session_it_says_how_to_reach_it(run_file: Path, port: str, option: str) -> None:
    session = {"SSH_CONNECTION": f"10.0.0.7 50000 10.0.0.9 {port}", "USER": "ada"}
    with viewers.viewer(run_file, **session) as running:
        own = urlsplit(running.address).port
        running.process.send_signal(signal.SIGINT)
        _, errors = running.process.communicate(timeout=60)
    assert f"ssh -N -L {own}:127.0.0.1:{own} {option}ada@10.0.0.9\n" in errors


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_an_ended_viewer_removes_the_run_that_it_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    root = Path(__file__).resolve().parents[3]
    arguments = ["--platform", root / "platforms/graphene.xml", root / "traces/ring.4"]
    with viewers.viewer(*arguments) as running:
        assert [path.name[:6] for path in tmp_path.iterdir()] == ["tisim-"]
        running.process.send_signal(number)
        running.process.communicate(timeout=60)
    assert [*tmp_path.iterdir()] == []


def test_it_listens_on_loopback_only(viewer: Viewer) -> None:
    port = urlsplit(viewer.address).port
    with socket.socket() as other, pytest.raises(OSError):
        other.settimeout(5)
        other.connect(("127.0.0.2", port))


QUERY = {
    **{"columns": "50", "lanes": "4", "rank": "1", "time": "0.0003", "most": "100"},
    **{"q": "rank = 1 and state = transfer", "begin": "0", "by": "state"},
}


@needs_viewer
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # casts of invalid numbers
def test_every_question_is_answered_or_refused(run_file: Path, tmp_path: Path) -> None:
    sound, damaged = run_file.read_bytes(), tmp_path / "damaged.tir"
    refused = 0
    for seed in range(campaign(100, 2000)):
        damaged.write_bytes(mutate("run.tir", sound, Random(seed)))
        try:
            answers = Answers([RunFile(damaged)])
        except InputError:
            refused += 1
            continue
        for question in ("run", "tile", "statistics", "record", "state", "messages", "links"):
            try:
                answers.answer(question, QUERY)
            except InputError:
                refused += 1
    assert refused > 20


def test_what_run_json_may_not_say(run_file: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a run file, or damaged"):
        changed = run_file.read_bytes().replace(b'"hosts"', b'"HOSTS"')
        (tmp_path / "changed.tir").write_bytes(changed)
        RunFile(tmp_path / "changed.tir")
