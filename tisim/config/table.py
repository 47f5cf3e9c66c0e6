"""The table of parameters: name, unit, default and choices of each.

Their meaning is documented in `docs/configuration.md`, whose tables a test compares with this one.
A parameter of the core is a field of one of the records. To add one, add its row to the record, its
field to `core/platform/model.hpp`, and its use. Options that a replay does not use are in
`tisim.config.unused`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tisim.config.kinds import (
    BYTES,
    BYTES_PER_SECOND,
    CHOICE,
    COUNT,
    FACTORS,
    FLAG,
    NUMBER,
    OVERHEADS,
    SECONDS,
    TEXT,
    OverheadTable,
    StepTable,
    Value,
)
from tisim.config.parameter import Parameter, Record, row
from tisim.config.unused import UNUSED
from tisim.errors import InputError
from tisim.support.similar import similar


@dataclass(frozen=True, slots=True)
class NetworkModel(Record):
    """Model of the transfer of a message over a route.

    A message of s bytes first waits ``latency_factor(s) * latency``. Its bytes then move at
    ``bandwidth_factor(s)`` times its share of the links. Shares are max-min fair with the weight
    ``1 / (latency + sum of weight_s / bandwidth over the links)`` and at most
    ``min(smallest bandwidth, tcp_gamma / (2 * latency))`` (SimGrid 3.32, ``network_cm02.cpp``;
    Velho and Legrand, SimuTools 2009). The defaults of the models are those of SimGrid 3.32 and
    4.1. SMPI: Clauss et al., IPDPS 2011, factors measured on Stampede; LV08: Velho and Legrand,
    SimuTools 2009; CM02: Casanova and Marchal, INRIA 2002; raw: size / bandwidth + latency.
    """

    name: str = row(
        Parameter(
            "network/model", CHOICE, "SMPI", choices=("SMPI", "LV08", "CM02", "raw"), core=False
        )
    )
    latency_factor: StepTable = row(
        Parameter(
            "network/latency-factor",
            FACTORS,
            "65472:11.6436;15424:3.48845;9376:2.59299;5776:2.18796;3484:1.88101;1426:1.61075;"
            "732:1.9503;257:1.95341;0:2.01467",
            by_model={"LV08": "13.01", "CM02": "1", "raw": "1"},
            smpi_key="smpi/lat-factor",
        )
    )
    bandwidth_factor: StepTable = row(
        Parameter(
            "network/bandwidth-factor",
            FACTORS,
            "65472:0.940694;15424:0.697866;9376:0.58729;5776:1.08739;3484:0.77493;1426:0.608902;"
            "732:0.341987;257:0.338112;0:0.812084",
            by_model={"LV08": "0.97", "CM02": "1", "raw": "1"},
            smpi_key="smpi/bw-factor",
            positive=True,
        )
    )
    weight_s: float = row(
        Parameter(
            "network/weight-S",
            NUMBER,
            "8775",
            by_model={"LV08": "20537", "CM02": "0", "raw": "0"},
            unit="B",
            spellings=("network/weight-S-parameter",),
        )
    )
    tcp_gamma: float = row(
        Parameter("network/TCP-gamma", NUMBER, "4194304", by_model={"raw": "0"}, unit="B")
    )
    crosstraffic: bool = row(Parameter("network/crosstraffic", FLAG, "yes", by_model={"raw": "no"}))
    loopback_bandwidth: float = row(
        Parameter("network/loopback-bw", BYTES_PER_SECOND, "10e9", positive=True, core=False)
    )
    loopback_latency: float = row(Parameter("network/loopback-lat", SECONDS, "0", core=False))
    envelope: int = row(Parameter("tisim/envelope", BYTES, "16"))
    ordering: str = row(Parameter("network/ordering", CHOICE, "fair", choices=("fair", "fifo")))
    send_buffer: int = row(Parameter("network/send-buffer", BYTES, "524288"))
    precision_timing: float = row(
        Parameter("precision/timing", SECONDS, "1e-9", positive=True, spellings=("surf/precision",))
    )
    precision_maxmin: float = row(
        Parameter("precision/work-amount", NUMBER, "1e-5", spellings=("maxmin/precision",))
    )
    network_tolerance: float = row(Parameter("network/tolerance", NUMBER, "0", maximum=0.1))


@dataclass(frozen=True, slots=True)
class Overheads(Record):
    """Overheads of the calls on a host, by message size in bytes.

    A host property with the parameter's name overrides the configuration.
    """

    send: OverheadTable = row(Parameter("smpi/os", OVERHEADS, "0:0:0"))
    isend: OverheadTable = row(Parameter("smpi/ois", OVERHEADS, "0:0:0"))
    receive: OverheadTable = row(Parameter("smpi/or", OVERHEADS, "0:0:0"))


@dataclass(frozen=True, slots=True)
class Protocol(Record):
    """Behaviour of MPI messages and calls (SimGrid 3.32, ``smpi_request.cpp``).

    Messages below `eager_threshold` are sent at once; those below `detached_threshold` do not block
    the sender and start when the receive is posted; larger ones block the sender until they have
    arrived (Bedaride et al., PMBS 2013).
    """

    eager_threshold: int = row(
        Parameter("smpi/async-small-thresh", BYTES, "0", spellings=("smpi/async-small-thres",))
    )
    detached_threshold: int = row(
        Parameter(
            "smpi/send-is-detached-thresh",
            BYTES,
            "65536",
            spellings=("smpi/send-is-detached-thres",),
        )
    )
    rendezvous: str = row(
        Parameter("smpi/rendezvous", CHOICE, "put", choices=("put", "put-ack", "get", "send"))
    )
    fragment_bytes: int = row(Parameter("smpi/fragment-size", BYTES, "131072", positive=True))
    fragments_queued: int = row(Parameter("smpi/pipeline-depth", COUNT, "3", positive=True))
    rma: str = row(
        Parameter("smpi/rma", CHOICE, "simgrid", choices=("simgrid", "rdma", "openmpi", "mpich"))
    )
    test_sleep: float = row(Parameter("smpi/test", SECONDS, "1e-4"))
    iprobe_sleep: float = row(Parameter("smpi/iprobe", SECONDS, "1e-4"))
    copy: OverheadTable = row(Parameter("smpi/copy", OVERHEADS, "0:0:0", core=False))
    combine: OverheadTable = row(Parameter("smpi/combine", OVERHEADS, "0:0:0", core=False))
    iprobe_cpu_usage: float = row(Parameter("smpi/iprobe-cpu-usage", NUMBER, "1"))
    grow_injected_times: bool = row(Parameter("smpi/grow-injected-times", FLAG, "yes"))
    init_sleep: float = row(Parameter("smpi/init", SECONDS, "0"))
    barrier_finalization: bool = row(
        Parameter("smpi/barrier-finalization", FLAG, "no", spellings=("smpi/finalization-barrier",))
    )
    barrier_collectives: bool = row(Parameter("smpi/barrier-collectives", FLAG, "no", core=False))
    null_source: str = row(
        Parameter("tisim/null-source", CHOICE, "any", choices=("any", "proc-null"), core=False)
    )
    jitter_start: float = row(Parameter("tisim/jitter-start", SECONDS, "0"))
    jitter_barrier: float = row(Parameter("tisim/jitter-barrier", SECONDS, "0"))
    jitter_size: float = row(Parameter("tisim/jitter-size", NUMBER, "0"))
    jitter_seed: int = row(Parameter("tisim/jitter-seed", COUNT, "0"))
    sources: str = row(
        Parameter("tisim/sources", CHOICE, "any", choices=("any", "matched"), core=False)
    )
    completions: str = row(
        Parameter("tisim/completions", CHOICE, "matched", choices=("matched", "free"), core=False)
    )
    io_layer: str = row(
        Parameter("tisim/io-layer", CHOICE, "mpi", choices=("mpi", "posix"), core=False)
    )
    kept_operations: int = row(
        Parameter("tisim/kept-operations", COUNT, "4194304", changes_results=False)
    )

    def __post_init__(self) -> None:
        Record.__post_init__(self)
        check_thresholds(self.eager_threshold, self.detached_threshold)
        if self.jitter_size >= 1:
            raise InputError("tisim/jitter-size must be below 1")

    @property
    def synchronised(self) -> frozenset[str]:
        """Collectives before which all ranks synchronise."""
        return SYNCHRONISED if self.barrier_collectives else frozenset()


#: Collectives before which `barrier_collectives` synchronises all ranks.
SYNCHRONISED: Final = frozenset(
    {"bcast", "gather", "gatherv", "scatter", "scatterv", "reduce", "scan", "exscan"}
)


def check_thresholds(eager: int, detached: int) -> None:
    """Check that the protocol's two thresholds (bytes) are consistent."""
    if not 0 <= eager <= detached:
        raise InputError(
            f"smpi/async-small-thresh ({eager}) must not be above "
            f"smpi/send-is-detached-thresh ({detached})"
        )


