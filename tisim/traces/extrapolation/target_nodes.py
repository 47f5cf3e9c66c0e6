"""The parts of the program at the target."""

from __future__ import annotations

from dataclasses import dataclass

from tisim.traces.extrapolation.nodes import Loop, Mask, Site
from tisim.traces.extrapolation.shapes import Numbers


@dataclass(eq=False)
class TargetCall:
    """A call at the target.

    Attributes
    ----------
    site
        What was recorded of it.
    present
        Which ranks make it.
    numbers
        Of each hole, the number of each rank, or one for all.
    volume
        Of the computation before it, where it was fitted.
    name
        What messages call it: the same at all numbers of ranks.
    """

    site: Site
    present: Mask
    numbers: list[Numbers]
    volume: int = 0
    name: str = ""


@dataclass(eq=False)
class TargetLoop:
    """A loop at the target."""

    loop: Loop
    present: Mask
    times: int
    body: list[TargetNode]


TargetNode = TargetCall | TargetLoop
