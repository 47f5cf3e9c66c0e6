"""``tisim replay``."""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import click

from tisim.actions.registry import ignoring_unsupported
from tisim.analysis.result import format_changes
from tisim.commands import (
    digits_option,
    is_given,
    json_option,
    named_hosts,
    number_option,
    opened_name,
    parameter_option,
    print_table,
    report_written,
    write_json,
    write_pieces,
)
from tisim.config import Config
from tisim.errors import DiskFullError, InputError, SimulationError
from tisim.kernel.steady import check_tolerance, not_skipped
from tisim.platform import Platform
from tisim.simulation.replay import OutsideRunError, choose_kernel, replay, resolve_deployment
from tisim.support.extras import check_installed
from tisim.support.files import check_writable
from tisim.support.progress import ProgressBar
from tisim.support.quantities import format_bytes, format_seconds, parse_time
from tisim.support.reading import graph_kind
from tisim.traces import Trace

if TYPE_CHECKING:
    from tisim.analysis.result import Result
    from tisim.analysis.result_json import TimeName
    from tisim.kernel.file_sums import ServersDict
    from tisim.platform.deployment import Deployment
    from tisim.studies.uncertainty import ParameterSets
    from tisim.traces.text_program import TextTrace

# Modules that a replay imports in addition to those above.
_LIBRARIES = ("tisim.platform.compiled",)


def _time(_ctx: click.Context, parameter: click.Parameter, text: str | None) -> float | None:
    return None if text is None else parse_time(text, parameter.opts[0])


class _Replay(click.Command):
    """Loads the libraries before the command line is read, except where it asks for help only.

    `wall_time` measures the replay, not the interpreter's start.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not {*args} & {*self.get_help_option_names(ctx)}:
            for library in _LIBRARIES:
                importlib.import_module(library)
        return super().parse_args(ctx, args)


@click.command(
    "replay",
    cls=_Replay,
    epilog="""\b
Examples:
  tisim replay --platform graphene.xml --deployment deployment.xml traces/
  tisim replay --platform graphene.xml --hosts hosts.txt lu.A.8.tar.xz
  tisim replay --platform p.xml --config smpi/coll-selector=ompi --json out.json traces/
  tisim replay --platform p.xml --json - trace.index | jq .simulated_time
  tisim replay --platform p.xml --breakdown traces/
  tisim replay --platform p.xml --gantt run.svg --report run.html traces/
  tisim replay --platform p.xml --gantt part.svg --begin 2.25s --end 2.26s traces/
  tisim replay --platform p.xml --bandwidth x2 --latency x0.5 --speed 3.2Gf traces/   # what if?
  tisim replay --platform p.xml --mapping random:7 traces/
  tisim replay --platform calibrated.xml --uncertainty 20 traces/   # 3.88 s, 3.7 s to 4.1 s
  tisim replay --platform p.xml --config network/ordering=fifo --jitter 9 traces/
  tisim replay --platform p.xml --skip-steady 1e-6 lu.tit   # 10,000 iterations as fast as 100
  tisim replay --platform p.xml --timeline run.perfetto-trace traces/   # open in ui.perfetto.dev
  tisim replay --platform p.xml --timeline part.perfetto-trace --begin 2s --end 3s traces/
