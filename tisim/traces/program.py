"""The program of one rank, with repetitions stored once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Items of a rule: whether it is a rule, its number, and its consecutive repetitions.
Rule = list[tuple[bool, int, int]]


@dataclass(frozen=True, slots=True)
class Program:
    """The lines of one rank, with repetitions stored once."""

    #: The distinct lines, without newlines; computations are in `volumes`.
    lines: Sequence[str]
    #: The grammar: rule 0 is the program; items are indices into `lines` or later rules.
    rules: Sequence[Rule]
    #: For each line of the sequence, the volume computed before it, a whole number, or the number
    #: of its histogram; negative if none. Empty if the rank computes nothing.
    volumes: NDArray[np.int64]

    def expand(self, rank: int, *, drawn: bool = False) -> Iterator[str]:
        """Yield all lines, each with its newline. If `drawn`, volumes are numbers of histograms."""
        before = f"{rank} compute histogram=" if drawn else f"{rank} compute "
        volumes = self.volumes
        for place, line in enumerate(sequence_of(self.rules)):
            if len(volumes) and volumes[place] >= 0:
                yield f"{before}{volumes[place]}\n"
            yield f"{self.lines[line]}\n"

    def length(self) -> int:
        """Return the number of lines, including computations."""
        return length_of(self.rules) + int((self.volumes >= 0).sum())


@dataclass(frozen=True, slots=True)
class CallSequence:
    """The lines of one rank as calls, each of which consists of some lines."""

    #: The distinct lines, without newlines; computations are in `volumes`.
    lines: Sequence[str]
    #: For each distinct call, the indices of its lines in `lines`, in order.
    places: Sequence[Sequence[int]]
    #: The sequence of the rank's calls, as indices into `places`.
    calls: NDArray[np.uint32]
    #: For each of them the volume computed before its first line, a whole number; negative if none,
    #: as before a call without lines.
    volumes: NDArray[np.int64]
    #: Locations in the program of the calls, callers first: ``main (ring.c:3) > pass_on``. Only
    #: packed traces keep them.
    call_paths: Sequence[str] = ()
    #: For each of `lines` its index in `call_paths`, negative if unknown; empty if there are no
    #: call paths.
    path_indices: Sequence[int] = ()

    def expand(self, rank: int) -> Iterator[str]:
        """Yield all lines, each with its newline."""
        texts = ["".join(f"{self.lines[place]}\n" for place in call) for call in self.places]
        for call, volume in zip(self.calls.tolist(), self.volumes.tolist(), strict=True):
            if volume >= 0:
                yield f"{rank} compute {volume}\n"
            yield texts[call]

    def length(self) -> int:
        """Return the number of lines, including computations."""
        import numpy as np  # slow to load

        sizes = np.array([len(places) for places in self.places], np.int64)
        return int(sizes[self.calls].sum() + (self.volumes >= 0).sum())


def sequence_of(rules: Sequence[Rule]) -> Iterator[int]:
    """Yield the terminals of a grammar's expansion."""
    # Iterators over the items of the rules being expanded, outermost first.
    around = [iter(_repeated(rules[0]))]
    while around:
        item = next(around[-1], None)
        if item is None:
            around.pop()
        elif item[0]:
            around.append(iter(_repeated(rules[item[1]])))
        else:
            yield item[1]


def _repeated(rule: Rule) -> Iterator[tuple[bool, int]]:
    for is_rule, number, times in rule:
        for _ in range(times):
            yield is_rule, number


def length_of(rules: Sequence[Rule]) -> int:
    """Return the number of terminals of a grammar whose rules refer only to later ones."""
    lengths = [0] * len(rules)
    for rule in range(len(rules) - 1, -1, -1):
        lengths[rule] = sum(
            times * (lengths[number] if is_rule else 1) for is_rule, number, times in rules[rule]
        )
    return lengths[0]


def bottom_up_order(rules: Sequence[Rule]) -> list[int]:
    """Return the rules of a grammar, each after those that it uses."""
    order: list[int] = []
    known = {0}
    path = [(0, iter(rules[0]))]
    while path:
        rule, items = path[-1]
        for is_rule, number, _ in items:
            if is_rule and number not in known:
                known.add(number)
                path.append((number, iter(rules[number])))
                break
        else:
            order.append(rule)
            path.pop()
    return order
