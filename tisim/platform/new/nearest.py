"""The nearest numbers of hosts that fit a topology, for messages."""

from __future__ import annotations

from collections.abc import Callable

from tisim.errors import InputError

# No number of hosts is looked for farther away than this.
_FARTHEST = 1 << 17


def refusal(nodes: int, what: str, fits: Callable[[int], bool], remedy: str = "") -> InputError:
    """The error that says that a number of hosts does not fit, and which ones near it do.

    Parameters
    ----------
    nodes
        The number that does not fit.
    what
        What has no such number of hosts: ``"a fat tree of switches with 36 ports"``.
    fits
        Whether another number does.
    remedy
        What else a user can do; empty for nothing.
    """
    below = next((n for n in range(nodes - 1, max(nodes - _FARTHEST, 0), -1) if fits(n)), None)
    above = next((n for n in range(nodes + 1, nodes + _FARTHEST) if fits(n)), None)
    near = " and ".join(f"{n}" for n in (below, above) if n is not None)
    hint = f"; the nearest that it can have: {near}" if near else ""
    return InputError(f"{what} cannot have {nodes} hosts{hint}{remedy}")


def checked_count(value: int, what: str, least: int = 1) -> int:
    """A whole number that is large enough.

    Raises
    ------
    InputError
        If it is not.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InputError(f"{what} is a whole number, at least {least}, not {value!r}")
    return value
