"""Scripts: the operations of each rank, for a C program without a trace reader."""

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

    ``core/trace/script/script.hpp`` specifies the format. The trace is read in pieces. Raises
    InputError when a line is wrong, or when an action is not an MPI call (or a file call, unless
    `files` is set).
    """
    _core.write_scripts(trace.core, os.fsencode(directory), files, progress)


def name_of_instruction(kind: int, operation: int) -> str:
    """Return the action of a script instruction: ``send``, ``iallreduce``."""
    if kind in (_core.Kind.COLLECTIVE, _core.Kind.FILE):
        return _core.Operation(operation).name.lower()
    if kind == _core.Kind.ICOLLECTIVE:
        return "i" + _core.Operation(operation).name.lower()
    if kind == _core.Kind.RECV_HALF:
        return "sendrecv"
    return _core.Kind(kind).name.lower()


def vocabulary_header() -> str:
    """Return the table of operations, with numbers and traits, as a C header."""
    traits = {kind: _core.traits_of(kind) for kind in _core.Kind}
    constants = {
        "KINDS": len(traits),
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
    numbers = (
        ("kind", "KIND", _core.Kind),
        ("role", "ROLE", _core.Role),
        ("send_mode", "MODE", _core.SendMode),
        ("operation", "OPERATION", _core.Operation),
    )
    sends = {
        kind: trait.makes_request or trait.role == _core.Role.MAKE_PERSISTENT
        for kind, trait in traits.items()
        if trait.role in (_core.Role.SEND, _core.Role.MAKE_PERSISTENT) and not trait.receives
    }
    lines = [
        "/* Written by tisim from its table of operations; do not change it. */",
        "#ifndef TISIM_VOCABULARY_H",
        "#define TISIM_VOCABULARY_H",
        *(
            f"enum {name} {{ {', '.join(f'{prefix}_{v.name} = {v.value}' for v in values)} }};"
            for name, prefix, values in numbers
        ),
        f"enum {{ {', '.join(f'{name} = {value}' for name, value in constants.items())} }};",
        "struct kind_traits {",
        "  enum role role;",
        "  enum send_mode mode;",
        "  int receives, makes_request, blocks;",
        "};",
        "static const struct kind_traits kind_traits[KINDS] = {",
        *(
            f"  {{ROLE_{trait.role.name}, MODE_{trait.mode.name}, "
            f"{trait.receives:d}, {trait.makes_request:d}, {trait.blocks:d}}}, /* {kind.name} */"
            for kind, trait in traits.items()
        ),
        "};",
        "/* CALL(kind, function): the sends that make no request, and those that make one. */",
        *(
            f"#define {name}(CALL) "
            + " ".join(
                f"CALL(KIND_{kind.name}, MPI_{kind.name.capitalize()})"
                for kind, makes_one in sends.items()
                if makes_one == wanted
            )
            for name, wanted in (("TRACE_SENDS", False), ("TRACE_SENDS_WITH_REQUEST", True))
        ),
        "#endif",
    ]
    return "\n".join(lines) + "\n"
