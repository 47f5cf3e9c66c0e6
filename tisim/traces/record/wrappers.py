"""The wrappers of MPI's C functions, generated from the table."""

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
    """Return a C source that defines each function and calls it through its ``PMPI_`` name."""
    return _HEADER + "".join(f"\n{_wrapper(function)}" for function in functions)


def c_statement(statement: str) -> str:
    """Translate a statement of the table for a C program."""
    statement = re.sub(r"\bat\((\w+)\)", r"\1", statement)
    statement = re.sub(r"\bstride\b", "sizeof(MPI_Request)", statement)
    return re.sub(r"\bfirst\b", "0", statement)


def entering(function: Function) -> str:
    """Return the condition at the start of a wrapper: whether its call is recorded."""
    enter = "tisim_enter_untraced" if function.is_untraced else "tisim_enter"
    return f"{enter}_mpi_io" if function.name.startswith("MPI_File_") else enter


def frees(function: Function) -> bool:
    """Return whether the call frees the object that a parameter names."""
    return re.search(r"_(free|free_keyval|close|disconnect)$", function.name) is not None


def around_mpi_io(function: Function, performed: list[str]) -> list[str]:
    """Return the code that performs a call, with the recorder's hooks around MPI-IO calls."""
    if function.is_untraced or not function.name.startswith("MPI_File_"):
        return performed
    return ["  tisim_begin_mpi_io();", *performed, "  tisim_end_mpi_io();"]


