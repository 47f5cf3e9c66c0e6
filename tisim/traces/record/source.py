"""The recorder's source: the files in C of this package, and those written from the table."""

from __future__ import annotations

import re
from importlib.resources import files

from tisim import _core
from tisim.traces.record.fortran import fortran_wrappers
from tisim.traces.record.layers import layer_wrappers
from tisim.traces.record.posix_wrappers import posix_wrappers
from tisim.traces.record.table import read_table, read_unwritten
from tisim.traces.record.trace_library import library_header
from tisim.traces.record.wrappers import c_wrappers

# Options of mpicc for the recorder: C11 and POSIX; the code must leave r15 alone, in which programs
# compiled by `tisim cc` count.
C_OPTIONS = (
    *("-std=c11", "-D_GNU_SOURCE", "-O2", "-fPIC", "-fvisibility=hidden"),
    "-ftls-model=initial-exec",
)
LINK_OPTIONS = ("-shared", "-pthread", "-ldl")


# Left out unless files are recorded in the words of POSIX.
_POSIX = ("posix.c", "posix.h")


def recorder_source(
    *, posix: bool = False, layers: bool = False, arguments: bool = False
) -> dict[str, str]:
    """The text of each file, by name.

    With `posix`, the recorder records files in the words of POSIX; with `layers`, it knows which
    functions of I/O libraries make calls; with `arguments`, in which block of memory a buffer is,
    and what functions are given that a trace has no line of.
    Raises InputError when this installation has no trace library, whose header is one of them.
    """
    left_out = {*(() if posix else _POSIX), *(() if arguments else ("allocations.c",))}
    library = files("tisim.traces.record").joinpath("library")
    texts = {
        file.name: file.read_text(encoding="utf-8")
        for file in library.iterdir()
        if file.name.endswith((".c", ".h")) and file.name not in left_out
    }
    texts["tisim_trace.h"] = library_header()
    texts["words.h"] = _words_header()
    table = read_table()
    texts["wrappers.c"] = c_wrappers(table)
    texts["fortran_wrappers.c"] = fortran_wrappers(table)
    if arguments:
        unwritten = read_unwritten()
        texts["unwritten_wrappers.c"] = c_wrappers(unwritten)
        texts["unwritten_fortran_wrappers.c"] = fortran_wrappers(unwritten)
    if layers:
        texts["layer_wrappers.c"] = layer_wrappers()
    if posix:
        texts["posix_wrappers.c"] = posix_wrappers()
    return dict(sorted(texts.items()))


_WORDS_HEADER = """\
/* Written by tisim from its table of actions (core/trace/vocabulary/table.hpp). */
#ifndef TISIM_WORDS_H
#define TISIM_WORDS_H

/* WORD(name, roles): the actions of traces. Roles of their arguments: r a rank, n a number, v as
 * many numbers as the communicator has ranks, l as many ranks as the number before it says. */
"""
# Arguments of a usage that the recorder does not write.
_NOT_WRITTEN = {"displacements", "threads=N", "sum=S"}
_RANKS = {"src", "dst", "root"}
_LIST = re.compile(r"(to|from)0\.\.\w+-1")
_VECTOR = re.compile(r"\w0\.\.\w+-1|rank\.\.\.")


def _words_header() -> str:
    """The header ``words.h``: each action with the roles of its arguments."""
    words = [f'  WORD({name}, "{_roles(usage)}")' for name, usage in _core.known_actions()]
    table = " \\\n".join(["#define TISIM_WORDS(WORD)", *words])
    return f"{_WORDS_HEADER}{table}\n\n#endif\n"


def _roles(usage: str) -> str:
    if " or " in usage or usage == "no arguments":
        return ""
    words = [word for word in re.findall(r"[\w.=-]+", usage) if word not in _NOT_WRITTEN]
    return "".join(map(_role, words))


def _role(word: str) -> str:
    if word in _RANKS:
        return "r"
    return "l" if _LIST.fullmatch(word) else "v" if _VECTOR.fullmatch(word) else "n"
