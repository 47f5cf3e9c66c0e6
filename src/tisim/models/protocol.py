"""Parameters of the MPI protocol: thresholds, overheads and injected times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.models import typed
from tisim.models.factors import OverheadTable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tisim.config import Config
    from tisim.platform import Platform


@dataclass(frozen=True, slots=True)
class Overheads:
    """What calls of a host cost its processor, by the size of the message in bytes.

    Attributes
    ----------
    send
        Of a blocking send, before it posts the message (``smpi/os``).
    isend
        Of a non-blocking send (``smpi/ois``).
    receive
        Of completing a receive whose send was detached (``smpi/or``).
    """

    send: OverheadTable = field(default_factory=OverheadTable)
    isend: OverheadTable = field(default_factory=OverheadTable)
    receive: OverheadTable = field(default_factory=OverheadTable)

    def overridden(self, properties: Mapping[str, str]) -> Overheads:
        """The overheads of a host, whose properties may replace those of the configuration.

        Raises
        ------
        InputError
            If a property ``smpi/os``, ``smpi/ois`` or ``smpi/or`` is no table.
        """
        tables = []
        own = ("smpi/os", self.send), ("smpi/ois", self.isend), ("smpi/or", self.receive)
        for key, table in own:
            try:
                tables.append(OverheadTable.parse(properties[key]) if key in properties else table)
            except InputError as error:
                raise InputError(f"property {key} of a host: {error.message}") from None
        return Overheads(*tables)


#: Before these SimGrid 4's `smpi/barrier-collectives` makes all ranks wait for one another.
SYNCHRONISED = frozenset(
    {"bcast", "gather", "gatherv", "scatter", "scatterv", "reduce", "scan", "exscan"}
)


@dataclass(frozen=True, slots=True)
class Protocol:
    """How MPI messages and calls behave (SimGrid 3.32, ``smpi_request.cpp``).

    Messages below `eager_threshold` are sent at once; those below `detached_threshold` let the
    sender go on at once and start when the receive is posted; larger ones hold the sender until
    they have arrived (Bedaride et al., PMBS 2013).

    Attributes
    ----------
    eager_threshold, detached_threshold
        In bytes; the first is not above the second.
    overheads
        Of hosts whose properties do not say otherwise.
    test_sleep, iprobe_sleep
        Seconds that an ``MPI_Test`` or ``MPI_Iprobe`` without success takes.
    iprobe_cpu_usage
        Share of the processor that a probe loads.
    grow_injected_times
        Whether these times grow with the number of tests that failed.
    init_sleep
        Seconds of ``MPI_Init``, before the first action of a rank.
    simulate_computation
        Whether computations take time; the flops of reductions do anyway.
    speedups
        Factors by which computations between two calls are shortened; the key is
        ``file:line:file:line`` of the calls (``smpi/comp-adjustment-file``).
    barrier_finalization, barrier_collectives
        Whether a barrier ends the program, and precedes each collective of `SYNCHRONISED`.
    """

    eager_threshold: int = 0
    detached_threshold: int = 65536
    overheads: Overheads = field(default_factory=Overheads)
    test_sleep: float = 1e-4
    iprobe_sleep: float = 1e-4
    iprobe_cpu_usage: float = 1.0
    grow_injected_times: bool = True
    init_sleep: float = 0.0
    simulate_computation: bool = True
    speedups: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    barrier_finalization: bool = False
    barrier_collectives: bool = False

    @property
    def synchronised(self) -> frozenset[str]:
        """Collectives before which all ranks wait for one another."""
        return SYNCHRONISED if self.barrier_collectives else frozenset()

    def __post_init__(self) -> None:
        if not 0 <= self.eager_threshold <= self.detached_threshold:
            raise InputError(
                f"smpi/async-small-thresh ({self.eager_threshold}) must not be above "
                f"smpi/send-is-detached-thresh ({self.detached_threshold})"
            )

    @classmethod
    def from_config(cls, config: Config) -> Protocol:
        """The protocol of a configuration."""
        adjustments = typed.text(config, "smpi/comp-adjustment-file")
        return cls(
            eager_threshold=typed.size(config, "smpi/async-small-thresh"),
            detached_threshold=typed.size(config, "smpi/send-is-detached-thresh"),
            overheads=Overheads(
                typed.overheads(config, "smpi/os"),
                typed.overheads(config, "smpi/ois"),
                typed.overheads(config, "smpi/or"),
            ),
            test_sleep=typed.number(config, "smpi/test"),
            iprobe_sleep=typed.number(config, "smpi/iprobe"),
            iprobe_cpu_usage=typed.number(config, "smpi/iprobe-cpu-usage"),
            grow_injected_times=typed.flag(config, "smpi/grow-injected-times"),
            init_sleep=typed.number(config, "smpi/init"),
            simulate_computation=typed.flag(config, "smpi/simulate-computation"),
            speedups=MappingProxyType(read_speedups(adjustments) if adjustments else {}),
            barrier_finalization=typed.flag(config, "smpi/barrier-finalization"),
            barrier_collectives=typed.flag(config, "smpi/barrier-collectives"),
        )

    def by_host(self, platform: Platform) -> tuple[list[Overheads], NDArray[np.int32]]:
        """The overheads that hosts have, and for each host (shape (hosts,)) which of them.

        The first are those of hosts without properties of their own.
        """
        import numpy as np

        kinds = [self.overheads]
        numbers = np.zeros(len(platform.hosts), dtype=np.int32)
        for first, count, properties in platform.host_properties():
            if properties.keys() & {"smpi/os", "smpi/ois", "smpi/or"}:
                own = self.overheads.overridden(properties)
                if own not in kinds:
                    kinds.append(own)
                numbers[first : first + count] = kinds.index(own)
        return kinds, numbers


def read_speedups(path: str) -> dict[str, float]:
    """Read a file of ``"file:line:file:line",factor`` lines after one line of headings.

    Raises
    ------
    InputError
        If the file cannot be read, or a line is not of that form.
    """
    try:
        lines = Path(path).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not text"
        raise InputError(
            f"cannot read this smpi/comp-adjustment-file: {reason}", file=path
        ) from None
    speedups: dict[str, float] = {}
    import csv

    for number, row in enumerate(csv.reader(lines[1:]), 2):
        if not row:
            continue
        try:
            factor = float(row[1])
        except (IndexError, ValueError):
            factor = 0.0
        if factor <= 0:
            raise InputError(
                'a line is "start:stop",factor with a factor above zero', file=path, line=number
            )
        speedups.setdefault(row[0].strip(), factor)
    return speedups
