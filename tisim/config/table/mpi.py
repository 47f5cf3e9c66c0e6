"""The parameters of MPI messages and calls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tisim.config.kinds import BYTES, CHOICE, COUNT, FLAG, NUMBER, OVERHEADS, SECONDS
from tisim.config.parameter import Record, row
from tisim.config.tables import OverheadTable
from tisim.errors import InputError

_SECTION: Final = "MPI"


@dataclass(frozen=True, slots=True)
class Overheads(Record):
    """Overheads of the calls on a host, by the size of the message in bytes.

    A host's property of the parameter's name wins over the configuration.
    """

    send: OverheadTable = row(
        "smpi/os",
        OVERHEADS,
        "0:0:0",
        section=_SECTION,
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
        section=_SECTION,
        core=False,
        doc="the same of a non-blocking send",
    )
    receive: OverheadTable = row(
        "smpi/or",
        OVERHEADS,
        "0:0:0",
        section=_SECTION,
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
        section=_SECTION,
        doc="below it a send uses the eager protocol",
    )
    detached_threshold: int = row(
        "smpi/send-is-detached-thresh",
        BYTES,
        "65536",
        spellings=("smpi/send-is-detached-thres",),
        section=_SECTION,
        doc="below it a send uses the detached protocol",
    )
    rendezvous: str = row(
        "smpi/rendezvous",
        CHOICE,
        "put",
        choices=("put", "get", "send"),
        section=_SECTION,
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
        section=_SECTION,
        doc="of `smpi/rendezvous:send` (Open MPI: `btl_tcp_max_send_size`)",
    )
    fragments_queued: int = row(
        "smpi/pipeline-depth",
        COUNT,
        "3",
        above_zero=True,
        section=_SECTION,
        doc="the fragments of a message that are queued at a time (Open MPI: "
        "`pml_ob1_send_pipeline_depth`)",
    )
    test_sleep: float = row(
        "smpi/test", SECONDS, "1e-4", section=_SECTION, doc="the time of a failed test"
    )
    iprobe_sleep: float = row(
        "smpi/iprobe", SECONDS, "1e-4", section=_SECTION, doc="the time of a failed probe"
    )
    iprobe_cpu_usage: float = row(
        "smpi/iprobe-cpu-usage",
        NUMBER,
        "1",
        section=_SECTION,
        doc="the share of a core that a probe uses",
    )
    grow_injected_times: bool = row(
        "smpi/grow-injected-times",
        FLAG,
        "yes",
        section=_SECTION,
        doc="each failed test or probe takes longer than the one before",
    )
    init_sleep: float = row(
        "smpi/init", SECONDS, "0", section=_SECTION, doc="before the first action of a rank"
    )
    barrier_finalization: bool = row(
        "smpi/barrier-finalization",
        FLAG,
        "no",
        spellings=("smpi/finalization-barrier",),
        section=_SECTION,
        doc="a barrier after the last action",
    )
    barrier_collectives: bool = row(
        "smpi/barrier-collectives",
        FLAG,
        "no",
        section=_SECTION,
        core=False,
        doc="all ranks of the communicator wait for one another, at no cost, before a blocking "
        "bcast, gather, gatherv, scatter, scatterv, reduce, scan or exscan, as in SimGrid 4",
    )
    null_source: str = row(
        "tisim/null-source",
        CHOICE,
        "any",
        choices=("any", "proc-null"),
        section=_SECTION,
        core=False,
        doc="the source of a receive from -333, which SimGrid's tracer writes for MPI_ANY_SOURCE "
        "and for MPI_PROC_NULL: `any` or `proc-null` "
        "([ADR 14](adr/0014-calls-simgrid-cannot-do.md))",
    )
    jitter_start: float = row(
        "tisim/jitter-start",
        SECONDS,
        "0",
        section=_SECTION,
        doc="each rank starts up to so much later, drawn with `tisim/jitter-seed`; "
        "`tisim replay --jitter N` sets it",
    )
    jitter_size: float = row(
        "tisim/jitter-size",
        NUMBER,
        "0",
        section=_SECTION,
        doc="each message moves up to this part of its bytes more or less, below 1",
    )
    jitter_seed: int = row(
        "tisim/jitter-seed",
        COUNT,
        "0",
        section=_SECTION,
        doc="other seeds draw other starts and sizes",
    )
    sources: str = row(
        "tisim/sources",
        CHOICE,
        "any",
        choices=("any", "matched"),
        section=_SECTION,
        core=False,
        doc="what a receive from MPI_ANY_SOURCE takes: `any`, the first message that comes, or "
        "`matched`, one from the rank that it matched when the trace was recorded (`tisim replay "
        "--sources`); persistent receives take any",
    )
    kept_operations: int = row(
        "tisim/kept-operations",
        COUNT,
        "4194304",
        section=_SECTION,
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
    """See to it that the two thresholds of the protocol, in bytes, fit together.

    Raises
    ------
    InputError
        If messages are sent at once that hold their sender.
    """
    if not 0 <= eager <= detached:
        raise InputError(
            f"smpi/async-small-thresh ({eager}) must not be above "
            f"smpi/send-is-detached-thresh ({detached})"
        )
