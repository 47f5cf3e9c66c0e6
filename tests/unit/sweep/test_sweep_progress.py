"""The progress bar of a sweep: on a terminal, when it takes long, with what is left."""

from __future__ import annotations

import io
import re

import pytest

from tisim.sweep import progress
from tisim.sweep.progress import SweepBar


class Terminal(io.StringIO):
    """A terminal that remembers."""

    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, *, wanted: bool = True) -> str:
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    with SweepBar(3, wanted=wanted) as bar:
        bar.advance(failed=False)
        bar.advance(failed=True)
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", stream.getvalue())


def test_it_counts_scenarios_and_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    text = shown(monkeypatch, Terminal())
    assert "scenarios" in text
    assert "2/3" in text
    assert "1 failed" in text
    assert re.search(r"\d:\d\d:\d\d|-:--:--", text)  # the time left


def test_a_short_sweep_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, Terminal()) == ""


def test_a_file_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 0.0)
    assert shown(monkeypatch, io.StringIO()) == ""
    assert shown(monkeypatch, Terminal(), wanted=False) == ""
