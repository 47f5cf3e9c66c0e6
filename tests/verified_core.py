"""Replaces the installed core by the one in the directory TISIM_VERIFIED_CORE.

`make verified` builds a core there that checks all its invariants after every instant. This module
is a pytest plugin (``-p tests.verified_core``) and runs other modules:
``python -m tests.verified_core tests.oracle.campaign --cases 200``.
"""

from __future__ import annotations

import importlib.util
import os
import runpy
import sys
from pathlib import Path


def load(directory: Path) -> None:
    """Load the core of a directory as `tisim._core`, for this process and its children."""
    assert "tisim._core" not in sys.modules, "another core was loaded before"
    (path,) = directory.glob("_core*.so")
    spec = importlib.util.spec_from_file_location("tisim._core", path)
    assert spec is not None and spec.loader is not None
    core = importlib.util.module_from_spec(spec)
    sys.modules["tisim._core"] = core
    spec.loader.exec_module(core)
    assert core.VERIFIES, f"{path} was not built with TISIM_VERIFY"


load(Path(os.environ["TISIM_VERIFIED_CORE"]))

if __name__ == "__main__":
    sys.argv = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
