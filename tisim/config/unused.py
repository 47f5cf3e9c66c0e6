"""The rows of the table that no replay uses.

These options are accepted, so that a platform or a command line written for SimGrid can be used as
it is. Every option of "Configuring SimGrid", versions 3.32 and 4.1, is known.
"""

from __future__ import annotations

from typing import Final

from tisim.config.kinds import CHOICE, SECONDS, TEXT, Kind, Value
from tisim.config.parameter import Parameter

_MODES: Final = ("Lazy", "Full", "TI")


def _unused(
    section: str,
    keys: str,
    doc: str,
    default: str = "",
    *,
    kind: Kind[Value] = TEXT,
    choices: tuple[str, ...] = (),
    spellings: tuple[str, ...] = (),
) -> list[Parameter[Value]]:
    """One row of the page: several keys, each a row of the table."""
    names = keys.split()
    return [
        Parameter(
            key=key,
            kind=kind,
            default=default,
            choices=choices,
            section=section,
            group=", ".join(names) if names[1:] else "",
            spellings=spellings,
            doc=doc,
            used=False,
            core=False,
        )
        for key in names
    ]


_WARNED: Final = "another value gives a warning"

_EXPLAINED: Final = (
    *_unused(
        "Network",
        "network/optim",
        "none: shares are exact, as those of SimGrid's mode `Full` "
        "([ADR 3](adr/0003-exact-shares.md))",
        "Lazy",
        kind=CHOICE,
        choices=_MODES,
    ),
    *_unused("Network", "network/maxmin-selective-update", "none, as `network/optim`"),
    *_unused("Network", "network/solver", f"none; {_WARNED}: tisim has max-min only", "maxmin"),
    *_unused(
        "Network",
        "maxmin/concurrency-limit",
        f"none; {_WARNED}: no flow ever queues for a link",
        "-1",
    ),
    *_unused(
        "Network",
        "bmf/max-iterations bmf/precision precision/bmf",
        "none: they belong to the solver `bmf`",
    ),
    *_unused(
        "Network",
        "network/sender-gap",
        f"none; {_WARNED}: SimGrid 3.32 no longer has this option",
        "0",
    ),
    *_unused("Network", "smpi/IB-penalty-factors", "none: it belongs to the model `IB`"),
    *_unused(
        "Network",
        "network/coordinates coordinates",
        "none: a Vivaldi zone always has coordinates",
    ),
    *_unused(
        "Network", "ns3/NetworkModel ns3/TcpModel ns3/seed", "none: they belong to the model `ns-3`"
    ),
    *_unused(
        "Processors",
        "cpu/model",
        "none: it is the only one, in SimGrid too",
        "Cas01",
        kind=CHOICE,
        choices=("Cas01",),
    ),
    *_unused(
        "Processors",
        "cpu/optim",
        "none: all modes give the same dates",
        "Lazy",
        kind=CHOICE,
        choices=_MODES,
    ),
    *_unused("Processors", "cpu/maxmin-selective-update", "none, as `cpu/optim`"),
    *_unused("Processors", "cpu/solver", f"none; {_WARNED}", "maxmin"),
    *_unused(
        "Processors",
        "host/model",
        "none: `default` and `compound` are the same; `ptask_L07` is an error",
        "default",
        kind=CHOICE,
        choices=("default", "compound"),
        spellings=("workstation/model",),
    ),
    *_unused("Processors", "host/solver", "none: it belongs to `ptask_L07`"),
    *_unused(
        "Processors",
        "smpi/host-speed",
        "none: it converts measured seconds to flops, and a trace has flops",
        spellings=("smpi/running-power",),
    ),
    *_unused("Processors", "smpi/cpu-threshold", "none, as `smpi/host-speed`"),
    *_unused("MPI", "smpi/wtime", "none: traces have no line for MPI_Wtime", "1e-8", kind=SECONDS),
    *_unused("MPI", "smpi/buffering", "none: it is for SimGrid's model checker"),
    *_unused(
        "MPI",
        "smpi/np smpi/hostfile smpi/map smpi/replay",
        "none: `smpirun` sets them; `tisim replay` has arguments for them",
    ),
    *_unused(
        "MPI",
        "smpi/trace-call-location smpi/trace-call-use-absolute-path",
        "none: they control what a tracer writes",
    ),
    *_unused("MPI", "smpi/plugin/lb/migration-frequency", "none: ranks do not migrate"),
)

# They are about how SimGrid executes, debugs, traces or verifies programs, or about disks and
# virtual machines.
_LISTED: Final = """
clean-atexit cmonkey/host cmonkey/link cmonkey/pid cmonkey/tell cmonkey/time contexts/factory
contexts/guard-size contexts/nthreads contexts/parallel-threshold contexts/stack-size
contexts/synchro debug/breakpoint debug/clean-atexit debug/fullstack debug/lmm-leaks
debug/verbose-exit disk/model disk/solver exception/cutpath help-nostop model-check
model-check/befs-threshold model-check/cached-states-interval model-check/checkpoint
model-check/communications-determinism model-check/debug model-check/debug-optimality
model-check/dot-output model-check/exploration-algo model-check/hash model-check/k-alternatives
model-check/max-depth model-check/max-errors model-check/no-fork model-check/output-lts
model-check/parallel-thread model-check/property model-check/rand-seed model-check/reduction
model-check/replay model-check/search-critical model-check/send-determinism model-check/setenv
model-check/snapshot-fds model-check/sparse-checkpoint model-check/strategy
model-check/termination model-check/timeout model-check/timeout-soft
model-check/unfolding-checker model-check/visited msg/debug-multiple-use path plugin
plugin/dvfs/governor plugin/dvfs/max-pstate plugin/dvfs/min-pstate plugin/dvfs/sampling-rate
simix/breakpoint smpi/auto-shared-malloc-thresh smpi/display-allocs smpi/display-timing
smpi/errors-are-fatal smpi/keep-temps smpi/list-leaks smpi/papi-events smpi/pedantic
smpi/privatization smpi/privatize-libs smpi/shared-malloc smpi/shared-malloc-blocksize
smpi/shared-malloc-hugepage smpi/tmpdir storage/max-file-descriptors storage/model surf/nthreads
tracing tracing/actor tracing/basic tracing/buffer tracing/categorized tracing/comment
tracing/comment-file tracing/disable-destroy tracing/disable-link tracing/disable-power
tracing/filename tracing/msg/process tracing/onelink-only tracing/platform
tracing/platform/topology tracing/precision tracing/smpi tracing/smpi/computing
tracing/smpi/display-sizes tracing/smpi/format tracing/smpi/format/ti-one-file
tracing/smpi/group tracing/smpi/internals tracing/smpi/sleeping tracing/uncategorized tracing/vm
verbose-exit vm/model vm-workstation/model
"""
_LISTED_SPELLINGS: Final = {
    "smpi/privatization": ("smpi/privatize-global-variables",),
    "smpi/shared-malloc": ("smpi/use-shared-malloc",),
}

UNUSED: Final[tuple[Parameter[Value], ...]] = (
    *_EXPLAINED,
    *(
        Parameter(
            key=key,
            kind=TEXT,
            default="",
            spellings=_LISTED_SPELLINGS.get(key, ()),
            used=False,
            core=False,
        )
        for key in _LISTED.split()
    ),
)
