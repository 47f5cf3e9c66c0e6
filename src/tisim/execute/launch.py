"""The command that starts the executor's ranks."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from tisim.errors import InputError

_LAUNCHERS = ("mpirun", "mpiexec", "orterun", "prterun")
_RANKS = ("-n", "-np", "--np", "-c", "--n")


def launching_command(command: Sequence[str], ranks: int, program: Sequence[str]) -> list[str]:
    """A command of the user's with the number of ranks, if it lacks one, and the program.

    Parameters
    ----------
    command
        What starts ranks: ``["mpirun", "--host", "a,b"]``. Empty: ``mpirun``.
    ranks
        How many.
    program
        The program with its arguments, which is put at the end.

    Raises
    ------
    InputError
        When there is no such command.
    """
    words = [*command] or ["mpirun"]
    if shutil.which(words[0]) is None:
        raise InputError(
            f"there is no command {words[0]}; behind -- stands what starts the ranks, such as "
            "mpirun with its options"
        )
    is_launcher = Path(words[0]).name.partition(".")[0] in _LAUNCHERS
    if is_launcher and not any(word in _RANKS for word in words):
        words[1:1] = ["-n", str(ranks)]
    return [*words, *program]
