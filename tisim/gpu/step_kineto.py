"""Recordings of PyTorch's profiler (Kineto) as graphs: one rank, which stands for all.

Kernels keep their times. The host thread launches them when it did, by gaps between launches, and
waits for streams where it did. A kernel that began just when one of another stream had ended, later
than its own stream and its launch explain, is taken to wait for that one. Collectives whose sizes
and groups are recorded become collectives; others keep their times.
"""

from __future__ import annotations

import zlib
from bisect import bisect_left
from dataclasses import dataclass
from pathlib import Path

from tisim.errors import InputError
from tisim.gpu.step_graph import parse_graph
from tisim.gpu.step_recording import Recording
from tisim.support.limits import unpacking_limit
from tisim.support.reading import parse_json, read_input

# Collectives by what Kineto calls them.
_COLLECTIVES = {
    "allreduce": "all_reduce",
    "_allgather_base": "all_gather",
    "allgather": "all_gather",
    "_reduce_scatter_base": "reduce_scatter",
    "reduce_scatter": "reduce_scatter",
    "broadcast": "broadcast",
}
_BYTES = {"Float": 4, "Half": 2, "BFloat16": 2, "Double": 8, "Int": 4, "Long": 8, "Byte": 1}
_ON_GPU = ("kernel", "gpu_memcpy", "gpu_memset")
# Calls of the host that wait: for all streams, or for one.
_WAITS = ("cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaEventSynchronize")
# Microseconds between the end of a kernel and the begin of one that waited for it.
_NEAR = 10.0


@dataclass(slots=True)
class _Kernel:
    stream: str
    begin: float
    end: float
    launch: float
    args: dict[str, object]
    waits_for: _Kernel | None = None
    number: int = -1  # of the event that says that it has ended


def read_kineto(path: str | Path, *, model: bool = True) -> Recording:
    """Read a recording, JSON or JSON in gzip.

    Parameters
    ----------
    model
        Make collectives of what is recorded as one; otherwise they keep their times.
    """
    content = parse_json(_unpacked(path), path)
    try:
        events = [e for e in content["traceEvents"] if e.get("ph") == "X"]  # type: ignore[index]
        world = int(content.get("distributedInfo", {}).get("world_size", 1))  # type: ignore[attr-defined]
        return _graph(events, world, str(path), model)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"this is no recording of PyTorch's profiler: {type(error).__name__}: {error}",
            file=path,
        ) from None


def _unpacked(path: str | Path) -> str:
    """The text of a file that may be in gzip."""
    raw, limit = read_input(path, "this recording"), unpacking_limit()
    try:
        if raw[:2] == b"\x1f\x8b":
            packed = zlib.decompressobj(wbits=31)
            raw = packed.decompress(raw, min(int(min(limit, 1 << 40)) + 1, 1 << 40))
            if len(raw) > limit:
                raise InputError(
                    "unpacks to more than --unpack-limit, which can be raised", file=path
                )
            if not packed.eof:
                raise InputError("this gzip file is cut off", file=path)
        return raw.decode("utf-8")
    except (zlib.error, UnicodeDecodeError) as error:
        raise InputError(f"this is neither text nor gzip: {error}", file=path) from None


def _graph(events: list[dict[str, object]], world: int, file: str, model: bool) -> Recording:
    calls = {}
    waits = []
    for event in events:
        args = event.get("args")
        if event.get("cat") in ("cuda_runtime", "cuda_driver") and isinstance(args, dict):
            calls[args.get("correlation")] = event
            if event.get("name") in _WAITS:
                waits.append(event)
    kernels = []
    for event in events:
        args = event.get("args")
        if event.get("cat") not in _ON_GPU or not isinstance(args, dict):
            continue
        begin = float(event["ts"])  # type: ignore[arg-type]
        call = calls.get(args.get("correlation"))
        launch = min(begin, float(call["ts"])) if call is not None else begin  # type: ignore[arg-type]
        end = begin + float(event.get("dur", 0.0))  # type: ignore[arg-type]
        args["name"] = str(event.get("name"))
        kernels.append(_Kernel(f"s{args.get('stream')}", begin, end, launch, args))
    if not kernels:
        raise ValueError("it has no kernels")
    kernels.sort(key=lambda kernel: (kernel.launch, kernel.begin))
    _find_waits(kernels)
    steps = [(kernel.launch, kernel) for kernel in kernels]
    steps += [(float(w["ts"]), float(w.get("dur", 0.0))) for w in waits]  # type: ignore[arg-type, misc]
    steps.sort(key=lambda step: step[0])
    return _written(steps, kernels, world, file, model)  # type: ignore[arg-type]


def _find_waits(kernels: list[_Kernel]) -> None:
    ends = sorted(kernels, key=lambda kernel: kernel.end)
    dates = [kernel.end for kernel in ends]
    last: dict[str, float] = {}
    number = 0
    for kernel in kernels:
        ready = max(last.get(kernel.stream, 0.0), kernel.launch)
        last[kernel.stream] = kernel.end
        if kernel.begin - ready <= _NEAR:
            continue
        for other in ends[bisect_left(dates, kernel.begin - _NEAR) :]:
            if other.end > kernel.begin + 1.0:
                break
            if other.stream != kernel.stream and other.launch < kernel.launch:
                kernel.waits_for = other
                if other.number < 0:
                    other.number, number = number, number + 1


def _written(
    steps: list[tuple[float, _Kernel | float]],
    kernels: list[_Kernel],
    world: int,
    file: str,
    model: bool,
) -> Recording:
    lines = ["graph 1", f"ranks {world}"]
    if world > 1:
        lines.append(f"communicator all {world} 1")
    lines.append(f"program 0-{world - 1}")
    streams = sorted({kernel.stream for kernel in kernels})
    collectives = kept = 0
    host = steps[0][0]  # the date of the host thread
    for date, step in steps:
        if date > host:
            lines.append(f"host {(date - host) * 1e-6:.9g}")
            host = date
        if not isinstance(step, _Kernel):
            lines += [f"synchronize {stream}" for stream in streams]
            host = date + step
            continue
        if step.waits_for is not None:
            lines.append(f"wait {step.stream} e{step.waits_for.number}")
        node = _collective(step, world) if model else None
        is_collective = "nccl" in str(step.args["name"]).lower()
        collectives += is_collective
        kept += is_collective and node is None
        lines.append(node or f"seconds {step.stream} {(step.end - step.begin) * 1e-6:.9g}")
        if step.number >= 0:
            lines.append(f"record {step.stream} e{step.number}")
    lines.append("end")
    seconds = (max(kernel.end for kernel in kernels) - steps[0][0]) * 1e-6
    text = "\n".join(lines) + "\n"
    return Recording(parse_graph(text, file), text, seconds, len(kernels), collectives, kept)


def _collective(kernel: _Kernel, world: int) -> str | None:
    """The node of a collective of all ranks."""
    args = kernel.args
    word = _COLLECTIVES.get(str(args.get("Collective name")))
    width = _BYTES.get(str(args.get("dtype")))
    if word is None or width is None or args.get("Group size") != world or world < 2:
        return None
    sizes = [args.get("In msg nelems"), args.get("Out msg nelems")]
    elements = max(size for size in sizes if isinstance(size, int))
    return f"{word} {kernel.stream} all {elements * width}"
