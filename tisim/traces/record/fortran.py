"""The wrappers of MPI's Fortran subroutines, generated from the table.

They are separate entries, since some MPI libraries call C ``PMPI_`` functions internally. Each
converts the recorder's arguments to C and calls the subroutine that it hides. Those of ``mpif.h``
and ``use mpi`` are called ``mpi_send_``, those of ``use mpi_f08`` ``mpi_send_f08_``; their
arguments are the same: the derived types of the latter contain one integer. With array descriptors
instead of buffers the name is ``mpi_send_f08ts_``: a descriptor begins with the address.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tisim.traces.record.table import Function, Parameter, Statuses
from tisim.traces.record.wrappers import around_mpi_io, entering, frees, letter_of

_HEADER = """\
/* Written by tisim from its table of MPI functions: the entries of Fortran. */
#include "arguments.h"
#include "fortran.h"
"""
# The C functions that convert Fortran handles.
_CONVERSIONS = {
    "MPI_Comm": "PMPI_Comm_f2c",
    "MPI_Datatype": "PMPI_Type_f2c",
    "MPI_Request": "PMPI_Request_f2c",
    "MPI_Message": "PMPI_Message_f2c",
    "MPI_File": "PMPI_File_f2c",
    "MPI_Win": "PMPI_Win_f2c",
    "MPI_Group": "PMPI_Group_f2c",
    "MPI_Op": "PMPI_Op_f2c",
    "MPI_Info": "PMPI_Info_f2c",
    "MPI_Errhandler": "PMPI_Errhandler_f2c",
}
_NUMBERS = ("int", "MPI_Count", "MPI_Aint", "MPI_Offset")
# ``use mpi_f08`` programs may omit the error argument.
_OWN_ERROR = ("MPI_Fint error;", "if (f_ierror == NULL) f_ierror = &error;")


def fortran_wrappers(functions: list[Function]) -> str:
    """Return the C source of the Fortran entries."""
    return _HEADER + "".join(f"\n{_wrapper(function)}" for function in functions if has(function))


def has(function: Function) -> bool:
    """Return whether there is an entry.

    There is none for arrays of texts, nor for functions without a line in the trace that have no
    Fortran subroutine of this form.
    """
    if any(parameter.type == "char" and parameter.depth > 1 for parameter in function.parameters):
        return False
    name = function.name
    return not function.is_untraced or not (
        function.has_large_counts or name.startswith(("MPI_Aint_", "MPI_Session_", "MPI_Status_"))
    )


def _wrapper(function: Function) -> str:
    name = function.name.lower()
    is_function = function.returns != "int"
    own = [] if is_function else ["f_ierror"]
    # The lengths of texts follow all other arguments.
    lengths = [_length(p) for p in function.parameters if p.type == "char"]
    arguments = ", ".join([*(f"f_{p.name}" for p in function.parameters), *own, *lengths])
    declared = ", ".join(
        [
            *map(_declaration, function.parameters),
            *(f"MPI_Fint *{name}" for name in own),
            *(f"size_t {length}" for length in lengths),
        ]
    )
    types = ", ".join(
        [
            *map(_type, function.parameters),
            *("MPI_Fint *" for _ in own),
            *("size_t" for _ in lengths),
        ]
    )
    returns = function.returns if is_function else "void"
    perform, result = ("return ", "  return result;") if is_function else ("", "  return;")
    passed = f", {declared}" if declared else ""
    lines = [
        f"static {returns} {name}_wrapped({returns} (*perform)({types or 'void'}), "
        f"const void *caller, bool has_descriptors{passed}) {{",
        "  (void)has_descriptors;",
        f'  if (!{entering(function)}("{function.name}", caller)) {{',
        f"    {'const ' + returns + ' result = ' if is_function else ''}perform({arguments});",
        "    tisim_leave_unrecorded();",
        f"  {result}",
        "  }",
        *_around(function, arguments),
        "  tisim_leave();",
        *([result] if is_function else []),
        "}",
    ]
    for entry in _entries(function):
        has_descriptors = "true" if "_f08ts_" in entry else "false"
        given = f", {arguments}" if arguments else ""
        lines += [
            f"EXPORTED {returns} {entry}({declared or 'void'}) {{",
            f"  static {returns} (*perform)({types or 'void'});",
            f'  if (perform == NULL) tisim_find_hidden(&perform, "{entry}");',
            f"  {perform}{name}_wrapped(perform, TISIM_CALLER, {has_descriptors}{given});",
            "}",
        ]
    return "\n".join([*lines, ""])


def _length(parameter: Parameter) -> str:
    return f"{parameter.name}_length"


@dataclass(frozen=True)
class _Local:
    """A parameter in C: a variable of the same name in the wrapper."""

    name: str
    #: Its declaration, with an initial value until it is converted.
    declaration: str
    #: The statement that converts it before the call; empty if its declaration does.
    given: str = ""
    #: The statement that converts the handle behind an address, once it is there.
    behind: str = ""
    #: As `given`, for a status or text that only the recorder's descriptions use.
    described: str = ""
    #: The expression passed to the recorder, if not the variable.
    value: str = ""


def _local(function: Function, param: Parameter) -> _Local:
    name, kind, own = param.name, param.type, f"f_{param.name}"
    convert = _CONVERSIONS.get(kind)
    if kind == "MPI_Status":
        described = f"described_{name}"
        return _Local(
            name,
            f"const MPI_Status *{described} = NULL;",
            described=f"{described} = {_described_statuses(function, param)};",
            value=f"&{described}",
        )
    if kind == "char":
        converted = f"{name} = {_text(function, param)};"
        declaration = f"const char *{name} = NULL;"
        if param.is_const:
            return _Local(name, declaration, given=converted)
        return _Local(name, declaration, described=converted)
    if kind == "void":
        converted = f"{name} = tisim_fortran_buffer({own}, has_descriptors);"
        return _Local(name, f"const void *{name} = NULL;", given=converted)
    if kind in _NUMBERS:
        if param.depth == 0:
            return _Local(name, f"const {kind} {name} = ({kind})*{own};")
        has_constants = letter_of(function, param) == "v"
        converted = f"{name} = tisim_fortran_numbers({own});" if has_constants else ""
        return _Local(name, f"const {kind} *{name} = (const {kind} *){own};", given=converted)
    is_left_open = letter_of(function, param) == "-" and (param.is_array or param.depth > 1)
    if convert is None or is_left_open:
        return _Local(name, "", value=own)
    if param.depth == 0:
        return _Local(name, f"{kind} {name} = {{0}};", given=f"{name} = {convert}(*{own});")
    if kind == "MPI_Request" and param.is_array:
        converted = f"{name} = tisim_fortran_requests({own}, *f_count);"
        return _Local(name, f"const MPI_Request *{name} = NULL;", given=converted)
    if kind == "MPI_Datatype" and param.is_array:
        converted = f"{name} = {_types(function, param)};"
        return _Local(name, f"const MPI_Datatype *{name} = NULL;", given=converted)
    return _Local(
        name,
        f"{kind} {name}_value = {{0}}, *{name} = &{name}_value;",
        behind=f"{name}_value = {convert}(*{own});",
    )


def _around(function: Function, arguments: str) -> list[str]:
    """Return the call of the subroutine, and the recorder's code before and after it."""
    variables = [_local(function, param) for param in function.parameters]
    statuses = function.statuses
    condition = statuses.condition if statuses is not None else ""
    before, after = _words(f"{function.before} {condition}"), _words(function.after)
    lines = [
        *(_OWN_ERROR if function.after else []),
        *(local.declaration for local in variables if local.declaration),
        *(local.given for local in variables if local.given and local.name in before | after),
        *_described(function, variables, before | after),
        *(["tisim_unsupported();"] if function.is_counted else []),
        *(local.behind for local in variables if local.behind and local.name in before),
        *([_fortran(function.before)] if function.before else []),
        *(["tisim_defer_freeing_call();"] if frees(function) else []),
    ]
    call = f"perform({arguments});"
    if statuses is not None:
        count = _status_count(statuses)
        lines += [
            f"const bool needed = {condition};",
            f"MPI_Fint *const passed = tisim_fortran_statuses(f_{statuses.name}, {count}, needed);",
        ]
        call = re.sub(rf"\bf_{statuses.name}\b", "passed", call)
    elif function.returns != "int":
        call = f"const {function.returns} result = {call}"
    lines += [*around_mpi_io(function, [call]), *_returned(function, variables)]
    lines += _recorded_after(function, variables, after)
    return [f"  {line.strip()}" for line in lines]


