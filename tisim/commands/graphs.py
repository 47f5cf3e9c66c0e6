"""Graphs where commands take a trace: graph files of GPUs and GOAL schedules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from tisim.commands import named_hosts, print_table, report_written, write_json
from tisim.config import Config
from tisim.errors import InputError, SimulationError
from tisim.gpu.step_graph import node_counts, parse_graph, read_graph
from tisim.simulation.goal import check_goal, replay_goal
from tisim.simulation.replay import replay
from tisim.support.progress import ProgressBar
from tisim.support.quantities import format_bytes, format_count, format_seconds
from tisim.support.reading import graph_kind
from tisim.traces.graph_files import read_graph_text, write_graph
from tisim.traces.writer import PACKED_SUFFIX

if TYPE_CHECKING:
    from tisim.simulation.goal import GoalResult
    from tisim.traces import Trace

# Options of ``tisim replay`` that apply to schedules.
_OF_SCHEDULES = {
    "platform_file", "deployment_file", "hosts", "items", "ranks", "json_file", "bandwidth",
    "latency", "speed", "mapping_rule", "traces",
}  # fmt: skip


def replay_schedule(ctx: click.Context) -> None:
    """Carry out ``tisim replay`` for a GOAL schedule.

    Raises `InputError` for a graph file, which has no platform, and for options that are for MPI
    traces only.
    """
    options = ctx.params
    traces: tuple[str, ...] = options["traces"]
    if graph_kind(traces[0]) == "graph":
        raise InputError(
            "is a graph of GPUs; 'tisim step FILE --machine NAME' predicts its time",
            file=traces[0],
        )
    _refuse_others(ctx, _OF_SCHEDULES, "applies to MPI traces, not to GOAL schedules")
    hosts: str | None = options["hosts"]
    with ProgressBar("replay") as bar:
        result = replay_goal(
            traces[0],
            platform=options["platform_file"],
            deployment=options["deployment_file"],
            hosts=None if hosts is None else named_hosts(hosts),
            bandwidth=options["bandwidth"],
            latency=options["latency"],
            speed=options["speed"],
            mapping=options["mapping_rule"],
            config=Config.from_items(options["items"]),
            ranks=options["ranks"],
            progress=bar.show_simulation if bar.is_shown else None,
        )
    if not write_json(_result(result), options["json_file"]):
        _print_result(result)


def _refuse_others(ctx: click.Context, known: set[str], message: str) -> None:
    """Refuse options that were given and are not among these parameters."""
    for parameter in ctx.command.params:
        name = parameter.name or ""
        given = ctx.get_parameter_source(name) == ParameterSource.COMMANDLINE
        if given and name not in known:
            raise InputError(f"{parameter.opts[0]} {message}")


def _result(result: GoalResult) -> dict[str, object]:
    return {
        "simulated_time": result.simulated_time,
        "operations": result.operations,
        "messages": result.messages,
        "unexpected": result.unexpected,
        "ranks": [
            {"rank": rank, "host": host, "finish": float(end)}
            for rank, (host, end) in enumerate(zip(result.hosts, result.ends, strict=True))
        ],
    }


def _print_result(result: GoalResult) -> None:
    ends = result.ends
    first, last = int(ends.argmin()), int(ends.argmax())
    rows = [("simulated time", format_seconds(result.simulated_time), "")]
    for name, rank in (("first rank ends", first), ("last rank ends", last)):
        rows.append((name, format_seconds(ends[rank]), f"rank {rank} on {result.hosts[rank]}"))
    rows.append(("operations", f"{result.operations:,}", ""))
    rows.append(("messages", f"{result.messages:,}", _not_received(result.unexpected)))
    print_table(rows, left=(0, 2))


def _not_received(unexpected: int) -> str:
    return f"{unexpected:,} of them are never received" if unexpected else ""


def pack_graph(ctx: click.Context, output: str) -> None:
    """Carry out ``tisim pack`` for a graph of GPUs."""
    _refuse_others(ctx, {"output", "traces"}, "applies to traces, not to graphs of GPUs")
    (source,) = ctx.params["traces"]
    graph, text = read_graph(source), read_graph_text(source)
    if Path(output).suffix != PACKED_SUFFIX:
        raise InputError(f"the name of a packed graph must end in {PACKED_SUFFIX}", file=output)
    write_graph(output, text)
    size = Path(output).stat().st_size
    click.echo(
        f"{output}: graph of {format_count(graph.ranks, 'GPU')}, {format_bytes(size)} "
        f"({size / len(text.encode()):.1%} of the text)"
    )
    report_written(output)


def inspect_graph(source: str, json_file: str | None) -> None:
    """Carry out ``tisim inspect`` for a graph of GPUs."""
    graph, text = read_graph(source), read_graph_text(source)
    size, counts = Path(source).stat().st_size, node_counts(graph)
    nodes = [{"node": word, "times": times, "bytes": moved} for word, times, moved in counts]
    content = {
        "name": source,
        "bytes": size,
        "text bytes": len(text.encode()),
        "ranks": graph.ranks,
        "dtype": graph.dtype,
        "communicators": {
            name: {"size": size, "stride": stride}
            for name, (size, stride) in graph.communicators.items()
        },
        "nodes": nodes,
    }
    if write_json(content, json_file):
        return
    click.echo(
        f"{source}: graph of {format_count(graph.ranks, 'GPU')}, {graph.dtype}, {size:,} bytes, "
        f"{content['text bytes']:,} as text"
    )
    rows = [(name, f"{n:,}", f"{s:,}") for name, (n, s) in graph.communicators.items()]
    for title, head, table in (
        ("communicators", ("name", "size", "stride"), rows),
        ("nodes of all GPUs", ("node", "number", "bytes"),
         [(word, f"{times:,}", f"{moved:.6g}" if moved else "") for word, times, moved in counts]),
    ):  # fmt: skip
        click.echo(f"\n{title}:")
        print_table([head, *table], indent="  ")


def check_launched(trace: Trace, graph_file: str) -> str:
    """The error of the graph that the ranks of a sound trace launch; empty: none."""
    from tisim.gpu.launched import LaunchedGraph
    from tisim.gpu.machines import MACHINES
    from tisim.gpu.machines_platform import gpu_cluster

    # Errors of order do not depend on the machine.
    machine = MACHINES["a100"]
    platform = gpu_cluster(replace(machine, nodes=-(-trace.ranks // machine.gpus)))
    try:
        replay(trace, platform=platform, gpus=LaunchedGraph(graph_file))
    except (InputError, SimulationError) as error:
        return str(error)
    return ""


def check_graph(name: str, json_file: str | None) -> bool:
    """Carry out ``tisim check`` for a graph: whether it is sound."""
    finding, facts = "", {}
    of_gpus = graph_kind(name) == "graph"
    text = read_graph_text(name) if of_gpus else ""  # a damaged file has nothing to check
    try:
        if not of_gpus:
            schedule, unexpected = check_goal(name)
            facts = {"ranks": schedule.ranks, "operations": schedule.operations}
            if unexpected:
                finding = f"{name}: {format_count(unexpected, 'message')} never received"
        else:
            from tisim.gpu.step_machine import STEP_MACHINES
            from tisim.gpu.step_run import run_step

            # Errors of order do not depend on durations.
            result = run_step(graph := parse_graph(text, name), STEP_MACHINES["a100"])
            facts = {"ranks": graph.ranks, "operations": result.launched}
    except (InputError, SimulationError) as error:
        finding = str(error)
    report = {"name": name, "sound": not finding, "findings": [finding] if finding else []}
    if not write_json(report | facts, json_file):
        if finding:
            click.echo(finding)
        click.echo(f"{name}: {'not sound' if finding else 'sound'}")
        if facts:
            counts = (
                format_count(facts["ranks"], "rank"),
                format_count(facts["operations"], "operation"),
            )
            click.echo(", ".join(counts))
    return not finding
