"""Notes of a recording's ranks, stored outside the trace because they differ in every run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Uncounted:
    """The share of code that does not count itself in a program that does."""

    #: Its share of the processor time between MPI calls, over all ranks.
    share: float = 0.0
    #: The share of each library, largest first.
    libraries: dict[str, float] = field(default_factory=dict)


@dataclass
class Notes:
    """The notes of the ranks of a recording."""

    uncounted: Uncounted = field(default_factory=Uncounted)
    #: Number of polling rounds and their total volume, which are not in the trace.
    polls: int = 0
    polled: int = 0
    #: Count of an empty computation, mean over ranks, by counter; not in the trace's volumes.
    empty: dict[str, float] = field(default_factory=dict)
    #: Seconds in ``MPI_Init``, seconds in which a rank was runnable without a processor, and page
    #: faults; means over the ranks. Unknown for ranks without MPI_Finalize.
    init: float = 0.0
    waited: float = 0.0
    faults: float = 0.0
    #: Maximum growth of a rank's memory after ``MPI_Init``, in bytes; mean over ranks.
    memory: float = 0.0


def take_notes(directory: Path) -> Notes:
    """Sum the notes in the directory of the parts, and remove them."""
    numbers: Counter[str] = Counter()
    libraries: Counter[str] = Counter()
    empty: Counter[str] = Counter()
    for path in sorted(directory.glob("rank-*.notes")):
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            key, number, *name = line.split(" ", 2)
            if key == "library":
                libraries[Path(name[0]).name] += int(number)
            elif key == "empty":
                empty[name[0]] += int(number)
            else:
                numbers[key] += int(number)
        path.unlink()
    ranks = max(numbers["noting"], 1)
    notes = Notes(
        polls=numbers["polls"],
        polled=numbers["polled"],
        empty={name: number / ranks for name, number in empty.items()},
        init=1e-9 * numbers["init"] / ranks,
        waited=1e-9 * numbers["waited"] / ranks,
        faults=numbers["faults"] / ranks,
        memory=numbers["memory"] / ranks,
    )
    samples = numbers["samples"]
    if samples:
        shares = {name: number / samples for name, number in libraries.most_common()}
        notes.uncounted = Uncounted(numbers["uncounted"] / samples, shares)
    return notes
