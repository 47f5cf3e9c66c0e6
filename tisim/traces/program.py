"""The program of one rank, without a text of its own for each repetition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Items of a rule: whether it is a rule, its number, and how often it follows itself.
Rule = list[tuple[bool, int, int]]


@dataclass(frozen=True, slots=True)
class Program:
    """The lines of one rank, without writing repetitions out."""

    #: The different lines, without newlines; computations are in `volumes`.
    lines: Sequence[str]
    #: The grammar: rule 0 is the program, whose items are places in `lines` or later rules.
    rules: Sequence[Rule]
    #: For each line of the sequence the volume that is computed before it, a whole number, or the
    #: number of its histogram; below 0: none. Empty where the rank computes nothing.
    volumes: NDArray[np.int64]

    def spelled_out(self, rank: int, *, drawn: bool = False) -> Iterator[str]:
        """Yield all lines, each with its newline. `drawn` says that volumes are numbers of
        histograms.
        """
        before = f"{rank} compute histogram=" if drawn else f"{rank} compute "
        volumes = self.volumes
        for place, line in enumerate(sequence_of(self.rules)):
            if len(volumes) and volumes[place] >= 0:
                yield f"{before}{volumes[place]}\n"
            yield f"{self.lines[line]}\n"

    def length(self) -> int:
        """How many lines there are, with those of computations."""
        return length_of(self.rules) + int((self.volumes >= 0).sum())


@dataclass(frozen=True, slots=True)
class CallSequence:
    """The lines of one rank as calls, each of which stands for some lines."""

    #: The different lines, without newlines; computations are in `volumes`.
    lines: Sequence[str]
    #: For each different call the places of its lines in `lines`, in their order.
    places: Sequence[Sequence[int]]
    #: The numbers of the calls that the rank makes.
    calls: NDArray[np.uint32]
    #: For each of them the volume that is computed before its first line, a whole number; below 0,
    #: as before a call without lines: none.
    volumes: NDArray[np.int64]
    #: Where in the program calls are made, callers first: ``main (ring.c:3) > pass_on``. Only a
    #: packed trace keeps them.
    call_paths: Sequence[str] = ()
    #: For each of `lines` its place in `call_paths`, below 0: not known; empty where there are no
    #: call paths.
    path_of: Sequence[int] = ()

    def spelled_out(self, rank: int) -> Iterator[str]:
        """Yield all lines, each with its newline."""
        texts = ["".join(f"{self.lines[place]}\n" for place in call) for call in self.places]
        for call, volume in zip(self.calls.tolist(), self.volumes.tolist(), strict=True):
            if volume >= 0:
                yield f"{rank} compute {volume}\n"
            yield texts[call]

    def length(self) -> int:
        """How many lines there are, with those of computations."""
        import numpy as np  # slow to load

        sizes = np.array([len(places) for places in self.places], np.int64)
        return int(sizes[self.calls].sum() + (self.volumes >= 0).sum())


def sequence_of(rules: Sequence[Rule]) -> Iterator[int]:
    """Yield the terminals that a grammar stands for."""
    # Iterators over the items of the rules around the place, outermost first.
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
    """How many terminals a grammar stands for, whose rules only name later ones."""
    lengths = [0] * len(rules)
    for rule in range(len(rules) - 1, -1, -1):
        lengths[rule] = sum(
            times * (lengths[number] if is_rule else 1) for is_rule, number, times in rules[rule]
        )
    return lengths[0]


def used_first(rules: Sequence[Rule]) -> list[int]:
    """The rules of a grammar, each behind those that it uses."""
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
