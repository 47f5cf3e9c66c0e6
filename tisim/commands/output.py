"""What the sub-commands print and write."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import click

# A progress bar appears when something has taken this long, in seconds.
_PATIENCE = 1.0


def format_seconds(seconds: float) -> str:
    """Seconds with nine significant digits, so that columns of them line up."""
    return f"{seconds:.9g} s"


def print_rows(rows: Iterable[tuple[str, str]]) -> None:
    """Print names and values in two columns."""
    listed = list(rows)
    width = max(len(name) for name, _ in listed)
    for name, value in listed:
        click.echo(f"{name:<{width}}  {value}")


def write_text(path: str, text: str) -> None:
    """Write a file whole or not at all.

    Raises
    ------
    OSError
        When it cannot be written; what was there before is then still there.
    """
    target = Path(path)
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(temporary, 0o666 & ~umask)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


class Meter:
    """A progress bar on a terminal, for what takes long.

    Parameters
    ----------
    title
        What is going on.
    """

    def __init__(self, title: str) -> None:
        self._title = title
        self._start = time.monotonic()
        self._bar: Any = None
        self._task: Any = None
        self._active = sys.stderr.isatty()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, simulated_time: float, actions: int, fraction: float) -> None:
        """Show how far it is; see `tisim.kernel.driver.Progress`."""
        elapsed = time.monotonic() - self._start
        if not self._active or elapsed < _PATIENCE:
            return
        if self._bar is None:
            self._open()
        rate = actions / elapsed
        self._bar.update(
            self._task,
            completed=fraction,
            note=f"{rate:,.0f} actions/s, simulated {simulated_time:.6g} s",
        )

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task(self._title, total=1.0, note="")
