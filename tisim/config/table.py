"""The table of parameters: name, unit, default, choices and meaning of each stand here, once.

A parameter of the core is a field of one of the records. To add one, add its row to the record, its
field to `core/platform/model.hpp`, and its use. The options that a replay does not use are in
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

_NETWORK: Final = "Network"


@dataclass(frozen=True, slots=True)
class NetworkModel(Record):
    """How a message of some size crosses a route.

    A message of s bytes first waits ``latency_factor(s) * latency``. Its bytes then move at
    ``bandwidth_factor(s)`` times its share of the links. Shares are max-min fair with the weight
    ``1 / (latency + sum of weight_s / bandwidth over the links)`` and at most
    ``min(least bandwidth, tcp_gamma / (2 * latency))`` (SimGrid 3.32, ``network_cm02.cpp``;
    Velho and Legrand, SimuTools 2009). The defaults of the models are those of SimGrid 3.32 and
    4.1. SMPI: Clauss et al., IPDPS 2011, factors measured on Stampede; LV08: Velho and Legrand,
    SimuTools 2009; CM02: Casanova and Marchal, INRIA 2002; raw: size / bandwidth + latency.
    """

    name: str = row(
        "network/model",
        CHOICE,
        "SMPI",
        choices=("SMPI", "LV08", "CM02", "raw"),
        section=_NETWORK,
        core=False,
        doc="`SMPI`, `LV08`, `CM02` or `raw` (SimGrid 4's name for no corrections at all); each "
        "sets defaults for the next options. SimGrid's `IB`, `Constant` and `ns-3` are errors",
    )
    latency_factor: StepTable = row(
        "network/latency-factor",
        FACTORS,
        "65472:11.6436;15424:3.48845;9376:2.59299;5776:2.18796;3484:1.88101;1426:1.61075;"
        "732:1.9503;257:1.95341;0:2.01467",
        by_model={"LV08": "13.01", "CM02": "1", "raw": "1"},
        smpi_key="smpi/lat-factor",
        section=_NETWORK,
        doc="`boundary:factor;...`, boundaries in bytes, or one number: multiplies the latency of "
        "a route. A factor holds above its boundary; up to the first boundary it is 1. As in "
        "SimGrid 3.32 the `smpi/` names count in the SMPI model only",
    )
    bandwidth_factor: StepTable = row(
        "network/bandwidth-factor",
        FACTORS,
        "65472:0.940694;15424:0.697866;9376:0.58729;5776:1.08739;3484:0.77493;1426:0.608902;"
        "732:0.341987;257:0.338112;0:0.812084",
        by_model={"LV08": "0.97", "CM02": "1", "raw": "1"},
        smpi_key="smpi/bw-factor",
        above_zero=True,
        section=_NETWORK,
        doc="the same for the bandwidth that a message gets",
    )
    weight_s: float = row(
        "network/weight-S",
        NUMBER,
        "8775",
        by_model={"LV08": "20537", "CM02": "0", "raw": "0"},
        unit="B",
        spellings=("network/weight-S-parameter",),
        section=_NETWORK,
        doc="the weight of a slow link relative to latency, where flows share a link",
    )
    tcp_gamma: float = row(
        "network/TCP-gamma",
        NUMBER,
        "4194304",
        by_model={"raw": "0"},
        unit="B",
        section=_NETWORK,
        doc="the largest TCP window; 0: no bound",
    )
    crosstraffic: bool = row(
        "network/crosstraffic",
        FLAG,
        "yes",
        by_model={"raw": "no"},
        section=_NETWORK,
        doc="a flow loads the reverse route by 5 %",
    )
    loopback_bandwidth: float = row(
        "network/loopback-bw",
        BYTES_PER_SECOND,
        "10e9",
        above_zero=True,
        section=_NETWORK,
        core=False,
        doc="of messages inside a host, where the platform declares no loopback",
    )
    loopback_latency: float = row(
        "network/loopback-lat",
        SECONDS,
        "0",
        section=_NETWORK,
        core=False,
        doc="of messages inside a host, where the platform declares no loopback",
    )
    envelope: int = row(
        "tisim/envelope",
        BYTES,
        "16",
        section=_NETWORK,
        doc="added to the size of every message before its factors are looked up, as SMPI does",
    )
    ordering: str = row(
        "network/ordering",
        CHOICE,
        "fair",
        choices=("fair", "fifo"),
        section=_NETWORK,
        doc="of the messages from one rank to another: with `fair` they share the links, as in "
        "SimGrid; with `fifo` they go one after the other, control messages too, as over TCP "
        "connections ([ADR 27](adr/0027-messages-in-order.md))",
    )
    send_buffer: int = row(
        "network/send-buffer",
        BYTES,
        "524288",
        section=_NETWORK,
        doc="with `network/ordering:fifo`: the bytes that a connection takes over from its sender, "
        "which goes on when so many of a rendezvous are left, as a TCP socket does. 0: it goes on "
        "when the message has arrived, as with an InfiniBand queue pair",
    )
    precision_timing: float = row(
        "precision/timing",
        SECONDS,
        "1e-9",
        above_zero=True,
        spellings=("surf/precision",),
        section=_NETWORK,
        doc="dates closer than this are one instant",
    )
    precision_maxmin: float = row(
        "precision/work-amount",
        NUMBER,
        "1e-5",
        spellings=("maxmin/precision",),
        section=_NETWORK,
        doc="shares closer than this are equal (`maxmin/precision`)",
    )


_MPI: Final = "MPI"


@dataclass(frozen=True, slots=True)
class Overheads(Record):
    """Overheads of the calls on a host, by the size of the message in bytes.

    A host's property of the parameter's name wins over the configuration.
    """

    send: OverheadTable = row(
        "smpi/os",
        OVERHEADS,
        "0:0:0",
        section=_MPI,
        core=False,
        doc="`boundary:seconds:seconds a byte;...` of a blocking send, before it posts the "
        "message; a host's property of that name wins. Sizes up to the first boundary take the "
        "first row, as in SimGrid 3.32; 4.1 charges them nothing: `0:0:0;0.5:...` for `0:...` "
        "does the same ([ADR 16](adr/0016-simgrid-4.md))",
    )
    isend: OverheadTable = row(
        "smpi/ois",
        OVERHEADS,
        "0:0:0",
        section=_MPI,
        core=False,
        doc="the same of a non-blocking send",
    )
    receive: OverheadTable = row(
        "smpi/or",
        OVERHEADS,
        "0:0:0",
        section=_MPI,
        core=False,
        doc="the same of completing a receive whose send was detached",
    )


@dataclass(frozen=True, slots=True)
class Protocol(Record):
    """How MPI messages and calls behave (SimGrid 3.32, ``smpi_request.cpp``).

    Messages below `eager_threshold` are sent at once; those below `detached_threshold` let the
    sender go on at once and start when the receive is posted; larger ones hold the sender until
    they have arrived (Bedaride et al., PMBS 2013).
    """

    eager_threshold: int = row(
        "smpi/async-small-thresh",
        BYTES,
        "0",
        spellings=("smpi/async-small-thres",),
        section=_MPI,
        doc="below it a send uses the eager protocol",
    )
    detached_threshold: int = row(
        "smpi/send-is-detached-thresh",
        BYTES,
        "65536",
        spellings=("smpi/send-is-detached-thres",),
        section=_MPI,
        doc="below it a send uses the detached protocol",
    )
    rendezvous: str = row(
        "smpi/rendezvous",
        CHOICE,
        "put",
        choices=("put", "get", "send"),
        section=_MPI,
        doc="with `network/ordering:fifo`, by Open MPI's names (`btl_tcp_flags`): `put`, the "
        "sender writes the whole body when it has read the answer; `get`, the receiver fetches it "
        "without the sender's program; `send`, the request carries the bytes up to the detached "
        "threshold and the others follow in fragments",
    )
    fragment_bytes: int = row(
        "smpi/fragment-size",
        BYTES,
        "131072",
        above_zero=True,
        section=_MPI,
        doc="of `smpi/rendezvous:send` (Open MPI: `btl_tcp_max_send_size`)",
    )
    fragments_queued: int = row(
        "smpi/pipeline-depth",
        COUNT,
        "3",
        above_zero=True,
        section=_MPI,
        doc="the fragments of a message that are queued at a time (Open MPI: "
        "`pml_ob1_send_pipeline_depth`)",
    )
    test_sleep: float = row(
        "smpi/test", SECONDS, "1e-4", section=_MPI, doc="the time of a failed test"
    )
    iprobe_sleep: float = row(
        "smpi/iprobe", SECONDS, "1e-4", section=_MPI, doc="the time of a failed probe"
    )
    iprobe_cpu_usage: float = row(
        "smpi/iprobe-cpu-usage",
        NUMBER,
        "1",
        section=_MPI,
        doc="the share of a core that a probe uses",
    )
    grow_injected_times: bool = row(
        "smpi/grow-injected-times",
        FLAG,
        "yes",
        section=_MPI,
        doc="each failed test or probe takes longer than the one before",
    )
    init_sleep: float = row(
        "smpi/init", SECONDS, "0", section=_MPI, doc="before the first action of a rank"
    )
    barrier_finalization: bool = row(
        "smpi/barrier-finalization",
        FLAG,
        "no",
        spellings=("smpi/finalization-barrier",),
        section=_MPI,
        doc="a barrier after the last action",
    )
    barrier_collectives: bool = row(
        "smpi/barrier-collectives",
        FLAG,
        "no",
        section=_MPI,
        core=False,
        doc="all ranks of the communicator wait for one another, at no cost, before a blocking "
        "bcast, gather, gatherv, scatter, scatterv, reduce, scan or exscan, as in SimGrid 4",
    )
    null_source: str = row(
        "tisim/null-source",
        CHOICE,
        "any",
        choices=("any", "proc-null"),
        section=_MPI,
        core=False,
        doc="the source of a receive from -333, which SimGrid's tracer writes for MPI_ANY_SOURCE "
        "and for MPI_PROC_NULL: `any` or `proc-null` "
        "([ADR 14](adr/0014-calls-simgrid-cannot-do.md))",
    )
    jitter_start: float = row(
        "tisim/jitter-start",
        SECONDS,
        "0",
        section=_MPI,
        doc="each rank starts up to so much later, drawn with `tisim/jitter-seed`; "
        "`tisim replay --jitter N` sets it",
    )
    jitter_size: float = row(
        "tisim/jitter-size",
        NUMBER,
        "0",
        section=_MPI,
        doc="each message moves up to this part of its bytes more or less, below 1",
    )
    jitter_seed: int = row(
        "tisim/jitter-seed",
        COUNT,
        "0",
        section=_MPI,
        doc="other seeds draw other starts and sizes",
    )
    sources: str = row(
        "tisim/sources",
        CHOICE,
        "any",
        choices=("any", "matched"),
        section=_MPI,
        core=False,
        doc="what a receive from MPI_ANY_SOURCE takes: `any`, the first message that comes, or "
        "`matched`, one from the rank that it matched when the trace was recorded (`tisim replay "
        "--sources`); persistent receives take any",
    )
    kept_operations: int = row(
        "tisim/kept-operations",
        COUNT,
        "4194304",
        section=_MPI,
        changes_results=False,
        doc="schedules of collectives are kept for later calls up to about so many operations of "
        "24 bytes; changes the memory and the time that a replay needs, not what it predicts",
    )

    def __post_init__(self) -> None:
        Record.__post_init__(self)
        check_thresholds(self.eager_threshold, self.detached_threshold)
        if self.jitter_size >= 1:
            raise InputError("tisim/jitter-size must be below 1")

    @property
    def synchronised(self) -> frozenset[str]:
        """Collectives before which all ranks wait for one another."""
        return SYNCHRONISED if self.barrier_collectives else frozenset()


#: Before these `barrier_collectives` makes all ranks wait for one another.
SYNCHRONISED: Final = frozenset(
    {"bcast", "gather", "gatherv", "scatter", "scatterv", "reduce", "scan", "exscan"}
)


def check_thresholds(eager: int, detached: int) -> None:
    """Check that the two thresholds of the protocol, in bytes, are consistent."""
    if not 0 <= eager <= detached:
        raise InputError(
            f"smpi/async-small-thresh ({eager}) must not be above "
            f"smpi/send-is-detached-thresh ({detached})"
        )


_PROCESSORS: Final = "Processors"


@dataclass(frozen=True, slots=True)
class CpuModel(Record):
    """How computations progress on a host of c cores of s flop/s.

    Each runs at s at most; all together at c * s, max-min fairly (SimGrid 3.32,
    ``cpu_cas01.cpp``).
    """

    simulate_computation: bool = row(
        "smpi/simulate-computation",
        FLAG,
        "yes",
        section=_PROCESSORS,
        doc="no: `compute` lines take no time; the flops of reductions do",
    )
    adjustment_file: str = row(
        "smpi/comp-adjustment-file",
        TEXT,
        "",
        section=_PROCESSORS,
        core=False,
        doc="computations between two calls are divided by a factor, where `location` lines name "
        'the calls. The file has a header line, then lines such as `"a.c:30:b.c:130",1.2`; source '
        "files with or without their directories",
    )
    volume_seed: int = row(
        "tisim/volume-seed",
        COUNT,
        "0",
        section=_PROCESSORS,
        core=False,
        doc="draws the fitted volumes of an extrapolated trace from what their fits leave open; 0: "
        "they are as the trace says. `tisim replay --uncertainty N` sets it",
    )


_FILES: Final = "Files"
_HINTS: Final = ("automatic", "enable", "disable")


@dataclass(frozen=True, slots=True)
class CollectiveFiles(Record):
    """How the ranks of a collective read or write of a file work together."""

    way: str = row(
        "tisim/collective-io",
        CHOICE,
        "independent",
        choices=("independent", "romio", "ompio"),
        section=_FILES,
        core=False,
        doc="collective reads and writes of files; `independent`: each rank its own part, after a "
        "barrier; `romio`, `ompio`: two-phase I/O as that library does it ([ADR "
        "51](adr/0051-two-phase-io.md))",
    )
    driver: str = row(
        "tisim/collective-io-driver",
        CHOICE,
        "automatic",
        choices=("automatic", "generic", "lustre"),
        section=_FILES,
        core=False,
        doc="the driver of the MPI library for files on servers; `automatic`: that for Lustre "
        "where files are striped, the generic one elsewhere",
    )
    cb_nodes: int = row(
        "tisim/cb-nodes",
        COUNT,
        "0",
        section=_FILES,
        core=False,
        doc="aggregators of two-phase I/O; 0: as many as the library takes",
    )
    cb_buffer_size: int = row(
        "tisim/cb-buffer-size",
        BYTES,
        "0",
        section=_FILES,
        core=False,
        doc="the buffer of an aggregator; 0: 16 MiB of ROMIO, 32 MiB of OMPIO, which uses it in "
        "halves",
    )
    cb_read: str = row(
        "tisim/cb-read",
        CHOICE,
        "automatic",
        choices=_HINTS,
        section=_FILES,
        core=False,
        doc="two-phase I/O in collective reads: `enable`, `disable`, `automatic`; this is with "
        "ROMIO where the parts of ranks do not follow each other in the order of ranks",
    )
    cb_write: str = row(
        "tisim/cb-write",
        CHOICE,
        "automatic",
        choices=_HINTS,
        section=_FILES,
        core=False,
        doc="the same in collective writes",
    )
    ds_read: str = row(
        "tisim/ds-read",
        CHOICE,
        "automatic",
        choices=_HINTS,
        section=_FILES,
        core=False,
        doc="data sieving in a rank's own reads of parts with holes, which views leave: `enable`, "
        "`disable`, `automatic`; this is with `romio`",
    )
    ds_write: str = row(
        "tisim/ds-write",
        CHOICE,
        "automatic",
        choices=_HINTS,
        section=_FILES,
        core=False,
        doc="the same in writes, of which each buffer is locked, read and written",
    )
    ind_rd_buffer_size: int = row(
        "tisim/ind-rd-buffer-size",
        BYTES,
        "4MiB",
        section=_FILES,
        core=False,
        doc="the buffer of data sieving in reads",
    )
    ind_wr_buffer_size: int = row(
        "tisim/ind-wr-buffer-size",
        BYTES,
        "512KiB",
        section=_FILES,
        core=False,
        doc="the same in writes",
    )

    def model_fields(self) -> dict[str, int]:
        """The core's fields, which depend on several options."""

        def sieve(hint: str, size: int) -> int:
            sieves = hint == "enable" or (hint == "automatic" and self.way == "romio")
            return size if sieves else 0

        return {
            "two_phase": self.way != "independent",
            "overlaps_splits": self.way == "ompio",
            "sieve_reads": sieve(self.ds_read, self.ind_rd_buffer_size),
            "sieve_writes": sieve(self.ds_write, self.ind_wr_buffer_size),
        }


