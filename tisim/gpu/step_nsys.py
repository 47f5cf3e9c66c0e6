"""Exports of Nsight Systems (``nsys export --type sqlite``) as graphs: a rank a GPU.

Kernels and copies keep their times, those of NCCL too: the export does not say how much they move.
The host thread launches and waits as in recordings of PyTorch.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path

from tisim.errors import InputError
from tisim.gpu.step_graph import parse_graph
from tisim.gpu.step_launches import Launched, Program
from tisim.gpu.step_recording import Recording
from tisim.support.reading import head_of

# Tables of what GPUs do, and the column of the number of the kernel's name.
_ON_GPU = {
    "CUPTI_ACTIVITY_KIND_KERNEL": "shortName",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "NULL",
    "CUPTI_ACTIVITY_KIND_MEMSET": "NULL",
}
_CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
# Calls of the host that wait; versions of them have a number behind it.
_WAITS = ("cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize")
# The bits of a thread's number that are its process.
_PROCESS = ~0xFFFFFF


def is_nsys(path: str | Path) -> bool:
    """Whether a file is a database of SQLite."""
    return head_of(path).startswith(b"SQLite format 3\0")


def read_nsys(path: str | Path) -> Recording:
    """Read an export. Raises `InputError` if it is none, or has no kernels."""
    lost: Counter[str] = Counter()
    try:
        base = sqlite3.connect(f"file:{Path(path).resolve()}?mode=ro", uri=True)
        try:
            kernels, waits = _launched(base, lost)
            programs = [Program(kernels[gpu], waits.get(gpu[0], [])) for gpu in sorted(kernels)]
        finally:
            base.close()
    except (sqlite3.Error, TypeError, ValueError, AttributeError) as error:  # or other columns
        raise InputError(f"this is not an export of Nsight Systems: {error}", file=path) from None
    if not kernels:
        raise InputError("this export of Nsight Systems has no kernels", file=path)
    lines = ["graph 1", f"ranks {len(programs)}"]
    for rank, program in enumerate(programs):
        lines += [f"program {rank}", *program.lines(), "end"]
    text = "\n".join(lines) + "\n"
    everything = [kernel for one in kernels.values() for kernel in one]
    communicate = sum(kernel.communicates for kernel in everything)
    return Recording(
        parse_graph(text, str(path)),
        text,
        max(program.seconds for program in programs),
        len(everything),
        communicate,
        communicate,
        +lost,
    )


_Kernels = dict[tuple[int, int], list[Launched]]  # by process and device
_Waits = dict[int, list[tuple[float, float]]]  # by process


def _launched(base: sqlite3.Connection, lost: Counter[str]) -> tuple[_Kernels, _Waits]:
    tables = {name for (name,) in base.execute("SELECT name FROM sqlite_master")}
    names: dict[int, str] = dict(base.execute("SELECT id, value FROM StringIds"))
    calls: dict[tuple[int, int], float] = {}
    waits: _Waits = {}
    if _CALLS in tables:
        rows = base.execute(f"SELECT start, end, globalTid, correlationId, nameId FROM {_CALLS}")
        for start, end, thread, correlation, name in rows:
            calls[thread & _PROCESS, correlation] = start * 1e-3
            if names.get(name, "").startswith(_WAITS):
                waits.setdefault(thread & _PROCESS, []).append((start * 1e-3, (end - start) * 1e-3))
    kernels: _Kernels = {}
    for table, name_column in _ON_GPU.items():
        if table not in tables:
            continue
        rows = base.execute(
            f"SELECT start, end, globalPid, deviceId, streamId, correlationId, {name_column} "
            f"FROM {table}"
        )
        for start, end, process, device, stream, correlation, name in rows:
            begin = start * 1e-3
            launch = calls.get((process & _PROCESS, correlation))
            lost["kernels whose launch was not recorded"] += launch is None
            kernels.setdefault((process & _PROCESS, device), []).append(
                Launched(
                    f"s{stream}",
                    begin,
                    end * 1e-3,
                    begin if launch is None else min(begin, launch),
                    "nccl" in names.get(name, "").lower(),
                )
            )
    if "NVTX_EVENTS" in tables:
        lost["ranges of NVTX"] += base.execute("SELECT count(*) FROM NVTX_EVENTS").fetchone()[0]
    return kernels, waits
