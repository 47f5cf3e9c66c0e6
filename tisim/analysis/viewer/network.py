"""The network of a run: the links that messages cross, and the load of these links."""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tisim.analysis.timeline.links import LOAD_DIGITS, RouteTable, link_descriptions
from tisim.analysis.timeline.run_file import RunFile
from tisim.platform import Platform
from tisim.platform.zones.cluster import ClusterZone, cable_descriptions
from tisim.simulation.settings import Settings

if TYPE_CHECKING:
    Row = dict[str, object]

# Maximum number of blocks of messages, and of pairs of hosts, examined: one second of work.
_MAX_BLOCKS = 64
_MAX_PAIRS = 50_000
# Fraction of a message added to the reverse route with network/crosstraffic.
_CROSSTRAFFIC = 0.05
_MAX_LINKS = 200
# Maximum number of hosts of a platform whose picture is readable next to the chart.
_MAX_DRAWN_HOSTS = 200
# Number of parts in the strip of a level's links.
_STRIP = 96


class RunNetwork:
    """Routes and loads of a run, on the platform contained in its file.

    A message loads the links of its route evenly while it is in flight, with the bytes that the
    network model moves for it (`tisim.analysis.timeline.links.Links`).
    """

    def __init__(self, run: RunFile) -> None:
        self._run = run

    @property
    def unknown(self) -> str | None:
        """Reason why the links are unknown; None if they are known."""
        if self._run.info["measured"]:
            return "This run was measured: link loads are unknown."
        if self._run.info.get("findings"):
            return "Link loads are not stored for a training step."
        if self._run.platform_xml is None:
            return (
                "The run file lacks the platform: it was written by an older tisim, or the "
                "platform cannot be written to a file."
            )
        return None

    @cached_property
    def settings(self) -> Settings:
        """The platform and the options, if known."""
        with tempfile.TemporaryDirectory(prefix="tisim-") as folder:
            path = Path(folder) / "platform.xml"
            path.write_text(self._run.platform_xml or "", encoding="utf-8")
            return Settings(Platform.load(path), self._run.info["config"])

    @cached_property
    def hosts(self) -> NDArray[np.int64]:
        """The index in the platform of each rank's host."""
        used = [self.settings.platform.host_index(name) for name in self._run.info["hosts"]]
        return np.array(used, np.int64)[np.array(self._run.info["host_of"], np.int64)]

    @cached_property
    def _routes(self) -> RouteTable:
        return RouteTable(self.settings, self.hosts.tolist())

    @cached_property
    def _descriptions(self) -> dict[int, str]:
        words = link_descriptions(self.settings, self.hosts.tolist())
        every = range(len(self.settings.platform.links))
        words = cable_descriptions(self.settings.platform.root, every) | words
        domain = _common_domain(self._run.info["hosts"])
        return {link: text.replace(domain, "") if domain else text for link, text in words.items()}

    def switches(self) -> list[str]:
        """Return the switch of each rank's host; its zone if it has no switch."""
        names: dict[int, str] = {}
        for zone in self.settings.platform.root.walk():
            if not isinstance(zone, ClusterZone):
                continue
            wiring = zone.wiring()
            up = (wiring.tails < zone.hosts) & (wiring.heads >= zone.hosts)
            ends = zip(wiring.tails[up].tolist(), wiring.heads[up].tolist(), strict=True)
            own = {tail: zone.vertex_name(head) for tail, head in reversed([*ends])}
            for host in range(zone.hosts):
                names[zone.first_host + host] = own.get(host, zone.name)
        return [names.get(int(host), "no switch") for host in self.hosts]

    def loads(self, begin: float, end: float) -> dict[int, tuple[float, int]] | None:
        """Return bytes and messages of each link used in an interval; None if too many."""
        table = self._run.messages
        blocks = table.overlapping(begin, end, "started", "arrived")
        if len(blocks) > _MAX_BLOCKS:
            return None
        pairs, volumes = [np.zeros(0, np.int64)], [np.zeros(0)]
        for block in blocks:
            rows = table.read(block)
            start, stop = rows.reals("started"), rows.reals("arrived")
            rows = rows.rows((stop > begin) & (start < end) & (stop > start))
            start, stop = rows.reals("started"), rows.reals("arrived")
            inside = np.minimum(stop, end) - np.maximum(start, begin)
            hosts = [self.hosts[rows.numbers(name)] for name in ("source", "destination")]
            pairs.append(hosts[0] << 32 | hosts[1])
            volumes.append(self._moved(rows.numbers("bytes")) * inside / (stop - start))
        every, place = np.unique(np.concatenate(pairs), return_inverse=True)
        if len(every) > _MAX_PAIRS:
            return None
        weights = np.concatenate(volumes)
        sums = np.bincount(place, weights=weights, minlength=len(every)).astype(np.float64)
        counts = np.bincount(place, minlength=len(every))
        return self._spread(every, sums, counts)

    def _spread(
        self, pairs: NDArray[np.int64], sums: NDArray[np.float64], counts: NDArray[np.int64]
    ) -> dict[int, tuple[float, int]]:
        """Return the load of links from the volumes of pairs of hosts."""
        loads: dict[int, tuple[float, int]] = {}
        rows = zip(pairs.tolist(), sums.tolist(), counts.tolist(), strict=True)
        for pair, moved, count in rows:
            ways = [(pair, moved, count)]
            if self.settings.network.crosstraffic:
                back = (pair & 0xFFFFFFFF) << 32 | pair >> 32
                ways.append((back, _CROSSTRAFFIC * moved, 0))
            for way, volume, messages in ways:
                for link in dict.fromkeys(self._routes.route(way)[0]):
                    before = loads.get(link, (0.0, 0))
                    loads[link] = before[0] + volume, before[1] + messages
        return loads

    def _moved(self, size: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the volumes that the network moves for messages of some sizes."""
        network = self.settings.network
        sizes, place = np.unique(size, return_inverse=True)
        whole = sizes + network.envelope
        factors = np.array([network.bandwidth_factor.at(nbytes) for nbytes in whole.tolist()])
        moved: NDArray[np.float64] = (whole / factors)[place] if len(sizes) else np.zeros(0)
        return moved

    def route_of(self, message: Row) -> list[Row] | None:
        """Return the links that a message crosses, with its share of each while it is in flight.

        `share`: the message's fraction of the bandwidth. `load`: that of all messages together.
        `messages`: their number. All are means over the message's time in flight.
        """
        start, stop = message["started"], message["arrived"]
        if self.unknown or not isinstance(start, float) or not isinstance(stop, float):
            return None
        ends = (int(str(message[name])) for name in ("source", "destination"))
        source, destination = (int(self.hosts[rank]) for rank in ends)
        loads = self.loads(start, stop) if stop > start else {}
        moved = float(self._moved(np.array([int(str(message["bytes"]))]))[0])
        rows: list[Row] = []
        for link in dict.fromkeys(self._routes.route(source << 32 | destination)[0]):
            bandwidth = float(self.settings.routes.link_bandwidth[link])
            room = bandwidth * (stop - start)
            carried = None if loads is None else loads.get(link, (0.0, 0))
            rows.append(
                {
                    "link": self.settings.routes.link_name(link),
                    "words": self._descriptions.get(link, ""),
                    "bandwidth": bandwidth,
                    "share": moved / room if room else 0.0,
                    "load": None if carried is None or not room else carried[0] / room,
                    "messages": None if carried is None else carried[1],
                }
            )
        return rows

    def loaded(self, begin: float, end: float) -> dict[int, Row] | None:
        """Return the links used in an interval, the fullest first; None if too many messages."""
        loads = self.loads(begin, end)
        if loads is None:
            return None
        routes = self.settings.routes
        rows: dict[int, Row] = {
            link: {
                "link": routes.link_name(link),
                "words": self._descriptions.get(link, ""),
                "bandwidth": float(routes.link_bandwidth[link]),
                "bytes": volume,
                "load": volume / (float(routes.link_bandwidth[link]) * (end - begin)),
                "messages": messages,
            }
            for link, (volume, messages) in loads.items()
        }

        def fullest(pair: tuple[int, Row]) -> tuple[float, str]:
            row = pair[1]
            return -round(float(str(row["load"])), LOAD_DIGITS), str(row["link"])

        return dict(sorted(rows.items(), key=fullest))

    @cached_property
    def _levels(self) -> dict[str, list[int]]:
        """The links of the platform by their kinds of ends, such as ``hosts to level 1``."""
        every = range(len(self.settings.platform.links))
        cables = cable_descriptions(self.settings.platform.root, every)
        found: dict[str, list[int]] = defaultdict(list)
        for link in every:
            found[_level_of(cables.get(link), self._descriptions.get(link, ""))].append(link)
        return found

    def _level_rows(self, loaded: dict[int, Row]) -> list[Row]:
        """Return the utilisation of the links of each used level, in order."""
        rows: list[Row] = []
        for name, links in self._levels.items():
            loads = np.array([float(str(loaded[i]["load"])) if i in loaded else 0.0 for i in links])
            if not loads.any():
                continue
            parts = np.array_split(loads, min(len(loads), _STRIP))
            rows.append(
                {
                    "name": name,
                    "links": len(links),
                    "used": int(np.count_nonzero(loads)),
                    "mean": float(loads.mean()),
                    "most": float(loads.max()),
                    "loads": [float(part.max()) for part in parts],
                }
            )
        return sorted(rows, key=lambda row: -float(str(row["most"])))

    def used(self, begin: float, end: float, *, is_drawn: bool = False) -> Row:
        """Return the links used in an interval, the fullest first; by level; and a picture.

        The picture is None if it would be unreadable, unless `is_drawn`.
        """
        if self.unknown:
            return {"unknown": self.unknown}
        loaded = self.loaded(begin, end)
        if loaded is None:
            return {"unknown": "The window contains too many messages to add up; zoom in."}
        is_small = len(self.settings.platform.hosts) <= _MAX_DRAWN_HOSTS
        return {
            "unknown": None,
            "rows": [*loaded.values()][:_MAX_LINKS],
            "all": len(loaded),
            "levels": self._level_rows(loaded),
            "picture": self._picture(loaded) if is_small or is_drawn else None,
        }

    def _picture(self, loaded: dict[int, Row]) -> str:
        """Return the platform with its links coloured by load."""
        from tisim.platform.drawing import RunLoad
        from tisim.platform.drawing.picture import paint

        own = len(self.settings.platform.links)
        means = [
            (str(row["link"]), float(str(row["load"])))
            for link, row in loaded.items()
            if link < own
        ]
        hosts = [self.settings.platform.hosts[int(host)].name for host in self.hosts]
        load = RunLoad(self.settings.platform, means, hosts, span="window")
        return paint(self.settings.platform, load).svg()


def _level_of(cable: str | None, words: str) -> str:
    """Return the level of a link, from its description as a cluster's cable or a host's link."""
    if cable is None:
        return f"hosts, {words.rpartition(', ')[2]}" if ", " in words else "between zones"
    passed = re.fullmatch("all that passes (.*)", cable)
    if passed:
        return f"limiters of {_kind_of(passed[1])}"
    first, joined, second = re.split(" (to|and) ", cable, maxsplit=1)
    return f"{_kind_of(first)} {joined} {_kind_of(second)}"


def _kind_of(vertex: str) -> str:
    level = re.search(r"\blevel \d+", vertex)
    if level:
        return level[0]
    return "blades" if vertex.startswith("blade ") else "switch" if "switch" in vertex else "hosts"


def _common_domain(hosts: list[str]) -> str:
    """Return the domain common to all host names, with its dot."""
    domains = {name[name.index(".") :] if "." in name else "" for name in hosts}
    return domains.pop() if len(domains) == 1 else ""
