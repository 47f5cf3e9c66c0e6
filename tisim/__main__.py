"""``tisim`` and ``python -m tisim``: the command line, from its first import to its last word."""

from __future__ import annotations

import io
import signal
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run the command line; Ctrl-C while it is loaded, or in its last moments, ends it quietly."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # names of files may be in no encoding at all
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
    """``tisim-cc``, a name in one word for makefiles and configure scripts: ``tisim cc``."""
    _run("cc")


def compile_cxx() -> NoReturn:
    """``tisim-c++``: ``tisim c++``."""
    _run("c++")


def compile_fortran() -> NoReturn:
    """``tisim-fc``: ``tisim fc``."""
    _run("fc")


def _run(command: str) -> NoReturn:
    sys.argv[:1] = ["tisim", command]
    main()


if __name__ == "__main__":
    main()
