"""Kinds of calls: all that tells whether two calls of the merged program are the same one.

A program has few kinds of calls, and merging compares and joins the same ones again and again. So
equal kinds are one object, and pairs of them are compared once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tisim.traces.extrapolation.grids import PeerForm
from tisim.traces.extrapolation.shapes import Numbers, Shape

#: Formulas for ranks that hold so far.
Forms = frozenset[PeerForm]
# The score of a pair of equal calls, and the deduction for each number that differs between traces.
# Numbers that differ within a trace are of different calls.
_SAME_CALL = 8
_OTHER_NUMBER = 2
# The deduction when ranks that calls name need another formula than each call alone.
_FEWER_FORMS = 3
# Above all ranks.
_NO_RANK = 1 << 62


@dataclass(eq=False)
class Peers:
    """The ranks that a call names."""

    #: By hole that takes a rank, the formulas that hold so far; below 0, by hole of the calls that
    #: started the requests that it names.
    forms: Mapping[int, Forms]


@dataclass(eq=False)
class Plain:
    """The other numbers of a call."""

    #: The holes whose numbers differ between ranks of one class.
    varying: frozenset[int]
    #: The first rank that makes the call, by trace.
    leaders: Mapping[int, int]
    #: The number of the first rank, by hole and by trace.
    firsts: Mapping[int, Mapping[int, int]]
    #: The least and the largest number, by hole.
    ranges: Mapping[int, tuple[int, int]]

    @cached_property
    def constants(self) -> dict[int, tuple[int, ...]]:
        """Its numbers, by trace that has the call, where none of them differ."""
        if self.varying:
            return {}
        return {size: tuple(of[size] for of in self.firsts.values()) for size in self.leaders}


@dataclass(eq=False)
class CallKind:
    """The parts of a call to compare."""

    shape: Shape
    peers: Peers
    plain: Plain


class Kinds:
    """The kinds of calls of a program on one grid."""

    def __init__(self) -> None:
        self._shapes: dict[Shape, Shape] = {}
        # Values equal to earlier ones are the same object.
        self._forms: dict[Forms, Forms] = {}
        self._peers: dict[object, Peers] = {}
        self._plain: dict[object, Plain] = {}
        self._known: dict[tuple[Shape, Peers, Plain], CallKind] = {}
        # Results by pair.
        self._joined: dict[tuple[CallKind, CallKind], CallKind] = {}
        self._worths: dict[tuple[CallKind, CallKind], int] = {}
        self._fewer: dict[tuple[Peers, Peers], int | None] = {}
        self._other: dict[tuple[Plain, Plain], int | None] = {}

    def of(
        self,
        shape: Shape,
        varying: frozenset[int],
        leader: tuple[int, int],
        forms: Mapping[int, Forms],
        numbers: Mapping[int, Numbers],
    ) -> CallKind:
        """The kind of a call of one class. `leader` is the trace and the first rank of the class;
        `numbers` has, of each hole that takes no rank, the number of each rank.
        """
        size, rank = leader
        plain = Plain(
            varying,
            {size: rank},
            {hole: {size: int(values[0])} for hole, values in numbers.items()},
            {hole: (int(values.min()), int(values.max())) for hole, values in numbers.items()},
        )
        known = self._shapes.setdefault(shape, shape)
        return self._one(known, self._one_peers(forms), self._one_plain(plain))

    def joined(self, left: CallKind, right: CallKind) -> CallKind:
        """The kind of a call that is two calls of one shape."""
        pair = (left, right)
        found = self._joined.get(pair)
        if found is None:
            mine, theirs = left.peers.forms, right.peers.forms
            peers = self._one_peers({hole: known & theirs[hole] for hole, known in mine.items()})
            plain = self._one_plain(_join(left.plain, right.plain))
            found = self._joined[pair] = self._one(left.shape, peers, plain)
        return found

    def alike(self, left: CallKind, right: CallKind) -> bool:
        """True if they are of one shape, and their ranks have a formula in common."""
        return left.shape is right.shape and self._fewer_forms(left.peers, right.peers) is not None

    def worth(self, left: CallKind, right: CallKind) -> int:
        """The score of two calls of one shape as the same one; 0 for different ones."""
        pair = (left, right)
        worth = self._worths.get(pair)
        if worth is None:
            worth = 0
            fewer = self._fewer_forms(left.peers, right.peers)
            if fewer is not None:
                other = self._other_numbers(left.plain, right.plain)
                worth = 0 if other is None else max(_SAME_CALL - fewer - other, 1)
            self._worths[pair] = worth
        return worth

    def _one(self, shape: Shape, peers: Peers, plain: Plain) -> CallKind:
        key = (shape, peers, plain)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = CallKind(*key)
        return found

    def _one_peers(self, forms: Mapping[int, Forms]) -> Peers:
        one = {hole: self._forms.setdefault(known, known) for hole, known in forms.items()}
        return self._peers.setdefault(tuple(one.items()), Peers(one))

    def _one_plain(self, plain: Plain) -> Plain:
        firsts = tuple((hole, tuple(of.values())) for hole, of in plain.firsts.items())
        key = (plain.varying, tuple(plain.leaders.items()), firsts, tuple(plain.ranges.values()))
        return self._plain.setdefault(key, plain)

    def _fewer_forms(self, left: Peers, right: Peers) -> int | None:
        """The deduction for formulas that do not hold for both; None: none holds for both."""
        pair = (left, right)
        if pair not in self._fewer:
            self._fewer[pair] = _fewer_forms(left.forms, right.forms)
        return self._fewer[pair]

    def _other_numbers(self, left: Plain, right: Plain) -> int | None:
        """The deduction for other numbers; None: they are of different calls."""
        pair = (left, right)
        if pair not in self._other:
            self._other[pair] = _other_numbers(left, right)
        return self._other[pair]


def _join(left: Plain, right: Plain) -> Plain:
    sizes = sorted(left.leaders.keys() | right.leaders.keys())
    # By trace, the one that the first of all ranks has.
    first_is = {
        size: min((left, right), key=lambda one: one.leaders.get(size, _NO_RANK)) for size in sizes
    }
    return Plain(
        left.varying | right.varying,
        {size: one.leaders[size] for size, one in first_is.items()},
        {
            hole: {size: one.firsts[hole][size] for size, one in first_is.items()}
            for hole in left.firsts
        },
        {
            hole: (min(least, right.ranges[hole][0]), max(most, right.ranges[hole][1]))
            for hole, (least, most) in left.ranges.items()
        },
    )


def _fewer_forms(left: Mapping[int, Forms], right: Mapping[int, Forms]) -> int | None:
    less = 0
    for hole, known in left.items():
        common = known & right[hole]
        if not common:
            return None
        if len(common) < min(len(known), len(right[hole])):
            less += _FEWER_FORMS
    return less


def _other_numbers(left: Plain, right: Plain) -> int | None:
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
