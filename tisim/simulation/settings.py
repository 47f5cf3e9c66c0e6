"""The settings of a simulation: platform, models, algorithms."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from tisim.actions.collectives.catalogue import ALGORITHMS, SELECTORS, Algorithm
from tisim.actions.collectives.communicators import write_stage
from tisim.actions.registry import Registry, default_registry
from tisim.actions.script import MemoryWork, Script
from tisim.actions.vocabulary import algorithm_name, write_call
from tisim.config import Config
from tisim.config.table import CollectiveFiles, CpuModel, NetworkModel, Overheads, Protocol
from tisim.errors import InputError
from tisim.platform.host_properties import memory_speeds, overheads_by_host
from tisim.support.reading import read_text

if TYPE_CHECKING:
    from tisim._core import CollectiveCall, CollectiveTransfer, Model, PlatformData, Stage
    from tisim.actions.registry import Action
    from tisim.actions.two_phase import Plan, Striping
    from tisim.config import ConfigLike
    from tisim.platform import Platform


class Settings:
    """A platform with a configuration, the input of a `tisim.kernel.driver.Driver`.

    `config`: options that take precedence over the platform's ``<config>``. `registry`: actions and
    algorithms of the user; by default the default registry.

    Attributes
    ----------
    config
        The merged options of both.
    network, cpu, protocol, files
        The models of the network, of processors, of MPI messages, and of collective reads and
        writes of files.
    speedups
        Factors by which computations between two calls are shortened; the key is
        ``file:line:file:line`` of the calls.
    routes
        The compiled platform.
    memory_speeds
        Rate that memory allows all cores of each host together, in flop/s; empty: unlimited.
    warnings
        Warnings about the platform and its options.
    """

    def __init__(
        self,
        platform: Platform,
        config: ConfigLike = None,
        registry: Registry | None = None,
    ) -> None:
        given = config if isinstance(config, Config) else Config(config)
        self.platform = platform
        self.registry = default_registry if registry is None else registry
        self.config = Config.from_platform(platform.config_items).merged(given)
        self.warnings = (*platform.warnings, *self.config.warnings)
        _check_collectives(self.config, self.registry)
        self.network = network = NetworkModel.from_config(self.config)
        self.protocol = Protocol.from_config(self.config)
        self.cpu = CpuModel.from_config(self.config)
        self.files = CollectiveFiles.from_config(self.config)
        path = self.cpu.adjustment_file
        self.speedups: Mapping[str, float] = _read_speedups(path) if path else {}
        self._overheads, self._overhead_of_host = overheads_by_host(
            Overheads.from_config(self.config), platform
        )
        self.routes = platform.compiled.with_loopback(
            network.loopback_bandwidth, network.loopback_latency
        )
        self.memory_speeds = memory_speeds(platform)
        self._collectives: dict[str, str] = {}

    @cached_property
    def model(self) -> Model:
        """The core's parameters."""
        from tisim.kernel.records import core_model

        return core_model(
            (self.network, self.cpu, self.protocol),
            self._overheads,
            self.protocol.synchronised,
            files=self.files.model_fields(),
        )

    @cached_property
    def data(self) -> PlatformData:
        """The core's arrays of the platform."""
        from tisim.kernel.records import core_platform

        numbers = array("i", self._overhead_of_host)
        return core_platform(self.routes, numbers, self.memory_speeds, self.platform.file_systems)

    def overheads_of(self, host: int) -> Overheads:
        """Return the overheads of the calls on a host."""
        number = self._overhead_of_host[host] if self._overhead_of_host else 0
        return self._overheads[number]

    @property
    def unsteady_reason(self) -> str | None:
        """Reason why equal iterations of a program may take different times; None if none."""
        if self.routes.events:
            return "the platform has profiles"
        protocol = self.protocol
        if protocol.jitter_start or protocol.jitter_barrier or protocol.jitter_size:
            return "starts, barriers or sizes have jitter"
        if self.network.ordering != "fair":
            return f"network/ordering is {self.network.ordering}"
        if any(burst > 0 for burst in self.routes.floats("link_burst")):
            return "links pass bursts"
        if self.cpu.volume_seed:
            return "volumes are drawn (tisim/volume-seed)"
        if self.speedups:
            return "smpi/comp-adjustment-file changes computations"
        return None

    def collective(self, operation: str) -> str:
        """Return the name of the algorithm or selector of an operation."""
        name = self._collectives.get(operation)
        if name is None:
            name = str(self.config[f"smpi/{operation}"] or self.config["smpi/coll-selector"])
            self._collectives[operation] = name
        return name

    def algorithm(self, operation: str) -> Algorithm:
        """Return the algorithm or selector of an operation."""
        return self.registry.algorithm(operation, self.collective(operation))

    @property
    def selector(self) -> str:
        """Name of the selector of collectives."""
        return str(self.config["smpi/coll-selector"])

    def script(
        self,
        rank: int,
        placement: Sequence[int],
        order: Sequence[int] | None,
        exchanged_parts: frozenset[int],
    ) -> Script:
        """Return an empty schedule for a rank of a communicator, with the configured algorithms."""
        return Script(
            rank,
            len(placement),
            placement,
            order=order,
            exchanged_parts=exchanged_parts,
            choose=self.algorithm,
            memory=self._memory_work(placement[rank]),
        )

    def _memory_work(self, host: int) -> MemoryWork | None:
        """Return the cost of memory operations in collectives on a host; None if they are free."""
        copy, combine = self.protocol.copy, self.protocol.combine
        if not (copy.is_nonzero or combine.is_nonzero):
            return None
        speed = self.routes.floats("host_speed")[host]
        return MemoryWork(
            lambda nbytes: speed * copy.at(nbytes), lambda nbytes: speed * combine.at(nbytes)
        )

    def write_call(self, script: Script, call: CollectiveCall) -> None:
        """Write the schedule of a rank in a collective (`tisim.actions.vocabulary`)."""
        write_call(script, call, self)

    def write_stage(
        self, script: Script, stage: Stage, joins: bool, groups: Sequence[Sequence[int]]
    ) -> None:
        """Write the schedule of a rank in a stage of the creation of a communicator."""
        write_stage(script, stage, joins, groups)

    def write_parts(self, script: Script) -> None:
        """Write the exchange of the parts of a file that the ranks access."""
        from tisim.actions.two_phase import write_parts

        write_parts(self.files.implementation, script)

    def plan_transfer(self, transfer: CollectiveTransfer, placement: Sequence[int]) -> Plan:
        """Return the plan of a collective read or write of a communicator."""
        from tisim.actions.two_phase import Hints, Request, plan_of

        files = self.files
        hints = Hints(files.cb_nodes, files.cb_buffer_size, files.cb_read, files.cb_write)
        request = Request(
            transfer.offsets,
            transfer.bytes,
            transfer.writes,
            placement,
            hints,
            self._striping(transfer.disk),
            transfer.pieces,
        )
        return plan_of(files.implementation, request)

    def _striping(self, disk: int) -> Striping | None:
        """Return the striping of files on a disk, if the MPI library has a driver for it."""
        from tisim.actions.two_phase import Striping

        place = disk - len(self.platform.disks)
        if place < 0 or self.files.driver == "generic":
            return None
        system = self.platform.file_systems[place]
        if self.files.driver == "automatic" and system.type != "striped":
            return None
        return Striping(int(system.stripe), system.count)

    def algorithm_name(self, operation: str) -> str:
        """Return the name of the algorithm or selector that the line of a collective uses."""
        return algorithm_name(operation, self)

    def action(self, name: str) -> Action:
        """Return the generator function of a user-defined action."""
        return self.registry.actions[name]

    def host_index(self, name: str) -> int:
        """Index of a host."""
        return self.platform.host_index(name)

    def disk_of(self, host: int, file: str) -> int:
        """Index of the disk or file system of a host's file; file systems follow all disks."""
        return self.platform.disk_of(host, file)

    def file_system_name(self, index: int) -> str:
        """Name of a file system."""
        return self.platform.file_systems[index].name

    def describe_storage(self, disk: int) -> tuple[str, str]:
        """Describe a disk or file system (see `disk_of`), with its mount point (empty if none)."""
        disks = self.platform.disks
        if disk < len(disks):
            held = disks[disk]
            return f"disk {held.name!r} of host {self.host_name(held.host)!r}", held.mount
        system = self.platform.file_systems[disk - len(disks)]
        return f"file system {system.name!r}", system.mount

    def server_names(self) -> dict[str, list[str]]:
        """Return the host names of each file system's servers, the metadata server last."""
        hosts = self.routes.integers("disk_host")
        return {
            system.name: [
                *(self.host_name(hosts[disk]) for disk in system.servers),
                self.host_name(system.metadata),
            ]
            for system in self.platform.file_systems
        }

    def host_name(self, index: int) -> str:
        """Name of a host."""
        return self.routes.host_name(index)

    def link_name(self, index: int) -> str:
        """Name of a link."""
        return self.routes.link_name(index)


