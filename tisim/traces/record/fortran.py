"""The wrappers of MPI's subroutines in Fortran, written from the table.

They are entries of their own, since some MPI libraries call ``PMPI_`` functions of C inside. Each
converts what the recorder needs to C and performs the subroutine that it hides. Those of ``mpif.h``
and ``use mpi`` are called ``mpi_send_``, those of ``use mpi_f08`` ``mpi_send_f08_``; their
arguments are the same: the derived types of the latter hold one integer. With descriptors of arrays
in the place of buffers it is ``mpi_send_f08ts_``: a descriptor begins with the address.
"""

from __future__ import annotations

import re

from tisim.traces.record.table import Function, Parameter, Statuses
from tisim.traces.record.wrappers import around_mpi_io, entering, frees, letter_of

_HEADER = """\
/* Written by tisim from its table of MPI functions: the entries of Fortran. */
#include "arguments.h"
#include "fortran.h"
"""
# The function of C that converts a handle, where the program's variable holds a handle.
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
# What describes parameters of a kind is kept as: see `library/arguments.c`.
_KINDS = {
    "d": "MPI_Datatype ", "c": "MPI_Comm ", "o": "MPI_Op ", "n": "MPI_Info ", "G": "MPI_Group ",
    "w": "MPI_Win ", "f": "MPI_File ", "R": "MPI_Request ", "e": "MPI_Errhandler ",
}  # fmt: skip


def fortran_wrappers(functions: list[Function]) -> str:
    """A source in C that defines the entries of Fortran."""
    return _HEADER + "".join(f"\n{_wrapper(function)}" for function in functions if has(function))


def has(function: Function) -> bool:
    """True if there is an entry.

    Arrays of texts are left alone, and of the functions that a trace has no line of those of which
    Fortran has no subroutine of this form.
    """
    if any(parameter.type == "char" and parameter.depth > 1 for parameter in function.parameters):
        return False
    name = function.name
    return not function.is_unwritten or not (
        function.has_large_counts or name.startswith(("MPI_Aint_", "MPI_Session_", "MPI_Status_"))
    )


def _wrapper(function: Function) -> str:
    name = function.name.lower()
    is_function = function.returns != "int"
    own = [] if is_function else ["f_ierror"]
    # Behind all arguments stands how long each text is.
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
        *_described(function),
        *_found_before(function),
        *(["  tisim_unsupported();"] if function.is_counted else []),
        *_before(function),
        *(["  tisim_keep_call_freeing();"] if frees(function) else []),
        *_performing(function, arguments),
        *_returned(function),
        *_after(function),
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


def _described(function: Function) -> list[str]:
    """Statements that tell the recorder the values of all parameters, where it wants them."""
    kept, found, values = [], [], []
    for one in function.parameters:
        letter, name = letter_of(function, one), one.name
        value = f"f_{name}"
        if letter in "bdconvIsSGwfRez" or letter in _KEPT_ADDRESSES:
            kind = _KINDS.get(letter, "const char *" if letter in "zZ" else "const void *")
            if letter in "TNOEYCWFr":
                kept.append(f"  {one.type} c_{name}_value = {{0}};")
                kept.append(f"  const {one.type} *const c_{name} = &c_{name}_value;")
            else:
                is_handle = kind in _KINDS.values()
                kept.append(f"  {kind}c_{name} = {'{0}' if is_handle else 'NULL'};")
            value = f"&c_{name}"
        if letter == "b":
            found.append(f"c_{name} = tisim_fortran_buffer(f_{name}, has_descriptors);")
        elif letter in _KINDS:
            found.append(f"c_{name} = {_CONVERSIONS[one.type]}(*f_{name});")
        elif letter in "Dy":
            kept.append(f"  const void *c_{name} = NULL;")
            value = f"&c_{name}"
            found.append(f"c_{name} = {_types(function, one)};")
        elif letter == "v":
            found.append(f"c_{name} = tisim_fortran_numbers(f_{name});")
        elif letter == "I":
            found.append(f"c_{name} = f_{name};")
        elif letter == "z":
            found.append(f"c_{name} = {_text(function, one)};")
        elif letter in "VULPAkKxqu3":
            kept.append(f"  const void *const c_{name} = f_{name};")
            value = f"&c_{name}"
        values.append(value)
    letters = "".join(f"{letter_of(function, one)}{one.name}," for one in function.parameters)
    return [
        *kept,
        f"  const void *values[] = {{{', '.join(values) or 'NULL'}}};",
        "  if (tisim_wants_arguments()) {",
        *(f"    {line}" for line in found),
        f'    tisim_describe("{function.name}", "{letters}", values);',
        "  }",
    ]


