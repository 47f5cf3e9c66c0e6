"""The wrappers of POSIX functions, generated from the table ``posix.txt``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from importlib.resources import files

from tisim.traces.record.table import table_entries

_PROTOTYPE = re.compile(r"(.*?[ *])(\w+)\((.*)\)")
_NAME = re.compile(r"\w+$")
_HEADER = """\
/* Written by tisim from its table of POSIX functions. */
#undef _FORTIFY_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "posix.h"

#define EXPORTED __attribute__((visibility("default")))
"""


@dataclass(frozen=True)
class _PosixFunction:
    """A function and the recorder's actions around it; the fields are the words of the table."""

    result: str
    name: str
    parameters: tuple[str, ...]
    also: list[str] = field(default_factory=list)
    words: dict[str, str] = field(default_factory=dict)

    @property
    def is_variadic(self) -> bool:
        return self.parameters[-1] == "..."

    @property
    def named(self) -> tuple[str, ...]:
        """The parameters without ``...``."""
        return self.parameters[:-1] if self.is_variadic else self.parameters


def posix_wrappers() -> str:
    """Return a C source that defines each function and calls the one that it hides."""
    text = files("tisim.traces.record").joinpath("posix.txt").read_text(encoding="utf-8")
    functions = [_function(entry) for entry in table_entries(text)]
    wrappers = (
        _wrapper(function, name)
        for function in functions
        for name in (function.name, *function.also)
    )
    return _HEADER + "".join(f"\n{wrapper}" for wrapper in wrappers)


def _function(entry: list[str]) -> _PosixFunction:
    prototype = _PROTOTYPE.fullmatch(entry[0])
    if prototype is None:
        raise ValueError(f"not a prototype: {entry[0]}")
    function = _PosixFunction(prototype[1].strip(), prototype[2], tuple(prototype[3].split(", ")))
    for line in entry[1:]:
        key, _, rest = line.partition(" ")
        if key == "also":
            function.also.append(rest)
        elif key in ("if", "before", "after", "otherwise", "mode", "performs"):
            function.words[key] = rest
        else:
            raise ValueError(f"{function.name}: {line}")
    return function


def _wrapper(function: _PosixFunction, name: str) -> str:
    words = function.words
    performed = name
    types = [_type(parameter) for parameter in function.named]
    arguments = [_argument(parameter) for parameter in function.named]
    first: list[str] = []
    last: list[str] = []
    if "mode" in words:
        types.append("...")
        arguments.append("mode")
        first = ["  mode_t mode = 0;", f"  if (tisim_has_mode({words['mode']})) {{"]
        first += [f"  {line}" for line in _list_of_arguments(function)]
        first += ["    mode = va_arg(list, mode_t);", "    va_end(list);", "  }"]
    elif "performs" in words:
        types.append("va_list")
        arguments.append("list")
        performed = name.replace(function.name, words["performs"])
        first = _list_of_arguments(function)
        last = ["  va_end(list);"]
    parameters = ", ".join(function.parameters)
    call = f"real({', '.join(arguments)})"
    has_result = function.result != "void"
    is_pointer = function.result.endswith("*")
    result = function.result if is_pointer else f"{function.result} "
    constant = f"{result}const result" if is_pointer else f"const {result}result"
    condition = f"({words['if']}) && " if "if" in words else ""
    lines = [
        # A separate name: headers may declare the function differently, or rename it.
        f'EXPORTED {result}tisim_posix_{name}({parameters}) __asm__("{name}");',
        f"{result}tisim_posix_{name}({parameters}) {{",
        f"  static {result}(*real)({', '.join(types)});",
        f'  if (real == NULL) tisim_find_hidden(&real, "{performed}");',
        *first,
        f'  const bool recorded = {condition}tisim_enter_posix("{name}", TISIM_CALLER);',
    ]
    before = f"  if (recorded) {{ {words['before']}; }}" if "before" in words else ""
    if "otherwise" in words:
        before += f"\n  if (!recorded) {words['otherwise']};"
    lines += [before.strip("\n")] if before else []
    lines.append(f"  {f'{constant} = {call}' if has_result else call};")
    lines += last
    lines += [
        "  if (recorded) {",
        "    const int error = errno;",
        f"    {words['after']};",
        "    tisim_leave();",
        "    errno = error;",
        "  }",
    ]
    return "\n".join([*lines, *(["  return result;"] if has_result else []), "}", ""])


def _list_of_arguments(function: _PosixFunction) -> list[str]:
    return ["  va_list list;", f"  va_start(list, {_argument(function.named[-1])});"]


def _argument(parameter: str) -> str:
    found = _NAME.search(parameter)
    if found is None:
        raise ValueError(f"not a parameter: {parameter}")
    return found[0]


def _type(parameter: str) -> str:
    return _NAME.sub("", parameter).strip()
