"""``tisim cc``, ``tisim c++`` and ``tisim fc``: compile programs that count instructions."""

from __future__ import annotations

import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from tisim.errors import InputError
from tisim.support.mpi import cached_build
from tisim.traces.record.source import cache_directory

# The default compiler of each command, and the variable that overrides it.
COMPILERS = {
    "cc": ("TISIM_CC", "mpicc"),
    "c++": ("TISIM_CXX", "mpicxx"),
    "fc": ("TISIM_FC", "mpif90"),
}
# r15 is the counter. endbr64 marks the functions that other code can call. A tail call would leave
# a function without passing its end. Code split into two sections would need exception tables for
# each. A caller must not keep values in registers that the compiler believes a function leaves
# unchanged: the added code changes r11.
_OPTIONS = (
    "-ffixed-r15",
    "-fcf-protection=branch",
    "-fno-optimize-sibling-calls",
    "-fno-reorder-blocks-and-partition",
    "-fno-ipa-ra",
)
_EXPORTED = (
    *("tisim_counted_elsewhere", "tisim_is_counted", "tisim_foreign_stack"),
    *("tisim_enter_foreign", "tisim_leave_foreign", "tisim_flush_count"),
)
# Options that prevent linking.
_NOT_LINKED = frozenset(
    ("-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "--version", "--help", "-v", "-###", "-show")
)


def counting_command(command: str, arguments: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the compiler command and environment for ``tisim cc -O2 program.c``.

    Raises InputError when there is no such compiler, when it is not GCC, on processors other than
    x86-64, and with link-time optimisation, which defers code generation until all code is known.
    """
    variable, default = COMPILERS[command]
    compiler = shlex.split(os.environ.get(variable, default))
    if not compiler or shutil.which(compiler[0]) is None:
        raise InputError(
            f"{' '.join(compiler) or default} was not found; set {variable} to another compiler"
        )
    if platform.machine() != "x86_64":
        raise InputError(f"tisim {command} supports only x86-64, not {platform.machine()}")
    for word in arguments:
        if word.startswith("-flto") and word != "-fno-lto":
            raise InputError(f"{word}: link-time optimisation is not supported; omit it")
    _require_gcc(compiler, command)
    place = _installed()
    words = [*compiler, f"-B{place}/", *arguments, *_OPTIONS]
    if _links(arguments):
        words.append(str(place / "counted.o"))
        words += [f"-Wl,--export-dynamic-symbol={name}" for name in _EXPORTED]
    environment = dict(os.environ)
    if {"-fPIC", "-fpic", "-shared"} & {*arguments}:
        environment["TISIM_COUNT_PIC"] = "1"
    return words, environment


def _links(arguments: Sequence[str]) -> bool:
    inputs = [word for word in arguments if not word.startswith("-")]
    return bool(inputs) and not _NOT_LINKED & {*arguments} and "-shared" not in arguments


def _require_gcc(compiler: list[str], command: str) -> None:
    run = subprocess.run([*compiler, "--version"], capture_output=True, text=True)
    if "Free Software Foundation" not in run.stdout:
        raise InputError(
            f"tisim {command} needs GCC, but {' '.join(compiler)} is another compiler; set "
            f"{COMPILERS[command][0]} to the one to use"
        )


def _installed() -> Path:
    """Return a directory with the assembler replacement, and the object that programs need."""
    sources = files("tisim.traces.record.register")
    texts = {
        name: sources.joinpath(name).read_text("utf-8") for name in ("counted.s", "assembly.py")
    }
    texts["as"] = (
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -I -S "${{0%/*}}/assembly.py" "$@"\n'
    )
    digest = hashlib.sha256("\0".join(texts.values()).encode()).hexdigest()[:32]
    place = cache_directory() / f"register-{digest}"

    def build(scratch: Path) -> None:
        for name, text in texts.items():
            (scratch / name).write_text(text, encoding="utf-8")
        (scratch / "as").chmod(0o755)
        command = ["as", "counted.s", "-o", "counted.o"]
        run = subprocess.run(command, cwd=scratch, capture_output=True, text=True)
        if run.returncode != 0:
            raise InputError(f"the assembler rejects tisim's own code:\n{run.stderr}")
        for name in texts:  # the object marks completion, so it is moved last
            (scratch / name).replace(place / name)

    return cached_build(place / "counted.o", "counter of instructions", build).parent
