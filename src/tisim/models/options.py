"""The options of SimGrid that a configuration may set: names, values, defaults.

Options without an effect on a replay are accepted, so that a platform or a command line written
for SimGrid can be used as it is.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Final

from tisim.errors import InputError
from tisim.models.factors import OverheadTable, StepTable
from tisim.quantities import parse_bandwidth, parse_size, parse_time

Value = bool | int | float | str | StepTable | OverheadTable

_BOOLEANS: Final = dict.fromkeys(("yes", "on", "true", "1"), True) | dict.fromkeys(
    ("no", "off", "false", "0"), False
)

SMPI_LATENCY_FACTOR: Final = (
    "65472:11.6436;15424:3.48845;9376:2.59299;5776:2.18796;3484:1.88101;1426:1.61075;"
    "732:1.9503;257:1.95341;0:2.01467"
)
SMPI_BANDWIDTH_FACTOR: Final = (
    "65472:0.940694;15424:0.697866;9376:0.58729;5776:1.08739;3484:0.77493;1426:0.608902;"
    "732:0.341987;257:0.338112;0:0.812084"
)

#: What each network model sets by default. SMPI: Clauss et al., IPDPS 2011, factors measured on
#: Stampede; LV08: Velho and Legrand, SimuTools 2009; CM02: Casanova and Marchal, INRIA 2002;
#: raw: time = size / bandwidth + latency. The numbers are those of SimGrid 3.32 and 4.1.
NETWORK_MODELS: Final[dict[str, dict[str, str]]] = {
    "SMPI": {
        "network/latency-factor": SMPI_LATENCY_FACTOR,
        "network/bandwidth-factor": SMPI_BANDWIDTH_FACTOR,
        "network/weight-S": "8775",
    },
    "LV08": {
        "network/latency-factor": "13.01",
        "network/bandwidth-factor": "0.97",
        "network/weight-S": "20537",
    },
    "CM02": {
        "network/latency-factor": "1",
        "network/bandwidth-factor": "1",
        "network/weight-S": "0",
    },
    "raw": {
        "network/latency-factor": "1",
        "network/bandwidth-factor": "1",
        "network/weight-S": "0",
        "network/TCP-gamma": "0",
        "network/crosstraffic": "no",
    },
}


@dataclass(frozen=True, slots=True)
class Option:
    """One option.

    Attributes
    ----------
    key
        Its name in SimGrid 3.32 or later.
    kind
        What its value is: ``bool``, ``number``, ``seconds``, ``bytes``, ``bytes/s``,
        ``factors``, ``overheads``, ``choice`` or ``text``.
    default
        As it would be written; that of `NETWORK_MODELS` goes before it.
    choices
        The values of a choice.
    used
        Whether it has an effect on a replay. If it has none and has a default, other values
        would change SimGrid's results and are worth a warning.
    """

    key: str
    kind: str
    default: str
    choices: tuple[str, ...] = ()
    used: bool = True


_USED: Final = (
    Option("network/model", "choice", "SMPI", tuple(NETWORK_MODELS)),
    Option("network/latency-factor", "factors", "1"),
    Option("network/bandwidth-factor", "factors", "1"),
    Option("smpi/lat-factor", "factors", SMPI_LATENCY_FACTOR),
    Option("smpi/bw-factor", "factors", SMPI_BANDWIDTH_FACTOR),
    Option("network/weight-S", "number", "0"),
    Option("network/TCP-gamma", "number", "4194304"),
    Option("network/crosstraffic", "bool", "yes"),
    Option("network/loopback-bw", "bytes/s", "10e9"),
    Option("network/loopback-lat", "seconds", "0"),
    Option("precision/timing", "seconds", "1e-9"),
    Option("precision/work-amount", "number", "1e-5"),
    Option("smpi/async-small-thresh", "bytes", "0"),
    Option("smpi/send-is-detached-thresh", "bytes", "65536"),
    Option("smpi/os", "overheads", "0:0:0:0:0"),
    Option("smpi/ois", "overheads", "0:0:0:0:0"),
    Option("smpi/or", "overheads", "0:0:0:0:0"),
    Option("smpi/test", "seconds", "1e-4"),
    Option("smpi/iprobe", "seconds", "1e-4"),
    Option("smpi/iprobe-cpu-usage", "number", "1"),
    Option("smpi/grow-injected-times", "bool", "yes"),
    Option("smpi/init", "seconds", "0"),
    Option("smpi/simulate-computation", "bool", "yes"),
    Option("smpi/comp-adjustment-file", "text", ""),
    Option("smpi/barrier-finalization", "bool", "no"),
    Option("smpi/barrier-collectives", "bool", "no"),
    Option("smpi/coll-selector", "text", "default"),
    # Who a receive from -333 waits for, which SimGrid's tracer writes for MPI_ANY_SOURCE and for
    # MPI_PROC_NULL.
    Option("tisim/null-source", "choice", "any", ("any", "proc-null")),
)
_OPERATIONS: Final = (
    "allgather allgatherv allreduce alltoall alltoallv barrier bcast exscan gather gatherv reduce"
    " reduce_scatter scan scatter scatterv"
)
_WITHOUT_EFFECT: Final = (
    Option("cpu/model", "choice", "Cas01", ("Cas01",), used=False),
    Option("host/model", "choice", "default", ("default", "compound"), used=False),
    Option("network/optim", "choice", "Lazy", ("Lazy", "Full", "TI"), used=False),
    Option("cpu/optim", "choice", "Lazy", ("Lazy", "Full", "TI"), used=False),
    Option("maxmin/concurrency-limit", "text", "-1", used=False),
    Option("network/solver", "text", "maxmin", used=False),
    Option("cpu/solver", "text", "maxmin", used=False),
    Option("network/sender-gap", "text", "0", used=False),
    Option("smpi/wtime", "seconds", "1e-8", used=False),
)
_NOT_FOR_REPLAYS: Final = """
bmf/max-iterations bmf/precision clean-atexit cmonkey/host cmonkey/link cmonkey/pid cmonkey/tell
cmonkey/time
contexts/factory contexts/guard-size contexts/nthreads contexts/parallel-threshold
contexts/stack-size contexts/synchro coordinates cpu/maxmin-selective-update
debug/breakpoint debug/clean-atexit debug/fullstack debug/lmm-leaks debug/verbose-exit disk/model
disk/solver exception/cutpath help-nostop host/solver model-check
model-check/befs-threshold model-check/debug model-check/debug-optimality
model-check/exploration-algo model-check/k-alternatives model-check/output-lts
model-check/parallel-thread model-check/rand-seed
model-check/cached-states-interval model-check/checkpoint
model-check/communications-determinism model-check/dot-output model-check/hash
model-check/max-depth model-check/max-errors model-check/no-fork model-check/property
model-check/reduction model-check/replay model-check/search-critical
model-check/send-determinism model-check/setenv model-check/snapshot-fds
model-check/sparse-checkpoint model-check/strategy model-check/termination model-check/timeout
model-check/timeout-soft model-check/unfolding-checker model-check/visited
msg/debug-multiple-use network/coordinates network/maxmin-selective-update
ns3/NetworkModel ns3/TcpModel ns3/seed path plugin plugin/dvfs/governor
plugin/dvfs/max-pstate plugin/dvfs/min-pstate plugin/dvfs/sampling-rate precision/bmf
simix/breakpoint smpi/IB-penalty-factors smpi/auto-shared-malloc-thresh smpi/buffering
smpi/cpu-threshold smpi/display-allocs smpi/display-timing smpi/errors-are-fatal smpi/host-speed
smpi/hostfile smpi/keep-temps smpi/list-leaks smpi/map smpi/np smpi/papi-events smpi/pedantic
smpi/plugin/lb/migration-frequency smpi/privatization smpi/privatize-libs smpi/replay
smpi/shared-malloc smpi/shared-malloc-blocksize smpi/shared-malloc-hugepage smpi/tmpdir
smpi/trace-call-location smpi/trace-call-use-absolute-path storage/max-file-descriptors
storage/model surf/nthreads tracing tracing/actor tracing/basic tracing/buffer
tracing/categorized tracing/comment tracing/comment-file tracing/disable-destroy
tracing/disable-link tracing/disable-power tracing/filename tracing/msg/process
tracing/onelink-only tracing/platform tracing/platform/topology tracing/precision tracing/smpi
tracing/smpi/computing tracing/smpi/display-sizes tracing/smpi/format
tracing/smpi/format/ti-one-file tracing/smpi/group tracing/smpi/internals tracing/smpi/sleeping
tracing/uncategorized tracing/vm verbose-exit vm/model vm-workstation/model
"""

OPTIONS: Final[dict[str, Option]] = {
    option.key: option
    for option in (
        *_USED,
        *(Option(f"smpi/{operation}", "text", "") for operation in _OPERATIONS.split()),
        *_WITHOUT_EFFECT,
        *(Option(key, "text", "", used=False) for key in _NOT_FOR_REPLAYS.split()),
    )
}

_RENAMED: Final = {
    "surf/precision": "precision/timing",
    "maxmin/precision": "precision/work-amount",
    "workstation/model": "host/model",
    "network/weight-S-parameter": "network/weight-S",
    "smpi/async-small-thres": "smpi/async-small-thresh",
    "smpi/send-is-detached-thres": "smpi/send-is-detached-thresh",
    "smpi/finalization-barrier": "smpi/barrier-finalization",
    "smpi/running-power": "smpi/host-speed",
    "smpi/privatize-global-variables": "smpi/privatization",
    "smpi/use-shared-malloc": "smpi/shared-malloc",
    "smpi/reducescatter": "smpi/reduce_scatter",
}
# SimGrid wrote "_" where it writes "-" now.
_SPELLINGS: Final = {key.replace("_", "-"): key for key in OPTIONS} | _RENAMED


def canonical(key: str) -> str | None:
    """The name of an option in any of its historical spellings, None if there is no such one."""
    return _SPELLINGS.get(key.strip().replace("_", "-"))


def suggestion(key: str) -> str:
    """The known names that look like `key`, for the message of an error."""
    close = difflib.get_close_matches(key.replace("_", "-"), _SPELLINGS, n=3)
    names = list(dict.fromkeys(_SPELLINGS[name] for name in close))
    return f"; did you mean {' or '.join(names)}?" if names else ""


def parse_value(option: Option, value: object) -> Value:
    """Turn what a user wrote, or a Python value, into the option's type.

    Raises
    ------
    InputError
        If it is none of the values that the option accepts; the message says which are.
    """
    if isinstance(value, StepTable | OverheadTable):
        value = str(value)
    text = ("yes" if value else "no") if isinstance(value, bool) else str(value).strip()
    try:
        return _parse(option, text)
    except InputError as error:
        raise InputError(f"option {option.key}: {error.message}") from None


def _parse(option: Option, text: str) -> Value:
    if option.kind == "bool":
        if text not in _BOOLEANS:
            raise InputError(f"it is yes or no (also on, off, true, false, 1, 0), not {text!r}")
        return _BOOLEANS[text]
    if option.kind == "choice":
        if text not in option.choices:
            raise InputError(f"it is one of {', '.join(option.choices)}, not {text!r}")
        return text
    if option.kind == "factors":
        return StepTable.parse(text)
    if option.kind == "overheads":
        return OverheadTable.parse(text)
    if option.kind == "bytes":
        return _whole(parse_size(text, "it"), text)
    if option.kind == "bytes/s":
        bandwidth = parse_bandwidth(text, "it")
        if bandwidth == 0:
            raise InputError("it must be above zero")
        return bandwidth
    if option.kind == "seconds":
        return parse_time(text, "it")
    if option.kind == "number":
        return _number(text)
    return text


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise InputError(f"it is a number that is not negative, not {text!r}")
    return value


def _whole(size: float, text: str) -> int:
    if size != int(size):
        raise InputError(f"it is a whole number of bytes, not {text!r}")
    return int(size)
