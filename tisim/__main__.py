"""Entry points of the command line: ``tisim``, ``python -m tisim`` and the compiler wrappers."""

from __future__ import annotations

import io
import signal
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line; Ctrl-C during start-up or shutdown exits without a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # file names may be invalid in every encoding
    status: str | int | None = 130
    try:
        try:
            from tisim.commands.cli import main as run

            run()
        except SystemExit as ended:
            status = ended.code
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    except KeyboardInterrupt:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(status)


def compile_c() -> NoReturn:
    """Run ``tisim cc`` as ``tisim-cc``, a single word for makefiles and configure scripts."""
    _run("cc")


def compile_cxx() -> NoReturn:
    """Run ``tisim c++`` as ``tisim-c++``."""
    _run("c++")


def compile_fortran() -> NoReturn:
    """Run ``tisim fc`` as ``tisim-fc``."""
    _run("fc")


def _run(command: str) -> NoReturn:
    sys.argv[:1] = ["tisim", command]
    main()


if __name__ == "__main__":
    main()
