"""The wrappers of MPI's functions in C, written from the table."""

from __future__ import annotations

import re

from tisim.traces.record.table import Function, Parameter

_HEADER = """\
/* Written by tisim from its table of MPI functions: the entries of C. */
#include "arguments.h"
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


def around_mpi_io(function: Function, performed: list[str]) -> list[str]:
    """What performs a call, with what the recorder does before and after one of MPI-IO."""
    if not function.name.startswith("MPI_File_"):
        return performed
    return ["  tisim_begin_mpi_io();", *performed, "  tisim_end_mpi_io();"]


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
    lines += _described(function)
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
        lines.append(f"  values[{[p.name for p in function.parameters].index(passed)}] = &passed;")
        after = re.sub(rf"\b{passed}\b", f"passed == {ignored} ? NULL : passed", after)
    performed = f"  const int error = P{name}({arguments});"
    lines += [*around_mpi_io(function, [performed]), "  tisim_returned();"]
    if after:
        lines.append(f"  if (error == MPI_SUCCESS) {{ {after} }}")
    lines += ["  tisim_leave();", "  return error;", "}"]
    if function.since:
        lines = [f"#if {_condition(function)}", *lines, "#endif"]
    return "\n".join([*lines, ""])


def _described(function: Function) -> list[str]:
    """Statements that tell the recorder the values of all parameters (`library/arguments.c`)."""
    letters = "".join(f"{letter_of(function, one)}{one.name}," for one in function.parameters)
    values = ", ".join(f"&{one.name}" for one in function.parameters)
    return [
        f"  const void *values[] = {{{values}}};",
        f'  tisim_describe("{function.name}", "{letters}", values);',
    ]


_LETTERS = {
    "MPI_Datatype": "d", "MPI_Comm": "c", "MPI_Op": "o", "MPI_Info": "n", "MPI_Aint": "l",
    "MPI_Offset": "l", "MPI_Count": "l", "int": "i",
}  # fmt: skip


def letter_of(function: Function, parameter: Parameter) -> str:
    """The letter that stands for the kind of a parameter."""
    name, is_large = parameter.name, parameter.type in ("MPI_Count", "MPI_Aint")
    by_rank = name.endswith(("counts", "displs", "types"))
    if function.name.startswith("MPI_Comm_spawn"):  # its root alone gives the rest
        return {"root": "t", "comm": "c"}.get(name, "-")
    match parameter.type, parameter.depth:
        case "void", 1:
            return "b"
        case "MPI_Request", _:
            return "r"
        case "MPI_Status", _:
            return "S" if parameter.is_array else "s"
        case "char", 1:
            return "z" if name in ("filename", "datarep") else "-"
        case "MPI_Comm", 1:
            return "C" if name.startswith("new") or function.name == "MPI_Comm_free" else "-"
        case "MPI_Win" | "MPI_File", _:
            return "h"
        case "int", 0 if name in ("dest", "source"):
            return "p"
        case "int", 0 if name == "root":
            return "t"
        case "int", 0 if name.endswith("tag"):
            return "g"
        case "MPI_Datatype", 1:
            return "D"
        case "int", 1 if by_rank:
            return "V"
        case _, 1 if by_rank and is_large:
            return "U"
        case "int", 1 if function.name in ("MPI_Dist_graph_create", "MPI_Cart_sub"):
            return "-"
        case "int", 1:
            return "v" if parameter.is_array else "I"
        case kind, 0:
            return _LETTERS.get(kind, "-")
    return "-"


def _condition(function: Function) -> str:
    """When the MPI library has a function that is newer than version 3.1."""
    if not function.has_large_counts:
        return "HAS_MPI_4"
    return "HAS_LARGE_FILES" if function.name.startswith("MPI_File_") else "HAS_LARGE_COUNTS"


def _arguments(parameters: tuple[Parameter, ...]) -> str:
    return ", ".join(parameter.name for parameter in parameters)
