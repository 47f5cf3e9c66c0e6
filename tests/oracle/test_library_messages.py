"""Compare the messages of collectives with those of the installed MPI libraries."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from tests.support import campaign
from tisim.actions.collectives.catalogue import algorithm, nonblocking
from tisim.actions.script import ISEND, SEND, SENDRECV, SSEND, Script

_SOURCE = Path(__file__).with_name("library_messages.c")
_SENDS = frozenset({SEND, SSEND, ISEND, SENDRECV})
_ROOTED = frozenset({"bcast", "reduce", "gather", "gatherv", "scatter", "scatterv"})
_OPERATIONS = (
    "barrier", "bcast", "reduce", "allreduce", "gather", "gatherv", "scatter", "scatterv",
    "allgather", "allgatherv", "alltoall", "alltoallv", "reduce_scatter", "scan", "exscan",
)  # fmt: skip
_SIZES = (1, 12, 100, 703, 3001, 12000, 60000, 200000, 700000, 1 << 20)
_MOST = max(_SIZES)
_MANY_RANKS = (0, 12, 3001, 60000, 700000)
_FEW_ROOTS = range(campaign(1, 0), campaign(2, 9))  # small numbers of ranks test all roots

Call = tuple[str, int, int]  # operation, bytes, root
Messages = list[list[tuple[int, int]]]  # by rank: destination and bytes


def _calls(ranks: int) -> Iterator[Call]:
    for operation in _OPERATIONS:
        for nbytes in (0,) if operation == "barrier" else _SIZES:
            for root in sorted({0, 1, ranks - 1}) if operation in _ROOTED else (0,):
                yield operation, nbytes, root


def _arguments(call: Call, ranks: int) -> tuple[object, ...]:
    operation, n, root = call
    counts = [n] * ranks
    if operation in ("bcast", "reduce"):
        return (n, 1, root)
    if operation in ("allreduce", "scan", "exscan"):
        return (n, 1)
    if operation in ("gather", "scatter"):
        return (n, 1, n, 1, root)
    forms: dict[str, tuple[object, ...]] = {
        "barrier": (),
        "gatherv": (n, 1, counts, 1, root),
        "scatterv": (counts, 1, n, 1, root),
        "allgather": (n, 1, n, 1),
        "alltoall": (n, 1, n, 1),
        "allgatherv": (n, 1, counts, 1),
        "alltoallv": (counts, 1, counts, 1),
        "reduce_scatter": (counts, 1),
    }
    return forms[operation]


def _started(calls: Iterable[Call]) -> Iterator[Call]:
    """Return the same calls, non-blocking."""
    for operation, nbytes, root in calls:
        yield f"i{operation}", nbytes, root


def _predicted(selector: str, call: Call, nodes: Sequence[int]) -> Messages:
    """Return a selector's messages except those to self; `nodes`: the node of each rank."""
    operation = call[0].removeprefix("i")
    write = (nonblocking if operation != call[0] else algorithm)(operation, selector)
    messages: Messages = []
    ranks = len(nodes)
    for rank in range(ranks):
        script = Script(rank, ranks, nodes)
        write(script, *_arguments((operation, *call[1:]), ranks))
        rows = zip(script.kinds, script.peers, script.sizes, strict=True)
        messages.append(
            [(peer, int(size)) for kind, peer, size in rows if kind in _SENDS and peer != rank]
        )
    return messages


def _find(*names: str) -> str:
    for name in names:
        if executable := shutil.which(name):
            return executable
    pytest.skip(f"{names[-1]} is not installed")


