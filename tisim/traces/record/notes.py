"""Notes of a recording's ranks beside the trace, because they differ in every run."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Uncounted:
    """How much of a program that counts itself is code that does not."""

    #: Its share of the processor time between calls of MPI, of all ranks.
    share: float = 0.0
    #: The share of each library, the largest first.
    libraries: dict[str, float] = field(default_factory=dict)


@dataclass
class Notes:
    """The notes of the ranks of a recording."""

    uncounted: Uncounted = field(default_factory=Uncounted)
    #: The rounds of polling, which are in no volume, and what all of them amount to.
    polls: int = 0
    polled: int = 0
    #: What an empty computation counts, the mean over ranks, by counter. It is in no volume.
    empty: dict[str, float] = field(default_factory=dict)
    #: Seconds in ``MPI_Init``, seconds in which a rank could have run and had no processor, and
    #: pages that it used first; means over the ranks. Not known of ranks without MPI_Finalize.
    init: float = 0.0
    waited: float = 0.0
    faults: float = 0.0
    #: Bytes that a rank's memory has grown by after ``MPI_Init``, at most; the mean over ranks.
    memory: float = 0.0


def take_notes(directory: Path) -> Notes:
    """Sum up the notes in the directory of the parts, and remove them."""
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