@dataclass(frozen=True, slots=True)
class CpuModel(Record):
    """Progress of computations on a host of c cores of s flop/s.

    Each runs at s at most, all together at c * s, shared max-min fairly (SimGrid 3.32,
    ``cpu_cas01.cpp``).
    """

    simulate_computation: bool = row(Parameter("smpi/simulate-computation", FLAG, "yes"))
    adjustment_file: str = row(Parameter("smpi/comp-adjustment-file", TEXT, "", core=False))
    volume_seed: int = row(Parameter("tisim/volume-seed", COUNT, "0", core=False))
    speeds: str = row(
        Parameter(
            "tisim/speeds",
            CHOICE,
            "unknown",
            choices=("unknown", "relative", "instructions"),
            changes_results=False,
            core=False,
        )
    )


_HINTS: Final = ("automatic", "enable", "disable")


@dataclass(frozen=True, slots=True)
class CollectiveFiles(Record):
    """Execution of collective reads and writes of files."""

    implementation: str = row(
        Parameter(
            "tisim/collective-io", CHOICE, "independent", choices=("independent", "romio", "ompio")
        )
    )
    driver: str = row(
        Parameter(
            "tisim/collective-io-driver",
            CHOICE,
            "automatic",
            choices=("automatic", "generic", "lustre"),
        )
    )
    cb_nodes: int = row(Parameter("tisim/cb-nodes", COUNT, "0"))
    cb_buffer_size: int = row(Parameter("tisim/cb-buffer-size", BYTES, "0"))
    cb_read: str = row(Parameter("tisim/cb-read", CHOICE, "automatic", choices=_HINTS))
    cb_write: str = row(Parameter("tisim/cb-write", CHOICE, "automatic", choices=_HINTS))
    ds_read: str = row(Parameter("tisim/ds-read", CHOICE, "automatic", choices=_HINTS))
    ds_write: str = row(Parameter("tisim/ds-write", CHOICE, "automatic", choices=_HINTS))
    ind_rd_buffer_size: int = row(Parameter("tisim/ind-rd-buffer-size", BYTES, "4MiB"))
    ind_wr_buffer_size: int = row(Parameter("tisim/ind-wr-buffer-size", BYTES, "512KiB"))

    def model_fields(self) -> dict[str, int]:
        """Return the core's fields that depend on several options."""

        def sieve(hint: str, size: int) -> int:
            sieves = hint == "enable" or (hint == "automatic" and self.implementation == "romio")
            return size if sieves else 0

        return {
            "two_phase": self.implementation != "independent",
            "overlaps_splits": self.implementation == "ompio",
            "sieve_reads": sieve(self.ds_read, self.ind_rd_buffer_size),
            "sieve_writes": sieve(self.ds_write, self.ind_wr_buffer_size),
        }


