"""Steps as run files for the viewer: a lane per GPU, and below it one for each stream.

A GPU computes while any of its kernels runs; remaining communication is exposed (transfer); waiting
for peers and idle time (sleep) are its bubbles.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tisim.analysis.timeline.columns import STATES, kind_names
from tisim.analysis.timeline.run_file.writer import RunDescription, RunFileWriter, row_types
from tisim.analysis.timeline.streams import OCCUPATIONS, Span, changes_of
from tisim.gpu.step_path import critical_path, gains, path_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from tisim.gpu.step_graph import Graph
    from tisim.gpu.step_machine import StepMachine
    from tisim.gpu.step_run import StepResult

# MPI actions that correspond to the communication of a graph.
_KINDS = {
    "all_reduce": "allreduce",
    "all_gather": "allgather",
    "reduce_scatter": "reducescatter",
    "broadcast": "bcast",
    "all_to_all": "alltoall",
    "shift": "sendrecv",
    "send": "send",
    "receive": "recv",
}
_WAITS, _SLEEPS = "wait at N x N", "sleep"
# States of a lane, highest priority first; kernels come before communication.
_STATES = ("compute", "transfer", _WAITS)
# Number of parts of the critical path that are named.
_PARTS = 5


def step_sentences(graph: Graph, machine: StepMachine, result: StepResult) -> list[str]:
    """Return sentences on the occupation of GPUs, the critical path and gains of better machines.

    The most important parts are marked with ``**``; the step was executed with ``logs=True``.
    """
    total = max(result.seconds, 1e-300)

    def percent(seconds: float) -> str:
        return f"{100 * seconds / total:.1f}%"

    share = dict(zip(OCCUPATIONS, map(percent, result.mean_occupations), strict=True))
    path = path_seconds(critical_path(result), machine, graph.dtype)
    parts = [f"{what} {percent(seconds)}" for what, seconds in list(path.items())[:_PARTS]]
    saved = {what: total - seconds for what, seconds in gains(graph, machine, result).items()}
    bubbles = saved.pop("no bubbles")
    by_gain = sorted(saved, key=lambda what: -saved[what])
    return [
        f"GPUs run kernels in **{share['compute']}** of the step without communication and in "
        f"{share['overlapped']} overlapping it. **{share['exposed']}** is exposed communication. "
        f"They wait for peers for {share['waiting']} and do nothing for {share['idle']}: bubbles.",
        f"The critical path consists of **{parts[0]}**{''.join(f', {part}' for part in parts[1:])}."
        if parts
        else "The step takes no time.",
        "Savings with a better machine: "
        + ", ".join(f"{what} {percent(saved[what])}" for what in by_gain)
        + f". Another schedule of the same work would save at most **{percent(bubbles)}**, the "
        "bubbles.",
    ]


def write_step_run(
    result: StepResult, path: str, title: str, sentences: Sequence[str] = ()
) -> None:
    """Write the run file of a step that was executed with ``logs=True``.

    `sentences` are the findings that the viewer shows.
    """
    lanes: list[tuple[str, str, list[Span]]] = []  # of the GPU, of the lane
    of_gpu: list[list[Span]] = [[] for _ in result.first_ranks]
    for span in result.spans:
        of_gpu[span.lane].append(span)
    for number, first in enumerate(result.first_ranks):
        alike = int(result.ranks_of_lane[number])
        gpu = f"GPU {first}" + (f" and {alike - 1:,} alike" if alike > 1 else "")
        lanes.append((gpu, f"GPU {first}", of_gpu[number]))
        for stream in dict.fromkeys(span.stream for span in of_gpu[number]):
            own = [span for span in of_gpu[number] if span.stream == stream]
            lanes.append((gpu, stream, own))
    hosts = list(dict.fromkeys(gpu for gpu, _, _ in lanes))
    writer = RunFileWriter(Path(path), len(lanes))
    try:
        writer.add("states", state_rows([spans for *_, spans in lanes], result.seconds))
        writer.drain(True)
        writer.finish(
            RunDescription(
                title=title,
                ranks=len(lanes),
                end=result.seconds,
                hosts=hosts,
                host_of=[hosts.index(gpu) for gpu, _, _ in lanes],
                trace=None,
                lanes=[name for _, name, _ in lanes],
                findings=sentences,
            )
        )
        writer.commit()
    except BaseException:
        writer.discard()
        raise


def state_rows(lanes: list[list[Span]], end: float, first: int = 0) -> bytes:
    """Return the activities of lanes as rows of a run file; their ranks begin at `first`."""
    rows = [_rows(first + number, spans, end) for number, spans in enumerate(lanes)]
    states = np.zeros(sum(map(len, rows)), row_types()["states"])
    np.concatenate(rows, out=states)
    return states[np.argsort(states["end"], kind="stable")].tobytes()


def _rows(lane: int, spans: list[Span], end: float) -> npt.NDArray[np.void]:
    """Return the time of a lane without gaps: each part has the first applicable of `_STATES`."""
    counts = np.array(list(changes_of(spans)) or [(0.0, 0, 0, 0, 0)])
    counts = np.concatenate((counts, [(0.0, 0, 0, 0, 0)]))
    counts = counts[np.argsort(counts[:, 0], kind="stable")]
    dates, under_way = counts[:, 0], np.cumsum(counts[:, 1:4], axis=0) > 0
    begins, ends = dates, np.append(dates[1:], end)
    state = np.where(under_way.any(axis=1), under_way.argmax(axis=1), len(_STATES))
    # The last activity to begin is named.
    began = np.where(counts[:, 4] > 0, np.arange(len(counts)), 0)
    node = np.maximum.accumulate(began)
    numbers = [STATES.index(name) for name in (*_STATES, _SLEEPS)]
    kinds = kind_names()
    rows = np.zeros(len(dates), row_types()["states"])
    rows["rank"], rows["start"], rows["end"] = lane, begins, ends
    rows["started"], rows["peer"], rows["cause"], rows["bytes"] = -1, -1, -1, -1
    rows["state"] = np.array(numbers)[state]
    rows["line"] = np.where(state < len(_STATES), counts[node, 4], 0)
    words = {span.node.line: span.node.word for span in spans}
    named = {line: kinds.index(_KINDS.get(word, "compute")) for line, word in words.items()}
    idle = kinds.index(_SLEEPS)
    rows["kind"] = [named.get(int(line), idle) for line in rows["line"]]
    takes_time = rows["end"] > rows["start"]
    rows, node = rows[takes_time], node[takes_time]
    # A state continues until another one, or a node, begins.
    changes = (rows["state"][1:] != rows["state"][:-1]) | (node[1:] != node[:-1])
    first = np.flatnonzero(np.append(True, changes))
    parts = rows[first]
    parts["end"] = np.append(rows["start"][first[1:]], rows["end"][-1:])
    return parts
