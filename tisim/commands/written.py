"""What commands say of the files that they have written."""

from __future__ import annotations

import os
from pathlib import Path

import click


def report_written(*paths: str | os.PathLike[str]) -> None:
    """Say that files have been written, a line each.

    The lines go to standard error, so that what a command prints can be piped on. Pipes and devices
    are not mentioned.
    """
    for path in paths:
        if Path(path).is_file() or Path(path).is_dir():
            click.echo(f"tisim: wrote {os.fspath(path)}", err=True)
