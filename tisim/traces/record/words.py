"""The actions that the recorder may write, as a header in C, from the core's table of actions."""

from __future__ import annotations

import re

from tisim import _core

_HEADER = """\
/* Written by tisim from its table of actions (core/trace/vocabulary/table.hpp). */
#ifndef TISIM_WORDS_H
#define TISIM_WORDS_H

/* WORD(name, roles): the actions of traces. Roles of their arguments: r a rank, n a number, v as
 * many numbers as the communicator has ranks. */
"""
# Arguments of a usage that the recorder does not write.
_NOT_WRITTEN = {"displacements", "threads=N", "sum=S"}
_RANKS = {"src", "dst", "root"}
_VECTOR = re.compile(r"\w0\.\.\w+-1|rank\.\.\.")


def words_header() -> str:
    """The header ``words.h``: each action with the roles of its arguments."""
    words = [f'  WORD({name}, "{_roles(usage)}")' for name, usage in _core.known_actions()]
    table = " \\\n".join(["#define TISIM_WORDS(WORD)", *words])
    return f"{_HEADER}{table}\n\n#endif\n"


def _roles(usage: str) -> str:
    if " or " in usage or usage == "no arguments":
        return ""
    words = [word for word in re.findall(r"[\w.=-]+", usage) if word not in _NOT_WRITTEN]
    return "".join("r" if w in _RANKS else "v" if _VECTOR.fullmatch(w) else "n" for w in words)
