"""The phases of a program, from its outline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tisim.traces.inspection_parts import OutlineLine, RankClass

# A loop with a smaller fraction of the calls is not a separate phase.
_LEAST_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of a program: a loop, or calls that are made once."""

    #: The number of iterations of the loop; 1 for calls that are made once.
    iterations: int
    #: The calls of one iteration.
    calls: int
    #: The actions of one iteration with their counts, as far as the outline contains them.
    actions: tuple[tuple[str, int], ...]
    #: True if the outline contains all of it.
    whole: bool


def phases_of(rank_class: RankClass) -> list[Phase]:
    """Return the phases of a class's program, in order."""
    phases: list[Phase] = []
    once: list[OutlineLine] = []
    for block in _blocks(rank_class.outline):
        head = block[0]
        share = head.times * head.calls / max(rank_class.calls, 1)
        if head.what == "loop" and share >= _LEAST_SHARE:
            if once:
                phases.append(_phase(once))
                once = []
            body = [_raised(line) for line in block[1:]]
            phases.append(_phase(body, head.times, head.calls))
        else:
            once.extend(block)
    if once:
        phases.append(_phase(once))
    return phases


def _blocks(lines: tuple[OutlineLine, ...]) -> Iterator[list[OutlineLine]]:
    """Yield the lines of the outermost level, each with the lines nested in it."""
    block: list[OutlineLine] = []
    for line in lines:
        if line.depth == 0 and block:
            yield block
            block = []
        block.append(line)
    if block:
        yield block


def _raised(line: OutlineLine) -> OutlineLine:
    return OutlineLine(line.what, line.depth - 1, line.times, line.text, line.calls)


def _phase(lines: list[OutlineLine], iterations: int = 1, calls: int | None = None) -> Phase:
    actions: dict[str, int] = {}
    around: list[int] = []  # iterations of the loops around a line
    for line in lines:
        del around[line.depth :]
        times = line.times
        for more in around:
            times *= more
        if line.what == "loop":
            around.append(line.times)
        elif line.what == "call":
            name = line.text.split(maxsplit=1)[0] if line.text.strip() else ""
            if name and not name.startswith("#"):
                actions[name] = actions.get(name, 0) + times
    whole = all(line.what != "left out" for line in lines)
    total = sum(line.times * line.calls for line in lines if line.depth == 0)
    return Phase(iterations, total if calls is None else calls, tuple(actions.items()), whole)
