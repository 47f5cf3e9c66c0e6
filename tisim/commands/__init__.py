"""The commands of the command line, a module each, and how they report what they wrote."""

from __future__ import annotations

import os
from pathlib import Path

import click


def report_written(*paths: str | os.PathLike[str]) -> None:
    """Say which files have been written, one per line, on standard error.

    Standard output stays clean for pipes. Pipes and devices are not mentioned.
    """
    for path in paths:
        if Path(path).is_file() or Path(path).is_dir():
            click.echo(f"tisim: wrote {os.fspath(path)}", err=True)
