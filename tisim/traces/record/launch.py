"""Running a program so that each of its ranks loads the recorder: its start, the signals that end
it, and its exit status.
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
from tisim.support.mpi import die_with_parent
from tisim.traces.record.elf import Executable, read_executable

_LAUNCHERS = ("mpirun", "mpiexec", "orterun", "prterun")
# Libraries of the MPI families by name prefix; the first match counts. Only Debian's MPICH is
# called libmpi.so.12.
_FAMILIES = {
    "libmpi.so.12": "MPICH",
    "libmpi.so": "Open MPI",
    "libmpich.so": "MPICH",
    "libmpi_cray": "Cray MPI",
}


def is_launcher(word: str) -> bool:
    """Return whether a command, by its name, starts the ranks of an MPI program."""
    return Path(word).name.partition(".")[0] in _LAUNCHERS


def find_program(command: Sequence[str]) -> tuple[Path, Executable] | None:
    """Return the program in a command: its first word, or one of a launcher's words.

    Among the latter, it is the first executable file linked with MPI, since others, such as
    ``env``, may start it; or else the first executable file.
    """
    place = _place_of_program(command, 1 if is_launcher(command[0]) else 0)
    return None if place is None else _executable(command[place])


def _place_of_program(command: Sequence[str], begin: int) -> int | None:
    """Return the index of the program: `begin`, or for a launcher, one of the words from there on.

    Only words before the next of several programs are examined.
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
    """Return the MPI library that a program requires directly, and its family; None without one."""
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
    """Return the command with an emulator inserted before each of its programs, as full paths: an
    emulator does not search PATH.
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
            "the program is statically linked, so the recorder cannot be inserted between it and "
            "MPI; link it dynamically, or with the recorder's source (tisim record --print-source "
            "DIR)",
            file=path,
        )
    needed, family = _family(executable) or ("", "")
    if not library.startswith(family):
        raise InputError(
            f"the program uses {family} ({needed}), but the recorder was compiled for {library}; "
            "give the compiler wrapper of the program's MPI library with --mpicc",
            file=path,
        )


def _recording_command(
    command: Sequence[str], recorder: Path, variables: Mapping[str, str]
) -> tuple[list[str], dict[str, str]]:
    """Return the command and the environment for recording.

    A launcher sets the variables for the ranks, so that ranks on other hosts get them, too, and the
    launcher itself does not load the recorder.
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
        if word == ":":  # the next of several programs has separate options
            words += options
    return words, {**os.environ, **variables}


def _options(launcher: str, values: Mapping[str, str]) -> list[str] | None:
    """Return the launcher's options that set variables; None if they are unknown."""
    path = shutil.which(launcher)
    if path is None:
        raise InputError(f"no such command: {launcher}")
    run = subprocess.run([path, "--version"], capture_output=True, text=True)
    text = run.stdout + run.stderr
    if any(name in text for name in ("Open MPI", "OpenRTE", "PRRTE", "prte")):
        return [word for name, value in values.items() for word in ("-x", f"{name}={value}")]
    if "HYDRA" in text or "hydra" in text:
        return [word for name, value in values.items() for word in ("-env", name, value)]
    return None


# Signals that would end this command and prevent it from packing the ranks' output. SIGINT is left
# to the terminal, which sends it to the program too.
_ENDING = (signal.SIGTERM, signal.SIGHUP)
# Seconds until a signal is passed on. Batch systems send it to the program too; Open MPI's mpirun
# does not forward a second one within 5 seconds.
_DELAY = 6.0


class _EndingSignalError(Exception):
    """A signal that would end this command has arrived."""


def run_program(command: Sequence[str], recorder: Path, variables: Mapping[str, str]) -> int:
    """Run a program with the recorder, whose settings are `variables`; return its exit status, or
    after a signal the status that a shell would report.

    A signal that would end this command is passed on to the program, unless it ends on its own.
    """
    words, environment = _recording_command(command, recorder, variables)
    with subprocess.Popen(words, env=environment, preexec_fn=die_with_parent()) as process:
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
                continue  # the program has received the signal too
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
