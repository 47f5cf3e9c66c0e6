"""``tisim examples DIR``: the sample traces, platforms and programs of the documentation."""

from __future__ import annotations

import shutil
from pathlib import Path

import click

from tisim.commands import report_written
from tisim.errors import InputError

_EXAMPLES = """\b
Examples:
  tisim examples first-steps
  cd first-steps
  tisim replay --platform platforms/graphene.xml traces/npb.S.tar.xz/lu.S.4
"""
_FOLDERS = ("traces", "platforms", "examples")
_NO_TRACES_OF_USE = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")


@click.command("examples", epilog=_EXAMPLES)
@click.argument("directory", type=click.Path(path_type=Path))
def examples_command(directory: Path) -> None:
    """Write the sample files of the documentation into a new DIRECTORY.

    traces/ contains recorded NAS benchmarks, platforms/ the cluster graphene and a fat tree,
    examples/ MPI programs, scripts, notebooks and measurements.
    """
    if directory.exists() and not (directory.is_dir() and not any(directory.iterdir())):
        raise InputError(
            "exists and is not an empty directory; choose another name", file=directory
        )
    package = Path(__file__).parents[1]
    # Next to the package in a checkout, inside an installed package.
    home = package / "_data" if (package / "_data").is_dir() else package.parent
    try:
        for name in _FOLDERS:
            shutil.copytree(home / name, directory / name, ignore=_NO_TRACES_OF_USE)
    except BaseException as error:
        for name in _FOLDERS:
            shutil.rmtree(directory / name, ignore_errors=True)
        if not isinstance(error, shutil.Error):
            raise
        _, _, why = error.args[0][0]  # a text for each file
        reason = str(why).partition(": ")[0].rpartition("] ")[2]
        raise InputError(f"cannot be written: {reason}", file=directory) from None
    report_written(directory)
