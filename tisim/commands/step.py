"""``tisim step``: how long GPUs take for a graph."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tisim.analysis.timeline.streams import OCCUPATIONS
from tisim.commands import json_option, print_table, report_written, write_json
from tisim.errors import InputError
from tisim.gpu.pictures import check_picture, draw_step, write_picture
from tisim.gpu.step_chakra import is_chakra, read_chakra
from tisim.gpu.step_graph import MAX_RANKS, has_own_times, read_graph
from tisim.gpu.step_interval import LEVEL, has_values_of, step_interval
from tisim.gpu.step_kineto import is_kineto, read_kineto
from tisim.gpu.step_machine import STEP_MACHINES
from tisim.gpu.step_nsys import is_nsys, read_nsys
from tisim.gpu.step_path import critical_path, gains, path_seconds
from tisim.gpu.step_run import run_step
from tisim.gpu.step_simai import is_simai, read_simai
from tisim.support.files import check_writable, write_file
from tisim.traces.graph_files import write_graph

if TYPE_CHECKING:
    from tisim.gpu.step_graph import Graph
    from tisim.gpu.step_interval import StepInterval
    from tisim.gpu.step_recording import Recording
    from tisim.gpu.step_run import StepResult

# Rows of the table of GPUs.
_ROWS = 16
# Further tables, by their keys in JSON.
_TITLES = {
    "critical path": "Composition of the critical path",
    "what if": "The step with a better machine or schedule",
}


@click.command(
    "step",
    epilog="""\b
Examples:
  tisim step 175b.graph --machine h100
  tisim step 175b.graph --breakdown --critical-path --what-if
  tisim step 175b.graph --set nics=4 --set nic-rate=25e9 --set gemm-efficiency=0.7
  tisim step 175b.graph --gantt step.svg
  tisim step 175b.graph --timeline step.json   # for ui.perfetto.dev
  tisim step 175b.graph --timeline step.tir && tisim view step.tir
  tisim step recorded.json.gz --machine h100   # recorded by PyTorch's profiler
  tisim step recorded/ --machine h100   # a recording a rank, of all or of some
  tisim step traces/all_gather.0.et   # Chakra's execution traces, of all ranks beside it
  tisim step report.sqlite   # nsys export --type sqlite
