"""Detect switches, and hosts that differ, from messages between all pairs of hosts.

In each round of the benchmark every host has a partner, and all pairs send concurrently. Each host
has a cable, whose bandwidth is that with its best partner. Two hosts whose messages are slower than
both cables explain, when others also send, share a link: they are behind different switches, and
messages that cross between two switches in one round share the trunk. If the bandwidth does not
distinguish switches, the latency of the pairs does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tisim.studies.calibration.line import Floats

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from tisim.studies.calibration.measurements import Measurements

# Relative difference below which a cable counts as usual.
_ALIKE = 0.15
# Factor by which pairs of different switches are slower than the others, averaged over the rounds;
# or the factor of their time per byte.
_SLOWER, _FARTHER = 1.15, 1.6
# Maximum distance between hosts within a switch, relative to that between switches.
_INSIDE = 0.5
# Factor by which crossing messages are slower when a trunk is busy.
_BUSY = 1.2


@dataclass(frozen=True)
class Trunk:
    """Cable between a switch and the other switches, relative to the usual cable."""

    bandwidth: float | None  # None: never saturated in the measurements
    delay: float  # seconds that it adds to a message


@dataclass(frozen=True)
class Switches:
    """Hosts with their cables, and the switches that they are connected to.

    Parameters
    ----------
    hosts
        Names, in order.
    cables
        Bandwidth of each host's cable, relative to the usual one; 1 for all that are alike.
    switch
        Switch number of each host.
    trunks
        One per switch; empty if there is one switch.
    pair
        The two hosts between which single messages were measured.
    """

    hosts: tuple[str, ...]
    cables: tuple[float, ...]
    switch: tuple[int, ...]
    trunks: tuple[Trunk, ...]
    pair: tuple[str, str]

    @property
    def is_uniform(self) -> bool:
        """True if all hosts are alike, and on one switch."""
        return not self.trunks and set(self.cables) == {1.0}

    def min_bandwidth(self, one: str, other: str) -> float:
        """Return the least bandwidth between two hosts, relative to the usual cable."""
        a, b = self.hosts.index(one), self.hosts.index(other)
        found = [self.cables[a], self.cables[b]]
        if self.switch[a] != self.switch[b]:
            widths = (self.trunks[self.switch[host]].bandwidth for host in (a, b))
            found += [width for width in widths if width is not None]
        return min(found)

    def text(self) -> str:
        """Return the findings in sentences."""
        if self.is_uniform:
            return f"Network: {len(self.hosts)} hosts on one switch, all alike."
        lines = [f"Network: {len(self.hosts)} hosts."]
        different = [
            f"{host} ({cable:.0%})"
            for host, cable in zip(self.hosts, self.cables, strict=True)
            if cable != 1.0
        ]
        if different:
            lines.append(
                f"Cables that differ, relative to the typical one: {', '.join(different)}."
            )
        for number, trunk in enumerate(self.trunks):
            members = [
                host for host, own in zip(self.hosts, self.switch, strict=True) if own == number
            ]
            width = (
                "was never saturated"
                if trunk.bandwidth is None
                else f"carries {trunk.bandwidth:.3g} times a cable"
            )
            lines.append(
                f"Switch {number}: {', '.join(members)}; its trunk {width} and adds "
                f"{trunk.delay * 1e6:.3g} us."
            )
        return "\n".join(lines)


@dataclass(frozen=True)
class Weight:
    """Mean error of fan-outs and incasts for each ``network/weight-S``."""

    errors: dict[float, float]

    @property
    def value(self) -> float:
        """The weight with the smallest error, in bytes; of equal ones the first."""
        return min(self.errors, key=lambda weight: round(self.errors[weight], 3))

    def text(self) -> str:
        """Return the finding in a sentence."""
        tried = ", ".join(f"{error:.1%} with {weight:g}" for weight, error in self.errors.items())
        return (
            f"Fan-outs and incasts of all hosts are simulated {tried} off: network/weight-S is "
            f"{self.value:g}."
        )


def find_switches(measured: Measurements, bandwidth: float) -> Switches | None:
    """Return the network of the measuring hosts; None without all pairs of at least three hosts.

    `bandwidth` is what streams achieve between the two hosts that measured single messages, in
    bytes/s. Single messages are faster if links pass a burst without delay.
    """
    frame = measured.frame
    beside = frame[frame["operation"] == "beside"]
    trips = frame[frame["operation"] == "short_trip"]
    if beside.empty or trips.empty:
        return None
    hosts = tuple(sorted({*beside["host"], *beside["peer"]}, key=_natural))
    number = {host: place for place, host in enumerate(hosts)}
    sent = beside.assign(
        source=beside["host"].map(number),
        target=beside["peer"].map(number),
        rate=beside["bytes"] / beside["seconds"],
    )
    trip = _shortest(trips, number)
    count = len(hosts)
    if count < 3 or len(sent.groupby(["source", "target"])) < count * (count - 1):
        return None
    usual, cables = _cables(sent, count)
    sent = sent.assign(
        slower=np.minimum(cables[sent["source"]], cables[sent["target"]]) * usual / sent["rate"]
    )
    switch = _groups(_pair_means(sent, count), _SLOWER)
    if switch.max() == 0:
        switch = _groups(np.log(trip / trip[np.isfinite(trip)].min()), _FARTHER)
    switch = _by_first(switch)
    is_inside = (switch[:, None] == switch[None, :]) & ~np.eye(count, dtype=bool)
    inside = float(np.median(trip[is_inside])) if is_inside.any() else float(np.nanmin(trip))
    single = frame.loc[frame["operation"] == "pingpong"]
    pair = (str(single["host"].iloc[0]), str(single["peer"].iloc[0]))
    # Messages in a trunk are many, compared to which the burst of its link is negligible.
    cable = bandwidth / min(cables[number[host]] for host in pair)
    trunks = _trunks(sent, switch, trip, inside, cable) if switch.max() > 0 else ()
    return Switches(hosts, tuple(map(float, cables)), tuple(map(int, switch)), trunks, pair)


def _natural(name: str) -> list[tuple[str, int]]:
    """Natural sort key: node-2 sorts before node-10."""
    return [(text, int(digits or 0)) for text, digits in re.findall(r"(\D*)(\d*)", name)]


def _shortest(trips: pd.DataFrame, number: dict[str, int]) -> Floats:
    """Return the minimum time of a byte between each two hosts, in seconds; infinite if unknown."""
    found = np.full((len(number), len(number)), np.inf)
    for one, other, seconds in zip(trips["host"], trips["peer"], trips["seconds"], strict=True):
        a, b = number[one], number[other]
        found[a, b] = found[b, a] = min(found[a, b], seconds)
    return found


def _cables(sent: pd.DataFrame, count: int) -> tuple[float, Floats]:
    """Return the usual cable in bytes/s, and each host's relative to it."""
    best = sent.groupby(["source", "target"])["rate"].max()
    both = [best.groupby(end).max() for end in ("source", "target")]
    reached = np.minimum(*(ends.reindex(range(count)).to_numpy() for ends in both))
    usual = float(np.median(reached))
    relative = reached / usual
    return usual, np.where(np.abs(relative - 1) < _ALIKE, 1.0, relative)


