"""Layouts of a training step that a number of GPUs allows, each executed: which is best?"""

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

# Parts of a stage that are tried, at most.
_MOST_CHUNKS = 8


@dataclass(frozen=True)
class Space:
    """Which layouts are tried; empty: all that divide the model and the GPUs.

    Attributes
    ----------
    tensor, pipeline, micro_batch, chunks, context, expert
        Values of these attributes of `Layout`. Empty: powers of two up to the GPUs of a node,
        divisors of the layers, and divisors up to 8 of the layers of a stage.
    schedule, recompute
        Of `Layout` too.
    """

    tensor: Sequence[int] = ()
    pipeline: Sequence[int] = ()
    micro_batch: Sequence[int] = (1, 2, 4)
    schedule: Sequence[Schedule] = ("1f1b", "interleaved", "zero-bubble")
    chunks: Sequence[int] = ()
    recompute: Sequence[Recompute] = ("none", "full")
    context: Sequence[int] = (1,)
    expert: Sequence[int] = (1,)


#: All values that a space may have.
EVERYTHING = Space()
#: The usual choice of large runs today.
OVERLAPPED = Layout(zero=1, overlap_gradients=True, overlap_tensor=True)


def layouts_of(
    model: Model, gpus: int, global_batch: int, node: int, space: Space, base: Layout
) -> list[Layout]:
    """All layouts of a space that divide the model, the batch and so many GPUs in nodes of `node`.

    `base` gives what the space does not vary.
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
    """The layout with all micro-batches, schedules and so on of a space."""
    stage = model.layers // layout.pipeline
    schedules: Sequence[Schedule] = space.schedule if layout.pipeline > 1 else ("1f1b",)
    for schedule in schedules:
        chunks: Sequence[int] = (1,)
        if schedule == "interleaved":
            chunks = space.chunks or _divisors(stage, _MOST_CHUNKS)[1:]
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
        What is trained, such as ``tisim.gpu.llm.MODELS["gpt3-175b"]``.
    gpus, global_batch
        GPUs, and sequences of a step.
    machine
        What it is trained on, such as ``tisim.gpu.step_machine.STEP_MACHINES["h100"]``.
    space
        Which layouts are tried.
    base
        What is not tried: precision, ZeRO, what overlaps. Sequence parallelism follows tensor
        parallelism.
    progress
        Is told how many layouts are done, and how many there are.

    Returns
    -------
    pandas.DataFrame
        A row a layout, the fastest first, and after those that fit into the memory of a GPU the
        others, whose `seconds` are NaN. `low` and `high` are the interval of measured steps
        (`tisim.gpu.step_interval`), `tflops` the model's flops a GPU and second, and the columns of
        `OCCUPATIONS` shares of the step.

    Raises
    ------
    InputError
        Where no layout divides the model, the batch and the GPUs.
    """
    import pandas as pd

    tried = layouts_of(model, gpus, global_batch, machine.hardware.gpus, space, base)
    if not tried:
        raise InputError(
            f"no layout divides {model.name}, {global_batch} sequences and {gpus:,} GPUs; allow "
            "more values"
        )
    rows = []
    for layout in tried:
        rows.append(_row(model, layout, machine))
        if progress is not None:
            progress(len(rows), len(tried))
    frame = pd.DataFrame(rows)
    return frame.sort_values(["seconds", "memory"], kind="stable", ignore_index=True)


def _row(model: Model, layout: Layout, machine: StepMachine) -> dict[str, object]:
    """A layout with its step, which is executed if it fits into the memory of a GPU."""
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
