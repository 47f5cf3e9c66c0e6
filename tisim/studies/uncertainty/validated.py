"""Errors of predictions of programs with real runs, with the kinds of their time.

An interval includes the errors of programs that spend their time like the one at hand. The weight
of a validated program is the cube of the fraction of communication time that both have in common:
for 130 programs, predicted from those of other groups, the first power had the same coverage with
intervals 50 % wider. An error counts in both directions: whether the few programs of a kind were
too fast or too slow does not predict the next one. The time of computations was measured
separately, so that errors are relative to the remaining time.
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

#: Fraction of the predicted time of each kind.
Shares = Mapping[str, float]
_POWER = 3
# Weight of a program unlike all validated ones.
_MIN_WEIGHT = 1e-4
# A smaller fraction of communication in a program is noise.
_MIN_PART = 0.1


@dataclass(frozen=True)
class Validated:
    """A program with a real run and a prediction."""

    name: str
    error: float  # natural logarithm of the real over the predicted time
    shares: Shares = field(default_factory=dict)  # empty: unknown


def likely_ratios(
    programs: Sequence[Validated], shares: Shares
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the distribution of the real over the predicted time: ratios and weights.

    `shares` are those of the program at hand; if they are unknown, all programs weigh the same.
    """
    import numpy as np

    own, part = _communication(shares)
    ratios, weights = np.ones((len(programs), 2)), np.ones((len(programs), 2))
    for place, program in enumerate(programs):
        other, other_part = _communication(program.shares)
        wrong = np.expm1([program.error, -program.error])
        if shares and program.shares:
            alike = sum(min(own[kind], other[kind]) for kind in own)
            weights[place] = alike**_POWER + _MIN_WEIGHT
            wrong *= part / max(other_part, _MIN_PART)
        ratios[place] = np.maximum(1.0 + wrong, 0.0)
    return ratios.ravel(), weights.ravel()


def _communication(shares: Shares) -> tuple[dict[str, float], float]:
    """Return the fractions of the time that is not computation, and its fraction of all time."""
    part = 1.0 - shares.get(COMPUTING, 0.0)
    kinds = [kind for kind in KINDS if kind != COMPUTING]
    return {kind: shares.get(kind, 0.0) / max(part, 1e-9) for kind in kinds}, part


def quantile(values: NDArray[np.float64], weights: NDArray[np.float64], level: float) -> float:
    """Return a quantile of weighted values, linear between the centres of their weights."""
    import numpy as np

    order = np.argsort(values)
    below = np.cumsum(weights[order]) - weights[order] / 2
    return float(np.interp(level * weights.sum(), below, values[order]))


def to_columns(programs: Sequence[Validated]) -> dict[str, list[object]]:
    """Return the programs in the form used in files."""
    return {
        "validated": [program.name for program in programs],
        "errors": [program.error for program in programs],
        "shares": [
            {kind: round(part, 4) for kind, part in program.shares.items()} for program in programs
        ],
    }


def from_columns(content: Mapping[str, object]) -> tuple[Validated, ...] | None:
    """Return the programs in the content of a file; None if it is damaged.

    Files of older versions lack shares, and may lack names.
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
    """Return the programs compared by `make validate`; see docs/validation.md for details."""
    content = json.loads(Path(__file__).with_name("validated.json").read_text())
    programs = from_columns(content)
    assert programs is not None
    return programs
