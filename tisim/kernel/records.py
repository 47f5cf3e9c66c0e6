"""Conversion of model and platform parameters to the records that the core takes."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from tisim import _core
from tisim.config.kinds import StepTable

if TYPE_CHECKING:
    from tisim.config.kinds import OverheadTable
    from tisim.config.parameter import Record
    from tisim.config.table import Overheads
    from tisim.platform.compiled import CompiledPlatform
    from tisim.platform.disks import FileSystem
    from tisim.platform.profiles import ResourceProfile


def core_model(
    records: Iterable[Record],
    overheads: Iterable[Overheads],
    synchronised: Iterable[str],
    *,
    files: Mapping[str, int],
) -> _core.Model:
    """Return the core's parameters.

    `overheads` are the distinct overheads of hosts, `synchronised` the collectives before which all
    ranks synchronise, `files` the core's fields for reads and writes of files. Of `records`, only
    parameters marked as the core's are used.
    """
    values: dict[str, object] = {}
    for record in records:
        values |= record.core_values()
    tables = {
        key: _core.StepTable(table.first, list(table.boundaries), list(table.values))
        for key, table in values.items()
        if isinstance(table, StepTable)
    }
    kinds = [
        _core.Overheads(_overheads(kind.send), _overheads(kind.isend), _overheads(kind.receive))
        for kind in overheads
    ]
    mask = sum(1 << _core.operation_number(name) for name in synchronised)
    return _core.Model(
        **values | tables | dict(files),
        overheads=kinds,
        synchronised=mask,
    )


def _overheads(table: OverheadTable) -> _core.OverheadTable:
    return _core.OverheadTable(list(table.boundaries), list(table.base), list(table.per_byte))


def core_platform(
    compiled: CompiledPlatform,
    host_overheads: array[int],
    host_memory: array[float],
    file_systems: Iterable[FileSystem] = (),
) -> _core.PlatformData:
    """Return the core's arrays of a platform (`tisim.platform.compiled.CompiledPlatform`).

    `host_overheads` is the index of each host's overheads, shape (hosts,) or (0,); empty: the first
    for all hosts. `host_memory` is the rate that memory allows all cores of each host together, in
    flop/s, of the same shapes; empty: unlimited.
    """
    return _core.PlatformData(
        hosts=_core.HostColumns(
            speed=compiled.floats("host_speed"),
            cores=compiled.integers("host_cores"),
            memory=host_memory,
            overheads=host_overheads,
        ),
        disks=_core.DiskColumns(
            host=compiled.integers("disk_host"),
            read_bandwidth=compiled.floats("disk_read_bandwidth"),
            write_bandwidth=compiled.floats("disk_write_bandwidth"),
            size=compiled.floats("disk_size"),
        ),
        file_systems=[
            _core.FileSystemData(
                servers=array("i", system.servers),
                stripe=system.stripe,
                count=system.count,
                metadata_host=system.metadata,
                metadata_latency=system.metadata_latency,
                metadata_service=1.0 / system.metadata_rate,
                request=system.request,
                window=system.window,
                header=system.header,
                size=system.size,
                client_cache=system.client_cache,
                server_cache=system.server_cache,
                buffers=array("i", system.buffers),
                flushes_on_close=system.flushes_on_close,
            )
            for system in file_systems
        ],
        links=_core.LinkColumns(
            **{name: compiled.buffer(f"link_{name}") for name in _core.LinkColumns.fields()}
        ),
        zones=compiled.zones,
        profiles=_profiles(compiled.events),
    )


def _profiles(profiles: Iterable[ResourceProfile]) -> list[_core.ResourceProfile]:
    quantity = _core.Quantity
    kinds = (quantity.SPEED, quantity.BANDWIDTH, quantity.LATENCY, quantity.STATE)
    return [
        _core.ResourceProfile(
            entry.is_link,
            entry.index,
            kinds[entry.what],
            -1.0 if entry.profile.period is None else entry.profile.period,
            list(entry.profile.times),
            list(entry.profile.values),
        )
        for entry in profiles
    ]
