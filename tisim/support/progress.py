"""A progress bar on a terminal, for work that takes long."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

# Seconds of work before a bar appears.
_DELAY = 1.0


class ProgressBar:
    """A progress bar on standard error; it appears only on a terminal, and after a second."""

    def __init__(self, title: str, *, wanted: bool = True) -> None:
        self._title = title
        self._wanted = wanted
        self._start = time.monotonic()
        self._bar: Progress | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    @property
    def is_shown(self) -> bool:
        """True if there is a terminal to show it on."""
        return self._wanted and sys.stderr.isatty()

    def show(self, fraction: float, note: str = "", *, title: str | None = None) -> None:
        """Show how much of the work is done.

        `fraction` is from 0 to 1; `note` stands behind the bar, and `title` before it from now on.
        """
        self._title = title or self._title
        if not self.is_shown or time.monotonic() - self._start < _DELAY:
            return
        if self._bar is None or self._task is None:
            self._open()
        assert self._bar is not None
        assert self._task is not None
        self._bar.update(self._task, description=self._title, completed=fraction, note=note)

    def show_simulation(self, simulated_time: float, actions: int, fraction: float) -> None:
        """Show how far a simulation is; see `tisim.kernel.driver.Progress`."""
        rate = actions / max(time.monotonic() - self._start, 1e-9)
        self.show(fraction, f"{rate:,.0f} actions/s, simulated {simulated_time:.6g} s")

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