def _recorded_after(function: Function, found: list[_Local], used: set[str]) -> list[str]:
    """Return the recorder's code after a successful subroutine."""
    if not function.after:
        return []
    lines = [local.behind for local in found if local.behind and local.name in used]
    statuses = function.statuses
    if statuses is not None and statuses.name in used:
        lines.append(
            f"const MPI_Status *const {statuses.name} = "
            f"tisim_statuses_from_fortran(passed, {_status_count(statuses)}, needed);"
        )
    return ["if (*f_ierror == MPI_SUCCESS) {", *lines, _fortran(function.after), "}"]


def _described(function: Function, found: list[_Local], converted: set[str]) -> list[str]:
    """Return the statements that describe all parameters to the recorder, if it requests them."""
    values = ", ".join(local.value or f"&{local.name}" for local in found) or "NULL"
    letters = "".join(f"{letter_of(function, param)}{param.name}," for param in function.parameters)
    return [
        f"const void *values[] = {{{values}}};",
        "if (tisim_wants_arguments()) {",
        *(local.given for local in found if local.given and local.name not in converted),
        *(_conversions(function, found) if frees(function) else []),
        f'tisim_describe("{function.name}", "{letters}", values);',
        "}",
    ]


def _conversions(function: Function, found: list[_Local]) -> list[str]:
    """Return the statements that convert values behind addresses for descriptions."""
    letters = {param.name: letter_of(function, param) for param in function.parameters}
    conversions = [local.described or local.behind for local in found if letters[local.name] != "-"]
    return [text for text in conversions if text]