def _wrapper(function: Function) -> str:
    parameters = ", ".join(p.declaration for p in function.parameters) or "void"
    name, returns = function.name, function.returns
    arguments = _arguments(function.parameters)
    lines, wrapper, performed = [], name, f"P{name}"
    if function.is_untraced:
        # Separate names: mpi.h may declare them with other const, as macros, or not at all.
        wrapper, performed = f"wrapper_of_{name}", f"performed_{name}"
        lines = [
            f'EXPORTED {returns} {wrapper}({parameters}) __asm__("{name}");',
            f'extern {returns} {performed}({parameters}) __asm__("P{name}") __attribute__((weak));',
        ]
    lines += [
        f"EXPORTED {returns} {wrapper}({parameters}) {{",
        f'  if (!{entering(function)}("{name}", TISIM_CALLER)) {{',
        f"    const {returns} error = {performed}({arguments});",
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
    if frees(function):
        lines.append("  tisim_defer_freeing_call();")
    call = f"  const {returns} error = {performed}({arguments});"
    condition = "if (error == MPI_SUCCESS) " if function.is_untraced and returns == "int" else ""
    lines += [*around_mpi_io(function, [call]), f"  {condition}tisim_returned();"]
    if after:
        lines.append(f"  if (error == MPI_SUCCESS) {{ {after} }}")
    lines += ["  tisim_leave();", "  return error;", "}"]
    if function.since:
        lines = [f"#if {_condition(function)}", *lines, "#endif"]
    return "\n".join([*lines, ""])


def _described(function: Function) -> list[str]:
    """Return statements that describe all parameters to the recorder (`library/arguments.c`)."""
    letters = "".join(f"{letter_of(function, one)}{one.name}," for one in function.parameters)
    values = ", ".join(f"&{one.name}" for one in function.parameters) or "NULL"
    return [
        f"  const void *values[] = {{{values}}};",
        f'  tisim_describe("{function.name}", "{letters}", values);',
    ]


# Letters by type for parameters passed by value; for addresses of objects that are created, changed
# or freed, the letter is a capital.
_VALUES = {
    "MPI_Datatype": "d", "MPI_Comm": "c", "MPI_Op": "o", "MPI_Info": "n", "MPI_Aint": "l",
    "MPI_Offset": "l", "MPI_Count": "l", "int": "i", "MPI_Group": "h", "MPI_Errhandler": "e",
    "MPI_Win": "w", "MPI_File": "f", "MPI_Request": "r",
}  # fmt: skip
_LARGE = ("MPI_Aint", "MPI_Offset", "MPI_Count")
# Arrays that are left out, since they may be longer than MPI's output.
_LEFT_OPEN = {
    ("MPI_Graph_get", "index"), ("MPI_Graph_get", "edges"),
    ("MPI_Graph_neighbors", "neighbors"),
    ("MPI_Dist_graph_neighbors", "sourceweights"), ("MPI_Dist_graph_neighbors", "destweights"),
    ("MPI_Type_get_contents", "array_of_integers"),
    ("MPI_Type_get_contents", "array_of_addresses"),
    ("MPI_Type_get_contents", "array_of_datatypes"),
    ("MPI_Type_get_contents_c", "array_of_integers"),
    ("MPI_Type_get_contents_c", "array_of_addresses"),
    ("MPI_Type_get_contents_c", "array_of_large_counts"),
    ("MPI_Type_get_contents_c", "array_of_datatypes"),
}  # fmt: skip


def letter_of(function: Function, parameter: Parameter) -> str:
    """Return the letter for the kind of a parameter."""
    name, depth = parameter.name, parameter.depth
    if function.name.startswith("MPI_Comm_spawn"):  # other arguments matter only at its root
        return {"root": "t", "comm": "c"}.get(name, "-")
    if depth > 1 or (function.name, name) in _LEFT_OPEN:
        return "-"
    if parameter.type == "MPI_Group" and function.name in ("MPI_Win_start", "MPI_Win_post"):
        return "G"
    if depth == 0:
        return _letter_of_value(function, parameter)
    match parameter.type:
        case "void":
            return "b"
        case "MPI_Status":
            return "S" if parameter.is_array else "s"
        case "char":
            return "z" if parameter.is_const else "Z"
    if parameter.is_array:
        return _letter_of_array(function, parameter)
    if parameter.type == "int":
        is_rank = function.is_untraced and name in ("rank", "rank_source", "rank_dest", "newrank")
        return "P" if is_rank else "I"
    if parameter.type in _LARGE and name == "address":
        return "A"
    return _VALUES.get(parameter.type, "-").upper()


def _letter_of_value(function: Function, parameter: Parameter) -> str:
    name = parameter.name
    if parameter.type == "int":
        if name in ("dest", "source") or (function.is_untraced and name == "rank"):
            return "p"
        if name == "root":
            return "t"
        if name.endswith("tag"):
            return "g"
    if parameter.type == "MPI_Aint" and name in ("base", "addr1", "addr2"):
        return "a"
    return _VALUES.get(parameter.type, "-")


def _letter_of_array(function: Function, parameter: Parameter) -> str:
    name, kind = parameter.name, parameter.type
    is_large = kind in _LARGE
    if kind == "MPI_Request":
        return "m"
    if function.is_untraced:
        if name == "coords":
            return "k" if parameter.is_const else "K"
        if function.name == "MPI_Cart_get":
            return "x"
        if function.name == "MPI_Dist_graph_neighbors":
            return "q"
        if name == "ranges":
            return "3"
        by_kind = {"int": "v", "MPI_Datatype": "y"}
        return "u" if is_large else by_kind.get(kind, "-")
    if name.endswith(("counts", "displs", "types")):
        by_kind = {"int": "V", "MPI_Datatype": "Y"}
        return "U" if is_large else by_kind.get(kind, "-")
    if function.name in ("MPI_Dist_graph_create", "MPI_Cart_sub") or kind != "int":
        return "-"
    return "v"


def _condition(function: Function) -> str:
    """Return the condition under which the MPI library has a function newer than version 3.1."""
    if function.is_untraced:
        return "HAS_LARGE_COUNTS" if function.has_large_counts else "HAS_MPI_4"
    if not function.has_large_counts:
        return "HAS_MPI_4"
    return "HAS_LARGE_FILES" if function.name.startswith("MPI_File_") else "HAS_LARGE_COUNTS"


def _arguments(parameters: tuple[Parameter, ...]) -> str:
    return ", ".join(parameter.name for parameter in parameters)
