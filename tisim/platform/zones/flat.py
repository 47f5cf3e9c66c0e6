"""Clusters of hosts on one switch: topology FLAT."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tisim.platform.zones.base import LocalRoute, Zone
from tisim.platform.zones.cluster import Band, BandedLinks, ClusterSpec, ClusterZone

if TYPE_CHECKING:
    from tisim.platform.zones.cluster import Wiring


class FlatCluster(ClusterZone):
    """Hosts with one link (and limiter) each, connected by a backbone or directly.

    The vertex after the last host is the router, which has no link.
    """

    kind = "Cluster"

    def __init__(self, spec: ClusterSpec, parent: Zone | None, first_link: int) -> None:
        super().__init__(spec, parent, first_link)
        #: Number of links before the hosts' rows: the backbone.
        self.head = 0 if spec.backbone is None else 1
        self.row = self._own + self._wires

    @property
    def size(self) -> int:
        return self.hosts + 1

    def label(self, local: int) -> str:
        return self.spec.router if local == self.hosts else super().label(local)

    def make_links(self) -> BandedLinks:
        spec = self.spec
        bands = [Band(self.hosts, self._own_links() + self._pair(spec.link), self._name)]
        if spec.backbone is not None:
            bands.insert(0, Band(1, (spec.backbone,), self._backbone_name))
        return BandedLinks(bands, (f"{spec.name}_link_", f"{spec.name}_backbone"))

    def wiring(self) -> Wiring:
        import numpy as np

        from tisim.platform.zones.cluster import Wiring

        # With a backbone, hosts send to one of its ends and receive from the other.
        base, hosts = self.first_link + self.head, np.arange(self.hosts)
        up, down = self.hosts, self.hosts + self.head
        limited, limiters = self._limiters(self.row, self.head + (self._limiter or 0))
        rows = base + hosts * self.row
        backbone = np.array(self.backbone_links, dtype=np.int64)
        return Wiring(
            np.concatenate([hosts, np.full(self.hosts, down), np.full(self.head, up)]),
            np.concatenate([np.full(self.hosts, up), hosts, np.full(self.head, down)]),
            np.concatenate([rows + self._own, rows + self.row - 1, backbone]),
            limited,
            limiters,
        )

    def _backbone_name(self, row: int, column: int) -> str:
        return f"{self.spec.name}_backbone"

    def _name(self, host: int, column: int) -> str:
        link = f"{self.spec.name}_link_{self.spec.radical[host]}"
        if column >= self._own:
            return link + self._direction(column - self._own)
        is_loopback = column == 0 and self.spec.loopback is not None
        return link + ("_loopback" if is_loopback else "_limiter")

    @property
    def backbone_links(self) -> tuple[int, ...]:
        """Index of the backbone; empty if there is none."""
        return (self.first_link,) if self.head else ()

    def local_route(self, src: int, dst: int) -> LocalRoute:
        base, row = self.first_link + self.head, self.row
        if src == dst and src < self.hosts and self.spec.loopback is not None:
            return LocalRoute((base + src * row,))
        limiter = () if self._limiter is None else (self._limiter,)
        links: list[int] = []
        if src < self.hosts:
            links += [base + src * row + column for column in (*limiter, self._own)]
            links += self.backbone_links
        if dst < self.hosts:
            down = [base + dst * row + column for column in (row - 1, *limiter)]
            if src >= self.hosts:
                links += self.backbone_links
            links += down if src != dst else [link for link in down if link not in links]
        return LocalRoute(links)
