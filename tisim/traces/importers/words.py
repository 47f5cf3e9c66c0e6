"""MPI functions in the vocabulary of a trace, including collectives."""

from __future__ import annotations

from collections.abc import Sequence

#: Blocking and non-blocking sends. A trace has no ready mode.
SENDS = {"Send": "send", "Bsend": "bsend", "Ssend": "ssend", "Rsend": "send"}
ISENDS = {"Isend": "isend", "Ibsend": "ibsend", "Issend": "issend", "Irsend": "isend"}
#: Persistent requests, and the action of each start.
INITS = {
    "Send_init": "isend",
    "Bsend_init": "ibsend",
    "Ssend_init": "issend",
    "Rsend_init": "isend",
    "Recv_init": "irecv",
}
#: Collectives by their names in other formats, which differ only in case and underscores.
COLLECTIVES = {
    **{
        name: name
        for name in (
            *("barrier", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather"),
            *("allgatherv", "alltoall", "alltoallv", "allreduce", "reduce", "scan", "exscan"),
        )
    },
    **dict.fromkeys(("reduce_scatter", "reduce_scatter_block"), "reducescatter"),
    "alltoallw": "alltoallv",
}
# Name prefixes of calls that only query, or prepare something that a trace does not need.
_QUERY_NAMES = (
    "Abort Add_error Address Aint_ Alloc_mem Attr_ Buffer_ Cart_coords Cart_get Cart_map Cart_rank "
    "Cart_shift Cartdim_ Comm_call_errhandler Comm_compare Comm_create_errhandler "
    "Comm_create_keyval Comm_delete_attr Comm_free_keyval Comm_get Comm_group Comm_rank "
    "Comm_remote Comm_set Comm_size Comm_test_inter Dims_create Errhandler_ Error_ Finalized "
    "Free_mem Get_ Graph_get Graph_map Graph_neighbors Graphdims Grequest_ Group_ Info_ "
    "Init Iprobe Is_thread_main Keyval_ Op_ Pack Pcontrol Query_thread Register_datarep "
    "Request_get_status Status_ T_ Test_cancelled Topo_test Type_ Unpack Wtick Wtime free"
)


def is_query(function: str) -> bool:
    """Return whether a call, named without ``MPI_``, can be left out without loss.

    Calls not listed here must be reported when they are left out: files, one-sided calls, and
    future MPI functions.
    """
    return function.startswith(tuple(_QUERY_NAMES.split())) and function != "Get_accumulate"


# Name prefixes of calls with lines, in addition to those above.
_SPELLED = (
    *("Cancel", "Cart_", "Comm_", "Dist_graph", "Finalize", "Graph_", "Imrecv", "Irecv", "Mprobe"),
    *("Improbe", "Mrecv", "Probe", "Recv", "Request_free", "Sendrecv", "Start", "Test", "Wait"),
)


def is_dropped(function: str) -> bool:
    """Return whether a call, named without ``MPI_``, has no line in a trace and is missed."""
    return not (
        is_query(function)
        or function.startswith(_SPELLED)
        or function in SENDS
        or function in ISENDS
        or function in INITS
        or collective_word(function) is not None
    )


def collective_word(name: str) -> str | None:
    """Return the action of a collective such as ``Iallreduce``; None if it is not a collective."""
    lower = name.lower()
    if lower in COLLECTIVES:
        return COLLECTIVES[lower]
    blocking = COLLECTIVES.get(lower.removeprefix("i"))
    return None if blocking is None else f"i{blocking}"


def kind_of(function: str) -> str:
    """Return the kind of a call in timelines: its action in a trace, or ``nop`` if it has none."""
    name = function.removesuffix("_replace")
    word = SENDS.get(name) or ISENDS.get(name) or collective_word(name) or name.lower()
    return "nop" if word in ("init", "init_thread", "finalize") else word


# Formats of the arguments of uniform collectives; {n} is the size that a rank contributes or
# receives, {root} the root.
_UNIFORM = {
    "barrier": "barrier",
    "bcast": "bcast {n} {root}",
    "reduce": "reduce {n} 0 {root}",
    "allreduce": "allreduce {n} 0",
    "scan": "scan {n} 0",
    "exscan": "exscan {n} 0",
    "gather": "gather {n} {n} {root}",
    "scatter": "scatter {n} {n} {root}",
    "allgather": "allgather {n} {n}",
    "alltoall": "alltoall {n} {n}",
}
#: Collectives with a size for each rank.
VECTORS = frozenset({"gatherv", "scatterv", "allgatherv", "alltoallv", "reducescatter"})
#: Collectives with a root.
ROOTED = frozenset({"bcast", "reduce", "gather", "scatter", "gatherv", "scatterv"})


def uniform_collective(name: str, nbytes: int, root: int) -> str | None:
    """Format a uniform collective without the leading rank; None if unknown. The prefix ``i`` means
    non-blocking; `nbytes` is the rank's contribution, or the amount from each other rank, in
    bytes.
    """
    for prefix in ("", "i"):
        if name.startswith(prefix) and name[len(prefix) :] in _UNIFORM:
            return prefix + _UNIFORM[name[len(prefix) :]].format(n=nbytes, root=root)
    return None


def vector_collective(name: str, shares: Sequence[int], rank: int, root: int) -> str:
    """Format an action with a size for each rank, without the leading rank. `name` is one of
    `VECTORS` except alltoallv; `shares` are the bytes of each rank of the communicator, and `rank`
    and `root` are ranks in it.
    """
    listed = " ".join(map(str, shares))
    own = shares[rank]
    if name.endswith("allgatherv"):
        return f"{name} {own} {listed}"
    if name.endswith("reducescatter"):
        return f"{name} {listed} 0"
    if name.endswith("scatterv"):
        return f"{name} {listed} {own} {root}"
    return f"{name} {own} {listed} {root}"


def all_to_all_of_totals(sent: Sequence[int], received: Sequence[int]) -> list[list[int]]:
    """Return sizes of an alltoallv in proportion to each rank's total bytes sent and received.

    Element i, j is the bytes from rank i to rank j: rows add up to `sent`, and columns to
    `received` if both have the same sum.
    """
    size = len(sent)
    total = sum(received)
    # Rounding the running sums, not the parts, preserves the sums of rows and columns.
    rows: list[list[int]] = []
    before = [0] * size
    done = 0
    for amount in sent:
        done += amount
        running = 0
        upto: list[int] = []
        for column in received:
            running += column
            upto.append(done * running // total if total else 0)
        row = [upto[0]] + [upto[j] - upto[j - 1] for j in range(1, size)]
        rows.append([value - old for value, old in zip(row, before, strict=True)])
        before = row
    return rows
