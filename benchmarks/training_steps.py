"""Fit efficiencies of GPUs to some measured training steps, and predict others.

``python -m benchmarks.training_steps DIR`` reads ``DIR/ground_truth_single.csv`` and
``DIR/ground_truth_multi.csv``, published by VIA-Research/vTrain, and prints the figures of
docs/ai_validation.md on training steps. It takes some minutes.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tisim.gpu.llm import MODELS, Layout, Model, write_step
from tisim.gpu.machines import MACHINES
from tisim.gpu.step_graph import Graph, parse_graph
from tisim.gpu.step_interval import LEVEL, step_interval
from tisim.gpu.step_machine import STEP_MACHINES, StepMachine
from tisim.gpu.step_run import run_step

#: Eight A100 with NVSwitch, and four interfaces of 200 Gbit/s: vTrain's `inter_node_bandwidth`.
VTRAIN = replace(MACHINES["a100"], nics=4)


@dataclass(frozen=True)
class Step:
    """A measured step: its graph and its seconds."""

    name: str
    gpus: int
    graph: Graph
    seconds: float

    def error(self, machine: StepMachine) -> float:
        """Return the relative error of the predicted time."""
        return run_step(self.graph, machine).seconds / self.seconds - 1


def _step(model: Model, layout: Layout, seconds: float) -> Step:
    name = f"{model.name}, {layout.ranks} GPUs"
    return Step(name, layout.ranks, parse_graph(write_step(model, layout)), seconds)


def read_steps(path: Path) -> list[Step]:
    """Return the steps of a table of vTrain: Megatron-LM with 1F1B, fp16, full recomputation."""
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = list(csv.reader(file))[1:]
    steps = []
    for row in rows:
        _, batch, micro, hidden, heads, layers, sequence, t, d, p = map(int, row[-11:-1])
        layout = Layout(
            *(t, p, d, micro, batch),
            recompute="full",
            attention="standard",
            dtype="fp16",
            fp32_gradients=False,
        )
        model = Model(f"{hidden} x {layers}", layers, hidden, heads, 4 * hidden, 51200, sequence)
        steps.append(_step(model, layout, float(row[-1]) / 1e3))
    return steps


def paper_steps() -> Iterator[Step]:
    """Yield table 5 of arXiv 2205.05198: full recomputation, then selective, sequence-parallel."""
    gpt3 = MODELS["gpt3-175b"]
    for name, layers, hidden, heads, shape, full, selective in (
        ("22B", 48, 6144, 64, (8, 1, 1, 4, 4, "1f1b", 1), 1.42, 1.10),
        ("175B", 96, 12288, 96, (8, 8, 1, 1, 64, "interleaved", 3), 18.13, 13.75),
        ("530B", 105, 20480, 128, (8, 35, 1, 1, 280, "interleaved", 3), 49.05, 37.83),
        ("1T", 128, 25600, 160, (8, 64, 1, 1, 512, "1f1b", 1), 94.42, 71.49),
    ):
        model = replace(gpt3, name=name, layers=layers, hidden=hidden, heads=heads, ffn=4 * hidden)
        layout = Layout(*shape, attention="standard", dtype="fp16", overlap_tensor=True)  # type: ignore[arg-type]
        yield _step(model, replace(layout, recompute="full"), full)
        second = replace(layout, recompute="selective", sequence_parallel=True)
        yield _step(replace(model, name=f"{name} selective"), second, selective)


def mlperf_steps() -> Iterator[Step]:
    """Yield GPT-3 175B of NVIDIA in MLPerf Training 4.0, on H100 with FP8."""
    for shape, seconds in (
        ((4, 8, 16, 2, 2304, "interleaved", 4), 10.9),
        ((4, 6, 448, 1, 2688, "interleaved", 8), 0.920),
        ((4, 6, 484, 1, 2904, "interleaved", 8), 0.921),
    ):
        layout = Layout(
            *shape,  # type: ignore[arg-type]
            zero=1,
            sequence_parallel=True,
            dtype="fp8",
            overlap_tensor=True,
            overlap_gradients=True,
            fp32_gradients=False,
        )
        yield _step(MODELS["gpt3-175b"], layout, seconds)


def errors(steps: Iterable[Step], machine: StepMachine) -> np.ndarray:
    return np.array([step.error(machine) for step in steps])


def fit(
    steps: Sequence[Step], machine: StepMachine, names: Sequence[str]
) -> tuple[StepMachine, float]:
    """Return the machine with the values of these names that minimise the mean of |error|."""

    def score(tried: StepMachine) -> float:
        return float(np.abs(errors(steps, tried)).mean())

    best, least, step = machine, score(machine), 0.08
    while step > 0.002:
        before = least
        for name in names:
            for factor in (1 + step, 1 / (1 + step)):
                while True:
                    value = getattr(best, name) * factor
                    if name.endswith("efficiency"):
                        value = min(value, 1.0)
                    tried = replace(best, **{name: value})
                    if (found := score(tried)) >= least:
                        break
                    best, least = tried, found
        if least == before:
            step /= 2
    return best, least


def held_by_intervals(steps: Sequence[Step], machine: StepMachine) -> list[bool]:
    """Return, for each step, whether tisim's interval contains the measured time."""
    held = []
    for step in steps:
        interval = step_interval(step.gpus, machine.hardware.gpus)
        held.append(interval.low <= 1 / (1 + step.error(machine)) <= interval.high)
    return held


