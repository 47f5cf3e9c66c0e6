"""The wrappers of MPI's functions in C, written from the table."""

from __future__ import annotations

import re

from tisim.traces.record.table import Function, Parameter

_HEADER = """\
/* Written by tisim from its table of MPI functions: the entries of C. */
#include "record.h"

/* MPICH 4.0 has large counts, but not of files. */
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
#define HAS_LARGE_FILES 0
#else
#define HAS_LARGE_FILES HAS_LARGE_COUNTS
#endif
"""


def c_wrappers(functions: list[Function]) -> str:
    """A source in C that defines each function and performs it through its ``PMPI_`` name."""
    return _HEADER + "".join(f"\n{_wrapper(function)}" for function in functions)


def c_statement(statement: str) -> str:
    """A statement of the table where the program is in C."""
    statement = re.sub(r"\bat\((\w+)\)", r"\1", statement)
    statement = re.sub(r"\bstride\b", "sizeof(MPI_Request)", statement)
    return re.sub(r"\bfirst\b", "0", statement)


def entering(function: Function) -> str:
    """The condition at the beginning of a wrapper: whether its call is recorded."""
    return "tisim_enter_mpi_io" if function.name.startswith("MPI_File_") else "tisim_enter"


def _wrapper(function: Function) -> str:
    parameters = ", ".join(parameter.declaration for parameter in function.parameters)
    name = function.name
    arguments = _arguments(function.parameters)
    lines = [
        f"EXPORTED int {name}({parameters}) {{",
        f'  if (!{entering(function)}("{name}", TISIM_CALLER)) {{',
        f"    const int error = P{name}({arguments});",
        "    tisim_leave_unrecorded();",
        "    return error;",
        "  }",
    ]
    if function.is_counted:
        lines.append("  tisim_unsupported();")
    if function.before:
        lines.append(f"  {c_statement(function.before)}")
    after = c_statement(function.after)
    if function.statuses is not None:
        passed = function.statuses.name
        ignored = "MPI_STATUSES_IGNORE" if passed == "statuses" else "MPI_STATUS_IGNORE"
        lines += [
            f"  MPI_Status *const passed = tisim_statuses({passed}, {ignored}, "
            f"{function.statuses.count}, {function.statuses.condition});",
        ]
        arguments = re.sub(rf"\b{passed}\b", "passed", arguments)
        after = re.sub(rf"\b{passed}\b", f"passed == {ignored} ? NULL : passed", after)
    lines.append(f"  const int error = P{name}({arguments});")
    if after:
        lines.append(f"  if (error == MPI_SUCCESS) {{ {after} }}")
    lines += ["  tisim_leave();", "  return error;", "}"]
    if function.since:
        lines = [f"#if {_condition(function)}", *lines, "#endif"]
    return "\n".join([*lines, ""])


def _condition(function: Function) -> str:
    """When the MPI library has a function that is newer than version 3.1."""
    if not function.has_large_counts:
        return "HAS_MPI_4"
    return "HAS_LARGE_FILES" if function.name.startswith("MPI_File_") else "HAS_LARGE_COUNTS"


def _arguments(parameters: tuple[Parameter, ...]) -> str:
    return ", ".join(parameter.name for parameter in parameters)
