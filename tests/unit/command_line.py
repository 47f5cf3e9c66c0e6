"""Runs the command line in this process, as a user would call it."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path

import pytest

from tests.support import ROOT
from tisim.commands.cli import INTERNAL_ERROR, main

BACKBONE = str(ROOT / "platforms" / "backbone.xml")
RING = str(ROOT / "traces" / "ring.4")


@dataclass(frozen=True)
class Outcome:
    """Outcome of a command: its exit status and output."""

    status: int
    out: str
    err: str


class CommandLine:
    """``tisim`` with its arguments; `directory` contains the files of a test."""

    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.directory = directory
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Outcome:
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        printed = self._capsys.readouterr()
        assert isinstance(ended.value.code, int)
        assert ended.value.code != INTERNAL_ERROR, printed.err
        return Outcome(ended.value.code, printed.out, printed.err)

    def replay(self, *arguments: str, platform: str = BACKBONE) -> Outcome:
        return self("replay", "--platform", platform, *arguments)

    def write(self, name: str, content: str | bytes) -> str:
        """Write a file and return its path."""
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    def trace(self, *ranks: str, name: str = "trace") -> str:
        """Return a directory with a trace: an argument per rank, its lines separated by ``;``."""
        for rank, text in enumerate(ranks):
            lines = "".join(f"{rank} {line.strip()}\n" for line in text.split(";"))
            self.write(f"{name}/r{rank}.txt", lines)
        return str(self.directory / name)

    def platform(self, *lines: str) -> str:
        """Write a platform file; the first of `lines` is its third line."""
        head = ["<?xml version='1.0'?>", '<platform version="4.1">']
        return self.write("platform.xml", "\n".join([*head, *lines, "</platform>"]))


def refused(tisim: CommandLine, outcome: Outcome, message: str, *, status: int = 2) -> None:
    """Assert that the command printed only this message; ``DIR`` is the test's directory."""
    said = outcome.err.replace(str(tisim.directory), "DIR")
    assert outcome.out == ""
    assert "Traceback" not in said
    assert said.startswith("tisim: "), said
    assert re.fullmatch(message, said.removeprefix("tisim: ").rstrip("\n"), re.DOTALL), said
    assert outcome.status == status
    assert not (tisim.directory / "out").exists() or not list((tisim.directory / "out").iterdir())


def hide_package(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate that a library is not installed."""
    for name in [*sys.modules]:
        if name.partition(".")[0] == package:
            monkeypatch.delitem(sys.modules, name)
    plain = PathFinder.find_spec
    monkeypatch.setattr(
        PathFinder, "find_spec", lambda name, *rest: None if name == package else plain(name, *rest)
    )
