"""Call paths of recorded calls: from addresses to functions and lines of the source."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

#: Separator between a caller and the function that it calls.
BETWEEN = " > "

_MODULE = re.compile(r"# module: (\S+) (\S+) (.*)")
_PLACE = re.compile(r"(.+)\+0x([0-9a-f]+)")
_ADDRESSES_PER_RUN = 4096
# Frames that precede a program's own code: process start-up, and the main program that Fortran
# compilers generate.
_BEGINNINGS = ("main", "MAIN__")
_STARTS = ("_start", "__libc_start_main_impl", "__libc_start_call_main")
# An interpreter's frames do not describe the program that it runs: they are merged into one.
_INTERPRETER = re.compile(r"(?:lib)?python\d[\d.]*(?:\.so[\d.]*)?")
# Operators whose names contain brackets, recognised before brackets are counted.
_OPERATOR = re.compile(r"operator *(\(\)|\[\]|<=>|->\*?|<<=?|>>=?|<=?|>=?)(?: (?=<)|(?=[<(]|$))")
_LAMBDA = re.compile(r"\{lambda\(.*?\)#(\d+)\}")
_INLINE_NAMESPACES = re.compile(r"\bstd::(?:__cxx11|__1)::")


@dataclass(frozen=True)
class Module:
    """A program or library with recorded code."""

    #: Name in call paths.
    name: str
    #: The linker's build identifier; ``-`` if the file has none.
    build_id: str
    #: Path of the file when it was recorded.
    path: Path


def modules_of(lines: Iterable[str]) -> dict[str, Module]:
    """Return the modules named in comments of a recorded trace, by name."""
    matches = (match for line in lines if (match := _MODULE.fullmatch(line)))
    return {match[1]: Module(match[1], match[2], Path(match[3])) for match in matches}


def named_paths(paths: Collection[str], modules: dict[str, Module]) -> dict[str, str]:
    """Resolve call paths to functions and lines, where these can be found.

    ``program+0x12 > libsolver.so+0x34``, callers first, becomes ``main (program.c:12) > solve
    (solver.c:40)``, inlined functions included, or without lines ``main (program+0x12)``. The
    frames of a Python interpreter become one, ``python3.11``. Unresolved frames stay as they are,
    as does code of a file that has changed since. Needs ``addr2line`` (of the GNU binutils) or
    ``llvm-symbolizer``.
    """
    addresses: dict[str, set[int]] = {}
    for path in paths:
        for place in path.split(BETWEEN):
            if match := _PLACE.fullmatch(place):
                addresses.setdefault(match[1], set()).add(int(match[2], 16))
    names: dict[str, list[str]] = {}
    for name, numbers in addresses.items():
        if name in modules:
            found = _symbols(modules[name], sorted(numbers))
            names.update({f"{name}+0x{number:x}": frames for number, frames in found.items()})
    return {path: _named(path, names) for path in paths}


def short_path(path: str) -> str:
    """Shorten a named call path for display: C++ functions lose their parameters, return types
    and template arguments.
    """
    return BETWEEN.join(map(_short, path.split(BETWEEN)))


def _short(frame: str) -> str:
    name, between, place = frame.rpartition(" (")
    if not between or not place.endswith(")"):
        return frame
    name = _INLINE_NAMESPACES.sub("std::", name).replace("(anonymous namespace)::", "")
    name = _LAMBDA.sub(r"lambda#\1", name)
    operators: list[str] = []

    def kept(match: re.Match[str]) -> str:
        operators.append(match[1])
        return "operator\0"

    name = _OPERATOR.sub(kept, name)
    letters: list[str] = []
    depth = 0
    for letter in name:
        if letter in "<(":
            letters += "<...>" if letter == "<" and depth == 0 else ""
            depth += 1
        elif letter in ">)":
            depth -= 1
        elif depth == 0:
            letters.append(letter)
    # The return type precedes the name; qualifiers such as `const` and `[clone .part]` follow it.
    words = re.sub(r"( const| volatile| &+| \[.*\])+$", "", "".join(letters)).split(" ")
    last = next((i for i, word in enumerate(words) if word.endswith("operator")), len(words) - 1)
    short = " ".join(words[last:])
    for operator in operators[len(operators) - short.count("\0") :]:
        short = short.replace("\0", operator, 1)
    return f"{short or name} ({place}"


def _named(path: str, names: dict[str, list[str]]) -> str:
    frames: list[str] = []
    for place in path.split(BETWEEN):
        inlined = names.get(place, [place])
        module = place.partition("+")[0]
        if _INTERPRETER.fullmatch(module):
            inlined = [] if frames and frames[-1] == module else [module]
        for frame in inlined:
            if frame.partition(" ")[0] in _BEGINNINGS:
                frames.clear()
            if frame.partition(" ")[0] in _STARTS:
                frames.clear()
            else:
                frames.append(frame)
    return BETWEEN.join(frames)


def _symbols(module: Module, addresses: list[int]) -> dict[int, list[str]]:
    """Return the functions at return addresses of a module, callers first."""
    import shutil
    import subprocess

    tool = shutil.which("addr2line") or shutil.which("llvm-symbolizer")
    if tool is None or not _is_unchanged(module):
        return {}
    options = ["-a", "-f", "-i", "-C"]
    if Path(tool).name == "llvm-symbolizer":
        options = ["--output-style=GNU", "-a", "-f", "-i", "-C"]
    found: dict[int, list[str]] = {}
    for start in range(0, len(addresses), _ADDRESSES_PER_RUN):
        some = addresses[start : start + _ADDRESSES_PER_RUN]
        # A return address is the next instruction's, which may belong to another line.
        words = [f"0x{address - 1:x}" for address in some]
        run = subprocess.run(
            [tool, *options, "-e", str(module.path)],
            input="\n".join(words) + "\n",
            capture_output=True,
            text=True,
            errors="replace",
        )
        if run.returncode == 0:
            found.update(_parsed(run.stdout, module))
    return found


def _parsed(text: str, module: Module) -> dict[int, list[str]]:
    """Parse the tool's output: an address, then two lines per function, innermost first."""
    found: dict[int, list[str]] = {}
    frames: list[str] = []
    address = 0
    lines = iter(text.splitlines())
    for line in lines:
        if line.startswith("0x"):
            address = int(line, 16) + 1
            frames = found.setdefault(address, [])
            continue
        frame = _frame(line, next(lines, ""), f"{module.name}+0x{address:x}")
        if frame:
            frames.insert(0, frame)
    return {address: frames for address, frames in found.items() if frames}


def _frame(function: str, place: str, address: str) -> str:
    """Format a function with its line, or with the address if it has no line."""
    if function == "??":
        return ""
    while "> >" in function:  # nested templates, as written before C++11
        function = function.replace("> >", ">>")
    file, _, line = place.partition(" (discriminator")[0].rpartition(":")
    if file in ("", "??") or not line.isdigit() or line == "0":
        return f"{function} ({address})"
    return f"{function} ({Path(file).name}:{line})"


def _is_unchanged(module: Module) -> bool:
    """Return whether the file exists and is the recorded one."""
    if not module.path.is_file():
        return False
    if module.build_id == "-":
        return True
    try:
        return bytes.fromhex(module.build_id) in module.path.read_bytes()[:_IDENTIFIER_WITHIN]
    except (OSError, ValueError):
        return False


_IDENTIFIER_WITHIN = 1 << 20  # bytes; notes are stored near the beginning of a file
