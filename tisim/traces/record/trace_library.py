"""The library that compresses traces inside recorded programs, as it is installed."""

from __future__ import annotations

from pathlib import Path

from tisim.errors import InputError
from tisim.traces.recorded import TRACE_LIBRARY


def library_file() -> Path:
    """``libtisim_trace.so``. Raises InputError when this installation has none: programs are
    recorded on Linux only.
    """
    return _installed("libtisim_trace.so")


def library_header() -> str:
    """The text of ``tisim_trace.h``. Raises InputError when this installation has none."""
    return _installed("tisim_trace.h").read_text(encoding="utf-8")


def _installed(name: str) -> Path:
    path = TRACE_LIBRARY / name
    if not path.is_file():
        raise InputError("is not installed: programs are recorded on Linux only", file=path)
    return path
