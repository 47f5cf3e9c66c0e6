"""Parts that are text: those of a recorder that could not load ``libtisim_trace``."""

from __future__ import annotations

import re
from pathlib import Path

_NAME = re.compile(r"rank-(\d+)\.txt")
_TAIL_SIZE = 1 << 16


def find_text_parts(directory: Path) -> dict[int, Path]:
    """The parts in a directory, by rank."""
    found = {int(name[1]): path for path in directory.iterdir() if (name := _named(path))}
    return dict(sorted(found.items()))


def tail_of_part(path: Path) -> list[str]:
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


def prepare_text_parts(
    directory: Path, parts: dict[int, Path], ranks: int, first_lines: list[str]
) -> None:
    """Make the parts a trace.

    Ranks without a part get an empty one, and the first part begins with lines that say what the
    trace lacks.
    """
    for rank in {*range(ranks)} - parts.keys():
        parts[rank] = directory / f"rank-{rank}.txt"
        parts[rank].touch()
    first = parts[0]
    if not first_lines:
        return
    changed = first.with_suffix(".changed")
    with first.open("rb") as source, changed.open("wb") as target:
        start = source.readline()
        if start and not start.startswith(b"# version"):
            changed.unlink()
            return  # it has been said before
        source.seek(0)
        target.write("".join(f"{line}\n" for line in first_lines).encode())
        while block := source.read(1 << 20):
            target.write(block)
    changed.replace(first)


def _named(path: Path) -> re.Match[str] | None:
    return _NAME.fullmatch(path.name)