#: Operations whose algorithm is chosen by an option ``smpi/<operation>``.
_OPERATIONS: Final = (
    "allgather allgatherv allreduce alltoall alltoallv barrier bcast exscan gather gatherv reduce"
    " reduce_scatter scan scatter scatterv"
)
OPERATIONS: Final = tuple(_OPERATIONS.split())

#: Options of the selector and of each operation.
COLLECTIVES: Final[tuple[Parameter[Value], ...]] = (
    Parameter("smpi/coll-selector", TEXT, "default"),
    *(
        Parameter(
            f"smpi/{operation}",
            TEXT,
            "",
            spellings=("smpi/reducescatter",) if operation == "reduce_scatter" else (),
        )
        for operation in OPERATIONS
    ),
)


# All parameters by name, including the other names that SimGrid has had for them

RECORDS: Final[tuple[type[Record], ...]] = (
    NetworkModel,
    CpuModel,
    Protocol,
    Overheads,
    CollectiveFiles,
)


def _rows() -> list[Parameter[Value]]:
    rows = [parameter for record in RECORDS for _, parameter in record.parameters()]
    return [*rows, *COLLECTIVES, *UNUSED]


#: Every parameter, by its key.
PARAMETERS: Final[dict[str, Parameter[Value]]] = {}
#: Maps the two names of a table to each other: SimGrid 4 renamed the options, SimGrid 3 has both.
SAME_TABLE: Final[dict[str, str]] = {}
for _parameter in _rows():
    PARAMETERS[_parameter.key] = _parameter
    if _parameter.smpi_key:
        PARAMETERS[_parameter.smpi_key] = Parameter(
            _parameter.smpi_key, _parameter.kind, _parameter.default
        )
        SAME_TABLE[_parameter.key] = _parameter.smpi_key
        SAME_TABLE[_parameter.smpi_key] = _parameter.key

# Older versions of SimGrid write "_" in place of "-".
_SPELLINGS: Final = {key.replace("_", "-"): key for key in PARAMETERS} | {
    spelling: parameter.key for parameter in PARAMETERS.values() for spelling in parameter.spellings
}


def canonical(key: str) -> str | None:
    """Return the canonical name of an option in any historical spelling; None if unknown."""
    return _SPELLINGS.get(key.strip().replace("_", "-"))


def suggestion(key: str) -> str:
    """Suggest known names that resemble `key`, for an error message."""
    close = similar(key.replace("_", "-"), _SPELLINGS, limit=3)
    names = list(dict.fromkeys(_SPELLINGS[name] for name in close))
    return f"; did you mean {' or '.join(names)}?" if names else ""
