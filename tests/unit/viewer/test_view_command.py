"""``tisim view``: what it takes, and what it says when it cannot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine, refused
from tests.unit.viewer import viewer as viewers

ROOT = Path(__file__).resolve().parents[3]
needs_the_viewer = pytest.mark.skipif(
    viewers.missing() is not None, reason=f"needs the viewer: {viewers.missing()}"
)


@needs_the_viewer
def test_a_trace_is_replayed_first() -> None:
    platform, trace = ROOT / "platforms/graphene.xml", ROOT / "traces/ring.4"
    with viewers.viewer("--platform", platform, trace) as running:
        status, answer = running.get("ask/run")
        assert status == 200
        shown = json.loads(answer)
        assert (shown["ranks"], shown["title"]) == (4, "ring.4 on graphene.xml")
        late = "search?q=state = late sender and rank = 1".replace(" ", "%20")
        (wait,) = json.loads(running.get(f"ask/{late}")[1])["states"]
        details = json.loads(running.get(f"ask/record?rank=1&time={wait['start']}")[1])
        assert details["chain"][0]["rank"] == 0


@needs_the_viewer
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.tir"], "nothing.tir: cannot be read: No such file or directory"),
        (["text.tir"], "text.tir: is no run file, or damaged.*"),
        (["."], ".: is a directory and no run file; --platform FILE replays a trace first"),
        (["--hostfile", "hosts.txt", "run.tir"], "--hostfile goes with --platform"),
        (["--platform", "nothing.xml", "text.tir"], "text.tir:1: a line starts with .*"),
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
