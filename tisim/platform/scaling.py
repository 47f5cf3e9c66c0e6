"""What-if: the same platform with other speeds, cores, bandwidths, latencies or sharing."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final

import numpy as np

from tisim.errors import InputError
from tisim.platform.columns import Resources
from tisim.platform.profiles import BANDWIDTH, LATENCY, ResourceProfile
from tisim.platform.topology import did_you_mean
from tisim.support.quantities import parse_bandwidth, parse_speed, parse_time

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tisim.platform.topology import Topology

Patterns = str | Sequence[str]

#: Quantities that a change scales or sets: parser of a value, unit, and example.
SCALED: Final[dict[str, tuple[Callable[[str, str], float], str, str]]] = {
    "bandwidth": (parse_bandwidth, "Bps", "2GBps"),
    "latency": (parse_time, "s", "2us"),
    "speed": (parse_speed, "f", "2Gf"),
}
_COLUMNS: Final = {
    "bandwidth": "link_bandwidth",
    "latency": "link_latency",
    "sharing": "link_fatpipe",
    "speed": "host_speed",
    "cores": "host_cores",
}
_NUMBER = r"([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)"
_FACTOR = re.compile(rf"x\s*{_NUMBER}|{_NUMBER}\s*x|{_NUMBER}\s*%", re.IGNORECASE)
_BARE = re.compile(_NUMBER, re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a machine: one quantity of the hosts or links that match a pattern.

    A `value` of bandwidth, latency or speed is a factor, ``"x2"``, or a value with a unit.
    """

    quantity: str
    pattern: Patterns
    value: float | str

    @property
    def name(self) -> str:
        """The quantity with its pattern, as axes of sweeps are named: ``bandwidth[switch-*]``."""
        patterns = self.pattern if isinstance(self.pattern, str) else ",".join(self.pattern)
        return self.quantity if patterns == "*" else f"{self.quantity}[{patterns}]"


def factor_of(text: str) -> float | None:
    """Return the factor of ``x2``, ``2x`` or ``200%``; None if the text is not a factor."""
    match = _FACTOR.fullmatch(text.strip())
    if match is None:
        return None
    return float(match[3]) / 100 if match[3] else float(match[1] or match[2])


def factor_text(factor: float) -> str:
    """Return a factor in the form shown in results, such as ``x2``."""
    return f"x{float(factor)!r}".removesuffix(".0")


def change_value(value: object, quantity: str) -> str:
    """Check a change of a bandwidth, latency or speed; return factors in the form ``x2``.

    Raises `InputError` for a bare number, and for anything that is neither a factor nor a value.
    """
    parse, _, example = SCALED[quantity]
    text = str(value).strip()
    is_bare = _BARE.fullmatch(text) is not None
    if is_bare or not isinstance(value, str):
        raise InputError(
            f"{quantity} must be changed by a factor or to a value with a unit, not {value!r}: use "
            f"{f'x{text}' if is_bare else 'x2'} or {example}"
        )
    factor = factor_of(text)
    if factor is None and text[:1] in "xX":
        raise InputError(f"a factor of the {quantity} must be written x2 or x0.5, not {value!r}")
    if factor is not None and not 0 <= factor < math.inf:
        what = f"a factor of the {quantity}"
        raise InputError(f"{what} must not be negative or infinite, not {value!r}")
    amount = parse(text, quantity) if factor is None else factor
    if quantity != "latency" and not amount > 0:
        raise InputError(f"the {quantity} must stay above zero; {value!r} makes it zero")
    return text if factor is None else factor_text(factor)


def apply(
    topology: Topology, resources: Resources, events: Iterable[ResourceProfile], change: Change
) -> tuple[Resources, tuple[ResourceProfile, ...]]:
    """Return the numbers and profiles of a platform after a change; see `Platform.scaled`."""
    chosen = matching(topology, change.quantity, change.pattern)
    column = _COLUMNS[change.quantity]
    values = getattr(resources, column).copy()
    value = change.value
    if change.quantity == "cores":
        if isinstance(value, str) or value != int(value) or value < 1:
            raise InputError(f"cores must be a whole number above zero, not {value!r}")
        values[chosen] = value
    elif change.quantity == "sharing":
        if value not in ("SHARED", "FATPIPE"):
            raise InputError(f"sharing must be SHARED or FATPIPE, not {value!r}")
        values[chosen] = value == "FATPIPE"
    else:
        text = change_value(value, change.quantity)
        factor = factor_of(text)
        if factor is None:
            values[chosen] = SCALED[change.quantity][0](text, change.quantity)
            events = [event for event in events if not _concerns(event, chosen, change.quantity)]
        else:
            values[chosen] *= factor
            events = _with_factor(events, chosen, change.quantity, factor)
    return resources.replaced(**{column: values}), tuple(events)


def matching(topology: Topology, quantity: str, patterns: Patterns) -> NDArray[np.bool_]:
    """Return a mask of the hosts or links (depending on the quantity) that match a pattern.

    A link matches with or without ``_UP`` and ``_DOWN``. Raises `InputError` if none matches.
    """
    if _COLUMNS[quantity].startswith("host"):
        what, names = "host", topology.host_names
        chosen = _matching(len(topology.hosts), topology.hosts.name, patterns, ())
    else:
        what, names = "link", topology.links.listed_names
        chosen = _matching(len(topology.links), topology.links.name, patterns, ("_UP", "_DOWN"))
        if topology.loopback >= 0:
            chosen[topology.loopback] = False
    if not chosen.any():
        first = patterns if isinstance(patterns, str) else next(iter(patterns), "")
        hint = did_you_mean(first, names())
        raise InputError(f"no {what} of the platform matches {patterns!r}{hint}")
    return chosen


def _matching(
    count: int, name: Callable[[int], str], patterns: Patterns, suffixes: tuple[str, ...]
) -> NDArray[np.bool_]:
    """Return a mask of the names that match one of the patterns, with or without a suffix."""
    wanted = [patterns] if isinstance(patterns, str) else list(patterns)
    if "*" in wanted:
        return np.ones(count, dtype=np.bool_)
    chosen = np.zeros(count, dtype=np.bool_)
    for index in range(count):
        full = name(index)
        names = [full, *(full.removesuffix(end) for end in suffixes if full.endswith(end))]
        chosen[index] = any(fnmatchcase(n, pattern) for n in names for pattern in wanted)
    return chosen


def _concerns(entry: ResourceProfile, chosen: NDArray[np.bool_], quantity: str) -> bool:
    """Return True for a profile of a changed link; host profiles are fractions of the speed."""
    kind = {"bandwidth": BANDWIDTH, "latency": LATENCY}.get(quantity)
    return entry.is_link and entry.what == kind and bool(chosen[entry.index])


def _with_factor(
    events: Iterable[ResourceProfile], chosen: NDArray[np.bool_], what: str, factor: float
) -> list[ResourceProfile]:
    result = []
    for entry in events:
        if _concerns(entry, chosen, what):
            values = tuple(value * factor for value in entry.profile.values)
            profile = dataclasses.replace(entry.profile, values=values)
            entry = dataclasses.replace(entry, profile=profile)
        result.append(entry)
    return result
