"""What the sub-commands print and write."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import click

from tisim.errors import InputError

# A progress bar appears when something has taken this long, in seconds.
_PATIENCE = 1.0


def format_seconds(seconds: float) -> str:
    """Seconds with nine significant digits, so that columns of them line up."""
    return f"{seconds:.9g} s"


def format_bytes(nbytes: int) -> str:
    """Bytes in a unit that leaves one to three digits before the point."""
    value, units = float(nbytes), ["bytes", "kB", "MB", "GB", "TB", "PB"]
    while value >= 999.5 and len(units) > 1:
        value /= 1000
        del units[0]
    return f"{nbytes:,} bytes" if units[0] == "bytes" else f"{value:.3g} {units[0]}"


def print_table(rows: Iterable[tuple[str, str, str]]) -> None:
    """Print names, values (to the right) and notes in three columns."""
    listed = list(rows)
    names, values = (max(len(row[column]) for row in listed) for column in (0, 1))
    for name, value, note in listed:
        click.echo(f"{name:<{names}}  {value:>{values}}  {note}".rstrip())


def check_writable(path: str) -> None:
    """See to it that a file can be written, before the work is done that it is for.

    Raises
    ------
    InputError
        When it cannot.
    """
    target = Path(path).resolve()
    with _writing(path):
        if target.is_dir():
            raise InputError("is a directory; name a file to write", file=path)
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        if _is_replaceable(target):
            import tempfile

            with tempfile.TemporaryFile(dir=target.parent):
                pass


def write_text(path: str, text: str | Iterable[str]) -> None:
    """Write a file whole or not at all; a text may come in pieces.

    Raises
    ------
    InputError
        When it cannot be written; what was there before is then still there.
    """
    target = Path(path).resolve()
    pieces = (text,) if isinstance(text, str) else text
    with _writing(path):
        if not _is_replaceable(target):  # a pipe, a terminal, a device
            with target.open("w", encoding="utf-8") as file:
                file.writelines(pieces)
            return
        import tempfile

        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        temporary = Path(name)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.writelines(pieces)
            umask = os.umask(0)
            os.umask(umask)
            temporary.chmod(0o666 & ~umask)
            temporary.replace(target)
        except BaseException:
            temporary.unlink()
            raise


def _is_replaceable(target: Path) -> bool:
    return target.is_file() or not target.exists()


@contextmanager
def _writing(path: str) -> Iterator[None]:
    """Turn what the system says into an error about the file."""
    try:
        yield
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror or error}", file=path) from None


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

    @property
    def is_shown(self) -> bool:
        """Whether there is a terminal to show anything on."""
        return sys.stderr.isatty()

    def update(self, simulated_time: float, actions: int, fraction: float) -> None:
        """Show how far a simulation is; see `tisim.kernel.driver.Progress`."""
        rate = actions / max(time.monotonic() - self._start, 1e-9)
        self.show(fraction, f"{rate:,.0f} actions/s, simulated {simulated_time:.6g} s")

    def show(self, fraction: float, note: str = "") -> None:
        """Show which part of the work is done, from 0 to 1, and a note."""
        if not self.is_shown or time.monotonic() - self._start < _PATIENCE:
            return
        if self._bar is None:
            self._open()
        self._bar.update(self._task, completed=fraction, note=note)

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
