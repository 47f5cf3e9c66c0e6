"""Programs in C++ that use SimGrid's S4U interface, compiled on first use."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from tests.support import ROOT

CACHE = ROOT / "build" / "oracle"
HEADER = Path("/usr/include/simgrid/s4u.hpp")


def missing() -> str | None:
    """Why these oracles cannot run here, or None when they can."""
    if shutil.which("g++") is None or not HEADER.exists():
        return "g++ or SimGrid is not installed (Debian: apt-get install g++ libsimgrid-dev)"
    return None


@functools.cache
def program(source: Path) -> Path:
    """The executable of a source file, compiled once for each version of it."""
    key = hashlib.sha256(source.read_bytes() + HEADER.read_bytes()).hexdigest()[:16]
    path = CACHE / f"{source.stem}-{key}"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(f".{os.getpid()}")
        command = ["g++", "-std=c++17", "-O1", str(source), "-o", str(fresh), "-lsimgrid"]
        subprocess.run(command, check=True)
        fresh.replace(path)
    return path
