"""Alignment of the calls of several classes of ranks."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from tisim.traces.extrapolation.grids import Place, peer_forms
from tisim.traces.extrapolation.kinds import CallKind, Kinds
from tisim.traces.extrapolation.nodes import Loop, MergedCall, Node
from tisim.traces.extrapolation.recorded import ClassProgram
from tisim.traces.extrapolation.shapes import Shape

# Among alignments of equal score, the one along calls that many ranks make is preferred.
_SCALE = 1_000
#: Scores of pairs of two sequences of nodes, by row and column.
Pairs = NDArray[np.int64]


@dataclass(eq=False)
class _Content:
    """Content of a sequence: each node's kind or repeated sequence, and its support.

    Equal contents are one object, for fast comparison.
    """

    nodes: tuple[tuple[CallKind | _Content, int], ...]

    @cached_property
    def places(self) -> dict[Shape | None, dict[CallKind | _Content, list[int]]]:
        """Its places, by shape of a call (None for a loop) and by kind or content."""
        found: dict[Shape | None, dict[CallKind | _Content, list[int]]] = {}
        for place, (known, _) in enumerate(self.nodes):
            found.setdefault(_shape(known), {}).setdefault(known, []).append(place)
        return found


def _shape(known: CallKind | _Content) -> Shape | None:
    return known.shape if isinstance(known, CallKind) else None


class PairScores:
    """Scores for aligning pairs of nodes.

    Nodes of equal content have equal scores, so each pair of contents is compared once.
    """

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds
        self._contents: dict[tuple[tuple[CallKind | _Content, int], ...], _Content] = {}
        self._body = cache(lambda loop, supported: self._content(loop.body, supported))
        self._row = cache(self._scores_of)
        self._similarity = cache(self._similarity_of)
        # Loops of a program resemble one another, so the same similarities recur.
        self._sum = cache(_sum_of_best)

    def pairs(self, left: Sequence[Node], right: Sequence[Node]) -> list[tuple[int, int]]:
        """Return the aligned pairs of nodes of two sequences."""
        return best(self._scores(self._content(left, True), self._content(right, False)))

    def _scores(self, left: _Content, right: _Content) -> Pairs:
        """Return the score of each pair of nodes."""
        rows = [self._row(mine, support, right) for mine, support in left.nodes]
        made: Pairs = np.array(rows, dtype=np.int64)
        return made.reshape(len(left.nodes), len(right.nodes))

    def _scores_of(self, mine: CallKind | _Content, support: int, right: _Content) -> Pairs:
        """Return the scores of a node against each node of a sequence."""
        row = np.zeros(len(right.nodes), dtype=np.int64)
        for theirs, places in right.places.get(_shape(mine), {}).items():
            if similarity := self._similarity(mine, theirs):
                row[places] = similarity * _SCALE + support
        return row

    def _similarity_of(self, mine: CallKind | _Content, theirs: CallKind | _Content) -> int:
        if isinstance(mine, CallKind):
            assert isinstance(theirs, CallKind)
            return self._kinds.similarity(mine, theirs)
        assert isinstance(theirs, _Content)
        scores = self._scores(mine, theirs)
        return self._sum(scores.shape, scores.tobytes())

    def _content(self, nodes: Sequence[Node], supported: bool) -> _Content:
        """Return the content of a sequence, with or without the support of its nodes."""
        inside: list[tuple[CallKind | _Content, int]] = []
        for node in nodes:
            assert isinstance(node, (MergedCall, Loop))
            known = self._body(node, supported) if isinstance(node, Loop) else node.kind
            # Support is capped: it only decides between alignments of equal score.
            inside.append((known, min(node.support, _SCALE // 10) if supported else 0))
        return self._contents.setdefault(tuple(inside), _Content(tuple(inside)))


def _sum_of_best(shape: tuple[int, int], scores: bytes) -> int:
    similarities = np.frombuffer(scores, dtype=np.int64).reshape(shape)
    return sum(int(similarities[at]) // _SCALE for at in best(similarities))


def best(similarity: Pairs) -> list[tuple[int, int]]:
    """Return the ordered pairs of rows and columns with the largest total similarity."""
    height, width = similarity.shape
    most = np.zeros((height + 1, width + 1), dtype=np.int64)
    has_any = np.asarray(similarity.any(axis=1))
    for i in range(height - 1, -1, -1):
        if not has_any[i]:
            most[i] = most[i + 1]
            continue
        # Pairing nodes without similarity is no better than skipping them.
        either = np.maximum(similarity[i] + most[i + 1, 1:], most[i + 1, :-1])
        # Running maximum from each column to the end.
        most[i, :-1] = np.maximum.accumulate(either[::-1])[::-1]
    pairs = []
    i = j = 0
    while i < height and j < width:
        if similarity[i, j] and most[i, j] == similarity[i, j] + most[i + 1, j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif most[i, j] == most[i + 1, j]:
            i += 1
        else:
            j += 1
    return pairs


# Corners of a grid of four dimensions.
_FEW_RANKS = 16
# Maximum number of parts that a class of ranks is split into.
_MOST_PARTS = 128
#: A hole of a call in one of the traces.
_Hole = tuple[int, Shape, int]


def split_classes(classes: Sequence[ClassProgram], places: Sequence[Place]) -> list[ClassProgram]:
    """Split the classes whose ranks name peers at different distances."""
    uniform_holes = _uniform_peer_holes(classes, places)
    return [
        part for made in classes for part in _split_class(made, places[made.size], uniform_holes)
    ]


def _uniform_peer_holes(classes: Sequence[ClassProgram], places: Sequence[Place]) -> set[_Hole]:
    """Return the holes in which all ranks of a trace name the same rank, such as a root.

    That rank is at a different distance from each of them, which does not characterise them.
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


def _split_class(
    made: ClassProgram, place: Place, uniform_holes: Container[_Hole]
) -> list[ClassProgram]:
    """Split a class into parts whose ranks name peers in the same way.

    Ranks that name peers at other distances in the grid form separate parts. A formula for the
    peers of many ranks makes that unnecessary; for the few ranks in corners it is coincidence.
    """
    groups = np.zeros(len(made.ranks), dtype=np.int64)
    seen: set[bytes] = set()
    for call in made.calls:
        for hole, values in enumerate(call.numbers):
            if not call.shape.is_rank(hole) or (made.size, call.shape, hole) in uniform_holes:
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
