"""What the links of clusters join, in words."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from tisim.platform.zones.cluster import ClusterZone

if TYPE_CHECKING:
    from tisim.platform.zones.base import Zone
    from tisim.platform.zones.wiring import Integers


def cable_words(root: Zone, links: Collection[int]) -> dict[int, str]:
    """What links of clusters join: ``node-3 to switch 0 of level 1``; others are left out.

    Parameters
    ----------
    root
        The outermost zone of the platform.
    links
        The links that matter, by index.
    """
    import numpy as np

    wanted = np.fromiter(links, np.int64, len(links))
    words: dict[int, str] = {}
    for zone in root.walk():
        if isinstance(zone, ClusterZone):
            words |= _words_of(zone, wanted)
    return words


def limiters_of(root: Zone, links: Collection[int]) -> set[int]:
    """The links that are no cables, but limit what passes a host or switch both ways.

    Parameters
    ----------
    root
        The outermost zone of the platform.
    links
        The links that matter, by index.
    """
    clusters = [zone for zone in root.walk() if isinstance(zone, ClusterZone)]
    return {*links} & {int(link) for zone in clusters for link in zone.wiring().limiters}


def _words_of(zone: ClusterZone, wanted: Integers) -> dict[int, str]:
    import numpy as np

    wiring = zone.wiring()
    words: dict[int, str] = {}
    used = np.isin(wiring.links, wanted)
    ends = (array[used].tolist() for array in (wiring.links, wiring.tails, wiring.heads))
    for link, tail, head in zip(*ends, strict=True):
        if link in words:
            # One link for both directions.
            words[link] = words[link].replace(" to ", " and ", 1)
        else:
            words[link] = f"{zone.vertex_name(tail)} to {zone.vertex_name(head)}"
    used = np.isin(wiring.limiters, wanted)
    ends = (array[used].tolist() for array in (wiring.limiters, wiring.limited))
    for link, vertex in zip(*ends, strict=True):
        words[link] = f"all that passes {zone.vertex_name(vertex)}"
    return words
