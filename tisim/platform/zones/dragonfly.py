"""Clusters of hosts in a dragonfly: topology DRAGONFLY.

Groups of chassis of blades (Faanes et al., "Cray Cascade: a scalable HPC system based on a
Dragonfly network", SC 2012), with minimal routing. The blades of a chassis are joined by green
cables, equal blades of a group's chassis by black ones, and blade n of a group's first chassis
has the blue cable to group n.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from tisim.platform.zones.base import LocalRoute, Zone
from tisim.platform.zones.cluster import Band, BandedLinks, ClusterSpec, ClusterZone

if TYPE_CHECKING:
    from tisim.platform.zones.cluster import Wiring


class DragonflyShape(NamedTuple):
    """Sizes of the levels, and number of cables bundled into each link of a level."""

    groups: int
    blue: int
    chassis: int
    black: int
    blades: int
    green: int
    nodes: int

    @property
    def routers(self) -> int:
        """Number of blades, each of which has a router."""
        return self.groups * self.chassis * self.blades

    @property
    def hosts(self) -> int:
        """Number of hosts."""
        return self.routers * self.nodes


def parse_dragonfly(text: str) -> DragonflyShape:
    """Parse ``topo_parameters``: groups, chassis, blades with cables, then hosts per blade."""
    wanted = (
        "topo_parameters of a dragonfly must be groups,cables;chassis,cables;blades,cables;hosts, "
        f"such as 3,4;4,3;5,1;2, not {text!r}"
    )
    try:
        parts = [[int(number) for number in part.split(",")] for part in text.split(";")]
    except ValueError:
        raise ValueError(wanted) from None
    if [len(part) for part in parts] != [2, 2, 2, 1] or min(map(min, parts)) < 1:
        raise ValueError(wanted)
    shape = DragonflyShape(*(number for part in parts for number in part))
    if shape.groups > shape.blades:
        raise ValueError(
            f"a dragonfly of {shape.groups} groups needs at least {shape.groups} blades per "
            f"chassis, not {shape.blades}: blade n of a group's first chassis has the cable to "
            "group n"
        )
    return shape


class DragonflyCluster(ClusterZone):
    """Routers are numbered by group, chassis and blade; cables by level and ends.

    Parameters
    ----------
    spec, parent, first_link
        As in any cluster.
    shape
        The sizes of the levels.
    cables_before
        Number of cables of dragonflies declared earlier in the platform: offset in link names.
    """

    kind = "Dragonfly"

    def __init__(
        self,
        spec: ClusterSpec,
        parent: Zone | None,
        first_link: int,
        shape: DragonflyShape,
        cables_before: int,
    ) -> None:
        super().__init__(spec, parent, first_link)
        self.shape = shape
        self._cables_before = cables_before
        self._blade_pairs = shape.blades * (shape.blades - 1) // 2
        self._chassis_pairs = shape.chassis * (shape.chassis - 1) // 2
        counts = (
            self.hosts,
            shape.groups * shape.chassis * self._blade_pairs,
            shape.groups * self._chassis_pairs * shape.blades,
            shape.groups * (shape.groups - 1) // 2,
        )
        #: Number of cables below each level: local, green, black, blue; then the total.
        self._below = list(accumulate(counts, initial=0))
        self._first_router = first_link + self.hosts * self._own
        limiters = 0 if spec.limiter is None else shape.routers
        self._first_cable = self._first_router + limiters

    @property
    def cables(self) -> int:
        """Number of cables of the whole dragonfly."""
        return self._below[-1]

    def make_links(self) -> BandedLinks:
        spec, shape = self.spec, self.shape
        limiters = () if spec.limiter is None else (spec.limiter,)
        bands = [
            Band(self.hosts, self._own_links(), self._own_name),
            Band(shape.routers, limiters, self._router_limiter_name),
        ]
        widths = (1, shape.green, shape.black, shape.blue)
        names = (self._local_name, self._green_name, self._black_name, self._blue_name)
        for level, (width, name) in enumerate(zip(widths, names, strict=True)):
            kind = spec.link._replace(bandwidth=spec.link.bandwidth * width)
            rows = self._below[level + 1] - self._below[level]
            bands.append(Band(rows, self._pair(kind), name))
        prefixes = (f"{spec.name}_link_", "local_link_", "green_link_", "black_link_", "blue_link_")
        return BandedLinks(bands, prefixes)

    def switch_name(self, switch: int) -> str:
        rest, blade = divmod(switch, self.shape.blades)
        group, chassis = divmod(rest, self.shape.chassis)
        return f"blade {blade} of chassis {chassis} in group {group}"

    def wiring(self) -> Wiring:
        import numpy as np

        shape = self.shape
        blades = np.arange(shape.routers).reshape(shape.groups, shape.chassis, shape.blades)
        hosts, groups = np.arange(self.hosts), np.arange(shape.groups)
        green = np.triu_indices(shape.blades, 1)
        black = np.triu_indices(shape.chassis, 1)
        blue = np.triu_indices(shape.groups, 1)
        # The ends of the cables of each level, in the order of the cables. Blade n of a group's
        # first chassis has the cable to group n.
        levels = (
            (hosts, self.hosts + hosts // shape.nodes),
            tuple(self.hosts + blades[:, :, side].ravel() for side in green),
            tuple(self.hosts + blades[:, side, :].ravel() for side in black),
            (
                self.hosts + blades[groups[blue[0]], 0, blue[1]],
                self.hosts + blades[groups[blue[1]], 0, blue[0]],
            ),
        )
        lower, upper = (np.concatenate(side) for side in zip(*levels, strict=True))
        links = self._first_cable + np.arange(self.cables) * self._wires
        return self._wired(lower, upper, links, self._own, shape.routers)

    def _router_limiter_name(self, router: int, column: int) -> str:
        return f"{self.spec.name}_link_{2 * self.hosts - 1 - router}_limiter"

    def _suffix(self, level: int, row: int, column: int) -> str:
        return f"_{self._cables_before + self._below[level] + row}{self._direction(column)}"

    def _local_name(self, row: int, column: int) -> str:
        router, node = divmod(row, self.shape.nodes)
        return f"local_link_from_router_{router}_to_node_{node}{self._suffix(0, row, column)}"

    def _green_name(self, row: int, column: int) -> str:
        chassis, pair = divmod(row, self._blade_pairs)
        low, high = _unpair(pair, self.shape.blades)
        return (
            f"green_link_in_chassis_{chassis % self.shape.chassis}_between_routers_{low}_and_"
            f"{high}{self._suffix(1, row, column)}"
        )

    def _black_name(self, row: int, column: int) -> str:
        group, rest = divmod(row, self._chassis_pairs * self.shape.blades)
        pair, blade = divmod(rest, self.shape.blades)
        low, high = _unpair(pair, self.shape.chassis)
        return (
            f"black_link_in_group_{group}_between_chassis_{low}_and_{high}_blade_{blade}"
            f"{self._suffix(2, row, column)}"
        )

    def _blue_name(self, row: int, column: int) -> str:
        low, high = _unpair(row, self.shape.groups)
        per_group = self.shape.chassis * self.shape.blades
        return (
            f"blue_link_between_group_{low}_and_{high}_routers_{low * per_group + high}_and_"
            f"{high * per_group + low}{self._suffix(3, row, column)}"
        )

    def _cable(self, level: int, row: int, downwards: bool) -> int:
        first = self._first_cable + (self._below[level] + row) * self._wires
        return first + (self._wires - 1 if downwards else 0)

    def _green(self, group: int, chassis: int, blade: int, other: int) -> int:
        row = (group * self.shape.chassis + chassis) * self._blade_pairs
        return self._cable(1, row + _pair(blade, other, self.shape.blades), other < blade)

    def _black(self, group: int, blade: int, chassis: int, other: int) -> int:
        pair = group * self._chassis_pairs + _pair(chassis, other, self.shape.chassis)
        return self._cable(2, pair * self.shape.blades + blade, other < chassis)

    def _blue(self, group: int, other: int) -> int:
        return self._cable(3, _pair(group, other, self.shape.groups), other < group)

    def _place(self, host: int) -> tuple[int, int, int]:
        """Return the group, chassis and blade of a host."""
        rest, blade = divmod(host // self.shape.nodes, self.shape.blades)
        group, chassis = divmod(rest, self.shape.chassis)
        return group, chassis, blade

    def local_route(self, src: int, dst: int) -> LocalRoute:
        first, own = self.first_link, self._own
        if src == dst and self.spec.loopback is not None:
            return LocalRoute((first + src * own,))
        links: list[int] = [self._cable(0, src, False)]
        goal = self._place(dst)
        self._travel(links, self._place(src), goal)
        links += self._router_limiter(*goal)
        links.append(self._cable(0, dst, True))
        if self._limiter is not None:
            limiter = first + self._limiter
            links = [limiter + src * own, *links, limiter + dst * own]
        return LocalRoute(links)

    def _router_limiter(self, group: int, chassis: int, blade: int) -> tuple[int, ...]:
        if self._limiter is None:
            return ()
        router = (group * self.shape.chassis + chassis) * self.shape.blades + blade
        return (self._first_router + router,)

    def _travel(
        self, links: list[int], start: tuple[int, int, int], goal: tuple[int, int, int]
    ) -> None:
        """Append the links between the routers of two blades."""
        if start == goal:
            return
        group, chassis, blade = start
        if group != goal[0]:
            if blade != goal[0]:
                links += self._router_limiter(group, chassis, blade)
                links.append(self._green(group, chassis, blade, goal[0]))
                blade = goal[0]
            if chassis != 0:
                links += self._router_limiter(group, chassis, blade)
                links.append(self._black(group, blade, chassis, 0))
                chassis = 0
            links.append(self._blue(group, goal[0]))
            links += self._router_limiter(group, chassis, blade)
            group, blade = goal[0], group
        if blade != goal[2]:
            links += self._router_limiter(group, chassis, blade)
            links.append(self._green(group, chassis, blade, goal[2]))
            # SimGrid continues from the first chassis, whichever chassis this is: a message inside
            # another chassis takes an unnecessary black cable.
            chassis, blade = 0, goal[2]
        if chassis != goal[1]:
            links += self._router_limiter(group, chassis, blade)
            links.append(self._black(group, blade, chassis, goal[1]))


def _pair(a: int, b: int, count: int) -> int:
    """Return the number of the unordered pair {a, b} of 0..count-1, in lexicographic order."""
    low, high = (a, b) if a < b else (b, a)
    return low * (2 * count - low - 1) // 2 + high - low - 1


def _unpair(number: int, count: int) -> tuple[int, int]:
    """Return the pair with that number."""
    low = 0
    while number >= count - 1 - low:
        number -= count - 1 - low
        low += 1
    return low, low + 1 + number
