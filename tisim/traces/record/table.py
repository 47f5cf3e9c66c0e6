"""Parser of the tables of MPI functions that the recorder wraps: ``functions.txt`` and, for those
without a line in the trace, ``untraced.txt``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.resources import files

_PROTOTYPE = re.compile(r"(?:(\w+) )?(MPI_\w+)\((.*)\)")
_PARAMETER = re.compile(r"(const )?(\w+) (\**)(\w+)((?:\[\])?)")
# Names of parameters whose type changes in variants with large counts.
_COUNT = re.compile(r"(?:send|recv|origin_|result_|target_)?counts?")
_DISPLACEMENT = re.compile(r"[sr]?displs|disp_unit")


@dataclass(frozen=True)
class Parameter:
    """A parameter of a C prototype."""

    #: Its type without ``const``, asterisks and brackets: ``int``, ``MPI_Comm``, ``void``.
    type: str
    name: str
    #: Levels of indirection: 0 for a value, 1 for a pointer or an array.
    depth: int
    #: True if it is declared with brackets.
    is_array: bool
    #: True if it is declared ``const``.
    is_const: bool

    @property
    def declaration(self) -> str:
        """Its C declaration."""
        const = "const " if self.is_const else ""
        stars = "*" * (self.depth - self.is_array)
        return f"{const}{self.type} {stars}{self.name}{'[]' if self.is_array else ''}"


@dataclass(frozen=True)
class Statuses:
    """Statuses that the recorder may need: the parameter, their number, and the condition."""

    name: str
    count: str
    condition: str


@dataclass(frozen=True)
class Function:
    """An MPI function, and the recorder's actions around it."""

    #: ``MPI_Send``.
    name: str
    parameters: tuple[Parameter, ...]
    #: C statements; empty for none.
    before: str = ""
    after: str = ""
    #: The statuses that the statements may need.
    statuses: Statuses | None = None
    #: True if a trace cannot express the function.
    is_counted: bool = False
    #: The first version of MPI that has it, if newer than 3.1: ``4``.
    since: str = ""
    #: True if its counts are large; some libraries have all of MPI 4.0 except such functions.
    has_large_counts: bool = False
    #: True if it has no line in a trace.
    is_untraced: bool = False
    #: Its return type.
    returns: str = "int"


def read_untraced() -> list[Function]:
    """Return the functions without a line in a trace."""
    return [
        replace(function, is_untraced=True, has_large_counts=bool(function.name.endswith("_c")))
        for function in _listed("untraced.txt")
    ]


def read_table() -> list[Function]:
    """Return every function of the table, and their unlisted variants."""
    functions = _listed("functions.txt")
    return [*functions, *(large for f in functions if (large := _with_large_counts(f)) is not None)]


def _listed(name: str) -> list[Function]:
    text = files("tisim.traces.record").joinpath(name).read_text(encoding="utf-8")
    return [function for entry in table_entries(text) for function in _functions(entry)]


def table_entries(text: str) -> Iterator[list[str]]:
    """Yield the lines of each entry: a prototype, then its indented lines; long lines joined."""
    entry: list[str] = []
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if line.startswith("    "):
            entry[-1] += " " + line.strip()
        elif line.startswith("  "):
            entry.append(line.strip())
        else:
            if entry:
                yield entry
            entry = [line]
    if entry:
        yield entry


def _functions(entry: list[str]) -> Iterator[Function]:
    prototype = _PROTOTYPE.fullmatch(entry[0])
    if prototype is None:
        raise ValueError(f"not a prototype: {entry[0]}")
    returns, name, declared = prototype.groups()
    parameters = tuple(map(_parameter, filter(None, declared.split(", "))))
    function = Function(name, parameters, returns=returns or "int")
    nonblocking = False
    for line in entry[1:]:
        key, _, rest = line.partition(" ")
        match key:
            case "before":
                function = replace(function, before=f"{rest};")
            case "after":
                function = replace(function, after=f"{rest};")
            case "statuses":
                function = replace(function, statuses=Statuses(*rest.split(" ", 2)))
            case "counted":
                function = replace(function, is_counted=True)
            case "since":
                function = replace(function, since=rest)
            case "nonblocking":
                nonblocking = True
            case _:
                raise ValueError(f"{function.name}: {line}")
    yield replace(function, after=function.after.replace("POSTED", "NULL"))
    if nonblocking:
        yield _nonblocking(function)
        yield _persistent(function)


def _nonblocking(function: Function) -> Function:
    base = function.name.removeprefix("MPI_")
    return replace(
        function,
        name=f"MPI_I{base[0].lower()}{base[1:]}",
        parameters=(*function.parameters, _parameter("MPI_Request *request")),
        after=_posted(function, is_persistent=False),
    )


def _persistent(function: Function) -> Function:
    """Return the persistent collective: each of its starts is the non-blocking one."""
    more = map(_parameter, ("MPI_Info info", "MPI_Request *request"))
    return Function(
        f"{function.name}_init",
        (*function.parameters, *more),
        after=_posted(function, is_persistent=True),
        since="4",
    )


def _posted(function: Function, *, is_persistent: bool) -> str:
    """Return the recorder's code after a collective that creates a request."""
    kind = "true" if is_persistent else "false"
    word = re.sub(r".*?TISIM_(\w+).*", r"TISIM_i\1", function.after)
    posted = f"&(struct tisim_posted){{{word}, *request, at(request), {kind}}}"
    return function.after.replace("POSTED", posted)


def _with_large_counts(function: Function) -> Function | None:
    """Return the variant with large counts, recorded the same way; None if there is none.

    Partitioned communication has only one variant.
    """
    parameters = tuple(map(_with_large_count, function.parameters))
    kinds = {parameter.type for parameter in function.parameters}
    if parameters == function.parameters or not kinds & {"MPI_Datatype", "MPI_Win"}:
        return None
    if "MPI_Count" in kinds:
        return None
    return replace(
        function,
        name=f"{function.name}_c",
        parameters=parameters,
        since="4",
        has_large_counts=True,
    )


def _with_large_count(parameter: Parameter) -> Parameter:
    if parameter.type != "int":
        return parameter
    if _COUNT.fullmatch(parameter.name):
        return replace(parameter, type="MPI_Count")
    return (
        replace(parameter, type="MPI_Aint")
        if _DISPLACEMENT.fullmatch(parameter.name)
        else parameter
    )


def _parameter(text: str) -> Parameter:
    found = _PARAMETER.fullmatch(text)
    if found is None:
        raise ValueError(f"not a parameter: {text}")
    const, kind, stars, name, brackets = found.groups()
    depth = len(stars) + bool(brackets)
    return Parameter(kind, name, depth, bool(brackets), bool(const))
