"""The attributes of elements that Python describes: numbers, names and lists as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeVar

from tisim.errors import InputError

#: A number in SI units (flop/s, bytes/s, seconds), or text with a unit such as ``"10us"``.
Quantity = float | str
#: A link of a route: its name, or its name and ``"UP"`` or ``"DOWN"``.
Hop = str | tuple[str, str]

_T = TypeVar("_T")

_TOPOLOGIES: Final = {
    "flat": "FLAT",
    "torus": "TORUS",
    "fat_tree": "FAT_TREE",
    "dragonfly": "DRAGONFLY",
}


def text_of(quantity: Quantity) -> str:
    """A quantity as a file writes it.

    Raises
    ------
    InputError
        If it is neither a number nor text.
    """
    if isinstance(quantity, str):
        return quantity
    try:
        return repr(float(quantity))
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            f"a quantity is a number in SI units or text such as '10us', not {quantity!r}"
        ) from None


def pair_of(given: Sequence[_T], what: str) -> tuple[_T, _T]:
    """Two values; `what` says so in the message of an error.

    Raises
    ------
    InputError
        If there are not two.
    """
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2:
        raise InputError(f"{what}, not {given!r}")
    return given[0], given[1]


def coordinates_of(coordinates: Sequence[float] | None) -> dict[str, str]:
    """The attribute of Vivaldi coordinates, where there are any."""
    if coordinates is None:
        return {}
    return {"coordinates": " ".join(map(text_of, _listed(coordinates, "coordinates")))}


def link_attributes(name: str, bandwidth: Quantity, latency: Quantity) -> dict[str, str]:
    """The attributes of a link."""
    return {"id": name, "bandwidth": text_of(bandwidth), "latency": text_of(latency)}


def network_attributes(speed: Quantity, bandwidth: Quantity, latency: Quantity) -> dict[str, str]:
    """The attributes of equal hosts, and of the links between them."""
    return {"speed": text_of(speed), "bw": text_of(bandwidth), "lat": text_of(latency)}


def optional_links(
    backbone: tuple[Quantity, Quantity] | None,
    loopback: tuple[Quantity, Quantity] | None,
    limiter: Quantity | None,
) -> dict[str, str]:
    """The attributes of the links that a cluster may have or not.

    Raises
    ------
    InputError
        If the backbone or the loopback is not a bandwidth and a latency.
    """
    attributes: dict[str, str] = {}
    for letters, given in (("bb", backbone), ("loopback", loopback)):
        if given is not None:
            first, second = pair_of(given, "a backbone or loopback is a bandwidth and a latency")
            attributes |= {f"{letters}_bw": text_of(first), f"{letters}_lat": text_of(second)}
    if limiter is not None:
        attributes["limiter_link"] = text_of(limiter)
    return attributes


def numbered_hosts(
    name: str, nodes: int | None, radical: str | None, prefix: str | None, suffix: str
) -> dict[str, str]:
    """The attributes that name hosts by their numbers.

    Raises
    ------
    InputError
        If not exactly one of `nodes` and `radical` is given, or there is no host.
    """
    if (nodes is None) == (radical is None):
        raise InputError(f"cluster {name}: give either nodes or radical")
    if nodes is not None:
        if isinstance(nodes, bool) or not isinstance(nodes, int) or nodes < 1:
            raise InputError(
                f"cluster {name}: the number of nodes is a whole number, at least 1, not {nodes!r}"
            )
        radical = f"0-{nodes - 1}"
    return {
        "id": name,
        "prefix": f"{name}-" if prefix is None else prefix,
        "suffix": suffix,
        "radical": radical or "",
    }


def topology_attributes(
    topology: str, given: str | Sequence[int | Sequence[int]]
) -> dict[str, str]:
    """The topology of a cluster and its ``topo_parameters``.

    Raises
    ------
    InputError
        If there is no such topology.
    """
    if topology not in _TOPOLOGIES:
        raise InputError(f"topology is one of {', '.join(_TOPOLOGIES)}, not {topology!r}")
    text = given if isinstance(given, str) else _parameters(topology, given)
    return {"topology": _TOPOLOGIES[topology], "topo_parameters": text}


def _parameters(topology: str, given: Sequence[int | Sequence[int]]) -> str:
    parts = [
        str(part) if isinstance(part, int) else ",".join(map(str, _listed(part, "parameters")))
        for part in _listed(given, "parameters")
    ]
    if topology == "torus":
        return ",".join(parts)
    if topology == "fat_tree" and parts:
        return ";".join([str(parts[0].count(",") + 1), *parts])
    return ";".join(parts)


def hops_of(links: Sequence[Hop]) -> Iterator[tuple[str, str]]:
    """The links of a route, each with its direction.

    Raises
    ------
    InputError
        If they are no list of links.
    """
    for hop in _listed(links, "links"):
        if isinstance(hop, str):
            yield hop, "NONE"
        else:
            yield pair_of(hop, "a link of a route is a name, or a name and UP or DOWN")


def _listed(given: Iterable[_T], what: str) -> Iterable[_T]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise InputError(f"{what} must be a list, not {given!r}")
    return given