def _check_collectives(config: Config, registry: Registry) -> None:
    """Check that the algorithms that a configuration names exist.

    Raises an `InputError` if one does not, whether or not the trace uses it.
    """
    selector = str(config["smpi/coll-selector"])
    if selector not in SELECTORS:
        raise InputError(
            f"option smpi/coll-selector: must be one of {', '.join(SELECTORS)}, not {selector!r}"
        )
    for operation in ALGORITHMS:
        name = str(config[f"smpi/{operation}"])
        if name:
            try:
                registry.algorithm(operation, name)
            except InputError as error:
                raise InputError(f"option smpi/{operation}: {error.message}") from None


def _read_speedups(path: str) -> dict[str, float]:
    """Read the factors by which computations between two calls are shortened.

    The file has lines ``"file:line:file:line",factor`` after a header line. Raises an
    `InputError` if it cannot be read, or a line does not have this form.
    """
    import csv

    lines = read_text(path, "this smpi/comp-adjustment-file").splitlines()
    speedups: dict[str, float] = {}
    for number, row in enumerate(csv.reader(lines[1:]), 2):
        if not row:
            continue
        try:
            factor = float(row[1])
        except (IndexError, ValueError):
            factor = 0.0
        if factor <= 0:
            raise InputError(
                'a line must be "start:stop",factor with a factor above zero',
                file=path,
                line=number,
            )
        speedups.setdefault(row[0].strip(), factor)
    return speedups