def _returned(function: Function, found: list[_Local]) -> list[str]:
    """Return the statements that pass the results of the subroutine to the recorder."""
    lines = ["tisim_returned();"]
    conversions = [] if frees(function) else _conversions(function, found)
    if conversions:
        lines = ["if (tisim_wants_arguments()) {", *conversions, "}", *lines]
    if function.is_untraced and function.returns == "int":
        return ["if (f_ierror == NULL || *f_ierror == MPI_SUCCESS) {", *lines, "}"]
    return lines


def _words(statement: str) -> set[str]:
    """Return the identifiers in a statement, except inside ``at(...)``."""
    return set(re.findall(r"\w+", re.sub(r"\bat\(\w+\)", "", statement)))


def _types(function: Function, param: Parameter) -> str:
    if letter_of(function, param) == "y":
        return f"tisim_fortran_type_list(f_{param.name}, *f_count)"
    comm = f"{_CONVERSIONS['MPI_Comm']}(*f_comm)"
    return f"tisim_fortran_types(f_{param.name}, {comm}, {int(not param.name.startswith('send'))})"


def _text(function: Function, param: Parameter) -> str:
    texts = [p.name for p in function.parameters if p.type == "char"]
    return f"tisim_fortran_text(f_{param.name}, {_length(param)}, {texts.index(param.name)})"


def _described_statuses(function: Function, param: Parameter) -> str:
    statuses = function.statuses
    needed = statuses is not None and statuses.name == param.name
    count = "*f_count" if param.is_array else "1"
    if statuses is not None and needed:
        count = _status_count(statuses)
    return (
        f"tisim_fortran_described({'passed' if needed else f'f_{param.name}'}, f_{param.name}, "
        f"{count})"
    )


def _status_count(statuses: Statuses) -> str:
    return statuses.count if statuses.count.isdigit() else f"*f_{statuses.count}"


def _entries(function: Function) -> list[str]:
    name = function.name.lower()
    if function.has_large_counts:
        return [f"{name.removesuffix('_c')}_f08ts_large_"]
    return [f"{name}_", f"{name}_f08_", f"{name}_f08ts_"]


def _fortran(statement: str) -> str:
    """Translate a statement of the table for a Fortran program."""
    statement = re.sub(r"\bat\((\w+)\)", r"f_\1", statement)
    statement = re.sub(r"\bstride\b", "sizeof(MPI_Fint)", statement)
    return re.sub(r"\bfirst\b", "1", statement)


def _type(parameter: Parameter) -> str:
    if parameter.type in ("void", "char", "MPI_Aint", "MPI_Offset", "MPI_Count"):
        return f"{'const ' if parameter.is_const else ''}{parameter.type} *"
    return f"{'const ' if parameter.is_const else ''}MPI_Fint *"


def _declaration(parameter: Parameter) -> str:
    return f"{_type(parameter)}f_{parameter.name}"