_COLLECTIVES: Final = "Collective operations"

#: The operations whose algorithm an option ``smpi/<operation>`` chooses.
_OPERATIONS: Final = (
    "allgather allgatherv allreduce alltoall alltoallv barrier bcast exscan gather gatherv reduce"
    " reduce_scatter scan scatter scatterv"
)
OPERATIONS: Final = tuple(_OPERATIONS.split())

#: The selector, and the option of each operation.
COLLECTIVES: Final[tuple[Parameter[Value], ...]] = (
    Parameter(
        key="smpi/coll-selector",
        kind=TEXT,
        default="default",
        section=_COLLECTIVES,
        core=False,
        doc="`default`, `ompi`, `mpich`, `mvapich2` or `impi`, see [selectors](selectors.md)",
    ),
    *(
        Parameter(
            key=f"smpi/{operation}",
            kind=TEXT,
            default="",
            section=_COLLECTIVES,
            group="smpi/<operation>",
            spellings=("smpi/reducescatter",) if operation == "reduce_scatter" else (),
            core=False,
            doc=f"one algorithm for {', '.join(f'`{name}`' for name in OPERATIONS)}, see "
            "[collectives](collectives.md)",
        )
        for operation in OPERATIONS
    ),
)


# All parameters by their names, and the other names that SimGrid has had for them

