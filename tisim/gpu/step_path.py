"""Critical path of a training step: where each second is spent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tisim.analysis.timeline.streams import OCCUPATIONS, Span
from tisim.errors import InputError
from tisim.gpu.step_graph import KERNELS
from tisim.gpu.step_run import run_step

if TYPE_CHECKING:
    from tisim.gpu.step_graph import Graph
    from tisim.gpu.step_machine import StepMachine
    from tisim.gpu.step_run import StepResult

#: Kind of the path while no kernel and no communication is active: the host thread has not launched
#: the next one, or a recording has a delay there.
LAUNCH = "launch"
#: Time that kernels lose to other activities on their GPU.
SHARING = "sharing"


@dataclass(frozen=True, slots=True)
class PathPart:
    """Consecutive seconds of the path; without a span, nothing was launched yet."""

    lane: int
    begin: float
    end: float
    span: Span | None


def critical_path(result: StepResult) -> list[PathPart]:
    """Return the parts of the path from the start of a step to its end, in order.

    A kernel or a communication began when an activity of its GPU ended, which is the part before
    it, or when the host thread had launched it. A communication runs from the arrival of the last
    member of its group, on whose GPU the path continues.

    Raises
    ------
    InputError
        If the result has no spans: `run_step` keeps them with ``logs=True``.
    """
    spans = result.spans
    if not spans:
        raise InputError("the critical path needs run_step(..., logs=True)")
    starts = np.array([span.start for span in spans])
    ends = np.array([span.end for span in spans])
    lanes = np.array([span.lane for span in spans])
    # Spans of each lane, ordered by end.
    order = {int(lane): np.flatnonzero(lanes == lane) for lane in np.unique(lanes)}
    ends_of = {lane: ends[mine] for lane, mine in order.items()}
    last = int(ends.argmax())
    parts: list[PathPart] = []
    if result.seconds > ends[last]:
        parts.append(PathPart(int(lanes[last]), float(ends[last]), result.seconds, None))
    at: int | None = last
    while at is not None:
        span = spans[at]
        parts.append(PathPart(span.lane, span.start, span.end, span))
        own = _last_to_come(spans, starts, ends, at)
        mine = order[spans[own].lane]
        # The node that ended last until then; among simultaneous ones, one of the same stream if
        # any.
        k = int(np.searchsorted(ends_of[spans[own].lane], span.start, side="right"))
        at, found = None, False
        while k > 0 and not found:
            before = int(mine[k - 1])
            if at is not None and ends[before] < ends[at]:
                break
            # A kernel of zero length that began then does not precede itself.
            if before != own and (starts[before] < span.start or before < own):
                found = spans[before].stream == spans[own].stream
                at = before if at is None or found else at
            k -= 1
        gap = 0.0 if at is None else float(ends[at])
        if gap < span.start:
            parts.append(PathPart(spans[own].lane, gap, span.start, None))
    return parts[::-1]


def _last_to_come(spans: list[Span], starts: np.ndarray, ends: np.ndarray, at: int) -> int:
    """Return the span of the last member to arrive at a communication."""
    if spans[at].arrival == spans[at].start:
        return at
    for step in (1, -1):
        k = at + step
        while 0 <= k < len(spans) and starts[k] == starts[at] and ends[k] == ends[at]:
            if spans[k].arrival == spans[k].start:
                return k
            k += step
    return at


def path_seconds(parts: list[PathPart], machine: StepMachine, dtype: str) -> dict[str, float]:
    """Return the seconds of the path by activity, largest first."""
    found: dict[str, float] = {}
    for part in parts:
        seconds, what = part.end - part.begin, LAUNCH
        if part.span is not None:
            node = part.span.node
            what = "message" if node.word in ("send", "receive") else node.label
            if node.word in KERNELS:
                alone = min(seconds, max(machine.kernel_times(node, dtype)))
                found[SHARING] = found.get(SHARING, 0.0) + seconds - alone
                seconds = alone
        found[what] = found.get(what, 0.0) + seconds
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def better_machines(machine: StepMachine) -> Iterator[tuple[str, StepMachine]]:
    """Yield machines with one improvement each, and the name of the improvement."""
    hardware = machine.hardware
    gpu = hardware.gpu
    if hardware.pcie:
        inside = "PCIe x2", replace(hardware, pcie_rate=2 * hardware.pcie_rate)
    else:
        inside = "NVLink x2", hardware.with_nvlinks(2 * gpu.nvlink_rate)
    peaks = {dtype: 2 * peak for dtype, peak in gpu.peaks.items()}
    for what, other in (
        ("network x2", replace(hardware, nic_rate=2 * hardware.nic_rate)),
        inside,
        ("SMs x2", replace(hardware, gpu=replace(gpu, sms=2 * gpu.sms, peaks=peaks))),
        (
            "memory bandwidth x2",
            replace(hardware, gpu=replace(gpu, memory_rate=2 * gpu.memory_rate)),
        ),
    ):
        yield what, replace(machine, hardware=other)
    yield "no launches", replace(machine, launch=0.0)


def gains(graph: Graph, machine: StepMachine, result: StepResult) -> dict[str, float]:
    """Return the seconds of the step with each improvement.

    The last entry is a bound: no schedule of the same work on the same machine saves more than the
    time in which GPUs wait for peers or are idle.
    """
    seconds = {what: run_step(graph, better).seconds for what, better in better_machines(machine)}
    bubbles = sum(result.mean_occupations[OCCUPATIONS.index(what)] for what in ("waiting", "idle"))
    seconds["no bubbles"] = result.seconds - float(bubbles)
    return seconds
