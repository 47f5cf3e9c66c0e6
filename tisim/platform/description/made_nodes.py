"""Elements that a program describes: disks, routes and profiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tisim.errors import InputError
from tisim.platform.description.attributes import Hop, Quantity, hops_of, pair_of, text_of
from tisim.platform.description.node import Node, make_node

_PROFILES: Final = {
    ("host", "speed"): "SPEED",
    ("host", "state"): "HOST_AVAIL",
    ("link", "bandwidth"): "BANDWIDTH",
    ("link", "latency"): "LATENCY",
    ("link", "state"): "LINK_AVAIL",
}


def disk_nodes(disks: Mapping[str, tuple[Quantity, Quantity, str]]) -> list[Node]:
    """The disks of a host; see `PlatformBuilder.host`.

    Raises
    ------
    InputError
        If a disk is something else.
    """
    nodes = []
    for name, disk in disks.items():
        if not isinstance(disk, Sequence) or isinstance(disk, str) or len(disk) != 3:
            raise InputError(
                f"a disk is its two bandwidths and its mount point, such as "
                f"('2GBps', '1GBps', '/scratch'), not {disk!r}"
            )
        read, write, mount = disk
        attributes = {"id": name, "read_bw": text_of(read), "write_bw": text_of(write)}
        nodes.append(make_node("disk", attributes, {"mount": mount} if mount else None))
    return nodes


def route_node(
    tag: str,
    src: str,
    dst: str,
    links: Sequence[Hop],
    gateways: tuple[str, str] | None = None,
    symmetrical: bool | None = None,
) -> Node:
    """A route or a bypass; None stands for attributes that its element does not have.

    Raises
    ------
    InputError
        If the links or the gateways are something else.
    """
    attributes = {"src": src, "dst": dst}
    if gateways is not None:
        first, last = pair_of(gateways, "gateways are two names")
        attributes |= {"gw_src": first, "gw_dst": last}
    if symmetrical is not None:
        attributes["symmetrical"] = "YES" if symmetrical else "NO"
    node = make_node(tag, attributes)
    for name, direction in hops_of(links):
        node.children.append(make_node("link_ctn", {"id": name, "direction": direction}))
    return node


def profile_nodes(
    kind: str,
    name: str,
    quantity: str,
    changes: Mapping[float, float],
    period: float | None,
    number: int,
) -> tuple[Node, Node]:
    """The profile of a host or a link and its connection; see `PlatformBuilder.profile`.

    `number` tells the profiles of a platform apart.

    Raises
    ------
    InputError
        If there is no such quantity, or a date or a value is no number.
    """
    if (kind, quantity) not in _PROFILES:
        known = ", ".join(f"{what} of a {of}" for of, what in _PROFILES)
        raise InputError(f"a profile is of {known}, not {quantity} of a {kind}")
    trace = f"profile-{number}"
    repeat = -1.0 if period is None else period
    node = make_node("trace", {"id": trace, "periodicity": text_of(repeat)})
    node.text = "\n".join(f"{text_of(date)} {text_of(value)}" for date, value in changes.items())
    connection = {"kind": _PROFILES[kind, quantity], "trace": trace, "element": name}
    return node, make_node("trace_connect", connection)
