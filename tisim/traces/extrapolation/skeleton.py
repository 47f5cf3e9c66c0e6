"""One program that all ranks of all traces execute, each of them some parts of it.

Classes of ranks are merged one after another. Two calls are the same if they have the same shape
and their ranks share a formula; among the alignments of two programs, the one with the most equal
calls is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from tisim.traces.extrapolation.grids import Place, peer_forms
from tisim.traces.extrapolation.kinds import CallKind, Forms, Kinds
from tisim.traces.extrapolation.merging import Pairs, PairScores, best, split_classes
from tisim.traces.extrapolation.nodes import CallOf, Loop, LoopOf, MergedCall, Node
from tisim.traces.extrapolation.recorded import ClassProgram, Item, Repeat
from tisim.traces.extrapolation.recorded import places as count_places
from tisim.traces.extrapolation.shapes import ClassCall, Numbers

# Number of times that every class is realigned with the whole.
_ROUNDS = 2


def merged(classes: Sequence[ClassProgram], places: Sequence[Place]) -> list[Node]:
    """Return the merged program of all classes."""
    merger = _Merger(places)
    program: list[Node] = []
    parts = split_classes(classes, places)
    alone = [
        merger.nodes(made)
        for made in sorted(parts, key=lambda made: (-_calls(made.items), -len(made.ranks)))
    ]
    for nodes in alone:
        program = merger.merge(program, nodes)
    for _ in range(_ROUNDS):
        before, program = program, merger.realign(program, alone)
        if _is_same(before, program):  # further rounds change nothing
            break
    return program


def _calls(items: Sequence[Item]) -> int:
    return sum(_calls(item.body) if isinstance(item, Repeat) else 1 for item in items)


class _Merger:
    def __init__(self, places: Sequence[Place]) -> None:
        self._places = places
        self._sizes = [place.ranks for place in places]
        self._kinds = Kinds()
        self._forms: dict[tuple[int, bytes, bytes], Forms] = {}
        self._scores = PairScores(self._kinds)

    def nodes(self, made: ClassProgram) -> list[Node]:
        """Return the program of one class."""
        kinds = [self._kind(made, call) for call in made.calls]
        return self._nodes(made, kinds, made.items, 0)

    def _nodes(
        self, made: ClassProgram, kinds: Sequence[CallKind], items: Sequence[Item], first: int
    ) -> list[Node]:
        """Return a part of it; `first` is the number of its first place."""
        nodes: list[Node] = []
        for item in items:
            if isinstance(item, Repeat):
                loop = LoopOf(made.size, made.ranks, item.times)
                body = self._nodes(made, kinds, item.body, first)
                nodes.append(Loop((loop,), self._sizes, body))
            else:
                volumes = None if made.volumes is None else made.volumes[first]
                call = CallOf(made.size, made.ranks, made.calls[item].numbers, volumes)
                nodes.append(MergedCall(kinds[item], (call,), self._sizes))
            first += count_places(item)
        return nodes

    def _kind(self, made: ClassProgram, call: ClassCall) -> CallKind:
        forms: dict[int, Forms] = {}
        plain: dict[int, Numbers] = {}
        for hole, values in enumerate(call.numbers):
            if call.shape.is_rank(hole):
                forms[hole] = self._peer_forms(made, values)
            else:
                plain[hole] = values
        # Negative keys: the calls that started the requests that it names.
        for starter in call.starters:
            for hole, values in enumerate(starter.numbers):
                if starter.shape.is_rank(hole):
                    forms[-1 - len(forms)] = self._peer_forms(made, values)
        leader = (made.size, int(made.ranks[0]))
        return self._kinds.of(call.shape, call.varying, leader, forms, plain)

    def _peer_forms(self, made: ClassProgram, values: Numbers) -> Forms:
        key = (made.size, made.ranks.tobytes(), values.tobytes())
        if key not in self._forms:
            self._forms[key] = peer_forms(self._places[made.size], made.ranks, values)
        return self._forms[key]

    def merge(self, left: list[Node], right: list[Node]) -> list[Node]:
        """Align and merge two sequences."""
        pairs = self._scores.pairs(left, right)
        nodes: list[Node] = []
        at_left = at_right = 0
        for i, j in [*pairs, (len(left), len(right))]:
            nodes += self._interleave(left[at_left:i], right[at_right:j])
            if i < len(left):
                nodes.append(self._merge_nodes(left[i], right[j]))
            at_left, at_right = i + 1, j + 1
        return nodes

    def _interleave(self, left: Sequence[Node], right: Sequence[Node]) -> list[Node]:
        """Interleave sequences of different calls; those differing only in numbers are adjacent.

        A third class may make some of each.
        """
        nodes: list[Node] = []
        at_left = at_right = 0
        for i, j in [
            *best(self._all_alike(left, right)),
            (len(left), len(right)),
        ]:
            nodes += [*left[at_left:i], *right[at_right:j]]
            if i < len(left):
                nodes += [left[i], right[j]]
            at_left, at_right = i + 1, j + 1
        return nodes

    def realign(self, whole: Sequence[Node], parts: Sequence[Sequence[Node]]) -> list[Node]:
        """Return the program after each class has chosen among all calls.

        A class merged early could not choose calls that later classes added.
        """
        chosen: list[list[Node]] = [[] for _ in whole]
        for part in parts:
            for i, j in self._scores.pairs(whole, part):
                chosen[i].append(part[j])
        if sum(map(len, chosen)) < sum(map(len, parts)):  # calls of a class were not placed
            return list(whole)
        made: list[Node] = []
        for node, same in zip(whole, chosen, strict=True):
            if not same:
                continue
            loops = [loop for loop in same if isinstance(loop, Loop)]
            if isinstance(node, Loop):
                body = self.realign(node.body, [loop.body for loop in loops])
                made.append(Loop(_loops_of(loops), self._sizes, body))
            else:
                made.append(reduce(self._merge_nodes, same))
        return made

    def _merge_nodes(self, left: Node, right: Node) -> Node:
        if isinstance(left, Loop) and isinstance(right, Loop):
            return Loop(_loops_of((left, right)), self._sizes, self.merge(left.body, right.body))
        assert isinstance(left, MergedCall) and isinstance(right, MergedCall)
        kind = self._kinds.merge(left.kind, right.kind)
        return MergedCall(kind, left.calls + right.calls, self._sizes)

    def _all_alike(self, left: Sequence[Node], right: Sequence[Node]) -> Pairs:
        """Return 1 for calls of one shape whose ranks share a formula, else 0."""
        alike = np.zeros((len(left), len(right)), dtype=np.int64)
        for i, mine in enumerate(left):
            for j, theirs in enumerate(right):
                if isinstance(mine, MergedCall) and isinstance(theirs, MergedCall):
                    alike[i, j] = self._kinds.alike(mine.kind, theirs.kind)
        return alike


def _loops_of(nodes: Sequence[Loop]) -> tuple[LoopOf, ...]:
    return tuple(loop for node in nodes for loop in node.loops)


def _is_same(left: Sequence[Node], right: Sequence[Node]) -> bool:
    """Return whether two programs consist of the same calls of the same classes."""
    return len(left) == len(right) and all(
        _parts(mine) == _parts(theirs)
        and (
            not isinstance(mine, Loop)
            or (isinstance(theirs, Loop) and _is_same(mine.body, theirs.body))
        )
        for mine, theirs in zip(left, right, strict=True)
    )


def _parts(node: Node) -> set[int]:
    assert isinstance(node, (MergedCall, Loop))
    return {id(member) for member in (node.calls if isinstance(node, MergedCall) else node.loops)}
