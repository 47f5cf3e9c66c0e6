"""What the ranks of a recorded program have written: a file of text for each."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tisim.errors import InputError

_NAME = re.compile(r"rank-(\d+)\.txt")
_HEADER_SIZE = 1 << 16
_TAIL_SIZE = 1 << 16


@dataclass
class Recording:
    """The parts of a trace.

    Attributes
    ----------
    directory
        Where they are.
    ranks
        How many ranks the program had.
    counter
        The counter of computations and its unit.
    library
        The MPI library that the program used.
    incomplete
        The ranks that never reached ``MPI_Finalize``.
    unsupported
        The calls that a trace cannot express, by function.
    """

    directory: Path
    ranks: int
    counter: str
    library: str
    incomplete: list[int] = field(default_factory=list)
    unsupported: Counter[str] = field(default_factory=Counter)


def read_parts(directory: Path) -> Recording | None:
    """Look at the parts in a directory; None if there are none.

    The last line of a part that its rank did not write to its end is removed.

    Raises
    ------
    InputError
        When ranks are missing.
    """
    parts = {int(found[1]): path for path in directory.iterdir() if (found := _named(path))}
    if not parts:
        return None
    header = _header(next(iter(parts.values())))
    recording = Recording(
        directory, int(header.get("ranks", 0)), header.get("counter", ""), header.get("mpi", "")
    )
    if not recording.ranks:
        return None  # the ranks have agreed not to record, and said why
    missing = sorted({*range(recording.ranks)} - parts.keys())
    if missing:
        raise InputError(
            f"{len(missing)} of {recording.ranks} ranks have left no part of the trace, rank "
            f"{missing[0]} first; do all hosts share this directory?",
            file=directory,
        )
    for rank, path in sorted(parts.items()):
        lines = _tail(path)
        if not lines or lines[-1] != f"{rank} finalize":
            recording.incomplete.append(rank)
        for line in lines:
            if line.startswith("# unsupported: "):
                name, calls = line.split()[2:4]
                recording.unsupported[name] += int(calls)
    if recording.incomplete or recording.unsupported:
        _annotate(recording, parts[0])
    return recording


def _named(path: Path) -> re.Match[str] | None:
    return _NAME.fullmatch(path.name)


def _header(path: Path) -> dict[str, str]:
    with path.open(encoding="utf-8", errors="replace") as file:
        lines = file.read(_HEADER_SIZE).splitlines()
    pairs = (line[2:].partition(": ") for line in lines if line.startswith("# "))
    return {key: value for key, _, value in pairs}


def _tail(path: Path) -> list[str]:
    """The last lines of a part; half a line at its end, and zeros, are cut off the file."""
    with path.open("r+b") as file:
        size = file.seek(0, 2)
        while True:
            start = max(0, size - _TAIL_SIZE)
            file.seek(start)
            text = file.read(size - start)
            whole = text.rfind(b"\n") + 1
            if whole or not start:
                break
            size = start  # the file ends in many zeros
        file.truncate(start + whole)
    return text[:whole].decode(errors="replace").splitlines()


def _annotate(recording: Recording, first: Path) -> None:
    """Say in the first part what the trace lacks."""
    lines = []
    if recording.incomplete:
        ranks = ", ".join(map(str, recording.incomplete))
        lines.append(f"# incomplete: ranks without MPI_Finalize: {ranks}\n")
    # An action that no replay knows, at the very beginning: it is refused at once.
    for name, calls in sorted(recording.unsupported.items()):
        lines.append(f"0 unsupported {name} {calls}\n")
    changed = first.with_suffix(".changed")
    with first.open("rb") as source, changed.open("wb") as target:
        if not source.readline().startswith(b"# version"):
            changed.unlink()
            return  # it has been said before
        source.seek(0)
        target.write("".join(lines).encode())
        while block := source.read(1 << 20):
            target.write(block)
    changed.replace(first)
