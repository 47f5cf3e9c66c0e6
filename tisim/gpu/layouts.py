"""Execute all layouts of a training step on a number of GPUs to find the fastest."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from tisim.analysis.timeline.streams import OCCUPATIONS
from tisim.errors import InputError
from tisim.gpu.llm import Layout, Model, Recompute, Schedule, write_step
from tisim.gpu.llm_memory import peak_memory
from tisim.gpu.step_graph import parse_graph
from tisim.gpu.step_interval import step_interval
from tisim.gpu.step_run import run_step

if TYPE_CHECKING:
    import pandas as pd

    from tisim.gpu.step_machine import StepMachine

# Maximum number of chunks of a stage that are tried.
_MAX_CHUNKS = 8


@dataclass(frozen=True)
class Space:
    """Layouts to try; an empty field stands for all values that divide the model and the GPUs.

    Attributes
    ----------
    tensor, pipeline, micro_batch, chunks, context, expert
        Values of these attributes of `Layout`. Empty: powers of two up to the GPUs of a node,
        divisors of the layers, and divisors up to 8 of the layers of a stage.
    schedule, recompute
        As in `Layout`.
    """

    tensor: Sequence[int] = ()
    pipeline: Sequence[int] = ()
    micro_batch: Sequence[int] = (1, 2, 4)
    schedule: Sequence[Schedule] = ("1f1b", "interleaved", "zero-bubble")
    chunks: Sequence[int] = ()
    recompute: Sequence[Recompute] = ("none", "full")
    context: Sequence[int] = (1,)
    expert: Sequence[int] = (1,)


#: The space with all defaults.
EVERYTHING = Space()
#: Typical choices of large runs.
OVERLAPPED = Layout(zero=1, overlap_gradients=True, overlap_tensor=True)


def layouts_of(
    model: Model, gpus: int, global_batch: int, node: int, space: Space, base: Layout
) -> list[Layout]:
    """Return all layouts of a space that divide model, batch and `gpus` GPUs in nodes of `node`.

    `base` gives the attributes that the space does not vary.
    """
    tensor = space.tensor or [2**i for i in range(node.bit_length()) if 2**i <= node]
    found: dict[Layout, None] = {}
    for t, p, c, e in product(
        tensor,
        space.pipeline or _divisors(model.layers, model.layers),
        space.context,
        space.expert,
    ):
        if gpus % (t * p * c):
            continue
        sizes = {"tensor": t, "pipeline": p, "context": c, "expert": e, "data": gpus // (t * p * c)}
        own = replace(base, **sizes, global_batch=global_batch)  # type: ignore[arg-type]
        for layout in _variants(model, own, space):
            try:
                layout.check(model)
            except InputError:
                continue
            found[layout] = None
    return list(found)


def _variants(model: Model, layout: Layout, space: Space) -> Iterator[Layout]:
    """Yield the layout with each combination of micro-batch, schedule and so on of a space."""
    stage = model.layers // layout.pipeline
    schedules: Sequence[Schedule] = space.schedule if layout.pipeline > 1 else ("1f1b",)
    for schedule in schedules:
        chunks: Sequence[int] = (1,)
        if schedule == "interleaved":
            chunks = space.chunks or _divisors(stage, _MAX_CHUNKS)[1:]
        for n in chunks:
            for micro in space.micro_batch:
                for again in space.recompute:
                    yield replace(
                        layout,
                        schedule=schedule,
                        chunks=n,
                        micro_batch=micro,
                        recompute=again,
                        sequence_parallel=layout.tensor > 1,
                    )


def _divisors(number: int, most: int) -> list[int]:
    return [n for n in range(1, min(number, most) + 1) if number % n == 0]


def layouts(
    model: Model,
    *,
    gpus: int,
    global_batch: int,
    machine: StepMachine,
    space: Space = EVERYTHING,
    base: Layout = OVERLAPPED,
    progress: Callable[[int, int], None] | None = None,
) -> pd.DataFrame:
    """Try all layouts of a training step.

    Parameters
    ----------
    model
        The model to train, such as ``tisim.gpu.llm.MODELS["gpt3-175b"]``.
    gpus, global_batch
        Number of GPUs, and sequences per step.
    machine
        The machine to train on, such as ``tisim.gpu.step_machine.STEP_MACHINES["h100"]``.
    space
        Layouts to try.
    base
        Attributes that are not varied: precision, ZeRO, overlaps. Sequence parallelism follows
        tensor parallelism.
    progress
        Called with the number of finished layouts and the total number.

    Returns
    -------
    pandas.DataFrame
        One row per layout, fastest first; layouts that do not fit into the memory of a GPU come
        last, with NaN as `seconds`. `low` and `high` are the interval of measured steps
        (`tisim.gpu.step_interval`), `tflops` the model's flops per GPU and second, and the columns
        of `OCCUPATIONS` fractions of the step.

    Raises
    ------
    InputError
        If no layout divides the model, the batch and the GPUs.
    """
    import pandas as pd

    tried = layouts_of(model, gpus, global_batch, machine.hardware.gpus, space, base)
    if not tried:
        raise InputError(
            f"no layout divides {model.name}, {global_batch} sequences and {gpus:,} GPUs evenly; "
            "allow more values"
        )
    rows = []
    for layout in tried:
        rows.append(_row(model, layout, machine))
        if progress is not None:
            progress(len(rows), len(tried))
    frame = pd.DataFrame(rows)
    return frame.sort_values(["seconds", "memory"], kind="stable", ignore_index=True)


def _row(model: Model, layout: Layout, machine: StepMachine) -> dict[str, object]:
    """Return the row of a layout; its step is executed if it fits into the memory of a GPU."""
    memory, seconds = sum(peak_memory(model, layout).values()), np.nan
    shares = np.full(len(OCCUPATIONS), np.nan)
    if memory <= machine.hardware.gpu.memory:
        result = run_step(parse_graph(write_step(model, layout)), machine)
        seconds, shares = result.seconds, result.mean_occupations
    low, high = step_interval(layout.ranks, machine.hardware.gpus).seconds(seconds)
    return {
        "tp": layout.tensor,
        "cp": layout.context,
        "ep": layout.expert,
        "pp": layout.pipeline,
        "dp": layout.data,
        "micro_batch": layout.micro_batch,
        "schedule": layout.schedule,
        "chunks": layout.chunks,
        "recompute": layout.recompute,
        "seconds": seconds,
        "low": low,
        "high": high,
        "tflops": model.flops(layout.global_batch) / (seconds * layout.ranks) / 1e12,
        "memory": memory,
        **{name: share / seconds for name, share in zip(OCCUPATIONS, shares, strict=True)},
    }
