"""The rows of the table that no replay uses.

These options are accepted so that a platform or a command line written for SimGrid works unchanged.
Every option of "Configuring SimGrid", versions 3.32 and 4.1, is known.
"""

from __future__ import annotations

from typing import Final

from tisim.config.kinds import CHOICE, SECONDS, TEXT, Value, ValueKind
from tisim.config.parameter import Parameter

_MODES: Final = ("Lazy", "Full", "TI")


def _unused(
    key: str,
    kind: ValueKind[Value] = TEXT,
    default: str = "",
    *,
    choices: tuple[str, ...] = (),
    spellings: tuple[str, ...] = (),
) -> Parameter[Value]:
    return Parameter(key, kind, default, choices=choices, spellings=spellings, used=False)


# Options without effect on a replay; docs/configuration.md explains why.
_EXPLAINED: Final = """
network/maxmin-selective-update bmf/max-iterations bmf/precision precision/bmf
smpi/IB-penalty-factors network/coordinates coordinates ns3/NetworkModel ns3/TcpModel ns3/seed
cpu/maxmin-selective-update host/solver smpi/cpu-threshold smpi/buffering smpi/np smpi/hostfile
smpi/map smpi/replay smpi/trace-call-location smpi/trace-call-use-absolute-path
smpi/plugin/lb/migration-frequency
"""

# Options that control how SimGrid executes, debugs, traces or verifies programs, or that concern
# disks and virtual machines.
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
model-check/snapshot-fds model-check/sparse-checkpoint model-check/strategy model-check/termination
model-check/timeout model-check/timeout-soft model-check/unfolding-checker model-check/visited
msg/debug-multiple-use path plugin plugin/dvfs/governor plugin/dvfs/max-pstate
plugin/dvfs/min-pstate plugin/dvfs/sampling-rate simix/breakpoint smpi/auto-shared-malloc-thresh
smpi/display-allocs smpi/display-timing smpi/errors-are-fatal smpi/keep-temps smpi/list-leaks
smpi/papi-events smpi/pedantic smpi/privatize-libs smpi/shared-malloc-blocksize
smpi/shared-malloc-hugepage smpi/tmpdir storage/max-file-descriptors storage/model surf/nthreads
tracing tracing/actor tracing/basic tracing/buffer tracing/categorized tracing/comment
tracing/comment-file tracing/disable-destroy tracing/disable-link tracing/disable-power
tracing/filename tracing/msg/process tracing/onelink-only tracing/platform tracing/platform/topology
tracing/precision tracing/smpi tracing/smpi/computing tracing/smpi/display-sizes tracing/smpi/format
tracing/smpi/format/ti-one-file tracing/smpi/group tracing/smpi/internals tracing/smpi/sleeping
tracing/uncategorized tracing/vm verbose-exit vm/model vm-workstation/model
"""

UNUSED: Final[tuple[Parameter[Value], ...]] = (
    _unused("network/optim", CHOICE, "Lazy", choices=_MODES),
    _unused("network/solver", TEXT, "maxmin"),
    _unused("maxmin/concurrency-limit", TEXT, "-1"),
    _unused("network/sender-gap", TEXT, "0"),
    _unused("cpu/model", CHOICE, "Cas01", choices=("Cas01",)),
    _unused("cpu/optim", CHOICE, "Lazy", choices=_MODES),
    _unused("cpu/solver", TEXT, "maxmin"),
    _unused(
        "host/model",
        CHOICE,
        "default",
        choices=("default", "compound"),
        spellings=("workstation/model",),
    ),
    _unused("smpi/host-speed", TEXT, "", spellings=("smpi/running-power",)),
    _unused("smpi/wtime", SECONDS, "1e-8"),
    _unused("smpi/privatization", spellings=("smpi/privatize-global-variables",)),
    _unused("smpi/shared-malloc", spellings=("smpi/use-shared-malloc",)),
    *map(_unused, _EXPLAINED.split()),
    *map(_unused, _LISTED.split()),
)