RECORDS: Final[tuple[type[Record], ...]] = (
    NetworkModel,
    CpuModel,
    Protocol,
    Overheads,
    CollectiveFiles,
)


def _rows() -> list[Parameter[Value]]:
    found = [parameter for record in RECORDS for _, parameter in record.parameters()]
    return [*found, *COLLECTIVES, *UNUSED]


#: Every parameter, by its key.
PARAMETERS: Final[dict[str, Parameter[Value]]] = {}
#: The two names of one table: SimGrid 4 renamed the options, SimGrid 3 has both.
SAME_TABLE: Final[dict[str, str]] = {}
for _parameter in _rows():
    PARAMETERS[_parameter.key] = _parameter
    if _parameter.smpi_key:
        PARAMETERS[_parameter.smpi_key] = Parameter(
            key=_parameter.smpi_key,
            kind=_parameter.kind,
            default=_parameter.default,
            section=_parameter.section,
        )
        SAME_TABLE[_parameter.key] = _parameter.smpi_key
        SAME_TABLE[_parameter.smpi_key] = _parameter.key

# SimGrid wrote "_" where it writes "-" now.
_SPELLINGS: Final = {key.replace("_", "-"): key for key in PARAMETERS} | {
    spelling: parameter.key for parameter in PARAMETERS.values() for spelling in parameter.spellings
}


def canonical(key: str) -> str | None:
    """The name of an option in any of its historical spellings, None if there is none."""
    return _SPELLINGS.get(key.strip().replace("_", "-"))


def suggestion(key: str) -> str:
    """The known names that look like `key`, for the message of an error."""
    import difflib

    close = difflib.get_close_matches(key.replace("_", "-"), _SPELLINGS, n=3)
    names = list(dict.fromkeys(_SPELLINGS[name] for name in close))
    return f"; did you mean {' or '.join(names)}?" if names else ""
