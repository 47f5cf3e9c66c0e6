"""What-if: the same platform with other speeds, cores, bandwidths, latencies or sharing."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import numpy as np

from tisim.errors import InputError
from tisim.platform.columns import Resources
from tisim.platform.profiles import BANDWIDTH, LATENCY, ResourceProfile
from tisim.platform.topology import did_you_mean
from tisim.support.quantities import parse_bandwidth, parse_speed, parse_time

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tisim.platform.topology import Topology

Change = float | str | None
Patterns = str | Sequence[str]


def scale_links(
    topology: Topology,
    resources: Resources,
    events: Iterable[ResourceProfile],
    patterns: Patterns,
    bandwidth: Change,
    latency: Change,
    sharing: str | None,
) -> tuple[Resources, tuple[ResourceProfile, ...]]:
    """Change the links whose names match; see `Platform.scaled`."""
    chosen = _matching_links(topology, patterns)
    bandwidths, events = _changed(
        resources.link_bandwidth, chosen, bandwidth, "bandwidth", parse_bandwidth, events
    )
    latencies, events = _changed(
        resources.link_latency, chosen, latency, "latency", parse_time, events
    )
    if chosen.any() and bandwidths[chosen].min() <= 0:
        raise InputError(f"a link's bandwidth must stay above zero, {bandwidth!r} makes it zero")
    fatpipes = resources.link_fatpipe
    if sharing is not None:
        if sharing not in ("SHARED", "FATPIPE"):
            raise InputError(f"sharing is SHARED or FATPIPE, not {sharing!r}")
        fatpipes = fatpipes.copy()
        fatpipes[chosen] = sharing == "FATPIPE"
    changed = resources.replaced(
        link_bandwidth=bandwidths, link_latency=latencies, link_fatpipe=fatpipes
    )
    return changed, tuple(events)


def scale_hosts(
    topology: Topology,
    resources: Resources,
    events: Iterable[ResourceProfile],
    patterns: Patterns,
    speed: Change,
    cores: int | None,
) -> tuple[Resources, tuple[ResourceProfile, ...]]:
    """Change the hosts whose names match; see `Platform.scaled`."""
    chosen = _matching_hosts(topology, patterns)
    # A host's profile gives fractions of its speed, whatever that is.
    speeds, _ = _changed(resources.host_speed, chosen, speed, "speed", parse_speed, ())
    if chosen.any() and speeds[chosen].min() <= 0:
        raise InputError(f"a host's speed must stay above zero, {speed!r} makes it zero")
    counts = resources.host_cores
    if cores is not None:
        if cores != int(cores) or cores < 1:
            raise InputError(f"cores is a whole number above zero, not {cores!r}")
        counts = counts.copy()
        counts[chosen] = cores
    changed = resources.replaced(host_speed=speeds, host_cores=counts)
    return changed, tuple(events)


def _matching_links(topology: Topology, patterns: Patterns) -> NDArray[np.bool_]:
    links = topology.links
    chosen = _matching(len(links), links.name, patterns, ("_UP", "_DOWN"))
    if topology.loopback >= 0:
        chosen[topology.loopback] = False
    if not chosen.any():
        hint = did_you_mean(_first(patterns), links.listed_names())
        raise InputError(f"no link of the platform matches {patterns!r}{hint}")
    return chosen


def _matching_hosts(topology: Topology, patterns: Patterns) -> NDArray[np.bool_]:
    chosen = _matching(len(topology.hosts), topology.hosts.name, patterns, ())
    if not chosen.any():
        hint = did_you_mean(_first(patterns), topology.host_names())
        raise InputError(f"no host of the platform matches {patterns!r}{hint}")
    return chosen


def _first(patterns: Patterns) -> str:
    return patterns if isinstance(patterns, str) else next(iter(patterns), "")


def _matching(
    count: int, name: Callable[[int], str], patterns: Patterns, suffixes: tuple[str, ...]
) -> NDArray[np.bool_]:
    """Mask of the names that match one of the patterns, with or without a suffix."""
    wanted = [patterns] if isinstance(patterns, str) else list(patterns)
    if "*" in wanted:
        return np.ones(count, dtype=np.bool_)
    chosen = np.zeros(count, dtype=np.bool_)
    for index in range(count):
        full = name(index)
        names = [full, *(full.removesuffix(end) for end in suffixes if full.endswith(end))]
        chosen[index] = any(fnmatchcase(n, pattern) for n in names for pattern in wanted)
    return chosen


def _changed(
    values: NDArray[np.float64],
    chosen: NDArray[np.bool_],
    change: Change,
    what: str,
    parse: Callable[[str, str], float],
    events: Iterable[ResourceProfile],
) -> tuple[NDArray[np.float64], Iterable[ResourceProfile]]:
    """The values after a change, and the profiles that say how these change over time."""
    if change is None:
        return values, events
    changed = values.copy()
    change = factor_of(change, what)
    if isinstance(change, str):
        changed[chosen] = parse(change, what)
        return changed, _without(events, chosen, what)
    if not 0 <= change < float("inf"):
        raise InputError(f"a factor of the {what} must not be negative, {change!r} is")
    changed[chosen] *= change
    return changed, _with_factor(events, chosen, what, change)


def factor_of(change: float | str, what: str) -> float | str:
    """A change that is written as a factor, ``"x2"``, as the number; any other as it is."""
    if not isinstance(change, str) or not change.startswith("x"):
        return change
    try:
        return float(change[1:])
    except ValueError:
        raise InputError(f"a factor of the {what} is written x2 or x0.5, not {change!r}") from None


def _concerns(entry: ResourceProfile, chosen: NDArray[np.bool_], what: str) -> bool:
    kind = BANDWIDTH if what == "bandwidth" else LATENCY
    return entry.is_link and entry.what == kind and bool(chosen[entry.index])


def _without(
    events: Iterable[ResourceProfile], chosen: NDArray[np.bool_], what: str
) -> list[ResourceProfile]:
    return [entry for entry in events if not _concerns(entry, chosen, what)]


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
