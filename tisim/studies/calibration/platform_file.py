"""Write calibrated values into a platform file that tisim and SimGrid read."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Mapping
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.platform.description.node import BURST, OPTION, WRITTEN_BY_CALIBRATE
from tisim.studies.calibration.factors import Route
from tisim.support.files import write_file

if TYPE_CHECKING:
    from lxml.etree import _Element, _ElementTree

    from tisim.platform import Platform
    from tisim.studies.calibration.switches import Switches

_DOCTYPE = '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">'
#: The first two hosts of `PlatformFile.nominal`.
NOMINAL_HOSTS = ("host-0", "host-1")


class PlatformFile:
    """A platform file under construction."""

    def __init__(
        self, tree: _ElementTree, source: Path | None, *, is_measured: bool = False
    ) -> None:
        self._tree = tree
        self._source = source
        #: True if made by `measured`: a property of one of its links applies to all.
        self.is_measured = is_measured

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> PlatformFile:
        """Read a platform file without fetching anything or expanding entities.

        Raises `InputError` if the file is not a platform file.
        """
        from lxml import etree

        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
        try:
            tree = etree.parse(os.fspath(path), parser)
        except OSError as error:
            raise InputError(f"cannot read the platform: {error}", file=path) from None
        except etree.XMLSyntaxError as error:
            raise InputError(f"not XML: {error.msg}", file=path, line=error.lineno) from None
        if tree.getroot().tag not in ("platform", "platform_description"):
            raise InputError(
                f"a platform file must begin with <platform>, not with <{tree.getroot().tag}>",
                file=path,
            )
        return cls(tree, Path(path))

    @classmethod
    def nominal(
        cls, route: Route, nodes: int | None = None, speed: float | None = None, cores: int = 1
    ) -> PlatformFile:
        """Return hosts on a switch, with a route of these nominal values between any two.

        There are `nodes` hosts with `cores` cores of `speed` flop/s; two hosts of 1 Gf if None.
        """
        from lxml import etree

        remark = "" if nodes is not None and speed is not None else "; set speed and radical"
        core = f' core="{cores}"' if cores != 1 else ""
        root = etree.fromstring(
            '<platform version="4.1">\n'
            f"  <!-- Hosts with the nominal route between any two{remark}. -->\n"
            f'  <cluster id="nominal" prefix="host-" suffix="" radical="0-{(nodes or 2) - 1}" '
            f'speed="{1e9 if speed is None else speed:.12g}f"{core} '
            f'bw="{route.bandwidth:.12g}Bps" lat="{route.latency / 2:.12g}s"/>\n'
            "</platform>"
        )
        return cls(etree.ElementTree(root), None)

    @classmethod
    def measured(
        cls,
        route: Route,
        switches: Switches,
        speed: float | None = None,
        cores: int = 1,
    ) -> PlatformFile:
        """Return the hosts, cables and switches that measurements between all pairs distinguish.

        `route` was measured between `switches.pair`.
        """
        from lxml import etree

        root = etree.Element("platform", version="4.1")
        zone = etree.SubElement(root, "zone", id="measured", routing="Floyd")
        usual = route.bandwidth / switches.min_bandwidth(*switches.pair)
        rate = f"{1e9 if speed is None else speed:.12g}f"
        for host in switches.hosts:
            element = etree.SubElement(zone, "host", id=host, speed=rate)
            if cores != 1:
                element.set("core", str(cores))
        for number in range(max(switches.switch) + 1):
            etree.SubElement(zone, "router", id=f"switch-{number}")
        ways = [
            (f"cable-{host}", host, f"switch-{switch}", cable * usual, route.latency / 2)
            for host, cable, switch in zip(
                switches.hosts, switches.cables, switches.switch, strict=True
            )
        ]
        trunks = [
            # Never saturated in the measurements: as wide as all cables together.
            ((trunk.bandwidth or len(switches.hosts)) * usual, trunk.delay)
            for trunk in switches.trunks
        ]
        if len(trunks) == 2:
            ways.append(("trunk", "switch-0", "switch-1", *trunks[0]))
        elif trunks:
            etree.SubElement(zone, "router", id="core")
            ways += [
                (f"trunk-{number}", f"switch-{number}", "core", *trunk)
                for number, trunk in enumerate(trunks)
            ]
        for name, _, _, bandwidth, latency in ways:
            link = etree.SubElement(zone, "link", id=name, sharing_policy="SPLITDUPLEX")
            link.set("bandwidth", f"{bandwidth:.12g}Bps")
            link.set("latency", f"{latency:.12g}s")
        for name, source, target, _, _ in ways:
            way = etree.SubElement(zone, "route", src=source, dst=target)
            etree.SubElement(way, "link_ctn", id=name, direction="UP")
        etree.indent(root)
        return cls(etree.ElementTree(root), None, is_measured=True)

    def configure(self, settings: Mapping[str, str]) -> None:
        """Put `settings` into the platform's ``<config>``, replacing older values."""
        from lxml import etree

        root = self._tree.getroot()
        blocks = root.findall("config")
        for block in blocks:
            _remove_properties(block, settings)
        if blocks:
            block = blocks[0]
        else:
            block = etree.Element("config", id="General")
            root.insert(0, block)
        _add_properties(block, settings, len(block))
        _indent(block)

    def set_options(self, options: Mapping[str, str]) -> bool:
        """Set options that SimGrid does not have as properties of the outermost zone.

        Returns False without a change if the file has no zone, because it includes one.
        """
        from lxml import etree

        if not options:
            return True
        zones = ("zone", "AS", "cluster", "peer")
        zone = next((element for element in self._tree.getroot() if element.tag in zones), None)
        if zone is None:
            return False
        _remove_properties(zone, options, OPTION)
        _add_properties(zone, {OPTION + name: value for name, value in options.items()})
        behind = zone.tail
        etree.indent(zone, level=1)
        zone.tail = behind
        return True

    def set_limiters(self, hosts: tuple[str, str], bandwidth: float) -> bool:
        """Give limiter links to the clusters of two hosts, and to clusters with the same links.

        `bandwidth` is the joint bandwidth of both directions of a host's link, in bytes/s. Returns
        False without a change if one of the hosts belongs to no cluster.
        """
        own = [self.cluster_of(host) for host in hosts]
        if any(cluster is None for cluster in own):
            return False
        links = {(cluster.get("bw"), cluster.get("lat")) for cluster in own if cluster is not None}
        for cluster in self._tree.getroot().iter("cluster"):
            if (cluster.get("bw"), cluster.get("lat")) in links:
                cluster.set("limiter_link", f"{bandwidth:.9g}Bps")
        return True

    def set_loopback(
        self, host: str, bandwidth: float, latency: float, *, keep: bool = False
    ) -> None:
        """Give the hosts of a host's cluster a loopback; options set it for all other hosts.

        In bytes/s and seconds. `keep`: only if the cluster declares none.
        """
        cluster = self.cluster_of(host)
        if cluster is not None and not (keep and cluster.get("loopback_bw")):
            cluster.set("loopback_bw", f"{bandwidth:.9g}Bps")
            cluster.set("loopback_lat", f"{latency:.9g}s")

    def set_burst(self, hosts: tuple[str, str], nbytes: float) -> bool:
        """Let the links between two hosts pass `nbytes` bytes without delay.

        The links are those of the hosts' clusters, all links of a measured network, or else the
        slowest links of the route that have their own element. Returns False without a change if
        there are none.
        """
        clusters = [self.cluster_of(host) for host in hosts]
        elements = [cluster for cluster in clusters if cluster is not None]
        if len(elements) < len(hosts):
            elements = [*self._tree.getroot().iter("link")] if self.is_measured else []
            elements = elements or self._slowest_links(hosts)
        for element in elements:
            _remove_properties(element, {BURST})
            _add_properties(element, {BURST: f"{nbytes:.0f}"}, len(element))
        return bool(elements)

    def _slowest_links(self, hosts: tuple[str, str]) -> list[_Element]:
        """Return the ``<link>`` elements with the least bandwidth between two hosts."""
        links = self.load().route(*hosts).links
        least = min((link.bandwidth for link in links), default=0.0)
        names = {
            link.name.removesuffix("_UP").removesuffix("_DOWN")
            for link in links
            if link.bandwidth == least
        }
        return [link for link in self._tree.getroot().iter("link") if link.get("id") in names]

    def cluster_of(self, host: str) -> _Element | None:
        """Return the ``<cluster>`` that a host belongs to, or None."""
        from tisim.platform.hosts import Radical

        for cluster in self._tree.getroot().iter("cluster"):
            prefix, suffix = cluster.get("prefix", ""), cluster.get("suffix", "")
            number = host.removeprefix(prefix).removesuffix(suffix)
            if (
                number.isdigit()
                and host == prefix + number + suffix
                and Radical(cluster.get("radical", "")).find(int(number)) is not None
            ):
                return cluster
        return None

    def set_speed(self, name: str, flops: float, tag: str = "host") -> bool:
        """Set the speed of a host or cluster; False if it has no element of its own."""
        elements = [child for child in self._tree.getroot().iter(tag) if child.get("id") == name]
        for element in elements:
            _set_speed(element, flops)
        return bool(elements)

    def set_all_speeds(self, flops: float) -> None:
        """Set the speed of every host and cluster."""
        for tag in ("host", "cluster", "peer", "cabinet"):
            for element in self._tree.getroot().iter(tag):
                _set_speed(element, flops)

    def set_host_properties(self, properties: Mapping[str, str]) -> None:
        """Set properties of every host and cluster, replacing those of the same names.

        Elements ``<cabinet>`` and ``<peer>`` are not changed.
        """
        for tag in ("host", "cluster"):
            for element in self._tree.getroot().iter(tag):
                _remove_properties(element, properties)
                _add_properties(element, properties)

    def overriding_hosts(self) -> list[str]:
        """Return hosts whose own ``smpi/os``, ``smpi/ois`` or ``smpi/or`` takes precedence."""
        names = {"smpi/os", "smpi/ois", "smpi/or"}
        return [
            host.get("id", "")
            for host in self._tree.getroot().iter("host")
            if any(prop.get("id") in names for prop in host.findall("prop"))
        ]

    def to_bytes(self, folder: str | os.PathLike[str]) -> bytes:
        """Return the content of the file for a folder; references to files are relative to it."""
        root = deepcopy(self._tree.getroot())
        if self._source is not None:
            _move_references(root, self._source.parent, Path(folder))
        lines = ["<?xml version='1.0' encoding='UTF-8'?>", self._tree.docinfo.doctype or _DOCTYPE]
        above = map(_text, reversed(list(self._tree.getroot().itersiblings(preceding=True))))
        lines += [text for text in above if "written by tisim" not in text]
        return "\n".join([*lines, _text(root), ""]).encode()

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the file atomically, with a comment that names its writer."""
        head, end, rest = self.to_bytes(Path(path).parent).partition(b"\n")
        mark = f"<!-- {WRITTEN_BY_CALIBRATE} -->\n".encode()
        write_file(path, head + end + mark + rest)

    def load(self) -> Platform:
        """Return the platform that the file describes."""
        import tempfile

        from tisim.platform import Platform

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "platform.xml"
            self.write(path)
            return Platform.load(path)


def config_block(settings: Mapping[str, str], options: Mapping[str, str]) -> str:
    """Return a ``<config>`` block to paste into a platform file, right below ``<platform>``.

    `options` follow as properties, to paste into the outermost zone.
    """
    from lxml import etree

    block = etree.Element("config", id="General")
    for name, value in settings.items():
        etree.SubElement(block, "prop", id=name, value=value)
    etree.indent(block)
    lines = [etree.tostring(block, encoding="unicode")]
    if options:
        lines.append("<!-- in the outermost zone or cluster: -->")
    for name, value in options.items():
        prop = etree.Element("prop", id=OPTION + name, value=value)
        lines.append(etree.tostring(prop, encoding="unicode"))
    return "\n".join(map(str, lines))


def _remove_properties(element: _Element, names: Container[str], prefix: str = "") -> None:
    """Remove the properties with a prefix and one of these names, in any spelling."""
    for prop in element.findall("prop"):
        name = prop.get("id", "")
        if name.startswith(prefix) and _canonical(name.removeprefix(prefix)) in names:
            element.remove(prop)


def _add_properties(element: _Element, properties: Mapping[str, str], place: int = 0) -> None:
    from lxml import etree

    for number, (name, value) in enumerate(properties.items(), place):
        element.insert(number, etree.Element("prop", id=name, value=value))


def _canonical(name: str) -> str:
    """Return the name under which calibration writes an option; aliases could take precedence."""
    from tisim.config.table import canonical

    known = canonical(name) or name
    return {
        "network/bandwidth-factor": "smpi/bw-factor",
        "network/latency-factor": "smpi/lat-factor",
    }.get(known, known)


def _text(node: _Element) -> str:
    from lxml import etree

    return str(etree.tostring(node, encoding="unicode", with_tail=False)).strip()


def _move_references(root: _Element, old: Path, new: Path) -> None:
    """Adapt the relative file names of a platform to another folder."""
    for element in root.iter():
        for name, value in element.attrib.items():
            if name == "file" or name.endswith("_file"):
                element.set(name, os.path.relpath(old / value, new))


def _set_speed(element: _Element, flops: float) -> None:
    element.attrib.pop("power", None)
    element.set("speed", f"{flops:.9g}f")


def _indent(block: _Element) -> None:
    """Indent a block inside the root element."""
    from lxml import etree

    etree.indent(block, level=1)
    if not (block.tail or "").strip():
        block.tail = "\n  "
    parent = block.getparent()
    if parent is not None and not re.search(r"\S", parent.text or ""):
        parent.text = "\n  "
