"""A viewer started as by users, and a recorded program that it shows."""

from __future__ import annotations

import http.client
import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.unit.trace_library.recorded import TEXT, Program


def missing() -> str | None:
    """Return why the viewer is unavailable; None if it is available."""
    for name in ("pyarrow", "starlette", "uvicorn"):
        if importlib.util.find_spec(name) is None:
            return f"{name} is not installed"
    return None


needs_viewer = pytest.mark.skipif(missing() is not None, reason=f"needs the viewer: {missing()}")


@dataclass(frozen=True)
class Viewer:
    """A running viewer: its process, and the address that it has printed."""

    process: subprocess.Popen[str]
    address: str

    def get(
        self,
        path: str,
        headers: Mapping[str, str] | None = None,
        method: str = "GET",
        root: str | None = None,
    ) -> tuple[int, bytes]:
        """Request a path below the address, or below `root`; return the status and the answer."""
        parts = urlsplit(self.address)
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        try:
            target = (parts.path if root is None else root) + path
            given = headers or {}
            connection.putrequest(
                method,
                target,
                skip_host="Host" in given,
                skip_accept_encoding="Accept-Encoding" in given,
            )
            for name, value in (headers or {}).items():
                connection.putheader(name, value)
            connection.endheaders()
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


@contextmanager
def viewer(*arguments: str | Path, **environment: str) -> Iterator[Viewer]:
    """Run ``tisim view`` with some arguments until the block ends."""
    command = [sys.executable, "-m", "tisim", "view", *map(str, arguments)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        try:
            assert address.startswith("http://127.0.0.1:"), process.communicate()
            yield Viewer(process, address)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.communicate(timeout=60)


LATE = 5
_RANKS = 8
_ITERATIONS = 12
_SOLVE = "main (lu.c:10) > solve (lu.c:40)"


def record_late_rank(folder: Path) -> Path:
    """Record ranks that pass data around a ring, with occasional allreduces.

    Rank 5 computes 3.6e7 more in the seventh iteration: 10 ms at 3.6 Gf.
    """
    program = Program(_RANKS)
    for number, rank in enumerate(program.ranks):
        site = rank.attribute("call_site", TEXT)
        rank.call("init", attributes={site: rank.text("main (lu.c:3)")})
        to, source = (number + 1) % _RANKS, (number - 1) % _RANKS
        calls = [(f"send {to} 0 20000", 77), (f"recv {source} 0 20000", 78)]
        for iteration in range(_ITERATIONS):
            late = number == LATE and iteration == 6
            rank.compute(39_000_000 if late else 3_000_000)
            for call, line in calls if number % 2 == 0 else calls[::-1]:
                where = rank.text(f"{_SOLVE} > exchange (lu.c:{line})")
                rank.call(call, attributes={site: where})
            if iteration % 3 == 2:
                where = rank.text(f"{_SOLVE} > norm (lu.c:90)")
                rank.call("allreduce 8000 1000", attributes={site: where})
        rank.call("finalize", attributes={site: rank.text("main (lu.c:20)")})
    return program.write(folder / "late.tit")
