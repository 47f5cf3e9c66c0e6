"""Colours and widths of links, hosts and switches: by the load of a run, or by bandwidth."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tisim.errors import InputError
from tisim.platform.drawing.canvas import Area, Canvas, Disc, Shape, Stroke, Text, text_width
from tisim.platform.drawing.layout import HOST, SWITCH, Item
from tisim.support.quantities import format_quantity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tisim.platform.platform import Platform
    from tisim.platform.zones.cluster import Integers


class LoadClass(NamedTuple):
    """Links with a utilisation below `bound`, and their style."""

    bound: float
    colour: str
    width: float


#: From idle to busy. The colours get darker from class to class, also in greyscale.
CLASSES = (
    LoadClass(0.0, "#BEBEBE", 0.7),
    LoadClass(0.01, "#A9C6E3", 1.0),
    LoadClass(0.05, "#6FA3D0", 1.3),
    LoadClass(0.20, "#C98A1B", 1.7),
    LoadClass(0.50, "#C4551A", 2.2),
    LoadClass(0.80, "#9B1B1E", 2.8),
    LoadClass(np.inf, "#4A0418", 3.4),
)


def class_of(utilisation: float) -> LoadClass:
    """Return the class of a link with this utilisation."""
    if utilisation <= 0:
        return CLASSES[0]
    return next(one for one in CLASSES[1:] if utilisation < one.bound)


class RunLoad:
    """The utilisation of each link in a run, and the ranks on each host.

    `platform`: the platform of the run. `links`: name and mean utilisation (1: full bandwidth
    all the time) of each used link. `hosts`: name of the host of each rank. `source`: the file
    that contains them, for messages. `span`: the period over which the load is averaged, for the
    legend. `utilisation`: of each link of the platform; shape (links,). `ranks`: the ranks of
    each host with ranks, by host index. Raises an `InputError` if the platform lacks one of the
    links or hosts.
    """

    def __init__(
        self,
        platform: Platform,
        links: Iterable[tuple[str, float]],
        hosts: Sequence[str],
        source: str | os.PathLike[str] | None = None,
        span: str = "run",
    ) -> None:
        self.span = span
        self.utilisation: NDArray[np.float64] = np.zeros(len(platform.links))
        self.ranks: dict[int, list[int]] = {}
        table = platform.topology
        for name, mean in links:
            link = table.links.find(name)
            if link is None:
                raise _other_platform(platform, f"link {name!r}", source)
            self.utilisation[link] = mean
        for rank, name in enumerate(hosts):
            host = table.hosts.find(name)
            if host is None:
                raise _other_platform(platform, f"host {name!r}", source)
            self.ranks.setdefault(host, []).append(rank)


def _other_platform(
    platform: Platform, what: str, source: str | os.PathLike[str] | None
) -> InputError:
    return InputError(
        f"the run used the {what}, which {platform.file} lacks: draw the platform of that run",
        file=source,
    )


# Okabe and Ito's colours, which colour-blind readers can distinguish.
_HOST_FILL, _IDLE_FILL, _SWITCH_FILL = "#0072B2", "#FFFFFF", "#333333"
_LINE = "#71808F"
_BOX_FILL, _SWITCHES_FILL = "#CFE3F1", "#DDDDDD"
_BANDWIDTHS = 6
_BUSY, _BUSY_SCALE, _IDLE_SCALE = 0.05, 0.75, 0.45
# Points; thinner lines are invisible.
_FINEST = 0.25
_LISTED_RANKS = 8
_LEGEND_STEP = 17.0


class Colouring:
    """Colours, widths and tooltips of the drawn items.

    `load`: the load of a run; None: links are drawn by their bandwidth.
    """

    def __init__(self, platform: Platform, load: RunLoad | None) -> None:
        self._platform = platform
        self._load = load
        bandwidths = platform.resources.link_bandwidth
        loopback = platform.topology.loopback
        own = np.arange(len(bandwidths)) != loopback
        self._most = float(bandwidths[own].max(initial=0.0)) or 1.0
        self._drawn: set[float] = set()
        # Scale of the widest lines, also used in the legend.
        self._scale = 0.0
        self._merged = False
        self._is_used = [False, False]
        self._has_boxes = False

    def cable(self, links: Integers, scale: float = 1.0) -> tuple[str, float, str]:
        """Return colour, width (times `scale`) and tooltip of a line that represents some links."""
        numbers = self._platform.resources
        bandwidths = numbers.link_bandwidth[links]
        low, high = float(bandwidths.min()), float(bandwidths.max())
        between = format_quantity(high, "B/s")
        if low != high:
            between = f"{format_quantity(low, 'B/s')} to {between}"
        name = self._platform.topology.links.name
        shown = name(int(links[0]))
        title = f"{shown}: {between}" if len(links) == 1 else f"{len(links)} links of {between}"
        self._drawn.update((low, high))
        self._merged = self._merged or len(links) > 2
        if self._load is None:
            self._scale = max(self._scale, scale)
            width = self._width(high)
            if len(links) > 1:
                title += f", {shown} ..."
            return _LINE, max(width * scale, _FINEST), title
        use = self._load.utilisation[links]
        worst = int(np.argmax(use))
        look = class_of(float(use[worst]))
        title += f"; mean load {use[worst]:.1%}"
        if len(links) > 1:
            title += f" on the busiest, {name(int(links[worst]))}, {use.mean():.1%} on average"
        # Busy lines are few: they can be wide even among many lines.
        least = _BUSY_SCALE if use[worst] >= _BUSY else _IDLE_SCALE
        return look.colour, look.width * max(scale, least), title

    def _width(self, bandwidth: float) -> float:
        """Return the line width in points: half the width for a tenth of the bandwidth."""
        return float(max(2.4 * (bandwidth / self._most) ** 0.3, 0.4))

    def load_sort_key(self, links: Integers) -> float:
        """Sort key of lines: the busiest are drawn last."""
        if self._load is None or not len(links):
            return 0.0
        return float(self._load.utilisation[links].max())

    def item(self, item: Item, hosts: Sequence[int], inner: Integers, name: str) -> list[Shape]:
        """Return the shapes of an item.

        `item`: its position. `hosts`: the hosts that it represents, by index in the platform.
        `inner`: links inside it. `name`: name of a single host or switch.
        """
        if not item.width:
            if hosts:
                return [self._host(item, hosts[0], inner)]
            sides = (2 * SWITCH, 2 * SWITCH)
            corner = (item.x - SWITCH, item.y - SWITCH)
            return [Area(*corner, *sides, _SWITCH_FILL, title=name)]
        title = self._box_title(item, hosts, name)
        edge, width = "#777777", 1.0
        if len(inner):
            look, heavy, inside = self.cable(inner)
            title += f"; inside: {inside}"
            if self._load is not None:
                edge, width = look, max(heavy, 1.0)
        fill = self._box_fill(hosts) if hosts else _SWITCHES_FILL
        corner = (item.x - item.width / 2, item.y - item.height / 2)
        sides = (item.width, item.height)
        shapes: list[Shape] = [Area(*corner, *sides, fill, edge, width, title)]
        if item.text and text_width(item.text, 9) <= item.width - 2:
            shapes.append(Text(item.x, item.y + 3, item.text, 9, "middle"))
        return shapes

    def _host(self, item: Item, host: int, inner: Integers) -> Disc:
        label = self._platform.topology.hosts.name(host)
        if self._load is None:
            return Disc(item.x, item.y, HOST, _HOST_FILL, title=label)
        ranks = self._load.ranks.get(host, [])
        self._is_used[bool(ranks)] = True
        fill = _HOST_FILL if ranks else _IDLE_FILL
        title = f"{label}: {ranks_text(ranks)}"
        if len(inner):
            title += f"; {self.cable(inner)[2]}"
        return Disc(item.x, item.y, HOST, fill, "none" if ranks else _HOST_FILL, title)

    def _box_title(self, item: Item, hosts: Sequence[int], name: str) -> str:
        parts = []
        if hosts:
            label = self._platform.topology.hosts.name
            first, last = label(hosts[0]), label(hosts[-1])
            parts.append(f"{len(hosts):,} hosts, {first} to {last}")
        if item.switches > 1:
            parts.append(f"{item.switches:,} switches")
        elif item.switches and not hosts:
            parts.append(name)
        if self._load is not None and hosts:
            ranks = sum(len(self._load.ranks.get(host, ())) for host in hosts)
            parts.append(f"{ranks:,} ranks on {self._used(hosts):,} of the hosts")
        return ", ".join(parts)

    def _used(self, hosts: Sequence[int]) -> int:
        return 0 if self._load is None else sum(host in self._load.ranks for host in hosts)

    def _box_fill(self, hosts: Sequence[int]) -> str:
        if self._load is None:
            return _BOX_FILL
        used = self._used(hosts) > 0
        self._is_used[used] = self._has_boxes = True
        return _BOX_FILL if used else _IDLE_FILL

    def legend(self, canvas: Canvas, y: float, notes: Sequence[str]) -> None:
        """Draw the legend of colours and widths below the picture."""
        if self._load is None:
            self._legend_of_bandwidths(canvas, y)
        else:
            y = self._legend_of_load(canvas, y)
        y += 2 * _LEGEND_STEP if self._drawn else _LEGEND_STEP
        for note in notes:
            canvas.add(Text(12, y, note, 10, colour="#555555"))
            y += _LEGEND_STEP - 3

    def _legend_of_bandwidths(self, canvas: Canvas, y: float) -> None:
        listed = sorted(self._drawn, reverse=True)
        x = 12.0
        if not listed:
            return
        text = "Bandwidth of a link:"
        canvas.add(Text(x, y + 4, text, 10))
        x += text_width(text, 10) + 12
        more = len(listed) - _BANDWIDTHS
        for bandwidth in listed[:_BANDWIDTHS]:
            width = max(self._width(bandwidth) * self._scale, _FINEST)
            text = format_quantity(bandwidth, "B/s")
            canvas.add(Stroke(((x, y), (x + 26, y)), _LINE, width))
            canvas.add(Text(x + 31, y + 4, text, 10))
            x += 31 + text_width(text, 10) + 16
        if more > 0:
            canvas.add(Text(x, y + 4, f"and {more} other bandwidths", 10))

    def _legend_of_load(self, canvas: Canvas, y: float) -> float:
        assert self._load is not None
        text = f"Mean load of the {self._load.span}, % of a link's bandwidth"
        text += ", of the busiest link of a line:" if self._merged else ":"
        canvas.add(Text(12, y + 4, text, 10))
        x, y = 12.0, y + _LEGEND_STEP
        lower = 0.0
        for place, load_class in enumerate(CLASSES):
            if place == 0:
                label = "none"
            elif load_class is CLASSES[-1]:
                label = f"{lower * 100:g} and more"
            else:
                label = f"{lower * 100:g} to {load_class.bound * 100:g}" if lower else "below 1"
            canvas.add(Stroke(((x, y), (x + 26, y)), load_class.colour, load_class.width))
            canvas.add(Text(x + 31, y + 4, label, 10))
            x += 31 + text_width(label, 10) + 16
            lower = load_class.bound
        y += _LEGEND_STEP
        x = 12.0
        for is_used, label in ((True, "hosts with ranks"), (False, "hosts without ranks")):
            if self._is_used[is_used]:
                if self._has_boxes:
                    fill = _BOX_FILL if is_used else _IDLE_FILL
                    canvas.add(Area(x, y - 5, 10, 10, fill, "#777777", 1.0))
                else:
                    fill = _HOST_FILL if is_used else _IDLE_FILL
                    canvas.add(Disc(x + 5, y, HOST, fill, _HOST_FILL))
                canvas.add(Text(x + 14, y + 4, label, 10))
                x += 14 + text_width(label, 10) + 16
        return y


def ranks_text(ranks: Sequence[int]) -> str:
    """Return the ranks of a host as text: ``rank 3``, ``ranks 0 to 7``, ``ranks 0, 4, 8``."""
    if not ranks:
        return "no ranks"
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    if list(ranks) == list(range(ranks[0], ranks[0] + len(ranks))):
        return f"ranks {ranks[0]} to {ranks[-1]}"
    shown = ", ".join(map(str, ranks[:_LISTED_RANKS]))
    more = len(ranks) - _LISTED_RANKS
    return f"ranks {shown}" + (f" and {more} more" if more > 0 else "")