""",
)
@click.option(
    "--machine",
    type=click.Choice(list(STEP_MACHINES)),
    default="a100",
    show_default=True,
    help="GPUs and the nodes they are in.",
)
@click.option(
    "--set",
    "values",
    multiple=True,
    metavar="NAME=VALUE",
    help="Override a machine parameter, in SI units; an unknown name lists all names.",
)
@click.option("--breakdown", is_flag=True, help="Print how the GPUs spend the time.")
@click.option(
    "--critical-path",
    "path",
    is_flag=True,
    help="Print the composition of the critical path.",
)
@click.option(
    "--what-if", "better", is_flag=True, help="Print the gain from a better machine or schedule."
)
@click.option(
    "--timeline",
    metavar="FILE.json|.tir",
    help="Write a timeline of all nodes, one lane per stream, for ui.perfetto.dev (.json) or tisim "
    "view (.tir).",
)
@click.option(
    "--gantt",
    metavar="FILE.svg|.png",
    help="Draw the activity of each GPU and, below it, of its streams.",
)
@click.option(
    "--keep-communication",
    is_flag=True,
    help="For recordings: use the recorded durations of collectives.",
)
@click.option(
    "--ranks",
    type=click.IntRange(1, MAX_RANKS),
    help="Number of ranks that a recording of one rank represents, if it does not say.",
)
@click.option(
    "--write-graph", "graph_file", metavar="FILE", help="For recordings: write the graph."
)
@json_option("the result")
@click.argument("graphs", metavar="GRAPH...", nargs=-1, required=True)
def step_command(
    machine: str,
    values: tuple[str, ...],
    breakdown: bool,
    path: bool,
    better: bool,
    timeline: str | None,
    gantt: str | None,
    keep_communication: bool,
    ranks: int | None,
    graph_file: str | None,
    json_file: str | None,
    graphs: tuple[str, ...],
) -> None:
    """Predict the time of a training step from its graph.

    GRAPH is a graph file, which describes what each GPU does, without times ('tisim generate
    llm'); a recording by PyTorch's profiler of one rank (JSON, possibly gzipped), which then
    represents all ranks, or of several (the files, or their directory); execution traces of Chakra
    (one of the files NAME.RANK.et, or NAME); an export of Nsight Systems (SQLite); or a layer
    table of SimAI.
    Ranks that do the same at the same time are simulated once.
    """
    if gantt is not None:
        check_picture(gantt)
    if timeline is not None and not timeline.endswith((".json", ".tir")):
        raise InputError("the suffix of a step's timeline must be .json or .tir", file=timeline)
    for file in (timeline, gantt, graph_file, json_file):
        if file not in (None, "-"):
            check_writable(str(file))
    chosen = STEP_MACHINES[machine].with_values(values)
    is_fitted = has_values_of(chosen, STEP_MACHINES[machine])
    graph = graphs[0]
    recording = _recording(graphs, ranks, keep_communication)
    if recording is not None:
        read, chosen = recording.graph, replace(chosen, launch=0.0)  # which gaps of the host are
        if graph_file is not None:
            write_graph(graph_file, recording.text)
            report_written(graph_file)
    else:
        _refuse(ranks is not None, "--ranks", "recordings; a graph file contains the number itself")
        _refuse(keep_communication, "--keep-communication", "recordings")
        _refuse(graph_file is not None, "--write-graph", "recordings")
        read = read_graph(graph)
    logs = path or timeline is not None or gantt is not None
    result = run_step(read, chosen, logs=logs)
    if timeline is not None:
        if timeline.endswith(".tir"):
            from tisim.gpu.step_run_file import step_sentences, write_step_run

            sentences = step_sentences(read, chosen, result)
            write_step_run(result, timeline, f"{Path(graph).name} on {machine}", sentences)
        else:
            write_file(timeline, _chrome_events(result))
        report_written(timeline)
    if gantt is not None:
        write_picture(draw_step(result), gantt)
        report_written(gantt)
    # Measured steps are training steps, without machine-specific gaps or recorded kernels.
    is_alike = recording is None and read.trains and not has_own_times(read)
    interval = step_interval(read.ranks, chosen.hardware.gpus) if is_alike else None
    tables: dict[str, dict[str, float]] = {}
    if path:
        parts = critical_path(result)
        tables["critical path"] = path_seconds(parts, chosen, read.dtype)
    if better:
        tables["what if"] = gains(read, chosen, result)
    summary = {**_summary(read, result, interval), **tables}
    if not write_json(summary, json_file):
        _print(graph, result, read.ranks, recording, interval, is_fitted=is_fitted)
        if breakdown:
            click.echo("\nGPU activity, % of the step")
            print_table(list(_breakdown_rows(result)), 1, indent="  ")
        for title, seconds in tables.items():
            click.echo(f"\n{_TITLES[title]}, s and % of the step")
            total = max(result.seconds, 1e-300)
            rows = [(what, f"{s:.4g}", f"{100 * s / total:.1f}") for what, s in seconds.items()]
            print_table(rows, 1, indent="  ")


def _print(
    name: str,
    result: StepResult,
    ranks: int,
    recording: Recording | None,
    interval: StepInterval | None,
    *,
    is_fitted: bool,
) -> None:
    lanes = len(result.ends)
    click.echo(
        f"{name}: {result.seconds:.6g} s ({ranks:,} GPUs, {lanes:,} of them distinct; "
        f"{result.launched:,} nodes)"
    )
    if recording is not None:
        span = f"{recording.seconds:.6g} s, " if recording.seconds else ""
        click.echo(
            f"recorded: {span}{recording.kernels:,} nodes, of which {recording.collectives:,} "
            f"communicate, {recording.kept_times:,} of them as recorded"
        )
        for what, count in recording.omissions.items():
            click.echo(f"not in the graph: {count:,} {what}")
    if interval is not None:
        low, high = interval.seconds(result.seconds)
        click.echo(
            f"interval: {low:.4g} to {high:.4g} s; of {interval.steps:,} measured training steps "
            f"on {interval.where}, {LEVEL:.0%} lay within these {interval.low:.3g} to "
            f"{interval.high:.3g} times the prediction"
            + ("" if is_fitted else " with tisim's values, not those of --set")
        )


def _recording(paths: tuple[str, ...], ranks: int | None, kept: bool) -> Recording | None:
    """The graph that paths name, unless it is a graph file; `kept`: with recorded collectives."""
    if is_kineto(paths):
        _refuse(ranks is not None, "--ranks", _OF_ONE)
        return read_kineto(paths, model=not kept)
    if len(paths) > 1:
        raise click.UsageError("only recordings of PyTorch's profiler may consist of several files")
    (path,) = paths
    if is_chakra(path):
        return read_chakra(path, ranks=ranks, communicates=not kept)
    if is_nsys(path):
        _refuse(ranks is not None, "--ranks", _OF_ONE)
        _refuse(kept, "--keep-communication", _WITH_TIMES)
        return read_nsys(path)
    if is_simai(path):
        _refuse(kept, "--keep-communication", _WITH_TIMES)
        return read_simai(path, ranks=ranks)
    return None


_OF_ONE = "Chakra's traces and SimAI's tables; this recording contains the number itself"
_WITH_TIMES = "recordings of PyTorch's profiler and of Chakra"


def _refuse(given: bool, option: str, what: str) -> None:
    """Refuse an option that would have no effect; `what` it is for."""
    if given:
        raise click.UsageError(f"{option} is for {what}")


def _summary(graph: Graph, result: StepResult, interval: StepInterval | None) -> dict[str, object]:
    return {
        "seconds": result.seconds,
        "interval": None if interval is None else interval.to_dict(result.seconds),
        "ranks": graph.ranks,
        "lanes": [
            {"ranks": int(count), "first rank": int(first), "end": float(end)}
            | {name: float(value) for name, value in zip(OCCUPATIONS, row, strict=True)}
            for count, first, end, row in zip(
                result.ranks_of_lane,
                result.first_ranks,
                result.ends,
                result.occupations,
                strict=True,
            )
        ],
    }


def _breakdown_rows(result: StepResult) -> Iterator[tuple[str, ...]]:
    counts, total = result.ranks_of_lane, max(result.seconds, 1e-300)
    yield ("ranks", "GPUs", *OCCUPATIONS)
    mean = result.mean_occupations
    yield ("all", f"{counts.sum():,}", *(f"{100 * value / total:.1f}" for value in mean))
    for lane, row in enumerate(result.occupations[:_ROWS]):
        first = (
            f"{result.first_ranks[lane]}, ..."
            if counts[lane] > 1
            else (f"{result.first_ranks[lane]}")
        )
        yield (first, f"{counts[lane]:,}", *(f"{100 * value / total:.1f}" for value in row))
    if (more := len(counts) - _ROWS) > 0:
        yield (f"and {more:,} more", f"{counts[_ROWS:].sum():,}", *("" for _ in OCCUPATIONS))


def _chrome_events(result: StepResult) -> Iterator[str]:
    """Trace events of Chrome and Perfetto: a process a lane of GPUs, a thread a stream."""
    yield '{"traceEvents": [\n'
    streams = dict.fromkeys(span.stream for span in result.spans)
    thread = {name: number for number, name in enumerate(streams)}

    def head(kind: str, lane: int, number: int, name: str) -> str:
        place = {"pid": lane, "tid": number}
        return json.dumps({"ph": "M", "name": f"{kind}_name", **place, "args": {"name": name}})

    counts = zip(result.first_ranks, result.ranks_of_lane, strict=True)
    heads = [
        head("process", lane, 0, f"GPU {first} ({count} alike)")
        for lane, (first, count) in enumerate(counts)
    ]
    lanes = range(len(result.ends))
    heads += [head("thread", lane, thread[name], name) for lane in lanes for name in thread]
    yield ",\n".join(heads)
    for span in result.spans:
        event = {
            "ph": "X",
            "name": span.node.label,
            "pid": span.lane,
            "tid": thread[span.stream],
            "ts": span.start * 1e6,
            "dur": (span.end - span.start) * 1e6,
            "args": {"line": span.node.line, "waited": span.start - span.arrival},
        }
        yield ",\n" + json.dumps(event)
    yield "\n]}\n"
