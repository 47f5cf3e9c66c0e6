"""``tisim layouts``: which layout of a training step is best on so many GPUs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, get_args

import click

from tisim.analysis.timeline.streams import OCCUPATIONS
from tisim.commands import json_option, print_table, report_written, write_pieces
from tisim.errors import InputError
from tisim.gpu.layouts import Space, layouts
from tisim.gpu.llm import MODELS, Layout, Recompute, Schedule, read_model
from tisim.gpu.pictures import check_picture, draw_layouts, write_picture
from tisim.gpu.step_graph import DTYPES
from tisim.gpu.step_interval import has_values_of
from tisim.gpu.step_machine import STEP_MACHINES
from tisim.support.files import check_writable, write_file
from tisim.support.progress import ProgressBar
from tisim.support.quantities import format_bytes

if TYPE_CHECKING:
    import pandas as pd

# Layouts of the printed table.
_ROWS = 10
_Callback = Callable[[click.Context, click.Parameter, "str | None"], tuple[object, ...]]


def _numbers(_ctx: click.Context, parameter: click.Parameter, text: str | None) -> tuple[int, ...]:
    values = [] if text is None else text.split(",")
    if not all(value.isdecimal() and 0 < int(value) < 1 << 20 for value in values):
        raise InputError(f"{parameter.opts[0]} must be numbers such as 1,2,4, not {text!r}")
    return tuple(map(int, values))


def _names(known: tuple[str, ...]) -> _Callback:
    def chosen(
        _ctx: click.Context, parameter: click.Parameter, text: str | None
    ) -> tuple[object, ...]:
        values = known if text is None else tuple(text.split(","))
        for value in values:
            if value not in known:
                raise InputError(
                    f"{parameter.opts[0]} must be chosen from {','.join(known)}, not {value!r}"
                )
        return values

    return chosen


@click.command(
    "layouts",
    epilog="""\b
Examples:
  tisim layouts --model gpt3-175b --gpus 1024 --global-batch 1536 --tp 4,8 --picture best.svg
  tisim layouts --model llama3-70b --gpus 256 --global-batch 512 --machine h100 \\
      --micro-batch 1 --schedule 1f1b -o layouts.csv