def _pair_means(sent: pd.DataFrame, count: int) -> Floats:
    """Return the log slowdown of each pair relative to its cables, averaged over its rounds."""
    found = np.zeros((count, count))
    for (a, b), slower in sent["slower"].groupby([sent["source"], sent["target"]]):
        found[a, b] = float(np.log(np.maximum(slower, 1.0)).mean())
    return (found + found.T) / 2


def _groups(distance: Floats, factor: float) -> NDArray[np.int64]:
    """Group nearby hosts: average linkage, cut at the widest gap.

    One group if pairs of different groups differ by less than `factor`, or pairs within a group by
    more than a fraction of that.
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    count = len(distance)
    alone = np.zeros(count, dtype=np.int64)
    condensed = squareform(np.where(np.eye(count, dtype=bool), 0.0, distance), checks=False)
    if not np.isfinite(condensed).all():
        return alone
    tree = linkage(condensed, "average")
    heights = tree[:, 2]
    gaps = np.diff(heights, prepend=0.0)
    cut = int(np.argmax(gaps))
    below = heights[cut] - gaps[cut]
    if cut == 0 or gaps[cut] < np.log(factor) or below > _INSIDE * heights[cut]:
        return alone
    return np.asarray(fcluster(tree, below + gaps[cut] / 2, "distance") - 1, dtype=np.int64)


def _by_first(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the same groups, numbered in the order of their first hosts."""
    order = {group: place for place, group in enumerate(dict.fromkeys(groups.tolist()))}
    return np.array([order[group] for group in groups.tolist()])


def _trunks(
    sent: pd.DataFrame, switch: NDArray[np.int64], trip: Floats, inside: float, cable: float
) -> tuple[Trunk, ...]:
    """Return the bandwidth and latency of the trunk of each switch.

    Messages that cross it in one round have all arrived when the last one has: until then it was
    busy, if they were slow. With two switches, both ends are one trunk.
    """
    crossing = sent[switch[sent["source"]] != switch[sent["target"]]]
    trunks = []
    for number in range(switch.max() + 1):
        widths = []
        for end in ("source", "target"):
            own = crossing[switch[crossing[end]] == number]
            for _, rows in own.groupby("round"):
                if rows["slower"].mean() > _BUSY:
                    widths.append(rows["bytes"].sum() / rows["seconds"].max() / cable)
        ends = np.flatnonzero(switch == number)
        others = np.flatnonzero(switch != number)
        delay = float(np.median(trip[np.ix_(ends, others)])) - inside
        trunks.append((widths, delay / (2 if switch.max() > 1 else 1)))
    return tuple(
        Trunk(float(np.median(widths)) if widths else None, max(delay, 0.0))
        for widths, delay in trunks
    )