@pytest.fixture(scope="module")
def open_mpi(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the command that starts the program of calls with Open MPI 4.1; append -np N."""
    mpicc = _find("mpicc.openmpi", "mpicc")
    mpirun = _find("mpirun.openmpi", "mpirun")
    version = subprocess.run([mpirun, "--version"], capture_output=True, text=True, check=False)
    if not re.search(r"(Open MPI|OpenRTE)\) 4\.1\.", version.stdout):
        pytest.skip("no Open MPI 4.1 is installed")
    program = _compile(mpicc, tmp_path_factory)
    return [
        mpirun, "--allow-run-as-root", "--oversubscribe", "--mca", "coll", "^sm",
        "--mca", "pml_monitoring_enable", "1", "--mca", "mpi_yield_when_idle", "1", program,
    ]  # fmt: skip


@pytest.fixture(scope="module")
def mpich(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the same for MPICH 4.0 over UCX."""
    mpicc, mpirun = _find("mpicc.mpich"), _find("mpirun.mpich")
    version = subprocess.run(["mpichversion"], capture_output=True, text=True, check=False).stdout
    if not re.search(r"Version:\s+4\.0", version) or "ch4:ucx" not in version:
        pytest.skip("no MPICH 4.0 over UCX is installed")
    try:
        program = _compile(mpicc, tmp_path_factory, "-ldl")
    except subprocess.CalledProcessError as error:
        if "ucp.h" in error.stderr:
            pytest.skip("the headers of UCX are not installed")
        raise
    return [mpirun, program]


def _compile(mpicc: str, directory: pytest.TempPathFactory, *words: str) -> str:
    program = directory.mktemp("messages") / "messages"
    subprocess.run(
        [mpicc, "-O1", "-rdynamic", "-o", program, _SOURCE, *words],
        check=True,
        capture_output=True,
        text=True,
    )
    return str(program)


# Treat each rank of MPICH as if it had its own node.
_NODE_EACH = {"MPIR_CVAR_NOLOCAL": "1"}


def _sent(
    command: list[str], ranks: int, calls: list[Call], where: dict[str, str] = _NODE_EACH
) -> dict[Call, Messages]:
    asked = "".join(f"{operation} {nbytes} {root}\n" for operation, nbytes, root in calls)
    ran = subprocess.run(
        [command[0], "-np", str(ranks), *command[1:], str(_MOST)],
        env={**os.environ, **where},
        input=asked,
        capture_output=True,
        text=True,
        check=True,
    )
    messages: dict[Call, Messages] = defaultdict(lambda: [[] for _ in range(ranks)])
    for line in ran.stdout.splitlines():
        operation, nbytes, root, source, destination, size = line.split()
        call = operation, int(nbytes), int(root)
        messages[call][int(source)].append((int(destination), int(size)))
    return messages


@pytest.mark.parametrize("ranks", [3, 8, 2, 4, 7][: campaign(2, 5)])
def test_open_mpi_sends_the_same_messages_in_the_same_order(
    open_mpi: list[str], ranks: int
) -> None:
    calls = list(_calls(ranks))
    sent = _sent(open_mpi, ranks, calls)
    nodes = range(ranks)
    different = [call for call in calls if _predicted("openmpi-4.1", call, nodes) != sent[call]]
    assert not different


# MPICH, which busy-waits, takes long with more ranks than processors.
@pytest.mark.parametrize("ranks", [3, 8, 2, 4, 9][: campaign(2, 5)])
def test_mpich_sends_the_same_messages_in_the_same_order(mpich: list[str], ranks: int) -> None:
    blocking = [
        call
        for call in _calls(ranks)
        if ranks < 8 or (call[1] in _MANY_RANKS and call[2] in _FEW_ROOTS)
    ]
    calls = [*blocking, *_started(blocking)]
    sent = _sent(mpich, ranks, calls)
    nodes = range(ranks)
    different = [call for call in calls if _predicted("mpich-4", call, nodes) != sent[call]]
    assert not different


@pytest.mark.parametrize(
    "nodes",
    [
        (0, 0, 1, 1, 2, 2, 3, 3),
        (0, 1, 2, 0, 1, 2),
        (0, 0, 0, 1, 1, 2, 2),
        (0, 0, 0, 1, 1, 1, 2, 2, 2),
        (0, 1, 2, 3, 0, 1, 2, 3, 0),
    ][: campaign(2, 5)],
)
def test_mpich_sends_the_same_messages_on_nodes_of_several_ranks(
    mpich: list[str], nodes: list[int]
) -> None:
    blocking = [call for call in _calls(len(nodes)) if call[1] in _MANY_RANKS]
    calls = [*blocking, *_started(blocking)]
    where = {
        "MPIR_CVAR_NUM_CLIQUES": str(max(nodes) + 1),
        "MPIR_CVAR_CLIQUES_BY_BLOCK": str(int(nodes[0] == nodes[1])),
    }
    sent = _sent(mpich, len(nodes), calls, where)
    different = [call for call in calls if _predicted("mpich-4", call, nodes) != sent[call]]
    assert not different
