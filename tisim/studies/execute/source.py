"""The executor as something to compile: the files in C of this package, and the vocabulary."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from tisim.support import mpi_compiler
from tisim.support.mpi_compiler import SourceCode
from tisim.traces import Trace
from tisim.traces.script import vocabulary_header, write_scripts

_README = """\
The executor of tisim, for machines without Python. The scripts of a trace are in `scripts`, if
there was one; tisim execute TRACE --print-source DIR writes them (with --scratch, if the trace
works on files).

    {compile}
    mpirun -n RANKS ./tisim_execute scripts repeat=5 compute=sleep speed=1e9

It prints for each repetition when each rank ended, in seconds after the common start. All hosts
need the directory.

compute    sleep (the default), spin, instructions or none: what stands for computations
speed      so many units of computation take a second, 1e9 by default
repeat     repetitions that are reported, 5 by default
warm_up    repetitions before, 1 by default
scratch    the directory for the files of the trace, if it works on any
"""


def executor_code() -> SourceCode:
    """The executor's source, and how it is compiled."""
    program = files("tisim.studies.execute").joinpath("program")
    texts = {
        file.name: file.read_text(encoding="utf-8")
        for folder in (program, program.joinpath("files"))
        for file in folder.iterdir()
        if file.name.endswith((".c", ".h"))
    }
    texts["vocabulary.h"] = vocabulary_header()
    return SourceCode(
        name="executor",
        product="tisim_execute",
        files=dict(sorted(texts.items())),
        options=("-std=c11", "-D_GNU_SOURCE", "-O2"),
        readme=_README,
    )


def print_source(directory: Path, trace: Trace | None, *, files: bool = False) -> None:
    """Write the executor's source into a directory, and the scripts of a trace into `scripts`.

    Raises
    ------
    InputError
        When the directory cannot be written, or when the trace is wrong.
    """
    mpi_compiler.write_source(executor_code(), directory)
    if trace is not None:
        scripts = directory / "scripts"
        scripts.mkdir(exist_ok=True)
        write_scripts(trace, scripts, files=files)