""",
)
@parameter_option(replay, "platform", "--platform", "platform_file", metavar="FILE")
@parameter_option(replay, "deployment", "--deployment", "deployment_file", metavar="FILE")
@parameter_option(replay, "hosts", "--hosts", metavar="FILE|A,B,...")
@parameter_option(
    replay, "config", "--config", "--cfg", "items", metavar="KEY=VALUE", multiple=True
)
@click.option(
    "--sources",
    type=click.Choice(["any", "matched"]),
    help="Senders that receives from MPI_ANY_SOURCE match: any rank (default), or the one matched "
    "when the trace was recorded. Short for --config tisim/sources=...",
)
@click.option(
    "--completions",
    type=click.Choice(["matched", "free"]),
    help="Requests that a recorded MPI_Waitany, MPI_Waitsome, MPI_Testany or MPI_Testsome "
    "completes: the recorded ones (default), or those that complete first, where the rank's "
    "next actions do not depend on the choice. Short for --config tisim/completions=...",
)
@click.option(
    "--io-layer",
    type=click.Choice(["mpi", "posix"]),
    help="Calls to replay from a trace recorded with --io both: the MPI-IO calls (default) or the "
    "underlying POSIX calls. Short for --config tisim/io-layer=...",
)
@parameter_option(
    replay, "ranks", "--np", "--ranks", "ranks", metavar="N", type=click.IntRange(min=1)
)
@json_option("the result")
@parameter_option(replay, "timeline", "--timeline", "timelines", metavar="FILE", multiple=True)
@click.option(
    "--breakdown",
    is_flag=True,
    help="Show where the time goes: kinds of actions, waits between ranks, the critical path and "
    "the busiest links. Also added to --json.",
)
@click.option(
    "--gantt",
    "gantt_files",
    metavar="FILE",
    multiple=True,
    help="Draw a Gantt chart of all ranks, as .svg or .png. Repeatable.",
)
@click.option(
    "--report",
    "report_file",
    metavar="FILE",
    help="Write a self-contained .html report: the breakdown, a zoomable Gantt chart, the "
    "communication matrix, link loads and the configuration.",
)
@click.option(
    "--begin",
    callback=_time,
    metavar="TIME",
    help="Start of the interval to draw (--gantt), show first (--report) or write (--timeline, "
    "Perfetto only), such as 2.25s.",
)
@click.option("--end", callback=_time, metavar="TIME", help="End of that interval.")
@click.option(
    "--ignore-unsupported",
    is_flag=True,
    help="Skip the calls of a recorded trace that tisim does not support.",
)
@parameter_option(replay, "bandwidth", "--bandwidth", metavar="CHANGE")
@parameter_option(replay, "latency", "--latency", metavar="CHANGE")
@parameter_option(replay, "speed", "--speed", metavar="CHANGE")
@parameter_option(replay, "mapping", "--mapping", "mapping_rule", metavar="RULE")
@click.option(
    "--uncertainty",
    type=click.IntRange(min=2),
    metavar="N",
    help="Also report a 90 % prediction interval: replay with N of the parameter sets that 'tisim "
    "calibrate' stored next to the platform, if any; redraw the fitted volumes of an "
    "extrapolated trace; and include the errors of validated programs with similar time "
    "shares (from 'tisim validate --keep-errors', or else tisim's own).",
)
@number_option("--seed", default=0, least=0, text="Random seed for --uncertainty.")
@digits_option
@parameter_option(replay, "jitter", "--jitter", metavar="N")
@parameter_option(replay, "skip_steady", "--skip-steady", metavar="E")
@parameter_option(replay, "kernel", "--kernel", metavar="NAME")
@click.option(
    "--graph",
    "graph_file",
    metavar="FILE",
    help="GPU graph file whose blocks the ranks launch, each on its own GPU; needs a platform of "
    "GPUs. Default: the graph packed with the trace.",
)
@click.argument("traces", nargs=-1, required=True)
def replay_command(
    platform_file: str,
    deployment_file: str | None,
    hosts: str | None,
    items: tuple[str, ...],
    sources: str | None,
    completions: str | None,
    io_layer: str | None,
    ranks: int | None,
    json_file: str | None,
    timelines: tuple[str, ...],
    breakdown: bool,
    gantt_files: tuple[str, ...],
    report_file: str | None,
    begin: float | None,
    end: float | None,
    ignore_unsupported: bool,
    bandwidth: str | None,
    latency: str | None,
    speed: str | None,
    mapping_rule: str | None,
    uncertainty: int | None,
    seed: int,
    jitter: int | None,
    skip_steady: float | None,
    kernel: str | None,
    graph_file: str | None,
    traces: tuple[str, ...],
) -> int:
    """Predict the run time of an MPI program from its time-independent trace.

    TRACES is a packed trace (.tit), a directory, one file per rank, an index that lists one file
    per line, a single file for all ranks, or a tar archive; all may be compressed. It may also be
    a GOAL schedule, with dependencies as in LogGOPSim.
    """
    if len(traces) == 1 and graph_kind(traces[0]):
        from tisim.commands.graphs import replay_schedule

        replay_schedule(click.get_current_context())
        return 0
    if uncertainty is None and is_given("seed"):
        raise InputError("--seed needs --uncertainty")
    if jitter is not None and uncertainty is not None:
        raise InputError("give --jitter or --uncertainty, not both")
    if skip_steady is not None:
        check_tolerance(skip_steady)
    if json_file not in (None, "-"):
        check_writable(json_file)
    part = None
    if begin is not None or end is not None:
        if not (gantt_files or report_file or timelines):
            raise InputError("--begin and --end need --gantt, --report or --timeline")
        part = begin or 0.0, math.inf if end is None else end
        if part[0] >= part[1]:
            raise InputError(f"--begin must be before --end, not {part[0]:g} s and {part[1]:g} s")
    pictures = _pictures(gantt_files, report_file, begin, end)
    event_log = bool(breakdown or pictures or uncertainty is not None)
    if event_log:
        check_installed("pandas")
    start = time.perf_counter()
    choices = {"sources": sources, "completions": completions, "io-layer": io_layer}
    chosen = [f"tisim/{name}={value}" for name, value in choices.items() if value is not None]
    config = Config.from_items((*items, *chosen))
    platform = Platform.load(platform_file)
    platform = platform.scaled(bandwidth=bandwidth, latency=latency, speed=speed)
    kernel, notes = choose_kernel(kernel)
    if kernel == "simpy" and uncertainty is not None:
        raise InputError("--uncertainty needs --kernel core")
    trace = _opened(opened_name(traces), config, on_simpy=kernel == "simpy")
    sets = None if uncertainty is None else _parameter_sets(platform_file)
    if graph_file is None and isinstance(trace, Trace) and trace.has_graph:
        graph_file = traces[0]
    if graph_file is not None and uncertainty is not None:
        raise click.UsageError(
            "--uncertainty does not support --graph: no real runs of such programs are known"
        )
    gpus = None
    if graph_file is not None:
        from tisim.gpu.launched import LaunchedGraph

        gpus = LaunchedGraph(graph_file)
    chosen_hosts = None if hosts is None else named_hosts(hosts)
    deployment = resolve_deployment(
        platform, trace.ranks, deployment_file, chosen_hosts, mapping_rule
    )
    wrong: InputError | None = None
    with ProgressBar("replay") as bar, _failure_in_json(json_file):
        try:
            result = replay(
                trace,
                platform=platform,
                deployment=deployment,
                config=config,
                ranks=ranks,
                progress=bar.show_simulation if bar.is_shown else None,
                timeline=timelines,
                timeline_part=part if timelines else None,
                event_log=event_log,
                registry=ignoring_unsupported() if ignore_unsupported else None,
                jitter=jitter,
                skip_steady=None if uncertainty else skip_steady,
                kernel=kernel,
                gpus=gpus,
            )
        except OutsideRunError as error:  # the numbers of a long replay are not lost for a picture
            result, wrong, timelines = error.result, error, ()
    result.warnings += notes
    if isinstance(trace, Trace):
        result.volumes = relation_of_volumes(trace, platform, deployment, config, speed is not None)
    result.wall_time = time.perf_counter() - start
    words = [] if result.volumes is None else [result.volumes["relation"]]
    if uncertainty is not None and isinstance(trace, Trace):
        from tisim.studies.uncertainty import replay_with_sets

        interval = replay_with_sets(
            trace,
            sets,
            uncertainty,
            platform=platform,
            deployment=deployment,
            config=config,
            ranks=ranks,
            shares=result.critical_path.shares,
            seed=seed,
        )
        result.uncertainty = interval.to_dict()
        words.append(interval.text())
        if not (breakdown or pictures):
            result.event_log = None  # it was for the shares
        if skip_steady is not None:
            result.steady = not_skipped(skip_steady, "--uncertainty replays with other parameters")
    for warning in result.warnings:
        click.echo(f"tisim: warning: {warning}", err=True)
    if timelines:
        from tisim.analysis.timeline.run import files_of

        streams = graph_file is not None
        report_written(*(file for path in timelines for file in files_of(path, streams=streams)))
    for path, draw in pictures:
        try:
            draw(result)
            report_written(path)
        except InputError as error:
            wrong = wrong or error
    printed = json_file is not None and write_pieces(result.json_pieces(), json_file)
    if not printed:
        print_summary(result, "; ".join(filter(None, words)))
        if breakdown:
            from tisim.commands.breakdown import print_breakdown

            print_breakdown(result)
    if wrong is not None:
        raise wrong
    return 0


def _opened(source: str | list[str], config: Config, *, on_simpy: bool) -> Trace | TextTrace:
    """The trace, as the kernel that replays it reads it."""
    with ProgressBar("open") as bar:
        if not on_simpy:
            return Trace.open(source, progress=bar.show)
        from tisim.traces.text_program import TextTrace

        return TextTrace(source, null_is_any=config["tisim/null-source"] == "any")


@contextmanager
def _failure_in_json(file: str | None) -> Iterator[None]:
    """Write why a simulation cannot go on to the file of its result."""
    try:
        yield
    except SimulationError as error:
        if file is not None:
            details = error.details if isinstance(error, DiskFullError) else {}
            failure = {"kind": type(error).__name__, "message": str(error), **details}
            write_json({"error": failure}, file)
        raise


def relation_of_volumes(
    trace: Trace, platform: Platform, deployment: Deployment, config: Config, chosen: bool
) -> dict[str, str] | None:
    """The meaning of a trace's volumes on the hosts of a replay; None if the trace does not say.

    `chosen`: the user has said how fast the hosts are.
    """
    from tisim.traces.volumes import volumes_of

    volumes = volumes_of(trace.name, trace.files[0])
    if volumes is None:
        return None
    known = str(Config.from_platform(platform.config_items).merged(config)["tisim/speeds"])
    speeds = {platform.host(name).speed for name in deployment.hosts}
    relation = ""
    if volumes.per_second is not None and not chosen and known != "relative":
        ratios = sorted(speed / volumes.per_second for speed in speeds)
        if known == "instructions":
            relation = (
                f"computations were counted in {volumes.unit}, and the hosts' speeds are in "
                "instructions per second"
            )
        elif ratios[0] != 1 or ratios[-1] != 1:
            least, most = f"{ratios[0]:.3g}", f"{ratios[-1]:.3g}"
            relation = (
                f"hosts compute {least if least == most else f'{least} to {most}'} times as fast "
                f"as the recording machine: volumes are in {volumes.unit}, hosts execute "
                f"{max(speeds):.3g} per second; for equal speed, use --speed "
                f"{volumes.per_second / 1e9:g}Gf; if intended, use --config tisim/speeds=relative"
            )
    elif volumes.unit == "instructions" and not chosen and known == "relative":
        relation = "computations were counted in instructions, and the hosts' speeds are relative"
    return {"counter": volumes.counter, "unit": volumes.unit, "relation": relation}


def _parameter_sets(platform_file: str) -> ParameterSets | None:
    """The sets of parameters beside the platform; None: there are none."""
    from tisim.studies.uncertainty import ParameterSets

    if not ParameterSets.path_beside(platform_file).exists():
        return None
    return ParameterSets.beside(platform_file)


def _pictures(
    gantts: Sequence[str], report: str | None, begin: float | None, end: float | None
) -> list[tuple[str, Callable[[Result], None]]]:
    """Files of pictures, and what draws a result into each.

    Raises `InputError` if a file cannot be written, or its suffix is another than it must be.
    """
    found: list[tuple[str, Callable[[Result], None]]] = []
    if gantts:
        from tisim.analysis.pictures.gantt_file import check_picture, draw_gantt

        check_installed("matplotlib")
        for gantt in gantts:
            check_picture(gantt)
            draw = partial(draw_gantt, path=gantt, begin=begin or 0.0, end=end)
            found.append((gantt, draw))
    if report is not None:
        from tisim.analysis.report.report import check_report, write_report

        check_report(report)
        found.append((report, partial(write_report, path=report, begin=begin, end=end)))
    for path, _ in found:
        check_writable(path)
    return found


# The printed table

# Number of file names, those with the most bytes, whose use the summary describes.
_FILES = 3


def print_summary(result: Result, interval: str) -> None:
    """Print the main numbers.

    `interval` is that of the simulated time, in words; empty for none.
    """
    print_table(_rows(result, interval), left=(0, 2))


def _rows(result: Result, interval: str) -> list[tuple[str, str, str]]:
    """Names, values and notes of the table that is printed."""
    finish, wall = result.column("finish"), result.wall_time

    def ranked(name: str, rank: int) -> tuple[str, str, str]:
        return name, format_seconds(finish[rank]), f"rank {rank} on {result.hosts[rank]}"

    def spread(name: str, column: TimeName) -> tuple[str, str, str]:
        seconds = result.column(column)
        least, most = format_seconds(min(seconds)), format_seconds(max(seconds))
        mean = math.fsum(seconds) / len(seconds)
        return name, format_seconds(mean), f"mean over ranks ({least} to {most})"

    ranks = range(len(finish))
    times = result.jitter["times"] if result.jitter else []
    median = (
        f"median of {len(times)} seeds ({format_seconds(min(times))} to "
        f"{format_seconds(max(times))})"
        if times
        else ""
    )
    return [
        ("simulated time", format_seconds(result.simulated_time), interval or median),
        *([("changed", "", format_changes(result.changes))] if result.changes else []),
        ("ranks", f"{len(finish):,}", ""),
        ("actions", f"{result.actions:,}", ""),
        ranked("slowest", max(ranks, key=finish.__getitem__)),
        ranked("fastest", min(ranks, key=finish.__getitem__)),
        spread("compute", "compute"),
        spread("communication", "communication"),
        *_io_rows(result),
        *_steady_rows(result),
        ("trust", "", result.trust),
        ("simulation took", f"{wall:.3g} s", f"{result.actions / wall:,.0f} actions per second"),
    ]


def _io_rows(result: Result) -> list[tuple[str, str, str]]:
    """The rows about files."""
    io = result.io
    if io is None:
        return []
    from tisim.analysis.file_tables import access_pattern_summary

    mean = math.fsum(io["seconds"]) / len(io["seconds"])
    moved = (
        f"{format_bytes(sum(io['bytes_read']))} read, "
        f"{format_bytes(sum(io['bytes_written']))} written"
    )
    note = f"mean over ranks; {moved} in {sum(io['calls']):,} calls"
    rows = [("reading and writing", format_seconds(mean), note)]
    rows += access_pattern_summary(io.get("files", []), _FILES)
    for name, servers in io.get("file_systems", {}).items():
        rows.append((f"on {name}", *_server_words(servers)))
    return rows


def _server_words(servers: ServersDict) -> tuple[str, str]:
    """How long requests to a file system took, and what they were."""
    *data, metadata = zip(
        *(servers[key] for key in ("requests", "bytes_read", "bytes_written")), strict=True
    )
    moved = [read + written for _, read, written in data]
    requests = sum(count for count, *_ in data)
    most = max(range(len(data)), key=moved.__getitem__)
    share = (
        f", most on {servers['hosts'][most]} ({moved[most] / sum(moved):.1%})" if any(moved) else ""
    )
    plural = "s" if len(data) > 1 else ""
    text = (
        f"mean per request; {format_bytes(sum(moved))} in {requests:,} requests to {len(data):,} "
        f"server{plural}{share.replace('%', ' %')}; {metadata[0]:,} metadata requests"
    )
    total = math.fsum(servers["seconds"]) / max(sum(servers["requests"]), 1)
    return format_seconds(total), text


def _steady_rows(result: Result) -> list[tuple[str, str, str]]:
    """The row about skipped iterations."""
    steady = result.steady
    if steady is None:
        return []
    notes = []
    if steady["skipped"]:
        notes.append(
            f"of {steady['iterations']:,} iterations; estimated error of the times: "
            f"{steady['estimated_error']:.3g}"
        )
    if steady["off"] is not None:
        notes.append(f"{'off since' if notes else 'off'}: {steady['off']}")
    return [("skipped", f"{steady['skipped']:,}", "; ".join(notes))]
