"""``tisim replay``."""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING

import click

from tisim.actions.registry import ignoring_unsupported
from tisim.commands.pictures import Pictures
from tisim.commands.replay_summary import print_summary
from tisim.commands.written import report_written
from tisim.config import Config
from tisim.errors import DiskFullError, InputError, SimulationError
from tisim.kernel.steady import check_tolerance, not_skipped
from tisim.platform import Platform
from tisim.platform.deployment import Deployment
from tisim.simulation.replay import replay
from tisim.support.files import check_writable, write_file
from tisim.support.progress import ProgressBar
from tisim.traces import Trace

if TYPE_CHECKING:
    from tisim.studies.uncertainty import ParameterSets

# What a replay needs beside the modules above.
_LIBRARIES = ("tisim.platform.compiled",)


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
  tisim replay --platform graphene.xml --deploy deploy.xml traces/
  tisim replay --platform graphene.xml --hostfile hosts.txt lu.A.8.tar.xz
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
@click.option(
    "--platform", "platform_file", required=True, metavar="FILE", help="Platform, SimGrid's XML."
)
@click.option("--deploy", "deployment_file", metavar="FILE", help="The host of each rank, XML.")
@click.option(
    "--hostfile", metavar="FILE", help="Instead of --deploy: hosts, one a line, used round-robin."
)
@click.option(
    "--config",
    "--cfg",
    "items",
    metavar="KEY=VALUE",
    multiple=True,
    help="Set an option, as SimGrid's --cfg=KEY:VALUE; wins over the platform's. Repeatable.",
)
@click.option(
    "--sources",
    type=click.Choice(["any", "matched"]),
    help="Whom receives from MPI_ANY_SOURCE take a message from: any rank (default), or the one "
    "that they matched when the trace was recorded; the same as --config tisim/sources=...",
)
@click.option(
    "--np",
    "--ranks",
    "ranks",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of ranks the trace must have.",
)
@click.option(
    "--json", "json_file", metavar="FILE", help="Write the result as JSON; - is standard output."
)
@click.option(
    "--timeline",
    "timelines",
    metavar="FILE",
    multiple=True,
    help="Write what happened when. The suffix says how: .perfetto-trace (ui.perfetto.dev), .trace "
    "(Paje), .prv (Paraver), .parquet, .csv, .timed.csv (actions with durations), .tir (for tisim "
    "view). Repeatable.",
)
@click.option(
    "--breakdown",
    is_flag=True,
    help="Show where the time goes: kinds of actions, who waits for whom, the critical path, the "
    "busiest links; --json has it too.",
)
@click.option(
    "--gantt",
    "gantt_files",
    metavar="FILE",
    multiple=True,
    help="Draw what every rank does over time, as .svg or .png. Repeatable.",
)
@click.option(
    "--report",
    "report_file",
    metavar="FILE",
    help="Write one .html page, to be read offline: all of --breakdown and --gantt to zoom into, "
    "the communication matrix, the load of links, the configuration.",
)
@click.option(
    "--begin",
    metavar="TIME",
    help="Draw (--gantt), show first (--report) or write (--timeline for Perfetto) what happens "
    "from then on, such as 2.25s.",
)
@click.option("--end", metavar="TIME", help="Of the same: up to then.")
@click.option(
    "--ignore-unsupported",
    is_flag=True,
    help="Replay a recorded trace without the calls that a trace cannot express.",
)
@click.option(
    "--bandwidth", metavar="CHANGE", help="What if: of all links, x2 times theirs or 100Gbps."
)
@click.option(
    "--latency", metavar="CHANGE", help="What if: of all links, x0.5 times theirs or 1us."
)
@click.option("--speed", metavar="CHANGE", help="What if: of all cores, x2 times theirs or 3.2Gf.")
@click.option(
    "--mapping",
    "mapping_rule",
    metavar="RULE",
    help="What if: block (consecutive ranks on a host, as many as it has cores, or block:4), "
    "cyclic (one on each host, and round again), random:SEED (cyclic, hosts in random order). Of "
    "the hosts of --hostfile or --deploy, if given.",
)
@click.option(
    "--uncertainty",
    type=click.IntRange(min=2),
    metavar="N",
    help="Replay with N other sets of parameters too, on all cores: those that 'tisim calibrate' "
    "has stored beside the platform. Fitted volumes of an extrapolated trace are drawn anew for "
    "each. Shows the interval of nine tenths of the times.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of --uncertainty."
)
@click.option(
    "--jitter",
    type=int,
    metavar="N",
    help="Replay with N seeds of a small jitter of starts and sizes; show the median and the range "
    "of the time.",
)
@click.option(
    "--skip-steady",
    type=float,
    metavar="E",
    help="Do not simulate iterations that repeat what those before did; E is the estimated "
    "relative error of the times, such as 1e-6. For packed traces.",
)
@click.argument("traces", nargs=-1, required=True)
def replay_command(
    platform_file: str,
    deployment_file: str | None,
    hostfile: str | None,
    items: tuple[str, ...],
    sources: str | None,
    ranks: int | None,
    json_file: str | None,
    timelines: tuple[str, ...],
    breakdown: bool,
    gantt_files: tuple[str, ...],
    report_file: str | None,
    begin: str | None,
    end: str | None,
    ignore_unsupported: bool,
    bandwidth: str | None,
    latency: str | None,
    speed: str | None,
    mapping_rule: str | None,
    uncertainty: int | None,
    seed: int,
    jitter: int | None,
    skip_steady: float | None,
    traces: tuple[str, ...],
) -> int:
    """Predict how long a run takes, from its time-independent trace.

    TRACES is a directory, files, a file that lists one file a line, one file of all ranks, or a
    tar archive; compressed ones too.
    """
    if jitter is not None and uncertainty is not None:
        raise InputError("give --jitter or --uncertainty, not both")
    if skip_steady is not None:
        check_tolerance(skip_steady)
    if deployment_file is not None and hostfile is not None:
        raise InputError("give --deploy or --hostfile, not both")
    if json_file not in (None, "-"):
        check_writable(json_file)
    pictures = Pictures(gantt_files, report_file, begin, end, timelines)
    start = time.perf_counter()
    chosen = () if sources is None else (f"tisim/sources={sources}",)
    config = Config.from_items((*items, *chosen))
    platform = Platform.load(platform_file)
    if (bandwidth, latency, speed) != (None, None, None):
        platform = platform.scaled(bandwidth=bandwidth, latency=latency, speed=speed)
    with ProgressBar("open") as bar:
        trace = Trace.open(traces[0] if len(traces) == 1 else list(traces), progress=bar.show)
    sets = None if uncertainty is None else _parameter_sets(platform_file, trace)
    deployment = _deployment(deployment_file, hostfile, mapping_rule, platform, trace.ranks)
    with ProgressBar("replay") as bar, _failure_in_json(json_file):
        result = replay(
            trace,
            platform=platform,
            deployment=deployment,
            config=config,
            ranks=ranks,
            progress=bar.show_simulation if bar.is_shown else None,
            timeline=timelines,
            timeline_part=pictures.part if timelines else None,
            event_log=breakdown or pictures.wanted,
            registry=ignoring_unsupported() if ignore_unsupported else None,
            jitter=jitter,
            skip_steady=None if uncertainty else skip_steady,
        )
    result.wall_time = time.perf_counter() - start
    interval = None
    if uncertainty is not None:
        from tisim.studies.uncertainty import replay_with_sets

        interval = replay_with_sets(
            trace,
            sets,
            uncertainty,
            platform=platform,
            deployment=deployment,
            config=config,
            ranks=ranks,
            seed=seed,
        )
        result.uncertainty = interval.to_dict()
        if skip_steady is not None:
            result.steady = not_skipped(skip_steady, "--uncertainty replays with other parameters")
    for warning in result.warnings:
        click.echo(f"tisim: warning: {warning}", err=True)
    if timelines:
        from tisim.analysis.timeline.run import files_of

        report_written(*chain.from_iterable(map(files_of, timelines)))
    pictures.draw(result)
    if json_file is not None:
        _write_json(result.json_pieces(), json_file)
    if json_file == "-":
        return 0
    print_summary(result, "" if interval is None else interval.text())
    if breakdown:
        from tisim.commands.breakdown import print_breakdown

        print_breakdown(result)
    return 0


