"""The QEMU command that counts a program's instructions."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

from tisim.errors import InputError
from tisim.support.mpi import cached_build
from tisim.traces.record.source import cache_directory

_EMULATOR = "qemu-x86_64"
_OPTIONS = ("-std=c11", "-D_GNU_SOURCE", "-O2", "-fPIC", "-fvisibility=hidden", "-shared")


def emulating_command(prefix: str, *, counts_itself: bool) -> list[str]:
    """Return the words before a program's name with which QEMU executes and counts it. The counts
    of each process are stored in files that begin with `prefix`; for a program that also counts its
    instructions, the added ones are left out. Raises InputError when there is no QEMU for x86-64
    programs, or no compiler for its plug-in.
    """
    emulator = shutil.which(_EMULATOR)
    if emulator is None or os.uname().machine != "x86_64":
        raise InputError(
            f"--counter qemu executes x86-64 programs under {_EMULATOR}, which is not installed "
            "(Debian: qemu-user)"
        )
    plugin = f"{_compiled_plugin()},prefix={prefix}"
    return [emulator, "-plugin", f"{plugin},counts=1" if counts_itself else plugin]


def _compiled_plugin() -> Path:
    """Return the plug-in, compiled on first use."""
    package = files("tisim.traces.record")
    source = package.joinpath("qemu", "plugin.c").read_text(encoding="utf-8")
    header = package.joinpath("library", "shared_count.h").read_text(encoding="utf-8")
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        raise InputError("--counter qemu compiles a QEMU plug-in, but there is no compiler cc")
    key = hashlib.sha256("\0".join((source, header, *_OPTIONS)).encode()).hexdigest()[:32]
    kept = cache_directory() / key / "libtisim_qemu.so"

    def build(scratch: Path) -> None:
        (scratch / "plugin.c").write_text(source, encoding="utf-8")
        (scratch / "shared_count.h").write_text(header, encoding="utf-8")
        command = [compiler, *_OPTIONS, "plugin.c", "-o", kept.name]
        run = subprocess.run(command, cwd=scratch, capture_output=True, text=True)
        if run.returncode != 0:
            raise InputError(f"{compiler} cannot compile the QEMU plug-in:\n{run.stderr}")

    return cached_build(kept, "plug-in", build)
