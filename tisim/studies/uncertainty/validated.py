"""How wrong predictions were of programs with real runs, by what decided their time.

An interval counts in the errors of programs that spend their time like the one at hand. The weight
of a validated program is the cube of the part of the communicating time in which both are alike: of
130 programs, predicted from those of other groups, the first power held as many real times with
intervals half as wide again. An error counts either way: whether the few programs of a kind were
too fast or too slow says little of the next one. How long computations take was measured apart, so
that errors are relative to the time that is not computation.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from tisim.analysis.timeline.time_kinds import COMPUTING, KINDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: The share of the predicted time of each kind.
Shares = Mapping[str, float]
_POWER = 3
# The weight of a program unlike all validated ones.
_LEAST_WEIGHT = 1e-4
# A smaller part than this of a program's communication is noise.
_LEAST_PART = 0.1


@dataclass(frozen=True)
class Validated:
    """A program that was run and predicted."""

    name: str
    error: float  # the natural logarithm of the real over the predicted time
    shares: Shares = field(default_factory=dict)  # empty: not known


def likely_ratios(
    programs: Sequence[Validated], shares: Shares
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The distribution of the real time over the predicted one.

    Takes the shares of the program at hand; where they are not known, all others are as likely.
    """
    import numpy as np

    own, part = _communication(shares)
    ratios, weights = np.ones((len(programs), 2)), np.ones((len(programs), 2))
    for place, program in enumerate(programs):
        other, other_part = _communication(program.shares)
        wrong = np.expm1([program.error, -program.error])
        if shares and program.shares:
            alike = sum(min(own[kind], other[kind]) for kind in own)
            weights[place] = alike**_POWER + _LEAST_WEIGHT
            wrong *= part / max(other_part, _LEAST_PART)
        ratios[place] = np.maximum(1.0 + wrong, 0.0)
    return ratios.ravel(), weights.ravel()


def _communication(shares: Shares) -> tuple[dict[str, float], float]:
    """The shares of the time that is not computation, and its part of all time."""
    part = 1.0 - shares.get(COMPUTING, 0.0)
    kinds = [kind for kind in KINDS if kind != COMPUTING]
    return {kind: shares.get(kind, 0.0) / max(part, 1e-9) for kind in kinds}, part


def quantile(values: NDArray[np.float64], weights: NDArray[np.float64], level: float) -> float:
    """A quantile of weighted values, linear between the middles of their weights."""
    import numpy as np

    order = np.argsort(values)
    below = np.cumsum(weights[order]) - weights[order] / 2
    return float(np.interp(level * weights.sum(), below, values[order]))


def to_columns(programs: Sequence[Validated]) -> dict[str, list[object]]:
    """The programs as they stand in files."""
    return {
        "validated": [program.name for program in programs],
        "errors": [program.error for program in programs],
        "shares": [
            {kind: round(part, 4) for kind, part in program.shares.items()} for program in programs
        ],
    }


def from_columns(content: Mapping[str, object]) -> tuple[Validated, ...] | None:
    """The programs in the content of a file; None if it is damaged.

    Files of older versions have no shares, and may have no names.
    """
    errors = content.get("errors", [])
    if not isinstance(errors, list):
        return None
    names = content.get("validated") or ["" for _ in errors]
    shares = content.get("shares") or [{} for _ in errors]
    if not isinstance(names, list) or not isinstance(shares, list):
        return None
    if not len(errors) == len(names) == len(shares):
        return None
    if not all(isinstance(error, float) and math.isfinite(error) for error in errors):
        return None
    if not all(
        isinstance(share, dict) and all(isinstance(part, int | float) for part in share.values())
        for share in shares
    ):
        return None
    return tuple(map(Validated, map(str, names), errors, shares))


@cache
def shipped_programs() -> tuple[Validated, ...]:
    """The programs that `make validate` has compared; docs/validation.md says where and when."""
    content = json.loads(Path(__file__).with_name("validated.json").read_text())
    programs = from_columns(content)
    assert programs is not None
    return programs
