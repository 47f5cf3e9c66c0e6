"""A new platform as files: its XML, a host file and a deployment."""

from __future__ import annotations

import os
from pathlib import Path

from tisim.platform.description.xml import quoted
from tisim.platform.platform import Platform
from tisim.support.files import write_file

_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
    '<platform version="4.1">\n'
)


def write_with_deployment(platform: Platform, path: str | os.PathLike[str]) -> tuple[Path, ...]:
    """Write a platform ``x.xml``, its hosts ``x.hosts`` and a deployment ``x.deploy.xml``.

    The deployment has one rank on each core, consecutive ranks on one host. The host file has a
    line ``host:cores`` for each host. Servers of file systems are in neither.

    Parameters
    ----------
    platform
        The platform.
    path
        Where to write it.

    Returns
    -------
    tuple of Path
        The three files.

    Raises
    ------
    InputError
        If a file cannot be written.
    """
    xml = Path(path)
    hosts = xml.with_suffix(".hosts")
    deployment = xml.with_suffix(".deploy.xml")
    disks = platform.disks
    servers = {disks[disk].host for system in platform.file_systems for disk in system.servers}
    servers |= {system.metadata for system in platform.file_systems}
    slots = [(host.name, host.cores) for host in platform.hosts if host.index not in servers]
    lines = (f"{name}:{cores}\n" if cores > 1 else f"{name}\n" for name, cores in slots)
    places = (name for name, cores in slots for _ in range(cores))
    actors = (
        f'  <actor host={quoted(name)} function="{rank}"/>\n' for rank, name in enumerate(places)
    )
    platform.write(xml)
    write_file(hosts, "".join(lines))
    write_file(deployment, "".join([_HEAD, *actors, "</platform>\n"]))
    return xml, hosts, deployment
