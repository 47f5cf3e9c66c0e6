"""The gain of another machine or another schedule for a training step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from tisim.analysis.timeline.streams import OCCUPATIONS
from tisim.gpu.step_run import run_step

if TYPE_CHECKING:
    from tisim.gpu.step_graph import Graph
    from tisim.gpu.step_machine import StepMachine
    from tisim.gpu.step_run import StepResult


def better_machines(machine: StepMachine) -> Iterator[tuple[str, StepMachine]]:
    """Machines that are better in one thing, and in what."""
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
    """Seconds of the step where something was better, by what.

    The last is a bound: no schedule of the same work on the same machine saves more than the time
    in which GPUs wait for peers or do nothing.
    """
    found = {what: run_step(graph, better).seconds for what, better in better_machines(machine)}
    bubbles = sum(result.mean_occupations[OCCUPATIONS.index(what)] for what in ("waiting", "idle"))
    found["no bubbles"] = result.seconds - float(bubbles)
    return found
