"""A progress bar on a terminal, for long-running work."""

from __future__ import annotations

import sys
import time
from typing import Self

# Seconds before a bar appears, and between updates.
_DELAY = 1.0
_INTERVAL = 0.1
_WIDTH = 30  # characters


class ProgressBar:
    """A progress bar on standard error; it appears only on a terminal, and after a second."""

    def __init__(self, title: str, *, wanted: bool = True) -> None:
        self._title = title
        self._wanted = wanted
        self._start = time.monotonic()
        self._drawn = 0.0  # time of the last update

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._drawn:
            print(end="\r\x1b[K", file=sys.stderr, flush=True)

    @property
    def is_shown(self) -> bool:
        """True if the bar is wanted and standard error is a terminal."""
        return self._wanted and sys.stderr.isatty()

    def show(self, fraction: float, note: str = "", *, title: str | None = None) -> None:
        """Show the completed fraction of the work.

        `fraction` is from 0 to 1; `note` follows the bar; `title` replaces the title before it.
        """
        self._title = title or self._title
        now = time.monotonic()
        if not self.is_shown or now - self._start < _DELAY or now - self._drawn < _INTERVAL:
            return
        import shutil
        from datetime import timedelta

        self._drawn = now
        left = (now - self._start) * (1 - fraction) / max(fraction, 1e-6)
        bar = "#" * round(_WIDTH * fraction)
        time_left = timedelta(seconds=round(left))
        line = f"{self._title} [{bar:{_WIDTH}}] {fraction:3.0%} {time_left} {note}"
        width = shutil.get_terminal_size().columns - 1
        print(end=f"\r{line[:width]}\x1b[K", file=sys.stderr, flush=True)

    def show_simulation(self, simulated_time: float, actions: int, fraction: float) -> None:
        """Show the progress of a simulation; see `tisim.kernel.driver.Progress`."""
        rate = actions / max(time.monotonic() - self._start, 1e-9)
        self.show(fraction, f"{rate:,.0f} actions/s, simulated {simulated_time:.6g} s")
