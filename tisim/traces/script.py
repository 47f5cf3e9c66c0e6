"""Scripts: what each rank of a trace does, for a program in C that has no reader of traces."""

from __future__ import annotations

import os

from tisim import _core
from tisim.traces.progress import Progress
from tisim.traces.trace import Trace


def write_scripts(
    trace: Trace,
    directory: str | os.PathLike[str],
    progress: Progress | None = None,
    *,
    files: bool = False,
) -> None:
    """Write a file ``rank-N.script`` for each rank of a trace.

    ``core/trace/script/script.hpp`` describes the files byte by byte. The trace is read a piece at
    a time. Raises InputError when a line is wrong, or when an action is no call of MPI (nor on
    files, if these are not executed).
    """
    _core.write_scripts(trace.core, os.fsencode(directory), files, progress)


def name_of_instruction(kind: int, operation: int) -> str:
    """The action that an instruction of a script comes from: ``send``, ``iallreduce``."""
    if kind in (_core.Kind.COLLECTIVE, _core.Kind.FILE):
        return _core.Operation(operation).name.lower()
    if kind == _core.Kind.ICOLLECTIVE:
        return "i" + _core.Operation(operation).name.lower()
    if kind == _core.Kind.RECV_HALF:
        return "sendrecv"
    return _core.Kind(kind).name.lower()


def vocabulary_header() -> str:
    """The numbers that scripts use, as a header in C."""
    kinds = [f"  KIND_{kind.name} = {kind.value}," for kind in _core.Kind]
    operations = [f"  OPERATION_{one.name} = {one.value}," for one in _core.Operation]
    constants = {
        "SCRIPT_VERSION": _core.SCRIPT_VERSION,
        "SCRIPT_KEPT_INSTRUCTIONS": _core.SCRIPT_KEPT_INSTRUCTIONS,
        "FLAG_NUMBERED": _core.NUMBERED,
        "FLAG_SOURCE_LOST": _core.SOURCE_LOST,
        "TRACE_ANY_SOURCE": _core.ANY_SOURCE,
        "TRACE_ANY_TAG": _core.ANY_TAG,
        "TRACE_PROC_NULL": _core.PROC_NULL,
        "SEEK_FROM_BEGINNING": 0,
        "SEEK_FROM_POSITION": 1,
        "SEEK_FROM_END": 2,
    }
    return "\n".join(
        [
            "/* Written by tisim from its table of operations; do not change it. */",
            "#ifndef TISIM_VOCABULARY_H",
            "#define TISIM_VOCABULARY_H",
            "",
            "enum kind {",
            *kinds,
            "};",
            "",
            "enum operation {",
            *operations,
            "};",
            "",
            "enum {",
            *(f"  {name} = {value}," for name, value in constants.items()),
            "};",
            "",
            "#endif",
            "",
        ]
    )