# Letters of what MPI gives or takes back, which are converted behind or before the call.
_KEPT_ADDRESSES = "TNOEYCWFrZ"


def _types(function: Function, one: Parameter) -> str:
    if letter_of(function, one) == "y":
        return f"tisim_fortran_type_list(f_{one.name}, *f_count)"
    comm = f"{_CONVERSIONS['MPI_Comm']}(*f_comm)"
    return f"tisim_fortran_types(f_{one.name}, {comm}, {int(not one.name.startswith('send'))})"


def _text(function: Function, one: Parameter) -> str:
    texts = [p.name for p in function.parameters if p.type == "char"]
    place = texts.index(one.name)
    return f"tisim_fortran_text(f_{one.name}, {_length(one)}, {place})"


def _addresses(function: Function) -> list[str]:
    """Statements that convert what variables of the program hold to C."""
    lines = []
    for one in function.parameters:
        letter = letter_of(function, one)
        if letter == "Z":
            lines.append(f"c_{one.name} = {_text(function, one)};")
        elif letter in _KEPT_ADDRESSES:
            lines.append(f"c_{one.name}_value = {_CONVERSIONS[one.type]}(*f_{one.name});")
    return lines


def _found_before(function: Function) -> list[str]:
    """Statements that convert what a subroutine frees."""
    found = _addresses(function) if frees(function) else []
    return [f"  if (tisim_wants_arguments()) {{ {' '.join(found)} }}"] if found else []


def _returned(function: Function) -> list[str]:
    """Statements that tell the recorder what the subroutine has given back."""
    lines = []
    for one in function.parameters:
        if one.type == "MPI_Status":
            statuses = function.statuses
            needed = statuses is not None and statuses.name == one.name
            count = _status_count(statuses) if statuses is not None and needed else "1"
            if one.is_array and not needed:
                count = "*f_count"
            passed = "passed" if needed else f"f_{one.name}"
            convert = f"tisim_fortran_described({passed}, f_{one.name}, {count})"
            lines.append(f"c_{one.name} = {convert};")
    if not frees(function):
        lines += _addresses(function)
    if not function.is_unwritten:
        converted = [f"  if (tisim_wants_arguments()) {{ {' '.join(lines)} }}"] if lines else []
        return [*converted, "  tisim_returned();"]
    back = " ".join([*lines, "tisim_returned();"])
    if function.returns != "int":
        return [f"  {back}"]
    return [f"  if (f_ierror == NULL || *f_ierror == MPI_SUCCESS) {{ {back} }}"]


def _before(function: Function) -> list[str]:
    """The recorder's code before the subroutine."""
    if not function.before:
        return []
    done = f"    {_fortran(function.before)}"
    return ["  {", *_conversions(function, function.before), done, "  }"]


def _performing(function: Function, arguments: str) -> list[str]:
    """The call of the subroutine, with statuses of its own where the program ignores them."""
    statuses = function.statuses
    if statuses is None:
        result = "" if function.returns == "int" else f"const {function.returns} result = "
        return around_mpi_io(function, [f"  {result}perform({arguments});"])
    needed = statuses.condition
    passed = f"tisim_fortran_statuses(f_{statuses.name}, {_status_count(statuses)}, needed)"
    performed = re.sub(rf"\bf_{statuses.name}\b", "passed", arguments)
    return [
        *("  bool needed;", "  {", *_conversions(function, needed)),
        *(f"    needed = {needed};", "  }"),
        f"  MPI_Fint *const passed = {passed};",
        *around_mpi_io(function, [f"  perform({performed});"]),
    ]


