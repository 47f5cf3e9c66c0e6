"""What one rank does: Pilgrim's grammar with lines for its calls, and times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tisim.traces.program import Rule

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def sequence_of_calls(rules: Sequence[Rule]) -> NDArray[np.int32]:
    """The numbers of the signatures that a grammar stands for."""
    import numpy as np  # slow to load

    found: list[NDArray[np.int32]] = [np.empty(0, np.int32)] * len(rules)
    for rule in range(len(rules) - 1, -1, -1):
        parts = [
            np.tile(found[number], times) if is_rule else np.full(times, number, np.int32)
            for is_rule, number, times in rules[rule]
        ]
        found[rule] = np.concatenate(parts)
    return found[0]


def rules_of_lines(rules: Sequence[Rule], places: Mapping[int, Sequence[int]]) -> list[Rule]:
    """Put lines in the place of calls, between a first and a last line.

    Parameters
    ----------
    rules
        The grammar of calls.
    places
        For each call the numbers of its lines: none, one, or several. Line 0 begins the program,
        and line 1 ends it.

    Returns
    -------
    list
        The grammar of lines.
    """
    made: list[Rule] = [[] for _ in rules]
    repeated: list[Rule] = []
    for rule in range(len(rules) - 1, -1, -1):
        items = made[rule]
        for is_rule, number, times in rules[rule]:
            if is_rule:
                if made[number]:
                    items.append((True, number, times))
                continue
            lines: Rule = [(False, line, 1) for line in places[number]]
            if len(lines) == 1:
                items.append((False, places[number][0], times))
            elif times == 1:
                items.extend(lines)
            elif lines:
                items.append((True, len(rules) + len(repeated), times))
                repeated.append(lines)
    made[0] = [(False, 0, 1), *made[0], (False, 1, 1)]
    made += repeated
    kept = [number for number, items in enumerate(made) if items]
    new = {number: place for place, number in enumerate(kept)}
    return [
        [
            (is_rule, new[number] if is_rule else number, times)
            for is_rule, number, times in made[rule]
        ]
        for rule in kept
    ]


def seconds_before_lines(
    gaps: NDArray[np.float64], lines: NDArray[np.int64]
) -> NDArray[np.float64]:
    """How long the rank computes before each of its lines.

    Parameters
    ----------
    gaps
        For each call the seconds since the one before.
    lines
        How many lines each call has; what is computed before one without a line counts for the
        next line.
    """
    import numpy as np  # slow to load

    # One line before those of the calls, and one behind them.
    found = np.zeros(int(lines.sum()) + 2)
    written = np.flatnonzero(lines)
    passed = np.cumsum(gaps)
    first = 1 + np.cumsum(lines)[written] - lines[written]
    found[first] = np.diff(passed[written], prepend=0.0)
    done = passed[written[-1]] if len(written) else 0.0
    found[-1] = (passed[-1] if len(passed) else 0.0) - done
    return found
