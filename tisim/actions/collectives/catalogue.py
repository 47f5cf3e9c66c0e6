"""The collective algorithms and selectors of tisim, by name.

An algorithm is a function ``algorithm(s, ...)`` that writes one rank's schedule, as calls on the
endpoint `s` (`tisim.actions.script`). Its other arguments depend on the operation; counts are in
elements, and a size is the width of one element in bytes:

- ``barrier(s)``, ``bcast(s, count, size, root)``, ``reduce(s, count, size, root)``,
  ``allreduce(s, count, size)``, ``scan(s, count, size)``, ``exscan(s, count, size)``;
- ``gather(s, scount, ssize, rcount, rsize, root)``, ``gatherv(s, scount, ssize, rcounts, rsize,
  root)``, ``scatter(s, scount, ssize, rcount, rsize, root)``, ``scatterv(s, scounts, ssize,
  rcount, rsize, root)``;
- ``allgather(s, scount, ssize, rcount, rsize)``, ``allgatherv(s, scount, ssize, rcounts, rsize)``,
  ``alltoall(s, scount, ssize, rcount, rsize)``, ``alltoallv(s, scounts, ssize, rcounts, rsize)``,
  ``reduce_scatter(s, rcounts, size)``.

Names are those of SimGrid's options (``smpi/bcast:NTSB``). The algorithm `NTSB` of `bcast` is the
function `ntsb` of the module `tisim.actions.collectives.bcast`, which is imported on first use. A
*selector* (`SELECTORS`) is also a name: it chooses an algorithm and calls it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from functools import partial

from tisim.errors import InputError
from tisim.support.similar import similar

Algorithm = Callable[..., None]

#: Names of selectors, which decide by size, ranks and placement, for every operation.
SELECTORS = (
    "default", "ompi", "mpich", "mvapich2", "impi", "openmpi-4.1", "openmpi-5.0", "mpich-4",
)  # fmt: skip

# Selectors of MPI libraries, not SimGrid's: modules with a function per operation.
_MODULES = {"openmpi-4.1": "openmpi_4_1", "openmpi-5.0": "openmpi_4_1", "mpich-4": "mpich_4"}

# Modules of their non-blocking collectives, which proceed in rounds.
_NONBLOCKING = {
    "openmpi-4.1": "collectives.libnbc",
    "openmpi-5.0": "collectives.libnbc",
    "mpich-4": "selectors.mpich_4_nonblocking",
}

#: The algorithms of each operation that send the same messages as SimGrid's, by SimGrid name.
ALGORITHMS: dict[str, tuple[str, ...]] = {
    "allgather": (
        "2dmesh", "3dmesh", "bruck", "GB", "loosely_lr", "NTSLR", "NTSLR_NB", "pair", "rdb", "rhv",
        "ring", "SMP_NTS", "smp_simple", "spreading_simple", "ompi_neighborexchange",
        "mvapich2_smp",
    ),
    "allgatherv": (
        "GB", "pair", "ring", "ompi_neighborexchange", "ompi_bruck", "mpich_rdb", "mpich_ring",
    ),
    "allreduce": (
        "lr", "rab", "rab1", "rab2", "rab_rdb", "rdb", "redbcast", "smp_binomial",
        "smp_binomial_pipeline", "smp_rdb", "smp_rsag", "smp_rsag_lr", "smp_rsag_rab",
        "ompi_ring_segmented", "mvapich2_rs", "mvapich2_two_level",
    ),
    "alltoall": (
        "2dmesh", "3dmesh", "basic_linear", "bruck", "pair", "pair_light_barrier",
        "pair_mpi_barrier", "pair_one_barrier", "rdb", "ring", "ring_light_barrier",
        "ring_mpi_barrier", "ring_one_barrier", "mvapich2_scatter_dest",
    ),
    "alltoallv": (
        "bruck", "pair", "pair_light_barrier", "pair_mpi_barrier", "pair_one_barrier", "ring",
        "ring_light_barrier", "ring_mpi_barrier", "ring_one_barrier", "ompi_basic_linear",
    ),
    "barrier": (
        "ompi_basic_linear", "ompi_two_procs", "ompi_tree", "ompi_bruck",
        "ompi_recursivedoubling", "ompi_doublering", "mpich_smp", "mvapich2_pair",
    ),
    "bcast": (
        "binomial_tree", "flattree", "flattree_pipeline", "NTSB", "NTSL", "NTSL_Isend",
        "scatter_LR_allgather", "scatter_rdb_allgather", "SMP_binary", "SMP_binomial",
        "SMP_linear", "ompi_split_bintree", "ompi_pipeline", "mvapich2_inter_node",
        "mvapich2_intra_node", "mvapich2_knomial_intra_node",
    ),
    "exscan": (),
    "gather": ("ompi_basic_linear", "ompi_binomial", "ompi_linear_sync", "mvapich2_two_level"),
    "gatherv": (),
    "reduce": (
        "binomial", "flat_tree", "NTSL", "rab", "scatter_gather", "ompi_chain", "ompi_pipeline",
        "ompi_basic_linear", "ompi_in_order_binary", "ompi_binary", "ompi_binomial",
        "mvapich2_knomial", "mvapich2_two_level",
    ),
    "reduce_scatter": (
        "ompi_basic_recursivehalving", "ompi_ring", "ompi_butterfly", "mpich_pair", "mpich_rdb",
        "mpich_noncomm",
    ),
    "scan": (),
    "scatter": (
        "ompi_basic_linear", "ompi_linear_nb", "ompi_binomial", "mvapich2_two_level_binomial",
        "mvapich2_two_level_direct",
    ),
    "scatterv": (),
}  # fmt: skip

#: Algorithms that move data by other means in SimGrid, approximated here by messages.
APPROXIMATIONS: dict[str, tuple[str, ...]] = {"alltoall": ("pair_rma",)}

# Operations with one algorithm, whatever the selector.
_SINGLE = frozenset({"exscan", "gatherv", "scan", "scatterv"})

# SimGrid's algorithms that cannot be written as schedules, and why.
_PROBES = "probes for messages and branches on what has arrived"
_UNSCHEDULABLE = {
    ("bcast", "arrival_pattern_aware"): _PROBES,
    ("bcast", "arrival_pattern_aware_wait"): _PROBES,
    ("bcast", "arrival_scatter"): _PROBES,
    ("reduce", "arrival_pattern_aware"): _PROBES,
    **{(operation, "automatic"): "runs and times all the others" for operation in ALGORITHMS},
}

_FUNCTIONS = {"2dmesh": "mesh_2d", "3dmesh": "mesh_3d"}  # names that are not identifiers

_loaded: dict[tuple[str, str], Algorithm] = {}


def algorithm(operation: str, name: str, *, also: tuple[str, ...] = ()) -> Algorithm:
    """Return the algorithm or selector `name` of `operation`.

    `operation`: such as ``"allreduce"``; the module docstring lists all operations. `name` is a
    SimGrid name such as ``"rdb"``, or a selector such as ``"ompi"``. `also`: further names that
    the error message suggests. Raises an `InputError` if there is no such operation or algorithm;
    the message suggests the nearest names.
    """
    key = (operation, name)
    found = _loaded.get(key)
    if found is None:
        found = _loaded[key] = _load(operation, name, also)
    return found


def nonblocking(operation: str, selector: str) -> Callable[..., object]:
    """Return the non-blocking `operation` of the library that `selector` models.

    All of SimGrid's selectors use the same single exchange of messages.
    """
    name = _NONBLOCKING.get(selector, "collectives.nonblocking")
    module = importlib.import_module(f"tisim.actions.{name}")
    return _function(module, f"i{operation}")


def names(operation: str) -> tuple[str, ...]:
    """Return all names that `algorithm` accepts for `operation`: selectors first.

    Raises an `InputError` if there is no such operation.
    """
    _check_operation(operation)
    return (*SELECTORS, *_built_in(operation))


def check_free(operation: str, name: str) -> None:
    """Check that a user may register an algorithm `name` of `operation`.

    Raises an `InputError` if there is no such operation, or the name is a built-in algorithm.
    """
    _check_operation(operation)
    taken = (*SELECTORS, *_built_in(operation))
    if name in taken or (operation, name) in _UNSCHEDULABLE:
        raise InputError(
            f"{operation} already has an algorithm {name!r}; register yours under another name"
        )


def _load(operation: str, name: str, also: tuple[str, ...]) -> Algorithm:
    _check_operation(operation)
    if name in SELECTORS:
        return _selector(operation, name)
    reason = _UNSCHEDULABLE.get((operation, name))
    if reason is not None:
        raise InputError(
            f"{operation} algorithm {name!r} is not available: it {reason}; "
            f"choose another one: {', '.join((*names(operation), *also))}"
        )
    if name not in _built_in(operation):
        raise InputError(
            f"{operation} has no algorithm {name!r}; {_nearest(name, (*names(operation), *also))}"
        )
    module = importlib.import_module(f"tisim.actions.collectives.{operation}")
    return _function(module, _FUNCTIONS.get(name, name.lower()))


def _selector(operation: str, name: str) -> Algorithm:
    if name != "default" and name not in _MODULES and operation in _SINGLE:
        return algorithm(operation, "default")
    module = importlib.import_module(f"tisim.actions.selectors.{_MODULES.get(name, name)}")
    if name not in _MODULES:
        return partial(module.write, operation)
    if (operation, name) == ("alltoallv", "openmpi-5.0"):
        return _function(module, "alltoallv_5_0")
    return _function(module, operation)


def _built_in(operation: str) -> tuple[str, ...]:
    return ALGORITHMS[operation] + APPROXIMATIONS.get(operation, ())


def _function(module: object, name: str) -> Algorithm:
    function: Algorithm = getattr(module, name)
    return function


def _check_operation(operation: str) -> None:
    if operation not in ALGORITHMS:
        raise InputError(
            f"no collective operation {operation!r}; {_nearest(operation, ALGORITHMS)}"
        )


def _nearest(name: str, known: Iterable[str]) -> str:
    candidates = list(known)
    folded = {candidate.lower(): candidate for candidate in candidates}
    near = similar(name.lower(), folded, limit=3)
    if near:
        return "did you mean " + " or ".join(repr(folded[n]) for n in near) + "?"
    return "known names: " + ", ".join(candidates)
