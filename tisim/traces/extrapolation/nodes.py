"""The parts of the merged program: calls, loops and stages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tisim.traces.extrapolation.grids import PeerForm
from tisim.traces.extrapolation.kinds import CallKind, Forms
from tisim.traces.extrapolation.shapes import Numbers, Shape

Mask = NDArray[np.bool_]


class CallOf(NamedTuple):
    """A call of one class of ranks."""

    #: Index of its trace.
    size: int
    ranks: Numbers
    #: For each hole, the number of each rank.
    numbers: tuple[Numbers, ...]
    #: Mean computation of each rank before the call, if volumes are fitted.
    volumes: NDArray[np.float64] | None


@dataclass(eq=False)
class MergedCall:
    """A call of the merged program."""

    kind: CallKind
    #: The call in each class that makes it.
    calls: tuple[CallOf, ...]
    #: The numbers of ranks of the traces.
    sizes: Sequence[int]

    @property
    def shape(self) -> Shape:
        """Its text."""
        return self.kind.shape

    @property
    def forms(self) -> Mapping[int, Forms]:
        """The formulas that hold, by hole that takes a rank; see `Peers`."""
        return self.kind.peers.forms

    @property
    def varying(self) -> frozenset[int]:
        """The holes, except those that take ranks, whose numbers vary within a class."""
        return self.kind.plain.varying

    @cached_property
    def support(self) -> int:
        """Number of ranks of all traces that make it."""
        return sum(len(call.ranks) for call in self.calls)

    @cached_property
    def present(self) -> list[Mask]:
        """The ranks that make it, by trace."""
        return _present(self.sizes, self.calls)

    @cached_property
    def made(self) -> list[bool]:
        """For each trace, whether any rank makes the call."""
        return [bool(present.any()) for present in self.present]

    @cached_property
    def numbers(self) -> list[list[Numbers]]:
        """The number of each rank, by trace and hole."""
        holes = range(len(self.shape.marks))
        made = [[np.zeros(ranks, dtype=np.int64) for _ in holes] for ranks in self.sizes]
        for call in self.calls:
            for of_ranks, values in zip(made[call.size], call.numbers, strict=True):
                of_ranks[call.ranks] = values
        return made

    @cached_property
    def volumes(self) -> list[NDArray[np.float64]]:
        """Mean computation of each rank before the call, by trace."""
        made = [np.zeros(ranks) for ranks in self.sizes]
        for call in self.calls:
            if call.volumes is not None:
                made[call.size][call.ranks] = call.volumes
        return made


class LoopOf(NamedTuple):
    """A loop of one class of ranks: the trace, the ranks, and their number of iterations."""

    size: int
    ranks: Numbers
    times: int


@dataclass(eq=False)
class Loop:
    """A loop of the merged program."""

    #: The loop in each class that reaches it.
    loops: tuple[LoopOf, ...]
    sizes: Sequence[int]
    body: list[Node]

    @cached_property
    def support(self) -> int:
        """Number of ranks of all traces that reach it."""
        return sum(len(loop.ranks) for loop in self.loops)

    @cached_property
    def present(self) -> list[Mask]:
        """The ranks that reach it, by trace."""
        return _present(self.sizes, self.loops)

    @cached_property
    def times(self) -> list[Numbers]:
        """The iterations of each rank, by trace."""
        made = [np.zeros(ranks, dtype=np.int64) for ranks in self.sizes]
        for loop in self.loops:
            made[loop.size][loop.ranks] = loop.times
        return made


def _present(sizes: Sequence[int], classes: Iterable[CallOf | LoopOf]) -> list[Mask]:
    made = [np.zeros(ranks, dtype=np.bool_) for ranks in sizes]
    for entry in classes:
        made[entry.size][entry.ranks] = True
    return made


@dataclass(frozen=True, order=True)
class StagedForm:
    """A formula for a rank that may depend on the stage."""

    #: As in `PeerForm`; the distance has this sign.
    kind: str
    sign: int = 1
    #: True if the distance is 2^stage rather than stage + 1.
    doubles: bool = True
    #: The formula of all stages, if it does not depend on the stage.
    fixed: PeerForm | None = None

    def peer_form(self, stage: int) -> PeerForm:
        """Return the formula in a stage."""
        if self.fixed is not None:
            return self.fixed
        return PeerForm(self.kind, (self.sign * (1 << stage if self.doubles else stage + 1),))


@dataclass(eq=False)
class Stages:
    """Stages of the merged program."""

    #: The calls of each stage of the largest trace, from stage 0.
    sites: list[list[MergedCall]]
    #: Number of stages in each trace.
    counts: list[int]
    #: True if the last stage comes first.
    is_descending: bool
    #: The formulas that hold in all stages, by call and hole that takes a rank.
    forms: list[dict[int, list[StagedForm]]]


Node = MergedCall | Loop | Stages


def described(node: MergedCall | Loop, at: str) -> str:
    """Describe a part of the program for messages: what it is, and its path."""
    if isinstance(node, Loop):
        return f"loop {at}".rstrip()
    return f"{f'call {at}'.rstrip()} ({node.shape.shown()})"


# In stage k a rank communicates with the ranks at distance 2^k, or k + 1. The merged program has
# the calls of each stage one after the other; the number of stages depends on the number of ranks.

# Maximum number of calls in a stage, and minimum number of stages in the largest trace.
_MOST_CALLS = 12
_FEWEST_STAGES = 2
_FORMS = tuple(
    StagedForm(kind, sign, doubles)
    for kind in ("plus", "around", "xor")
    for sign in ((1,) if kind == "xor" else (1, -1))
    for doubles in (True, False)
)


def identify_stages(nodes: Sequence[Node]) -> list[Node]:
    """Return the program with its stages identified."""
    made: list[Node] = []
    rest = list(nodes)
    while rest:
        node = rest[0]
        if isinstance(node, Loop):
            before, loop, rest = _rotate(node, rest[1:])
            # The calls moved before the loop may complete the stages that precede it.
            if before:
                made = identify_stages([*made, *before])
            made.append(loop)
            continue
        found = _stages_at(rest, 0)
        if found is None:
            made.append(rest.pop(0))
        else:
            made.append(found)
            del rest[: len(found.sites) * len(found.sites[0])]
    return made


def _rotate(loop: Loop, rest: list[Node]) -> tuple[list[Node], Loop, list[Node]]:
    """Rotate a loop to the start with the most stages; return what precedes it, it, and the rest.

    Loops begin as early as they can, which may be inside a stage.
    """
    most = 0
    while most < min(len(rest), len(loop.body) - 1) and _same(loop.body[most], rest[most]):
        most += 1
    rotations = []
    for count in range(most + 1):
        body = identify_stages([*loop.body[count:], *loop.body[:count]])
        rotations.append(replace(loop, body=body))
    best = min(range(most + 1), key=lambda count: _nodes(rotations[count].body))
    return rest[:best], rotations[best], rest[best:]


def _nodes(nodes: Sequence[Node]) -> int:
    return sum(1 + _nodes(node.body) if isinstance(node, Loop) else 1 for node in nodes)


def _same(one: Node, other: Node) -> bool:
    """Return whether the same ranks make two calls with the same numbers."""
    if (
        not isinstance(one, MergedCall)
        or not isinstance(other, MergedCall)
        or one.shape != other.shape
    ):
        return False
    return all(
        np.array_equal(mine, theirs)
        for mine, theirs in zip(
            [*one.present, *chain(*one.numbers)],
            [*other.present, *chain(*other.numbers)],
            strict=True,
        )
    )


def _stages_at(nodes: Sequence[Node], start: int) -> Stages | None:
    """Return the longest sequence of stages that begins at a call."""
    best: Stages | None = None
    for length in range(1, _MOST_CALLS + 1):
        windows = _windows(nodes, start, length)
        if len(windows) < _FEWEST_STAGES:
            continue
        made = _GroupPresence(windows)
        for count in range(len(windows), _FEWEST_STAGES - 1, -1):
            for is_descending in (False, True):
                counts = made.counts(count, is_descending)
                found = counts and _fitted(windows[:count], is_descending, counts)
                if found and (best is None or count * length > len(best.sites) * len(best.forms)):
                    best = found
            if best is not None:
                break
    return best


def _windows(nodes: Sequence[Node], start: int, length: int) -> list[list[MergedCall]]:
    """Return consecutive groups of calls with the same texts as the first group."""
    windows: list[list[MergedCall]] = []
    for first in range(start, len(nodes) - length + 1, length):
        window = [node for node in nodes[first : first + length] if isinstance(node, MergedCall)]
        if len(window) < length:
            break
        if windows and any(a.shape != b.shape for a, b in zip(window, windows[0], strict=True)):
            break
        windows.append(window)
    return windows


def _fitted(
    windows: Sequence[list[MergedCall]], is_descending: bool, counts: list[int]
) -> Stages | None:
    sites = list(reversed(windows)) if is_descending else list(windows)
    forms: list[dict[int, list[StagedForm]]] = []
    depends = False
    for column in zip(*sites, strict=True):
        of_call: dict[int, list[StagedForm]] = {}
        for hole in column[0].forms:
            common = frozenset.intersection(*(site.forms[hole] for site in column))
            fitting = [StagedForm("", fixed=form) for form in sorted(common)]
            fitting += [
                form
                for form in _FORMS
                if all(
                    form.peer_form(stage) in site.forms[hole] for stage, site in enumerate(column)
                )
            ]
            if not fitting:
                return None
            depends = depends or not common
            of_call[hole] = fitting
        depends = depends or any(column[0].varying)
        forms.append(of_call)
    return Stages(sites, counts, is_descending, forms) if depends else None


class _GroupPresence:
    """Index of the traces that contain each group of calls, for any number of leading groups."""

    def __init__(self, windows: Sequence[list[MergedCall]]) -> None:
        made = np.array([[call.made for call in window] for window in windows], dtype=np.bool_)
        whole: Mask = np.asarray(made.all(axis=1))
        mixed: Mask = np.asarray((made.any(axis=1) != whole).any(axis=1))
        begins, ends = whole[1:] & ~whole[:-1], whole[:-1] & ~whole[1:]
        self._sums = whole.cumsum(axis=0)
        # Maximum number of groups that may be stages: a trace has the first ones, or the last ones.
        self._most = [_until(mixed, change) for change in (begins, ends)]

    def counts(self, count: int, is_descending: bool) -> list[int] | None:
        """Return each trace's number of the first `count` groups; None if they are not stages."""
        if count > self._most[is_descending]:
            return None
        counts: list[int] = self._sums[count - 1].tolist()
        return None if len(set(counts)) == 1 else counts


def _until(mixed: Mask, changes: Mask) -> int:
    """Return the number of groups made entirely or not at all, before a trace changes."""
    wrong = mixed.copy()
    wrong[1:] |= changes.any(axis=1)
    return int(wrong.argmax()) if wrong.any() else len(wrong)
