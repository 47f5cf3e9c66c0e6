"""A progress bar for work that takes long, on a terminal only."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tisim.calibration.calibration import Progress

_LONG = 2.0


@contextlib.contextmanager
def progress_bar() -> Iterator[Progress]:
    """A function to tell of progress; it draws a bar once the work has taken two seconds."""
    from rich.console import Console
    from rich.progress import Progress as Bar

    began = time.monotonic()
    console = Console(file=sys.stderr)
    with Bar(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None, visible=False)

        def tell(step: str, done: int, steps: int) -> None:
            late = time.monotonic() - began > _LONG
            bar.update(task, description=step, completed=done, total=steps, visible=late)

        yield tell
