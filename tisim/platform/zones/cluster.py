"""Base of all ``<cluster>`` zones: parameters, links numbered by arithmetic, wiring."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from array import array
from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Self

from tisim.platform.columns import LINK_COLUMNS
from tisim.platform.zones.base import Zone

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tisim.platform.hosts import Radical

    Integers = NDArray[np.int64]


class Wiring(NamedTuple):
    """Links between vertices. The vertices are the hosts, from 0, and then the switches.

    Attributes
    ----------
    tails, heads, links
        A row a direction of a cable: from which vertex to which it carries messages, and the index
        of its link.
    limited, limiters
        Vertices that have a limiter, and the index of the link that it is.
    """

    tails: Integers
    heads: Integers
    links: Integers
    limited: Integers
    limiters: Integers


class LinkKind(NamedTuple):
    """Links of a cluster that are all alike.

    Attributes
    ----------
    role
        Which of the kinds of a `ClusterSpec` they are, by the name of its attribute.
    bandwidth, latency, fatpipe
        In bytes/s and seconds; whether the bandwidth bounds each flow by itself.
    burst
        Bytes that they pass at once.
    """

    role: str
    bandwidth: float
    latency: float = 0.0
    fatpipe: bool = False
    burst: float = 0.0


class ClusterSpec(NamedTuple):
    """A ``<cluster>`` element, read and checked.

    Attributes
    ----------
    name, prefix, radical, suffix
        The cluster's id, and the parts of its hosts' names.
    link
        The links of its network.
    split
        True if each of these is two, one a direction (SPLITDUPLEX).
    loopback, limiter, backbone
        Of each host, of each node, of the cluster; None where there is none.
    router
        Name of the router through which a flat cluster is reached.
    """

    name: str
    prefix: str
    radical: Radical
    suffix: str
    link: LinkKind
    split: bool
    loopback: LinkKind | None
    limiter: LinkKind | None
    backbone: LinkKind | None
    router: str


class Band(NamedTuple):
    """Rows of links, the same columns in each: one row a host, a switch or a cable."""

    rows: int
    columns: tuple[LinkKind, ...]
    name: Callable[[int, int], str]


class BandedLinks:
    """The links that a cluster generates, one band after the other.

    Parameters
    ----------
    bands
        Links of a band are numbered row by row.
    prefixes
        Every name begins with one of these.
    """

    def __init__(self, bands: Sequence[Band], prefixes: tuple[str, ...]) -> None:
        self._bands = [band for band in bands if band.rows and band.columns]
        self._prefixes = prefixes
        self._starts: list[int] = []
        #: How many there are.
        self.count = 0
        for band in self._bands:
            self._starts.append(self.count)
            self.count += band.rows * len(band.columns)

    def __len__(self) -> int:
        return self.count

    def name(self, position: int) -> str:
        at = bisect_right(self._starts, position) - 1
        band = self._bands[at]
        return band.name(*divmod(position - self._starts[at], len(band.columns)))

    @cached_property
    def _positions(self) -> dict[str, int]:
        positions: dict[str, int] = {}
        for position in range(self.count):
            positions.setdefault(self.name(position), position)
        return positions

    def find(self, name: str) -> int | None:
        if not name.startswith(self._prefixes):
            return None
        return self._positions.get(name)

    def first_of_roles(self) -> dict[str, int]:
        """The position of the first link of each role."""
        found: dict[str, int] = {}
        for start, band in zip(self._starts, self._bands, strict=True):
            for column, kind in enumerate(band.columns):
                found.setdefault(kind.role, start + column)
        return found

    def column(self, name: str) -> array[float]:
        """One of `LINK_COLUMNS`."""
        column: array[float] = array(LINK_COLUMNS[name])
        for band in self._bands:
            row = [getattr(kind, name) for kind in band.columns]
            column += array(column.typecode, row) * band.rows
        return column


class ClusterZone(Zone, ABC):
    """A zone of numbered hosts; its vertices are computed, not stored.

    Parameters
    ----------
    spec
        The cluster.
    parent
        The zone around it.
    first_link
        Index of the first of the links that `make_links` returns.
    """

    def __init__(self, spec: ClusterSpec, parent: Zone | None, first_link: int) -> None:
        super().__init__(spec.name, parent)
        self.spec = spec
        self.first_link = first_link
        #: Index of the first host, once it is in the platform's table.
        self.first_host = -1
        self.hosts = len(spec.radical)
        # Links of a host beside its cables, the place of its limiter among these, links of a cable.
        self._own = len(self._own_links())
        self._limiter = None if spec.limiter is None else self._own - 1
        self._wires = 2 if spec.split else 1

    @property
    def size(self) -> int:
        return self.hosts

    def label(self, local: int) -> str:
        return f"{self.spec.prefix}{self.spec.radical[local]}{self.spec.suffix}"

    def vertex_name(self, vertex: int) -> str:
        """Name of a vertex of the `wiring`: of a host, or which switch it is, in words."""
        if vertex < self.hosts:
            return self.label(vertex)
        return self.switch_name(vertex - self.hosts)

    def switch_name(self, switch: int) -> str:
        """Name of a switch in words; the first one is 0."""
        return f"the switch of {self.name}"

    def with_spec(self, spec: ClusterSpec) -> Self:
        """A copy whose links have other numbers."""
        changed = copy.copy(self)
        changed.spec = spec
        return changed

    @abstractmethod
    def make_links(self) -> BandedLinks:
        """The links of this cluster, to be added to the platform's table."""

    @abstractmethod
    def wiring(self) -> Wiring:
        """The cables between hosts and switches; links have the numbers of the platform."""

    def _wired(
        self, lower: Integers, upper: Integers, links: Integers, row: int, switches: int = 0
    ) -> Wiring:
        """The wiring of cables that carry messages in both directions.

        Parameters
        ----------
        lower, upper, links
            The two ends of each cable, and the index of its link from the lower end to the upper.
        row
            How many links there are of each host, the limiter at its place among them.
        switches
            How many switches there are, whose limiters come after the links of the hosts.
        """
        import numpy as np

        back = links + (self._wires - 1)
        limited, limiters = self._limiters(row, self._limiter or 0, switches)
        return Wiring(
            np.concatenate([lower, upper]),
            np.concatenate([upper, lower]),
            np.concatenate([links, back]),
            limited,
            limiters,
        )

    def _limiters(self, row: int, column: int, switches: int = 0) -> tuple[Integers, Integers]:
        """The hosts and switches with a limiter, and these links."""
        import numpy as np

        limited = np.arange(self.hosts + switches if self.spec.limiter is not None else 0)
        of_hosts = self.first_link + limited[: self.hosts] * row + column
        of_switches = self.first_link + limited[self.hosts :] + self.hosts * (row - 1)
        return limited, np.concatenate([of_hosts, of_switches])

    def _own_links(self) -> tuple[LinkKind, ...]:
        """The columns that every host has: its loopback and its limiter, where declared."""
        spec = self.spec
        return tuple(kind for kind in (spec.loopback, spec.limiter) if kind is not None)

    def _own_name(self, host: int, column: int) -> str:
        spec = self.spec
        if column == 0 and spec.loopback is not None:
            return f"{spec.name}_link_{spec.radical[host]}_loopback"
        return f"{spec.name}_link_{host}_limiter"

    def _pair(self, kind: LinkKind) -> tuple[LinkKind, ...]:
        """One cable: two links if they are split, else one for both directions."""
        return (kind, kind) if self.spec.split else (kind,)

    def _direction(self, column: int) -> str:
        return ("_UP", "_DOWN")[column] if self.spec.split else ""


def cable_words(root: Zone, links: Collection[int]) -> dict[int, str]:
    """The ends of links of clusters: ``node-3 to switch 0 of level 1``; others are left out.

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
    """The limiters: links that bound both directions of a host or switch together.

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
