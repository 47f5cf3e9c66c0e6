"""Disks that a property of a host or cluster describes: ``<cluster>`` has no ``<disk>``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tisim.errors import InputError
from tisim.platform.description.node import make_node
from tisim.platform.description.values import read_bandwidth
from tisim.platform.disks import MOUNT, SIZE

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tisim.platform.description.node import Node
    from tisim.platform.disks import DiskTable

#: The property of a host, or of a cluster, that gives each host a disk:
#: ``read=2GBps,write=1GBps,mount=/scratch,size=1TB``. SimGrid ignores it.
DISK: Final = "tisim/disk"

# What the words of the property are in a <disk>: attributes, then properties.
_ATTRIBUTES: Final = {"id": "id", "read": "read_bw", "write": "write_bw"}
_PROPERTIES: Final = {"mount": MOUNT, "size": SIZE}


def add_disks(disks: DiskTable, node: Node, hosts: Iterable[int]) -> None:
    """Add a disk as a ``<disk>`` element describes it to each of the hosts."""
    read = read_bandwidth(node, "read_bw", f"read_bw of disk {node['id']}")
    write = read_bandwidth(node, "write_bw", f"write_bw of disk {node['id']}")
    for host in hosts:
        disks.add(host, node, read, write)


def described_disk(node: Node) -> Node | None:
    """The ``<disk>`` that the property of a host or cluster stands for; None: it has none.

    Raises
    ------
    InputError
        If the property does not say what a disk needs.
    """
    text = node.properties().get(DISK)
    if text is None:
        return None
    try:
        disk = disk_of_text(text)
    except InputError as error:
        raise node.error(f"{DISK}: {error.message}") from None
    disk.file, disk.line = node.file, node.line
    return disk


def disk_of_text(text: str) -> Node:
    """The ``<disk>`` that words such as ``read=2GBps,write=1GBps,mount=/scratch`` stand for."""
    attributes, properties = {"id": "disk"}, {}
    for part in text.split(","):
        word, equals, value = (piece.strip() for piece in part.partition("="))
        if equals and value and word in _ATTRIBUTES:
            attributes[_ATTRIBUTES[word]] = value
        elif equals and value and word in _PROPERTIES:
            properties[_PROPERTIES[word]] = value
        else:
            raise InputError(
                f"a disk is read=RATE,write=RATE and perhaps mount=PATH, size=BYTES and id=NAME; "
                f"{part.strip()!r} is none of these"
            )
    missing = [word for word in ("read", "write") if _ATTRIBUTES[word] not in attributes]
    if missing:
        raise InputError(f"a disk needs {' and '.join(f'{word}=RATE' for word in missing)}")
    return make_node("disk", attributes, properties)
