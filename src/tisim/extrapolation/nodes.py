"""The parts of the merged program: calls, loops and stages."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tisim.extrapolation.peers import PeerForm
from tisim.extrapolation.shapes import Numbers, Shape

Mask = NDArray[np.bool_]


@dataclass(eq=False)
class Site:
    """A call of the merged program.

    Attributes
    ----------
    shape
        Its text.
    present
        Of each trace, which ranks make it.
    numbers
        Of each trace and hole, the number of each rank.
    forms
        Of each hole that takes a rank, the formulas that hold so far; below 0, of the holes of the
        calls that started the requests that it names.
    volumes
        Of each trace, what each rank computes before the call on average; where it is fitted.
    varying
        The holes, but those that take ranks, whose numbers differ between ranks of one class.
    """

    shape: Shape
    present: list[Mask]
    numbers: list[list[Numbers]]
    forms: dict[int, frozenset[PeerForm]]
    volumes: list[NDArray[np.float64]]
    varying: frozenset[int] = frozenset()

    @cached_property
    def support(self) -> int:
        """How many ranks of all traces make it."""
        return sum(int(mask.sum()) for mask in self.present)

    @cached_property
    def plain_holes(self) -> list[int]:
        """The holes that take no ranks."""
        return [hole for hole in range(len(self.shape.marks)) if hole not in self.forms]

    @cached_property
    def firsts(self) -> list[dict[int, int]]:
        """Of each hole, the number of the first rank that makes the call, by trace."""
        ranks = {size: int(mask.argmax()) for size, mask in enumerate(self.present) if mask.any()}
        return [
            {size: int(self.numbers[size][hole][rank]) for size, rank in ranks.items()}
            for hole in range(len(self.shape.marks))
        ]

    @cached_property
    def constants(self) -> dict[int, tuple[int, ...]]:
        """Of each trace that has the call, its numbers but ranks, where none of them differ."""
        if self.varying:
            return {}
        known = [of for hole, of in enumerate(self.firsts) if hole not in self.forms]
        sizes = [size for size, mask in enumerate(self.present) if mask.any()]
        return {size: tuple(of[size] for of in known) for size in sizes}

    @cached_property
    def ranges(self) -> list[tuple[int, int]]:
        """Of each hole, the least and the largest number."""
        made = []
        for hole in range(len(self.shape.marks)):
            seen = [of[hole][mask] for of, mask in zip(self.numbers, self.present, strict=True)]
            numbers = np.concatenate(seen)
            made.append((int(numbers.min()), int(numbers.max())))
        return made

    @cached_property
    def kind(self) -> tuple[object, ...]:
        """All that tells what it is worth as the same call as another one."""
        forms = tuple((hole, self.forms[hole]) for hole in sorted(self.forms))
        plain = tuple(
            (self.ranges[hole], tuple(self.firsts[hole].items())) for hole in self.plain_holes
        )
        return self.shape, self.varying, tuple(self.constants.items()), forms, plain


@dataclass(eq=False)
class Loop:
    """A loop of the merged program.

    Attributes
    ----------
    present
        Of each trace, which ranks come to it.
    times
        Of each trace, how many iterations each rank makes.
    body
        What is repeated.
    """

    present: list[Mask]
    times: list[Numbers]
    body: list[Node]

    @cached_property
    def support(self) -> int:
        """How many ranks of all traces come to it."""
        return sum(int(mask.sum()) for mask in self.present)


@dataclass(frozen=True, order=True)
class StagedForm:
    """A formula for a rank that depends on the stage, or does not.

    Attributes
    ----------
    kind, sign
        As in `PeerForm`; the distance has this sign.
    doubles
        Whether the distance is 2^stage, and not stage + 1.
    fixed
        The formula of all stages, where it does not depend on them.
    """

    kind: str
    sign: int = 1
    doubles: bool = True
    fixed: PeerForm | None = None

    def at(self, stage: int) -> PeerForm:
        """The formula in a stage."""
        if self.fixed is not None:
            return self.fixed
        return PeerForm(self.kind, (self.sign * (1 << stage if self.doubles else stage + 1),))


@dataclass(eq=False)
class Stages:
    """Stages of the merged program.

    Attributes
    ----------
    sites
        Of each stage of the largest trace, from stage 0, its calls.
    counts
        How many stages each trace has.
    falls
        Whether the last stage comes first.
    forms
        Of each call and hole that takes a rank, the formulas that hold in all stages.
    """

    sites: list[list[Site]]
    counts: list[int]
    falls: bool
    forms: list[dict[int, list[StagedForm]]]


Node = Site | Loop | Stages


def described(node: Site | Loop, at: str) -> str:
    """A part of the program as messages call it: what it is, and its path."""
    if isinstance(node, Loop):
        return f"loop {at}".rstrip()
    return f"{f'call {at}'.rstrip()} ({node.shape.shown()})"
