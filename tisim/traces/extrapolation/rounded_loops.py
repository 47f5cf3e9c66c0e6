"""Traces whose loops have rounded or mean numbers of iterations, as solvers that converge sooner or
later have.

A loop is what stands several times in a row in the grammar of a class of ranks, without such a loop
of changing length in it. All its occurrences in a rank are one loop. Iterations that are left out
are the last ones; those that are added repeat the first ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tisim.errors import InputError
from tisim.traces.checking import check
from tisim.traces.extrapolation.rounded_sizes import bins
from tisim.traces.packed_program import COMPUTE_SHAPE, PackedTrace, RankClass, Rules
from tisim.traces.trace import Trace
from tisim.traces.writer import write_trace

_NOTE = "# iterations are kept as {} (tisim pack --iterations)\n"
# What is repeated: whether it is a rule, and its number.
_Body = tuple[bool, int]


def write_rounded_loops(source: Path, output: Path, level: str) -> None:
    """Write a packed trace with other numbers of iterations.

    Raises InputError where ranks would no longer fit to each other.
    """
    trace = PackedTrace(source)
    with write_trace(output, trace.ranks) as writer:
        of_rank = {int(rank): made for made in trace.classes for rank in made.ranks}
        kept: dict[int, NDArray[np.int64]] = {}
        for rank in range(trace.ranks):
            made = of_rank[rank]
            if id(made) not in kept:
                kept[id(made)] = _kept(made.rules, _counts_instead(made.rules, level))
            texts = list(_texts(trace, made, rank))
            lines = (f"{texts[place]}\n" for place in kept[id(made)].tolist())
            writer.write_rank(rank, (_NOTE.format(level), *lines))
    if check(Trace.open(source)).sound and not check(Trace.open(output)).sound:
        raise InputError(
            f"with --iterations {level} ranks would no longer fit to each other: the numbers of "
            "iterations differ from rank to rank; keep them exact"
        )


def _texts(trace: PackedTrace, made: RankClass, rank: int) -> Iterator[str]:
    """The lines of each call, with the computation before it."""
    lines = trace.lines(rank)
    for place in trace.calls(rank)[0].tolist():
        shape = trace.signatures[made.calls[place]].shape
        text = next(lines).decode()
        has_call = shape == COMPUTE_SHAPE or trace.shapes[shape].is_silent
        if made.has_volumes and not has_call and text.partition(" ")[2].startswith("compute "):
            text += "\n" + next(lines).decode()
        yield text


def _counts_instead(rules: Rules, level: str) -> dict[tuple[_Body, int], int]:
    """The number of iterations in the place of each, by loop."""
    times_made = _times_made(rules)
    found: dict[_Body, Counter[int]] = {}
    for number, rule in enumerate(rules):
        for is_rule, item, times in rule:
            if times > 1:
                found.setdefault((is_rule, item), Counter())[times] += times_made[number]
    # Rules with a loop of changing length in them.
    uneven: set[int] = set()
    for number in reversed(_outer_first(rules)):
        for is_rule, item, times in rules[number]:
            if (is_rule and item in uneven) or (times > 1 and len(found[is_rule, item]) > 1):
                uneven.add(number)
    instead: dict[tuple[_Body, int], int] = {}
    for body, counts in found.items():
        if body[0] and body[1] in uneven:
            continue
        for members in bins(sorted(counts), level):
            total = sum(counts[times] for times in members)
            mean = round(sum(times * counts[times] for times in members) / total)
            instead.update(((body, times), mean) for times in members)
    return instead


def _times_made(rules: Rules) -> list[int]:
    """How often each rule stands in the program."""
    made = [0] * len(rules)
    made[0] = 1
    for number in _outer_first(rules):
        for is_rule, item, times in rules[number]:
            if is_rule:
                made[item] += made[number] * times
    return made


def _outer_first(rules: Rules) -> list[int]:
    """Rules, each before those in it."""
    order: list[int] = []
    seen: set[int] = set()

    def visit(number: int) -> None:
        seen.add(number)
        for is_rule, item, _ in rules[number]:
            if is_rule and item not in seen:
                visit(item)
        order.append(number)

    visit(0)
    return order[::-1]


def _kept(rules: Rules, instead: Mapping[tuple[_Body, int], int]) -> NDArray[np.int64]:
    """The places of the calls that are left, some several times, in the sequence as it was."""
    lengths = [0] * len(rules)
    kept: list[NDArray[np.int64]] = [np.zeros(0, np.int64)] * len(rules)
    for number in reversed(_outer_first(rules)):
        parts = [np.zeros(0, np.int64)]
        at = 0
        for is_rule, item, times in rules[number]:
            length = lengths[item] if is_rule else 1
            body = kept[item] if is_rule else np.zeros(1, np.int64)
            left = instead.get(((is_rule, item), times), times)
            starts = at + np.arange(left) % times * length
            parts.append((starts[:, None] + body).ravel())
            at += times * length
        lengths[number], kept[number] = at, np.concatenate(parts)
    return kept[0]