def _deployment(
    deployment_file: str | None,
    hostfile: str | None,
    mapping_rule: str | None,
    platform: Platform,
    ranks: int,
) -> Deployment | None:
    """Where the ranks are; None: on the platform's hosts in their order."""
    deployment = None
    if deployment_file is not None:
        deployment = Deployment.load(deployment_file)
    elif hostfile is not None:
        deployment = Deployment.from_hostfile(hostfile, ranks)
    if mapping_rule is not None:
        deployment = _mapped(mapping_rule, deployment, platform, ranks)
    return deployment


@contextmanager
def _failure_in_json(file: str | None) -> Iterator[None]:
    """Write why a simulation cannot go on to the file of its result."""
    try:
        yield
    except SimulationError as error:
        if file is not None:
            details = error.details if isinstance(error, DiskFullError) else {}
            failure = {"kind": type(error).__name__, "message": str(error), **details}
            _write_json([json.dumps({"error": failure}, indent=1)], file)
        raise


def _write_json(text: Iterable[str], file: str) -> None:
    """Write a result as JSON; - prints it."""
    pieces = chain(text, "\n")
    if file == "-":
        for piece in pieces:
            click.echo(piece, nl=False)
        return
    write_file(file, pieces)
    report_written(file)


def _mapped(rule: str, deployment: Deployment | None, platform: Platform, ranks: int) -> Deployment:
    """The deployment by a rule, over the hosts of the given one."""
    from tisim.studies.sweep.mapping import Mapping, is_rule

    if not is_rule(rule):
        raise InputError(
            f"--mapping is block, cyclic or random:SEED, not {rule!r}; a file of hosts goes with "
            "--hostfile, a deployment with --deploy"
        )
    mapping = Mapping.parse(rule, deployment)
    if mapping.is_random:
        raise InputError("--mapping random needs a seed, such as random:7")
    return mapping.place(platform, ranks, ())


def _parameter_sets(platform_file: str, trace: Trace) -> ParameterSets | None:
    """Those beside the platform; None: there are none, but volumes can be drawn."""
    from tisim.studies.uncertainty import ParameterSets

    made = trace.extrapolated
    has_file = ParameterSets.path_beside(platform_file).exists()
    if made is not None and made.volumes and not has_file:
        return None
    return ParameterSets.beside(platform_file)
