"""The files written by the ranks of a recorded program: one part of the trace each."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tisim.support.files import check_writable
from tisim.traces import pack
from tisim.traces.record.samples import add_recorded_samples
from tisim.traces.recorded import (
    files_of_ranks,
    lines_without_numbers,
    read_recorded_part,
    write_recorded_trace,
)
from tisim.traces.samples import Samples

# Bytes examined at both ends of text parts, which recorders without ``libtisim_trace`` write.
_HEADER_SIZE = 1 << 16
_TAIL_SIZE = 1 << 16


@dataclass
class Recording:
    """Facts about a recorded run."""

    ranks: int
    #: The counter of computations and its unit.
    counter: str
    #: The MPI library that the program used.
    library: str
    #: The ranks without a part, or without ``MPI_Finalize``.
    incomplete: list[int] = field(default_factory=list)
    #: Calls that a trace cannot express, by function.
    unsupported: Counter[str] = field(default_factory=Counter)
    #: Maximum share of a rank's time spent waiting for an accelerator, in percent.
    accelerators: int = 0
    #: The call paths of computations, if sampled.
    samples: Samples | None = None
    #: The names of additional counters, separated by commas.
    further_counters: str = ""


def has_parts(directory: Path) -> bool:
    """Return whether ranks have left parts in a directory."""
    if files_of_ranks(directory, ".part"):
        return True
    return _are_recorded(files_of_ranks(directory, ".txt"))


def pack_parts(parts: str | os.PathLike[str], output: str | os.PathLike[str]) -> Recording | None:
    """Write a packed trace from the parts that ranks have left in a directory
    (``TISIM_RECORD_DIRECTORY``), complete or not; return None if it has no parts.

    Ranks without a part do nothing in the trace, and a comment names them. Raises InputError when a
    part or the output cannot be read or written.
    """
    check_writable(output)
    directory = Path(parts)
    compressed = [*files_of_ranks(directory, ".part").values()]
    texts = {} if compressed else files_of_ranks(directory, ".txt")
    if compressed:
        recording = _pack_compressed(compressed, Path(output))
    elif _are_recorded(texts):
        recording = _pack_texts(directory, texts, output)
    else:
        return None
    add_samples_of(recording, directory, Path(output))
    return recording


def add_samples_of(recording: Recording, directory: Path, trace: Path) -> None:
    """Add the samples of the ranks, if any, to their trace. Raises InputError when the trace cannot
    be written.
    """
    before = {0: len(_first_lines(recording))}
    recording.samples = add_recorded_samples(directory, trace, before)


def recording_of_trace(trace: Path) -> Recording:
    """Describe the run of a recorded trace whose ranks have merged their parts themselves.

    Raises InputError when the file is not a packed trace.
    """
    lines = lines_without_numbers(trace)
    recording = _recording_of(lines)
    _add_notes(recording, (line for line in lines if line.startswith("# accelerators: ")))
    for line in lines:
        words = line.split()
        if words[:1] == ["unsupported"] and len(words) == 3:
            recording.unsupported[words[1]] = int(words[2])
        if line.startswith("# incomplete: ranks "):
            recording.incomplete = [int(rank) for rank in re.findall(r"\d+", line)]
    return recording


def _pack_compressed(paths: list[Path], output: Path) -> Recording:
    parts = [read_recorded_part(path) for path in paths]
    recording = _recording_of(parts[0].comments)
    for part in parts:
        _add_notes(recording, part.comments)
    recording.incomplete = write_recorded_trace(paths, _first_lines(recording), output)
    return recording


def _are_recorded(texts: dict[int, Path]) -> bool:
    """Return whether text files are parts; they are empty if the ranks agreed not to record."""
    return bool(texts) and _recording_of(_header(next(iter(texts.values())))).ranks > 0


def _pack_texts(
    directory: Path, texts: dict[int, Path], output: str | os.PathLike[str]
) -> Recording:
    recording = _recording_of(_header(next(iter(texts.values()))))
    recording.ranks = max(recording.ranks, *(rank + 1 for rank in texts))  # some may be spawned
    for rank in range(recording.ranks):
        lines = _tail_of(texts[rank]) if rank in texts else []
        if lines[-1:] != [f"{rank} finalize"]:
            recording.incomplete.append(rank)
        _add_notes(recording, lines)
    _prepare_texts(directory, texts, recording.ranks, _comments(recording))
    pack(directory, output)
    return recording


def _header(path: Path) -> list[str]:
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(_HEADER_SIZE).splitlines()


def _recording_of(lines: Iterable[str]) -> Recording:
    pairs = (line[2:].partition(": ") for line in lines if line.startswith("# "))
    values = {key: value for key, _, value in pairs}
    return Recording(
        ranks=int(values.get("ranks", 0)),
        counter=values.get("counter", ""),
        library=values.get("mpi", ""),
        further_counters=values.get("beside the counter", ""),
    )


def _add_notes(recording: Recording, lines: Iterable[str]) -> None:
    for line in lines:
        if line.startswith("# unsupported: "):
            name, calls = line.split()[2:4]
            recording.unsupported[name] += int(calls)
        if line.startswith("# accelerators: "):
            recording.accelerators = max(recording.accelerators, int(line.split()[-1]))


def _first_lines(recording: Recording) -> list[str]:
    """Return unknown actions for the very beginning: a replay refuses the trace at once."""
    return [f"unsupported {name} {calls}" for name, calls in sorted(recording.unsupported.items())]


def _comments(recording: Recording) -> list[str]:
    """Return the first lines of a trace of texts."""
    ranks = ", ".join(map(str, recording.incomplete))
    incomplete = [f"# incomplete: ranks {ranks}"] if recording.incomplete else []
    return incomplete + [f"0 {line}" for line in _first_lines(recording)]


def _tail_of(path: Path) -> list[str]:
    """Return the last lines of a part; truncates a partial line or zeros at the end of the file."""
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


def _prepare_texts(
    directory: Path, parts: dict[int, Path], ranks: int, first_lines: list[str]
) -> None:
    """Turn the parts into a trace.

    Ranks without a part get an empty one, and lines at the beginning of the first part name the
    omissions of the trace.
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
            return  # added before
        source.seek(0)
        target.write("".join(f"{line}\n" for line in first_lines).encode())
        while block := source.read(1 << 20):
            target.write(block)
    changed.replace(first)