def held_by_others(steps: Sequence[Step], machine: StepMachine) -> float:
    """Return the fraction of steps in the interval of all steps of other models."""
    factors = 1 / (1 + errors(steps, machine))
    low, high = np.quantile(factors, ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
    print(f"{LEVEL:.0%} of measured over predicted: {low:.3f} to {high:.3f} ({len(steps)} steps)")
    models = np.array([step.name.partition(",")[0] for step in steps])
    held = 0
    for model in np.unique(models):
        own = models == model
        low, high = np.quantile(factors[~own], ((1 - LEVEL) / 2, (1 + LEVEL) / 2))
        held += int(((low <= factors[own]) & (factors[own] <= high)).sum())
    return held / len(steps)


def _report(what: str, found: np.ndarray) -> None:
    size = np.abs(found)
    print(
        f"| {what} | {len(found)} | {size.mean():.1%} | {np.median(size):.1%} | "
        f"{np.median(found):+.1%} | {size.max():.0%} |"
    )


def _values(machine: StepMachine) -> str:
    return (
        f"gemm {machine.gemm_efficiency:.3f}, memory {machine.memory_efficiency:.3f}, network "
        f"{machine.network_efficiency:.3f}, launch {machine.launch:.3g} s"
    )


def _each(steps: Iterable[Step], machine: StepMachine) -> None:
    for step in steps:
        seconds = run_step(step.graph, machine).seconds
        error = seconds / step.seconds - 1
        print(f"| {step.name} | {step.seconds:.4g} | {seconds:.4g} | {error:+.1%} |")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    directory = parser.parse_args(arguments).directory
    single = read_steps(directory / "ground_truth_single.csv")
    multi = read_steps(directory / "ground_truth_multi.csv")
    start = StepMachine(VTRAIN, launch=5e-5)
    node, least = fit(single[::10], start, ("gemm_efficiency", "memory_efficiency", "launch"))
    print(f"one node: {_values(node)}; {least:.1%} of the fitted")
    _report("one node, predicted", errors((s for i, s in enumerate(single) if i % 10), node))
    fitted = [step for step in multi if step.gpus == 64]
    many, least = fit(fitted, node, ("gemm_efficiency", "network_efficiency"))
    print(f"64 GPUs: {_values(many)}")
    by_size: Callable[[int], list[Step]] = lambda n: [s for s in multi if s.gpus == n]  # noqa: E731
    _report("64 GPUs, fitted", errors(fitted, many))
    _report("256 GPUs, predicted", errors(by_size(256), many))
    _report("512 GPUs, predicted", errors(by_size(512), many))
    far = errors((s for s in multi if s.gpus != 64), many)
    _report("256 and 512", far)
    known = np.concatenate([errors(single[::10], node), errors(fitted, many)])
    width = float(np.quantile(np.abs(known), 0.9))
    near = errors((s for i, s in enumerate(single) if i % 10), node)
    inside = [float((np.abs(group) <= width).mean()) for group in (near, far)]
    print(f"+-{width:.0%} holds 90 % of the fitted, {inside[0]:.0%} of one node, {inside[1]:.0%}")
    _each(paper_steps(), replace(many, hardware=MACHINES["a100"]))
    shipped = STEP_MACHINES["a100"]
    for what, steps, machine in (
        ("one node", single, replace(shipped, hardware=VTRAIN)),
        ("64 to 512 GPUs", multi, replace(shipped, hardware=VTRAIN)),
    ):
        others = held_by_others(steps, machine)
        print(f"{what}: the interval of other models' steps holds {others:.1%}")
    mlperf = list(mlperf_steps())
    h100, _ = fit(mlperf[:1], replace(many, hardware=MACHINES["h100"], launch=1e-5),
                  ("gemm_efficiency",))  # fmt: skip
    print(f"H100: {_values(h100)}")
    _each(mlperf, h100)
    published = held_by_intervals(list(paper_steps()), shipped)
    published += held_by_intervals(mlperf, STEP_MACHINES["h100"])
    print(f"intervals hold {sum(published)} of {len(published)} published steps")


if __name__ == "__main__":
    main()
