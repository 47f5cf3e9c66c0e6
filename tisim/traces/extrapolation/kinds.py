"""Kinds of calls: everything that decides whether two calls of the merged program are the same.

A program has few kinds of calls, and merging compares and joins the same ones repeatedly. So
equal kinds are one object, and pairs of them are compared once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TypeVar, cast

from tisim.traces.extrapolation.grids import PeerForm
from tisim.traces.extrapolation.shapes import Numbers, Shape

T = TypeVar("T")
#: Formulas for ranks that still hold.
Forms = frozenset[PeerForm]
# The score of a pair of equal calls, and the deduction for each number that differs between traces.
# Numbers that differ within a trace belong to different calls.
_SAME_CALL = 8
_OTHER_NUMBER = 2
# The deduction when two calls share fewer formulas for a rank than each call has alone.
_FEWER_FORMS = 3
# Greater than all ranks.
_NO_RANK = 1 << 62


@dataclass(eq=False)
class Peers:
    """The ranks that a call names."""

    #: By hole that takes a rank, the formulas that still hold; negative keys stand for holes of the
    #: calls that started the requests that it names.
    forms: Mapping[int, Forms]


@dataclass(eq=False)
class Plain:
    """The numbers of a call other than ranks."""

    #: The holes whose numbers differ between ranks of one class.
    varying: frozenset[int]
    #: The first rank that makes the call, by trace.
    leaders: Mapping[int, int]
    #: The number of the first rank, by hole and by trace.
    firsts: Mapping[int, Mapping[int, int]]
    #: The minimum and maximum number, by hole.
    ranges: Mapping[int, tuple[int, int]]

    @cached_property
    def constants(self) -> dict[int, tuple[int, ...]]:
        """Its numbers by trace that contains the call, if none of them vary."""
        if self.varying:
            return {}
        return {size: tuple(of[size] for of in self.firsts.values()) for size in self.leaders}


@dataclass(eq=False)
class CallKind:
    """The parts of a call that are compared."""

    shape: Shape
    peers: Peers
    plain: Plain


class Kinds:
    """The kinds of calls of a program on one grid."""

    def __init__(self) -> None:
        # Shapes, formulas and kinds equal to earlier ones are the same object.
        self._known: dict[Hashable, object] = {}
        #: Merges two calls of one shape into one kind.
        self.merge: Callable[[CallKind, CallKind], CallKind] = cache(self._merge)
        #: Scores two calls of one shape as the same call; 0 if they differ.
        self.similarity: Callable[[CallKind, CallKind], int] = cache(self._similarity)
        self._fewer_forms: Callable[[Peers, Peers], int | None] = cache(_fewer_forms)
        self._other_numbers: Callable[[Plain, Plain], int | None] = cache(_other_numbers)

    def of(
        self,
        shape: Shape,
        varying: frozenset[int],
        leader: tuple[int, int],
        forms: Mapping[int, Forms],
        numbers: Mapping[int, Numbers],
    ) -> CallKind:
        """Return the kind of a call of one class. `leader` is the trace and the first rank of the
        class; `numbers` has, for each hole that takes no rank, the number of each rank.
        """
        size, rank = leader
        plain = Plain(
            varying,
            {size: rank},
            {hole: {size: int(values[0])} for hole, values in numbers.items()},
            {hole: (int(values.min()), int(values.max())) for hole, values in numbers.items()},
        )
        return self._kind(self._one(shape, shape), forms, plain)

    def alike(self, left: CallKind, right: CallKind) -> bool:
        """Return whether they have the same shape and share a formula for their ranks."""
        return left.shape is right.shape and self._fewer_forms(left.peers, right.peers) is not None

    def _merge(self, left: CallKind, right: CallKind) -> CallKind:
        mine, theirs = left.peers.forms, right.peers.forms
        forms = {hole: known & theirs[hole] for hole, known in mine.items()}
        return self._kind(left.shape, forms, _merge_plain(left.plain, right.plain))

    def _similarity(self, left: CallKind, right: CallKind) -> int:
        fewer = self._fewer_forms(left.peers, right.peers)
        other = None if fewer is None else self._other_numbers(left.plain, right.plain)
        return 0 if fewer is None or other is None else max(_SAME_CALL - fewer - other, 1)

    def _kind(self, shape: Shape, forms: Mapping[int, Forms], plain: Plain) -> CallKind:
        shared = {hole: self._one(known, known) for hole, known in forms.items()}
        peers = self._one(tuple(shared.items()), Peers(shared))
        firsts = tuple((hole, tuple(of.values())) for hole, of in plain.firsts.items())
        numbers = (plain.varying, tuple(plain.leaders.items()), firsts)
        key = (shape, peers, self._one((*numbers, tuple(plain.ranges.values())), plain))
        return self._one(key, CallKind(*key))

    def _one(self, key: Hashable, made: T) -> T:
        """Return the object registered under an equal key, or register this one."""
        return cast("T", self._known.setdefault(key, made))


def _merge_plain(left: Plain, right: Plain) -> Plain:
    sizes = sorted(left.leaders.keys() | right.leaders.keys())
    # For each trace, the side with the lowest rank.
    first_is = {
        size: min((left, right), key=lambda p: p.leaders.get(size, _NO_RANK)) for size in sizes
    }
    return Plain(
        left.varying | right.varying,
        {size: side.leaders[size] for size, side in first_is.items()},
        {
            hole: {size: side.firsts[hole][size] for size, side in first_is.items()}
            for hole in left.firsts
        },
        {
            hole: (min(least, right.ranges[hole][0]), max(most, right.ranges[hole][1]))
            for hole, (least, most) in left.ranges.items()
        },
    )


def _fewer_forms(left: Peers, right: Peers) -> int | None:
    """Return the deduction for formulas that do not hold for both; None if no formula does."""
    less = 0
    for hole, known in left.forms.items():
        common = known & right.forms[hole]
        if not common:
            return None
        if len(common) < min(len(known), len(right.forms[hole])):
            less += _FEWER_FORMS
    return less


def _other_numbers(left: Plain, right: Plain) -> int | None:
    """Return the deduction for differing numbers; None if the calls must be different."""
    mine, theirs = left.constants, right.constants
    if any(mine[size] != theirs[size] for size in mine.keys() & theirs.keys()):
        return None
    less = 0
    for hole, first in left.firsts.items():
        if hole in left.varying | right.varying:
            (least, most), (lower, upper) = left.ranges[hole], right.ranges[hole]
            less += 0 if lower <= most and least <= upper else _OTHER_NUMBER
            continue
        other = right.firsts[hole]
        both = first.keys() & other.keys()
        if any(first[size] != other[size] for size in both):
            return None
        if not both and first[max(first)] != other[max(other)]:
            less += _OTHER_NUMBER
    return less
