"""The progress bar of a sweep."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any, Self

# A bar appears when something has taken this long, in seconds.
_PATIENCE = 1.0


class SweepBar:
    """How many scenarios are done and how long the others will take; on a terminal only.

    Parameters
    ----------
    total
        How many scenarios there are to do.
    wanted
        Whether to show anything at all.
    """

    def __init__(self, total: int, *, wanted: bool = True) -> None:
        self._total = total
        self._done = 0
        self._failed = 0
        self._start = time.monotonic()
        self._active = wanted and sys.stderr.isatty()
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

    def advance(self, *, failed: bool) -> None:
        """Count one more scenario."""
        self._done += 1
        self._failed += failed
        if not self._active or time.monotonic() - self._start < _PATIENCE:
            return
        if self._bar is None:
            self._open()
        note = f"{self._failed} failed" if self._failed else ""
        self._bar.update(self._task, completed=self._done, note=note)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar.start()
        self._task = self._bar.add_task("scenarios", total=self._total, note="")