""",
)
@click.option("--model", required=True, metavar="NAME|FILE.toml",
              help=f"One of {', '.join(MODELS)}, or a TOML file (see tisim generate "
                   "llm).")  # fmt: skip
@click.option("--gpus", type=click.IntRange(1, 1 << 20), required=True, help="Number of GPUs.")
@click.option("--global-batch", type=click.IntRange(1, 1 << 20), required=True,
              help="Sequences per step.")  # fmt: skip
@click.option("--machine", type=click.Choice(list(STEP_MACHINES)), default="a100",
              show_default=True, help="GPUs and the nodes they are in.")  # fmt: skip
@click.option("--set", "values", multiple=True, metavar="NAME=VALUE",
              help="Override a machine parameter, as in tisim step.")  # fmt: skip
@click.option("--tp", "tensor", callback=_numbers, metavar="N,...",
              help="Tensor parallelism: GPUs that share a matrix (default: powers of two within a "
                   "node).")  # fmt: skip
@click.option("--pp", "pipeline", callback=_numbers, metavar="N,...",
              help="Pipeline parallelism: numbers of stages (default: all that divide the "
                   "layers).")  # fmt: skip
@click.option("--cp", "context", callback=_numbers, default="1", show_default=True, metavar="N,...",
              help="Context parallelism: GPUs that share each sequence.")  # fmt: skip
@click.option("--ep", "expert", callback=_numbers, default="1", show_default=True, metavar="N,...",
              help="Expert parallelism: GPUs that share the experts.")  # fmt: skip
@click.option("--micro-batch", callback=_numbers, default="1,2,4", show_default=True,
              metavar="N,...", help="Sequences per micro-batch.")  # fmt: skip
@click.option("--schedule", callback=_names(get_args(Schedule)), metavar="NAME,...",
              default="1f1b,interleaved,zero-bubble", show_default=True,
              help=f"Pipeline schedules, from {', '.join(get_args(Schedule))}.")  # fmt: skip
@click.option("--chunks", callback=_numbers, metavar="N,...",
              help="Chunks per stage in the interleaved schedule (default: all up to "
                   "8).")  # fmt: skip
@click.option("--recompute", callback=_names(get_args(Recompute)), metavar="NAME,...",
              default="none,full", show_default=True,
              help="Recomputation in the backward pass, from "
                   f"{', '.join(get_args(Recompute))}.")  # fmt: skip
@click.option("--dtype", type=click.Choice(DTYPES), default="bf16", show_default=True,
              help="Data type of matrices.")  # fmt: skip
@click.option("--zero", type=click.IntRange(0, 1), default=1, show_default=True,
              help="1: copies shard the optimizer state.")  # fmt: skip
@click.option("--overlap/--no-overlap", default=True, show_default=True,
              help="Overlap the reductions of gradients and of --tp with kernels.")  # fmt: skip
@click.option("-o", "--output", metavar="FILE.csv", help="Write all layouts as CSV.")
@click.option("--picture", metavar="FILE.svg|.png", help="Draw the best layouts.")
@json_option("all layouts")
def layouts_command(
    model: str,
    gpus: int,
    global_batch: int,
    machine: str,
    values: tuple[str, ...],
    dtype: str,
    zero: int,
    overlap: bool,
    output: str | None,
    picture: str | None,
    json_file: str | None,
    **space: object,
) -> None:
    """Find the fastest layout of a training step on a number of GPUs.

    Tries all layouts that divide the model, the sequences and the GPUs evenly, and simulates the
    step of each that fits into GPU memory, like tisim generate llm and tisim step. Layouts with
    tensor parallelism also use sequence parallelism; attention is one kernel.
    """
    if picture is not None:
        check_picture(picture)
    for path in (output, picture):
        if path is not None:
            check_writable(path)
    described = read_model(model)
    own = STEP_MACHINES[machine]
    chosen = own.with_values(values)
    with ProgressBar("layouts") as bar:
        frame = layouts(
            described,
            gpus=gpus,
            global_batch=global_batch,
            machine=chosen,
            space=Space(**space),  # type: ignore[arg-type]
            base=Layout(zero=zero, dtype=dtype, overlap_gradients=overlap, overlap_tensor=overlap),
            progress=lambda done, all_of_them: bar.show(done / all_of_them),
        )
    fitting = frame.dropna(subset=["seconds"])
    if output is not None:
        write_file(output, frame.to_csv(index=False))
        report_written(output)
    if fitting.empty:
        least = format_bytes(float(frame["memory"].min()))
        raise InputError(
            f"none of {len(frame)} layouts fits into GPU memory; the smallest needs {least}"
        )
    if picture is not None:
        write_picture(draw_layouts(frame), picture)
        report_written(picture)
    if write_pieces([frame.to_json(orient="records", indent=1)], json_file):
        return
    note = "" if has_values_of(chosen, own) else " with tisim's values, not those of --set"
    click.echo(
        f"{described.name} on {gpus:,} GPUs: {len(frame):,} layouts, of which {len(fitting):,} fit "
        f"into memory; the fastest (in s, with the interval of steps measured on A100{note}; GPU "
        "activity in %)"
    )
    print_table(list(_rows(fitting.head(_ROWS))), 0)


def _rows(frame: pd.DataFrame) -> Iterator[tuple[str, ...]]:
    """The printed table."""
    numbers = ("tp", "cp", "ep", "pp", "dp", "micro_batch", "chunks")
    yield ("tp", "cp", "ep", "pp", "dp", "micro", "chunks", "schedule", "recompute", "memory",
           "seconds", "from", "to", *OCCUPATIONS)  # fmt: skip
    for row in frame.to_dict(orient="records"):
        yield (
            *(str(row[name]) for name in numbers),
            str(row["schedule"]),
            str(row["recompute"]),
            format_bytes(row["memory"]),
            *(f"{row[name]:.4g}" for name in ("seconds", "low", "high")),
            *(f"{100 * row[name]:.1f}" for name in OCCUPATIONS),
        )
