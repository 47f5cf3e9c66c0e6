"""Running a program so that each of its ranks loads the recorder: how it is started, the signals
that end it, and its exit status.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType

from tisim.errors import InputError
from tisim.support.mpi import ending_with_this
from tisim.traces.record.elf import Executable, read_executable

_LAUNCHERS = ("mpirun", "mpiexec", "orterun", "prterun")
# Libraries of MPI's families, by how their names begin; the first that fits. Debian's MPICH alone
# has another name than libmpi.so.12.
_FAMILIES = {
    "libmpi.so.12": "MPICH",
    "libmpi.so": "Open MPI",
    "libmpich.so": "MPICH",
    "libmpi_cray": "Cray MPI",
}


def is_launcher(word: str) -> bool:
    """True if a command starts the ranks of an MPI program, by its name."""
    return Path(word).name.partition(".")[0] in _LAUNCHERS


def find_program(command: Sequence[str]) -> tuple[Path, Executable] | None:
    """The program in a command: its first word, or one of a launcher's words.

    Of these, it is the first executable file that was linked with MPI, since others, such as
    ``env``, may start it; if there is none, the first executable file.
    """
    place = _place_of_program(command, 1 if is_launcher(command[0]) else 0)
    return None if place is None else _executable(command[place])


def _place_of_program(command: Sequence[str], begin: int) -> int | None:
    """Which word is the program: that at `begin` or, of a launcher's, one of those from there on.

    Only words before the next program of several are looked at.
    """
    last = begin + 1
    if begin:
        last = command.index(":", begin) if ":" in command[begin:] else len(command)
    executables = {
        i: program[1]
        for i in range(begin, last)
        if (program := _executable(command[i])) is not None
    }
    linked = (i for i, executable in executables.items() if _family(executable) is not None)
    return next(linked, next(iter(executables), None))


def _family(executable: Executable) -> tuple[str, str] | None:
    """The MPI library that a program asks for itself, and its family; None if it does not."""
    return next(
        (
            (needed, family)
            for needed in executable.libraries
            for start, family in _FAMILIES.items()
            if needed.startswith(start)
        ),
        None,
    )


def _executable(word: str) -> tuple[Path, Executable] | None:
    found = shutil.which(word) if not word.startswith("-") else None
    executable = None if found is None else read_executable(Path(found))
    return None if found is None or executable is None else (Path(found), executable)


def emulated(command: Sequence[str], emulator: Sequence[str]) -> list[str]:
    """The command with the words of an emulator before each of its programs, which an emulator
    does not look for in the PATH.
    """
    words = list(command)
    begin = 1 if is_launcher(command[0]) else 0
    while (place := _place_of_program(words, begin)) is not None:
        words[place : place + 1] = [*emulator, shutil.which(words[place]) or words[place]]
        after = place + len(emulator)
        if begin == 0 or ":" not in words[after:]:
            break
        begin = words.index(":", after) + 1
    return words


def check_program(path: Path, executable: Executable, library: str) -> None:
    """Refuse a program that cannot be recorded. Raises InputError when it is statically linked, or
    linked with an MPI library of another family.
    """
    if executable.is_static:
        raise InputError(
            "the program is statically linked, so no recorder can be put between it and MPI; link "
            "it dynamically, or with the recorder's source (tisim record --print-source DIR)",
            file=path,
        )
    needed, family = _family(executable) or ("", "")
    if not library.startswith(family):
        raise InputError(
            f"the program uses {family} ({needed}), but the recorder was compiled for "
            f"{library}; name the compiler of the program's MPI library with --mpicc",
            file=path,
        )


def _recording_command(
    command: Sequence[str], recorder: Path, variables: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """The command and the environment that record.

    A launcher is told to set the variables for the ranks, so that ranks on other hosts have them
    too and the launcher itself does not load the recorder.
    """
    before = os.environ.get("LD_PRELOAD", "")
    preload = f"{recorder}:{before}" if before else str(recorder)
    values = {**variables, "LD_PRELOAD": preload}
    if not is_launcher(command[0]):
        return [*command], {**os.environ, **values}
    options = _options(command[0], values)
    if options is None:
        return [*command], {**os.environ, **values}
    words = [command[0], *options]
    for word in command[1:]:
        words.append(word)
        if word == ":":  # the next program of several has options of its own
            words += options
    return words, {**os.environ, **variables}


def _options(launcher: str, values: Mapping[str, str]) -> list[str] | None:
    """How a launcher is told to set variables; None if it is not known."""
    path = shutil.which(launcher)
    if path is None:
        raise InputError(f"there is no command {launcher}")
    run = subprocess.run([path, "--version"], capture_output=True, text=True)
    text = run.stdout + run.stderr
    if any(name in text for name in ("Open MPI", "OpenRTE", "PRRTE", "prte")):
        return [word for name, value in values.items() for word in ("-x", f"{name}={value}")]
    if "HYDRA" in text or "hydra" in text:
        return [word for name, value in values.items() for word in ("-env", name, value)]
    return None


# Signals that would end this command, which then could not pack what the ranks have left. SIGINT
# comes from a terminal, which sends it to the program too.
_ENDING = (signal.SIGTERM, signal.SIGHUP)
# Seconds until a signal is passed on. Batch systems send it to the program too; Open MPI's mpirun
# leaves its ranks alone if it gets a second one within 5 seconds.
_DELAY = 6.0


class _EndingSignalError(Exception):
    """A signal has come that would end this command."""


def run_program(command: Sequence[str], recorder: Path, variables: Mapping[str, str]) -> int:
    """Run a program with the recorder, whose settings are `variables`, and return its exit status;
    of a program that a signal has ended, what a shell makes of it.

    A signal that would end this command is passed on to the program, unless that ends by itself.
    """
    words, environment = _recording_command(command, recorder, variables)
    with subprocess.Popen(words, env=environment, preexec_fn=ending_with_this()) as process:
        if threading.current_thread() is threading.main_thread():
            status = _wait_despite_signals(process)
        else:
            status = process.wait()
    return 128 - status if status < 0 else status


def _wait_despite_signals(process: subprocess.Popen[bytes]) -> int:
    received: list[int] = []

    def receive(number: int, frame: FrameType | None) -> None:
        received.append(number)
        if len(received) == 1:
            raise _EndingSignalError

    before = {number: signal.signal(number, receive) for number in _ENDING}
    try:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                continue  # the program has had the signal too
            except _EndingSignalError:
                _pass_on(process, received[0])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _pass_on(process: subprocess.Popen[bytes], number: int) -> None:
    try:
        process.wait(_DELAY)
    except subprocess.TimeoutExpired:
        process.send_signal(number)
