"""Traces: finding their files and reading them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tisim.support.lazy import lazy_names

if TYPE_CHECKING:
    from tisim._core import Kind
    from tisim.traces.checking import ActionCount, CheckReport, Finding, check
    from tisim.traces.importers.conversion import Conversion, convert
    from tisim.traces.inspection import Inspection, inspect
    from tisim.traces.packed import pack, unpack
    from tisim.traces.trace import Trace

__all__ = [
    "Trace",
    "Kind",
    "pack",
    "unpack",
    "check",
    "CheckReport",
    "Finding",
    "ActionCount",
    "convert",
    "Conversion",
    "inspect",
    "Inspection",
]


if not TYPE_CHECKING:  # a type checker sees the imports above
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "tisim._core": "Kind",
            ".checking": "ActionCount CheckReport Finding check",
            ".importers.conversion": "Conversion convert",
            ".inspection": "Inspection inspect",
            ".packed": "pack unpack",
            ".trace": "Trace",
        },
    )
