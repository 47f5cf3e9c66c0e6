"""The program at the target, and the trace written of it class by class."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from tisim import _core
from tisim.errors import InputError
from tisim.support.files import replacing
from tisim.traces.extrapolation.data import Approximation, expand_vectors
from tisim.traces.extrapolation.nodes import Loop, Mask, MergedCall, described
from tisim.traces.extrapolation.shapes import Numbers
from tisim.traces.extrapolation.volumes import COMPUTE, code_of
from tisim.traces.packed_program import NO_RANK
from tisim.traces.program import Rule


@dataclass(eq=False)
class TargetCall:
    """A call at the target."""

    site: MergedCall
    #: The ranks that make it.
    present: Mask
    #: The number of each rank, or one for all, by hole.
    numbers: list[Numbers]
    #: The fitted volume of the computation before it, if any.
    volume: int = 0
    #: Its name in messages: the same at all numbers of ranks.
    name: str = ""


@dataclass(eq=False)
class TargetLoop:
    """A loop at the target."""

    loop: Loop
    present: Mask
    times: int
    body: list[TargetNode]


TargetNode = TargetCall | TargetLoop


def write_program(
    program: Sequence[TargetNode],
    ranks: int,
    output: str | os.PathLike[str],
    legacy: bool = False,
    precision: str = "",
    comments: Sequence[str] = (),
    approximation: Approximation | None = None,
) -> int:
    """Write a program at the target; return its number of classes of ranks. An empty `precision`
    marks volumes as exact; `comments` precede the lines of each rank; without an approximation,
    data-dependent numbers are means.
    """
    writer = _core.ClassWriter(ranks)
    order = _SeenOrder()
    classes = _classes([node.present for node in _all(program)], ranks)
    for members in classes:
        made = _Class(members, order, approximation)
        for comment in comments:
            made.add_comment(comment)
        made.add(program, 0)
        calls = [(writer.shape(text, holes), numbers) for text, holes, numbers in made.calls]
        writer.add(members.astype(np.int32), calls, made.rules)
    with replacing(output) as unfinished:
        writer.finish(legacy, precision, os.fsencode(unfinished))
    return len(classes)


def _all(program: Sequence[TargetNode]) -> list[TargetNode]:
    nodes: list[TargetNode] = []
    for node in program:
        nodes.append(node)
        if isinstance(node, TargetLoop):
            nodes += _all(node.body)
    return nodes


def _classes(masks: Sequence[Mask], ranks: int) -> list[Numbers]:
    """Group the ranks that execute the same parts."""
    packed = [
        np.packbits(np.stack(masks[first : first + 64]), axis=0, bitorder="little")
        for first in range(0, len(masks), 64)
    ]
    groups = np.zeros(ranks, dtype=np.int64)
    for part in packed:
        words = np.zeros((8, ranks), dtype=np.uint8)
        words[: len(part)] = part
        numbers = np.ascontiguousarray(words.T).view(np.uint64).ravel()
        _, of_part = np.unique(numbers, return_inverse=True)
        _, groups = np.unique(groups * (int(of_part.max()) + 1) + of_part, return_inverse=True)
    order = np.argsort(groups, kind="stable")
    ends = np.cumsum(np.bincount(groups))[:-1]
    return sorted(np.split(order, ends), key=lambda members: int(members[0]))


class _SeenOrder:
    """Checks that consecutive parts at the target were consecutive in a trace.

    If no recorded rank executed both of two parts, their order in the merged program is arbitrary.
    """

    def __init__(self) -> None:
        self._seen: set[tuple[int, int]] = set()

    def check(self, before: TargetNode, after: TargetNode) -> None:
        pair = (id(before), id(after))
        if pair in self._seen:
            return
        a, b = _recorded(before), _recorded(after)
        if not any((x & y).any() for x, y in zip(a.present, b.present, strict=True)):
            raise InputError(
                f"ranks would make {described(a, '')} and then {described(b, '')}, but no rank of "
                "the traces makes both; record a size at which ranks do"
            )
        self._seen.add(pair)


def _recorded(node: TargetNode) -> Loop | MergedCall:
    return node.loop if isinstance(node, TargetLoop) else node.site


@dataclass
class _Class:
    """The calls and rules of a class of ranks."""

    members: Numbers
    order: _SeenOrder
    approximation: Approximation | None = None
    #: For each call, the text of its shape, the bit mask of holes that take ranks, and for each
    #: hole one number, or one for each rank of the class.
    calls: list[tuple[bytes, int, list[Numbers]]] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=lambda: [[]])

    def add(self, program: Sequence[TargetNode], rule: int) -> None:
        first = int(self.members[0])
        made = [node for node in program if node.present[first]]
        for before, after in pairwise(made):
            self.order.check(before, after)
        for node in made:
            if isinstance(node, TargetLoop):
                self._add_loop(node, rule)
                continue
            if node.volume:
                volume = np.array([code_of(node.volume)], dtype=np.int64)
                self._call(rule, COMPUTE, 0, [volume])
            numbers = [of if len(of) == 1 else of[self.members] for of in node.numbers]
            ranks = len(node.present)
            drawn = None
            if self.approximation is not None and node.site.shape.vectors:
                mean = int(node.numbers[node.site.shape.vectors[0]][0])
                drawn = self.approximation.drawn(id(node), node.site.shape, mean, ranks)
            self._call(rule, *expand_vectors(node.site.shape, numbers, ranks, self.members, drawn))

    def add_comment(self, line: str) -> None:
        """Add a line that is not a call."""
        self._call(0, bytes([NO_RANK]) + line.encode(), 0, [])

    def _call(self, rule: int, text: bytes, rank_holes: int, numbers: list[Numbers]) -> None:
        self.rules[rule].append((False, len(self.calls), 1))
        self.calls.append((text, rank_holes, numbers))

    def _add_loop(self, loop: TargetLoop, rule: int) -> None:
        if loop.times < 0:
            raise InputError(f"a loop would have {loop.times} iterations")
        if loop.times == 0 or not any(n.present[int(self.members[0])] for n in loop.body):
            return
        if loop.times == 1:
            self.add(loop.body, rule)
            return
        number = len(self.rules)
        self.rules[rule].append((True, number, loop.times))
        self.rules.append([])
        self.add(loop.body, number)
