"""One program that all ranks of all traces run, each of them some parts of it.

Classes of ranks are merged one after the other. Two calls are the same one when they have the same
shape and their ranks have a formula in common; among the ways to lay two programs beside each other
the one with the most equal calls is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from tisim.extrapolation.grids import Place
from tisim.extrapolation.nodes import Loop, Mask, Node, Site
from tisim.extrapolation.peers import peer_forms
from tisim.extrapolation.recorded.loops import Item, Repeat
from tisim.extrapolation.recorded.loops import places as count_places
from tisim.extrapolation.recorded.program import ClassProgram
from tisim.extrapolation.shapes import ClassCall, Numbers, Shape

# What a pair of equal calls is worth, and what each number that differs between traces takes off.
# Numbers that differ within a trace are of different calls.
_SAME_CALL = 8
_OTHER_NUMBER = 2
# What it takes off when ranks that calls name need another formula than each call alone.
_FEWER_FORMS = 3
# Among equal ways to lay programs beside each other, the one along calls that many ranks make.
_SCALE = 1_000
#: What pairs of two sequences of nodes are worth, by row and column.
Worths = NDArray[np.int64]
# How often every class is laid beside the whole again.
_ROUNDS = 2
# Corners of a grid of four dimensions.
_FEW_RANKS = 16
# A class of ranks is taken apart into at most so many.
_MOST_PARTS = 128


def merged(classes: Sequence[ClassProgram], places: Sequence[Place]) -> list[Node]:
    """The program of all classes."""
    merger = _Merger(places)
    program: list[Node] = []
    parts = [part for made in classes for part in _parted(made, places[made.size])]
    alone = [
        merger.nodes(made, made.items)
        for made in sorted(parts, key=lambda made: (-_calls(made.items), -len(made.ranks)))
    ]
    for nodes in alone:
        program = merger.merge(program, nodes)
    for _ in range(_ROUNDS):
        program = merger.laid_again(program, alone)
    return program


def _calls(items: Sequence[Item]) -> int:
    return sum(_calls(item.body) if isinstance(item, Repeat) else 1 for item in items)


def _parted(made: ClassProgram, place: Place) -> list[ClassProgram]:
    """Parts of a class, each of ranks that name others in one way.

    Those that name ranks at other distances in the grid are parts of their own. A formula that
    gives the ranks that many name makes that needless; that of the few in corners is an accident.
    """
    groups = np.zeros(len(made.ranks), dtype=np.int64)
    for call in made.calls:
        for hole, values in enumerate(call.numbers):
            if not call.shape.is_rank(hole):
                continue
            if len(made.ranks) > _FEW_RANKS and peer_forms(place, made.ranks, values):
                continue
            _, steps = np.unique(place.distances(made.ranks, values), return_inverse=True)
            _, finer = np.unique(groups * len(steps) + steps, return_inverse=True)
            if finer.max() < _MOST_PARTS:
                groups = finer
    return [
        ClassProgram(
            made.size,
            made.ranks[groups == part],
            [call.of_ranks(groups == part) for call in made.calls],
            made.items,
            None if made.volumes is None else made.volumes[:, groups == part],
        )
        for part in range(int(groups.max()) + 1)
    ]


class _Merger:
    def __init__(self, places: Sequence[Place]) -> None:
        self._places = places
        # Equal ones are one object, so that they are compared quickly.
        self._shapes: dict[Shape, Shape] = {}
        self._kinds: dict[object, int] = {}
        self._worth_of: dict[tuple[object, object], int] = {}

    def nodes(self, made: ClassProgram, items: Sequence[Item], first: int = 0) -> list[Node]:
        """The program of one class; `first` is the number of its first place."""
        nodes: list[Node] = []
        for item in items:
            if isinstance(item, Repeat):
                times = [np.zeros(place.ranks, dtype=np.int64) for place in self._places]
                times[made.size][made.ranks] = item.times
                body = self.nodes(made, item.body, first)
                nodes.append(Loop(self._mask(made), times, body))
            else:
                nodes.append(self._site(made, made.calls[item], first))
            first += count_places(item)
        return nodes

    def _mask(self, made: ClassProgram) -> list[Mask]:
        present = [np.zeros(place.ranks, dtype=np.bool_) for place in self._places]
        present[made.size][made.ranks] = True
        return present

    def _site(self, made: ClassProgram, call: ClassCall, at: int) -> Site:
        numbers = [
            [np.zeros(place.ranks, dtype=np.int64) for _ in call.numbers] for place in self._places
        ]
        forms = {}
        for hole, values in enumerate(call.numbers):
            numbers[made.size][hole][made.ranks] = values
            if call.shape.is_rank(hole):
                forms[hole] = peer_forms(self._places[made.size], made.ranks, values)
        # Of what started the requests that it names, below those of the call itself.
        for starter in call.starters:
            for hole, values in enumerate(starter.numbers):
                if starter.shape.is_rank(hole):
                    place = self._places[made.size]
                    forms[-1 - len(forms)] = peer_forms(place, made.ranks, values)
        volumes = [np.zeros(place.ranks) for place in self._places]
        if made.volumes is not None:
            volumes[made.size][made.ranks] = made.volumes[at]
        mask = self._mask(made)
        shape = self._shapes.setdefault(call.shape, call.shape)
        return Site(shape, mask, numbers, forms, volumes, call.varying)

    def merge(self, left: list[Node], right: list[Node]) -> list[Node]:
        """Lay two sequences beside each other."""
        pairs = self._pairs(left, right)
        nodes: list[Node] = []
        at_left = at_right = 0
        for i, j in [*pairs, (len(left), len(right))]:
            nodes += self._beside(left[at_left:i], right[at_right:j])
            if i < len(left):
                nodes.append(self._joined(left[i], right[j]))
            at_left, at_right = i + 1, j + 1
        return nodes

    def _beside(self, left: Sequence[Node], right: Sequence[Node]) -> list[Node]:
        """Two sequences of other calls, those that only differ in numbers beside each other.

        A third class may make some of the one and some of the other.
        """
        nodes: list[Node] = []
        at_left = at_right = 0
        for i, j in [
            *_best(_all_alike(left, right)),
            (len(left), len(right)),
        ]:
            nodes += [*left[at_left:i], *right[at_right:j]]
            if i < len(left):
                nodes += [left[i], right[j]]
            at_left, at_right = i + 1, j + 1
        return nodes

    def laid_again(self, whole: Sequence[Node], parts: Sequence[Sequence[Node]]) -> list[Node]:
        """The same program, in which each class has chosen among all calls that there are.

        A class that was merged early could not yet choose calls that later ones brought.
        """
        chosen: list[list[Node]] = [[] for _ in whole]
        for part in parts:
            for i, j in self._pairs(whole, part):
                chosen[i].append(part[j])
        if sum(map(len, chosen)) < sum(map(len, parts)):  # a class has calls that found no place
            return list(whole)
        made: list[Node] = []
        for node, same in zip(whole, chosen, strict=True):
            if not same:
                continue
            loops = [one for one in same if isinstance(one, Loop)]
            if isinstance(node, Loop):
                body = self.laid_again(node.body, [one.body for one in loops])
                present = reduce(_sum, (one.present for one in loops))
                times = reduce(_added, (one.times for one in loops))
                made.append(Loop(present, times, body))
            else:
                made.append(reduce(self._joined, same))
        return made

    def _pairs(self, left: Sequence[Node], right: Sequence[Node]) -> list[tuple[int, int]]:
        """Which nodes of two sequences are the same ones."""
        return _best(self._worths(left, right))

    def _worths(self, left: Sequence[Node], right: Sequence[Node]) -> Worths:
        """What each pair of nodes is worth."""
        worths = np.zeros((len(left), len(right)), dtype=np.int64)
        # Calls that say the same are worth the same.
        of_shape: dict[Shape | None, dict[object, list[int]]] = {}
        for j, node in enumerate(right):
            alike = of_shape.setdefault(_shape_of(node), {})
            alike.setdefault(self._kind(node), []).append(j)
        for i, node in enumerate(left):
            assert isinstance(node, (Site, Loop))
            of_kinds = of_shape.get(_shape_of(node))
            if of_kinds is None:
                continue
            support = min(node.support, _SCALE // 10)
            mine = self._kind(node)  # hashed once for all pairs
            for kind, places in of_kinds.items():
                worth = self._known_worth(node, mine, right[places[0]], kind)
                if worth:
                    worths[i, places] = worth * _SCALE + support
        return worths

    def _known_worth(self, left: Node, mine: object, right: Node, theirs: object) -> int:
        if not isinstance(left, Site) or not isinstance(right, Site):
            return self._worth(left, right)
        pair = (mine, theirs)
        worth = self._worth_of.get(pair)
        if worth is None:
            worth = self._worth_of[pair] = self._worth(left, right)
        return worth

    def _kind(self, node: Node) -> object:
        """The same number for calls that are worth the same; of a loop, itself."""
        if not isinstance(node, Site):
            return node
        return self._kinds.setdefault(node.kind, len(self._kinds))

    def _worth(self, left: Node, right: Node) -> int:
        """What two calls of one shape, or two loops, are worth as the same one."""
        if isinstance(left, Loop):
            assert isinstance(right, Loop)
            worths = self._worths(left.body, right.body)
            return sum(int(worths[i, j]) // _SCALE for i, j in _best(worths))
        assert isinstance(left, Site) and isinstance(right, Site)
        mine, theirs = left.constants, right.constants
        if any(mine[size] != theirs[size] for size in mine.keys() & theirs.keys()):
            return 0
        worth = _SAME_CALL
        for hole, known in left.forms.items():
            common = known & right.forms[hole]
            if not common:
                return 0
            if len(common) < min(len(known), len(right.forms[hole])):
                worth -= _FEWER_FORMS
        for hole in left.plain_holes:
            if hole in left.varying | right.varying:
                (least, most), (lower, upper) = left.ranges[hole], right.ranges[hole]
                worth -= 0 if lower <= most and least <= upper else _OTHER_NUMBER
                continue
            first, other = left.firsts[hole], right.firsts[hole]
            both = first.keys() & other.keys()
            if any(first[size] != other[size] for size in both):
                return 0
            if not both and first[max(first)] != other[max(other)]:
                worth -= _OTHER_NUMBER
        return max(worth, 1)

    def _joined(self, left: Node, right: Node) -> Node:
        assert isinstance(left, (Site, Loop)) and isinstance(right, (Site, Loop))
        present = _sum(left.present, right.present)
        if isinstance(left, Loop):
            assert isinstance(right, Loop)
            times = _added(left.times, right.times)
            return Loop(present, times, self.merge(left.body, right.body))
        assert isinstance(right, Site)
        numbers = [
            [a + b for a, b in zip(mine, theirs, strict=True)]
            for mine, theirs in zip(left.numbers, right.numbers, strict=True)
        ]
        forms = {hole: known & right.forms[hole] for hole, known in left.forms.items()}
        volumes = [a + b for a, b in zip(left.volumes, right.volumes, strict=True)]
        varying = left.varying | right.varying
        return Site(left.shape, present, numbers, forms, volumes, varying)


def _sum(left: list[Mask], right: list[Mask]) -> list[Mask]:
    return [a | b for a, b in zip(left, right, strict=True)]


def _added(left: list[Numbers], right: list[Numbers]) -> list[Numbers]:
    return [a + b for a, b in zip(left, right, strict=True)]


def _shape_of(node: Node) -> Shape | None:
    """The shape of a call; None: it is a loop."""
    return node.shape if isinstance(node, Site) else None


def _alike(left: Node, right: Node) -> int:
    """1 for calls of one shape whose ranks have a formula in common, else 0."""
    if not (isinstance(left, Site) and isinstance(right, Site)) or left.shape != right.shape:
        return 0
    return int(all(left.forms[hole] & right.forms[hole] for hole in left.forms))


def _all_alike(left: Sequence[Node], right: Sequence[Node]) -> Worths:
    alike = [[_alike(a, b) for b in right] for a in left]
    return np.array(alike, dtype=np.int64).reshape(len(left), len(right))


def _best(worth: Worths) -> list[tuple[int, int]]:
    """The pairs in order, of rows and columns, that are worth most together."""
    height, width = worth.shape
    best = np.zeros((height + 1, width + 1), dtype=np.int64)
    for i in range(height - 1, -1, -1):
        together = np.where(worth[i] > 0, worth[i] + best[i + 1, 1:], 0)
        # The best of a row from each column on.
        either = np.maximum(together, best[i + 1, :-1])
        best[i, :-1] = np.maximum.accumulate(either[::-1])[::-1]
    pairs = []
    i = j = 0
    while i < height and j < width:
        if worth[i, j] and best[i, j] == worth[i, j] + best[i + 1, j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i, j] == best[i + 1, j]:
            i += 1
        else:
            j += 1
    return pairs
