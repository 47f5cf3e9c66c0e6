"""Exports of Nsight Systems (``nsys export --type sqlite``) as graphs: a rank per GPU.

Kernels and copies keep their times, including NCCL's: the export lacks their sizes.
The host thread launches and waits as in recordings of PyTorch.
"""

from __future__ import annotations

import sqlite3
import sys
from collections import Counter
from pathlib import Path

from tisim.errors import InputError
from tisim.gpu.step_recording import Launched, Program, Recording, graph_text
from tisim.support.reading import head_of

# Tables of GPU activities, and the column with the number of the kernel's name.
_ON_GPU = {
    "CUPTI_ACTIVITY_KIND_KERNEL": "shortName",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "NULL",
    "CUPTI_ACTIVITY_KIND_MEMSET": "NULL",
}
_CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
# Host calls that wait; versions of them have a numeric suffix.
_WAITS = ("cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize")
# The process bits of a thread's number.
_PROCESS = ~0xFFFFFF


def is_nsys(path: str | Path) -> bool:
    """Return whether a file is an SQLite database."""
    return head_of(path).startswith(b"SQLite format 3\0")


def read_nsys(path: str | Path) -> Recording:
    """Read an export. Raises `InputError` if it is not one, or has no kernels."""
    omissions: Counter[str] = Counter()
    try:
        base = sqlite3.connect(f"file:{Path(path).resolve()}?mode=ro", uri=True)
        try:
            kernels, waits = _launched(base, omissions)
            programs = [Program(kernels[gpu], waits.get(gpu[0], [])) for gpu in sorted(kernels)]
        finally:
            base.close()
    except (sqlite3.Error, TypeError, ValueError, AttributeError) as error:  # or other columns
        raise InputError(f"this is not an export of Nsight Systems: {error}", file=path) from None
    if not kernels:
        raise InputError("this export of Nsight Systems has no kernels", file=path)
    everything = [kernel for stream in kernels.values() for kernel in stream]
    communicate = sum(kernel.communicates for kernel in everything)
    numbered = ((str(rank), program.lines()) for rank, program in enumerate(programs))
    return Recording(
        path,
        graph_text(len(programs), numbered, {}),
        max(program.seconds for program in programs),
        len(everything),
        communicate,
        communicate,
        +omissions,
    )


_Kernels = dict[tuple[int, int], list[Launched]]  # by process and device
_Waits = dict[int, list[tuple[float, float]]]  # by process


def _launched(base: sqlite3.Connection, omissions: Counter[str]) -> tuple[_Kernels, _Waits]:
    tables = {name for (name,) in base.execute("SELECT name FROM sqlite_master")}
    names: dict[int, str] = dict(base.execute("SELECT id, value FROM StringIds"))
    waits: _Waits = {}
    begin_of_call, calls = "NULL", ""
    if _CALLS in tables:
        waiting = ",".join(str(number) for number, name in names.items() if name.startswith(_WAITS))
        for start, end, thread in base.execute(
            f"SELECT start, end, globalTid FROM {_CALLS} WHERE nameId IN ({waiting})"
        ):
            waits.setdefault(thread & _PROCESS, []).append((start * 1e-3, (end - start) * 1e-3))
        # The database joins calls and kernels, which may exceed memory.
        begin_of_call, calls = (
            "c.start",
            (
                f"LEFT JOIN {_CALLS} c ON c.correlationId = k.correlationId "
                f"AND c.globalTid & {_PROCESS} = k.globalPid & {_PROCESS}"
            ),
        )
    kernels: _Kernels = {}
    for table, name_column in _ON_GPU.items():
        if table not in tables:
            continue
        rows = base.execute(
            f"SELECT k.start, k.end, globalPid, deviceId, streamId, {begin_of_call}, {name_column} "
            f"FROM {table} k {calls}"
        )
        for start, end, process, device, stream, called, name in rows:
            begin = start * 1e-3
            omissions["kernels whose launch was not recorded"] += called is None
            kernels.setdefault((process & _PROCESS, device), []).append(
                Launched(
                    sys.intern(f"s{stream}"),
                    begin,
                    end * 1e-3,
                    begin if called is None else min(begin, called * 1e-3),
                    "nccl" in names.get(name, "").lower(),
                )
            )
    if "NVTX_EVENTS" in tables:
        (ranges,) = base.execute("SELECT count(*) FROM NVTX_EVENTS").fetchone()
        omissions["ranges of NVTX"] += ranges
    return kernels, waits