def _after(function: Function) -> list[str]:
    """The recorder's code after the subroutine."""
    if not function.after:
        return []
    after = _fortran(function.after)
    lines = ["  {", *_conversions(function, function.after)]
    statuses = function.statuses
    if statuses is not None and statuses.name in after:
        lines.append(
            f"    const MPI_Status *const {statuses.name} = "
            f"tisim_statuses_from_fortran(passed, {_status_count(statuses)}, needed);"
        )
    return [*lines, f"    {after}", "  }"]


def _status_count(statuses: Statuses) -> str:
    return statuses.count if statuses.count.isdigit() else f"*f_{statuses.count}"


def _entries(function: Function) -> list[str]:
    name = function.name.lower()
    if function.has_large_counts:
        return [f"{name.removesuffix('_c')}_f08ts_large_"]
    return [f"{name}_", f"{name}_f08_", f"{name}_f08ts_"]


def _fortran(statement: str) -> str:
    """A statement of the table where the program is in Fortran."""
    statement = re.sub(r"\bat\((\w+)\)", r"f_\1", statement)
    statement = re.sub(r"\bstride\b", "sizeof(MPI_Fint)", statement)
    return re.sub(r"\bfirst\b", "1", statement)


def _type(parameter: Parameter) -> str:
    if parameter.type in ("void", "char", "MPI_Aint", "MPI_Offset", "MPI_Count"):
        return f"{'const ' if parameter.is_const else ''}{parameter.type} *"
    return f"{'const ' if parameter.is_const else ''}MPI_Fint *"


def _declaration(parameter: Parameter) -> str:
    return f"{_type(parameter)}f_{parameter.name}"


def _conversions(function: Function, statement: str) -> list[str]:
    """Definitions of the parameters that a statement names, in C."""
    plain = re.sub(r"\bat\(\w+\)", "", statement)
    used = function.used(plain)
    names = {parameter.name for parameter in used}
    # How many requests or types there are.
    used += [p for p in function.parameters if p.name in _counts(used, function) - names]
    order = {parameter.name: place for place, parameter in enumerate(function.parameters)}
    first = [p for p in used if p.type in ("int", "MPI_Count", "MPI_Comm")]
    rest = [p for p in used if p not in first]
    lines = []
    for parameter in (
        *sorted(first, key=lambda p: order[p.name]),
        *sorted(rest, key=lambda p: order[p.name]),
    ):
        line = _conversion(function, parameter)
        if line:
            lines.append(f"    {line}")
    return lines


def _counts(used: list[Parameter], function: Function) -> set[str]:
    needed = set()
    for parameter in used:
        if parameter.is_array and parameter.type == "MPI_Request":
            needed.add("count")
        if parameter.is_array and parameter.type == "MPI_Datatype":
            needed.add("comm")
    return needed


def _conversion(function: Function, parameter: Parameter) -> str:
    name, kind = parameter.name, parameter.type
    if kind == "char":
        return f"const char *const {name} = {_text(function, parameter)};"
    if kind == "MPI_Status":
        return ""  # see the caller
    if kind == "void":
        return f"const void *const {name} = tisim_fortran_buffer(f_{name}, has_descriptors);"
    if kind in ("int", "MPI_Count"):
        if parameter.depth == 0:
            return f"const {kind} {name} = ({kind})*f_{name};"
        return f"const {kind} *const {name} = (const {kind} *)f_{name};"
    if parameter.is_array and kind == "MPI_Request":
        return f"const MPI_Request *const {name} = tisim_fortran_requests(f_{name}, count);"
    if parameter.is_array and kind == "MPI_Datatype":
        side = 0 if name.startswith("send") else 1
        return f"const MPI_Datatype *const {name} = tisim_fortran_types(f_{name}, comm, {side});"
    if kind in ("MPI_Offset", "MPI_Aint"):
        return f"const {kind} {name} = *f_{name};"
    convert = _CONVERSIONS[kind]
    if parameter.depth == 0:
        return f"const {kind} {name} = {convert}(*f_{name});"
    return f"const {kind} {name}_value = {convert}(*f_{name}), *const {name} = &{name}_value;"
