"""Which calls of several classes of ranks are the same ones."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tisim.traces.extrapolation.grids import Place, peer_forms
from tisim.traces.extrapolation.kinds import CallKind, Kinds
from tisim.traces.extrapolation.nodes import Loop, MergedCall, Node
from tisim.traces.extrapolation.recorded import ClassProgram
from tisim.traces.extrapolation.shapes import Shape

# Among equal ways to lay programs beside each other, the one along calls that many ranks make.
_SCALE = 1_000
#: Scores of pairs of two sequences of nodes, by row and column.
Pairs = NDArray[np.int64]


@dataclass(eq=False)
class _Content:
    """Content of a sequence: for each node its kind or its repeated sequence, and its support.

    Equal contents are one object, so that they are compared quickly.
    """

    nodes: tuple[tuple[object, int], ...]


#: The places in a sequence, by the shape of a call (None: it is a loop) and by what tells it.
_Alike = dict[Shape | None, dict[object, list[int]]]


class PairScores:
    """Scores of pairs of nodes taken as the same ones.

    Nodes that say the same are worth the same, so that each pair is compared once.
    """

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self._contents: dict[tuple[tuple[object, int], ...], _Content] = {}
        self._bodies: dict[tuple[Loop, bool], _Content] = {}
        self._alike: dict[_Content, _Alike] = {}
        self._rows: dict[tuple[tuple[object, int], _Content], Pairs] = {}
        self._loops: dict[tuple[object, object], int] = {}
        self._sums: dict[tuple[tuple[int, ...], bytes], int] = {}

    def pairs(self, left: Sequence[Node], right: Sequence[Node]) -> list[tuple[int, int]]:
        """Which nodes of two sequences are the same ones."""
        return best(self._of(left, self._content(left, True), right, self._content(right, False)))

    def _of(
        self, left: Sequence[Node], mine: _Content, right: Sequence[Node], theirs: _Content
    ) -> Pairs:
        """The score of each pair of nodes."""
        if not left or not right:
            return np.zeros((len(left), len(right)), dtype=np.int64)
        rows: list[Pairs] = []
        for node, known in zip(left, mine.nodes, strict=True):
            row = self._rows.get((known, theirs))
            if row is None:
                row = self._rows[known, theirs] = self._row(node, known, right, theirs)
            rows.append(row)
        return np.concatenate(rows).reshape(len(left), len(right))

    def _row(
        self, node: Node, known: tuple[object, int], right: Sequence[Node], theirs: _Content
    ) -> Pairs:
        """The scores of a node taken as each of a sequence."""
        mine, support = known
        row = [0] * len(right)
        shape = node.shape if isinstance(node, MergedCall) else None
        for other, places in self._places(right, theirs).get(shape, {}).items():
            if isinstance(mine, CallKind):
                assert isinstance(other, CallKind)
                worth = self._kinds.worth(mine, other)
            else:
                worth = self._worth_of_loops(node, mine, right[places[0]], other)
            if worth:
                for place in places:
                    row[place] = worth * _SCALE + support
        return np.array(row, dtype=np.int64)

    def _worth_of_loops(self, left: Node, mine: object, right: Node, theirs: object) -> int:
        assert isinstance(left, Loop) and isinstance(right, Loop)
        assert isinstance(mine, _Content) and isinstance(theirs, _Content)
        pair = (mine, theirs)
        if pair not in self._loops:
            worths = self._of(left.body, mine, right.body, theirs)
            # Loops of a program are alike, so that the same worths are often seen.
            seen = (worths.shape, worths.tobytes())
            if seen not in self._sums:
                self._sums[seen] = sum(int(worths[at]) // _SCALE for at in best(worths))
            self._loops[pair] = self._sums[seen]
        return self._loops[pair]

    def _places(self, nodes: Sequence[Node], content: _Content) -> _Alike:
        found = self._alike.get(content)
        if found is None:
            found = self._alike[content] = {}
            for place, (node, (known, _)) in enumerate(zip(nodes, content.nodes, strict=True)):
                shape = node.shape if isinstance(node, MergedCall) else None
                found.setdefault(shape, {}).setdefault(known, []).append(place)
        return found

    def _content(self, nodes: Sequence[Node], supported: bool) -> _Content:
        """The contents of a sequence, with how many ranks make it or without."""
        inside = tuple(
            (
                self._body(node, supported) if isinstance(node, Loop) else _kind(node),
                _support(node) if supported else 0,
            )
            for node in nodes
        )
        found = self._contents.get(inside)
        if found is None:
            found = self._contents[inside] = _Content(inside)
        return found

    def _body(self, loop: Loop, supported: bool) -> _Content:
        key = (loop, supported)
        if key not in self._bodies:
            self._bodies[key] = self._content(loop.body, supported)
        return self._bodies[key]


def _kind(node: Node) -> CallKind:
    assert isinstance(node, MergedCall)
    return node.kind


def _support(node: Node) -> int:
    """How many ranks make it, as far as that chooses among equal ways."""
    assert isinstance(node, (MergedCall, Loop))
    return min(node.support, _SCALE // 10)


def best(worth: Pairs) -> list[tuple[int, int]]:
    """The pairs in order, of rows and columns, that are worth most together."""
    height, width = worth.shape
    most = np.zeros((height + 1, width + 1), dtype=np.int64)
    has_any = np.asarray(worth.any(axis=1))
    for i in range(height - 1, -1, -1):
        if not has_any[i]:
            most[i] = most[i + 1]
            continue
        # Laying beside each other what is worth nothing is no better than leaving it out.
        either = np.maximum(worth[i] + most[i + 1, 1:], most[i + 1, :-1])
        # The most of a row from each column on.
        most[i, :-1] = np.maximum.accumulate(either[::-1])[::-1]
    pairs = []
    i = j = 0
    while i < height and j < width:
        if worth[i, j] and most[i, j] == worth[i, j] + most[i + 1, j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif most[i, j] == most[i + 1, j]:
            i += 1
        else:
            j += 1
    return pairs


# Corners of a grid of four dimensions.
_FEW_RANKS = 16
# A class of ranks is taken apart into at most so many.
_MOST_PARTS = 128
#: A hole of a call in one of the traces.
_Hole = tuple[int, Shape, int]


def parted(classes: Sequence[ClassProgram], places: Sequence[Place]) -> list[ClassProgram]:
    """The same classes, those taken apart whose ranks name others at different distances."""
    settled = _settled(classes, places)
    return [part for made in classes for part in _parted(made, places[made.size], settled)]


def _settled(classes: Sequence[ClassProgram], places: Sequence[Place]) -> set[_Hole]:
    """Where all ranks of a trace make a call and name the same rank, such as a root.

    That rank is at another distance of each of them, which says nothing of their places.
    """
    named: dict[_Hole, set[int]] = {}
    makers: dict[tuple[int, Shape], set[int]] = {}
    for made in classes:
        ranks = made.ranks.tolist()
        for call in made.calls:
            makers.setdefault((made.size, call.shape), set()).update(ranks)
            for hole, values in enumerate(call.numbers):
                if call.shape.is_rank(hole):
                    known = named.setdefault((made.size, call.shape, hole), set())
                    known.update(np.unique(values).tolist())
    return {
        (size, shape, hole)
        for (size, shape, hole), ranks in named.items()
        if len(ranks) == 1 and len(makers[size, shape]) == places[size].ranks
    }


def _parted(made: ClassProgram, place: Place, settled: Container[_Hole]) -> list[ClassProgram]:
    """Parts of a class, each of ranks that name others in one way.

    Those that name ranks at other distances in the grid are parts of their own. A formula that
    gives the ranks that many name makes that needless; that of the few in corners is an accident.
    """
    groups = np.zeros(len(made.ranks), dtype=np.int64)
    seen: set[bytes] = set()
    for call in made.calls:
        for hole, values in enumerate(call.numbers):
            if not call.shape.is_rank(hole) or (made.size, call.shape, hole) in settled:
                continue
            if values.tobytes() in seen:
                continue
            seen.add(values.tobytes())
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
