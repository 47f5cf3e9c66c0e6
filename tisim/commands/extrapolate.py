"""``tisim extrapolate``."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tisim.commands import report_written, trace_option
from tisim.errors import InputError, TisimError
from tisim.support.files import check_writable
from tisim.support.quantities import format_bytes, format_count, parse_size
from tisim.traces.writer import PACKED_SUFFIX

if TYPE_CHECKING:
    from tisim.platform import Platform
    from tisim.traces.extrapolation import Extrapolation
    from tisim.traces.extrapolation.scaling import ScalingCurves

#: Seconds after which a long extrapolation says what it may end with.
PATIENCE = 1.0


@click.command(
    "extrapolate",
    epilog="""\b
Examples:
  tisim extrapolate a.16.tit b.32.tit c.64.tit --to 1024 -o big.tit
  tisim extrapolate halo.*.tit --to 1000000 --show -o million.tit
  tisim extrapolate a.16.tit b.32.tit c.64.tit --to 128 -o big.tit --check d.128.tit
  tisim extrapolate lu.*.tit --to 1024 -o big.tit --platform p.xml --report lu.html --plot lu.svg
  tisim replay --platform p.xml --uncertainty 20 big.tit   # volumes drawn from their intervals
  tisim extrapolate rank5.json.gz --parallelism tp=2,dp=64,pp=4 -o all.graph  # GPUs: one rank
""",
)
@click.option("--to", "ranks", type=int, help="Number of ranks to predict.")
@click.option(
    "--parallelism",
    metavar="tp=N,dp=N,pp=N",
    help="Instead of --to: derive all ranks of a training job from one recorded GPU (PyTorch's "
    "profiler, Chakra) and write a graph for tisim step. tp and pp must be those of the "
    "recorded job.",
)
@trace_option("FILE", "Packed trace, or graph, to write.")
@click.option(
    "--prefer",
    multiple=True,
    metavar="FAMILY",
    help="Prefer this function, condition or process grid where several explain the traces.",
)
@click.option(
    "--fit",
    "scaling",
    type=click.Choice(["auto", "strong", "weak"]),
    default="auto",
    show_default=True,
    help="Scaling of fitted volumes: a fixed problem size in total (strong) or per rank (weak).",
)
@click.option(
    "--iterations",
    "asked",
    multiple=True,
    metavar="LOOP=N",
    help="Number of iterations of a loop, for traces recorded with few; --show names the loops.",
)
@click.option(
    "--approximate",
    multiple=True,
    metavar="ACTION[:means]",
    help="Treat the numbers of an action, such as alltoallv, as data: draw them from a "
    "distribution, or use their means.",
)
@click.option(
    "--max-access",
    metavar="BYTES",
    help="Maximum size of a file read or write, such as 4MiB: split larger ones, and treat "
    "successive pieces of this size in the traces as one access. By default, detected in the "
    "traces.",
)
@click.option(
    "--families",
    metavar="FILE.py",
    help="Python file to run first, which adds families with @tisim.extrapolation.",
)
@click.option(
    "--check",
    "recorded",
    metavar="TRACE",
    help="Compare the result with a trace recorded on that number of ranks: each call, and "
    "volumes.",
)
@click.option(
    "--platform",
    metavar="FILE",
    help="With --check: also compare simulated times on this platform. With --report and "
    "--plot: show times on it instead of volumes.",
)
@click.option(
    "--report",
    "report_file",
    metavar="FILE",
    help="Write a self-contained .html report: costs by call site over the number of ranks, "
    "with intervals; which sites dominate at which scale; all fitted functions.",
)
@click.option(
    "--plot",
    "plot_file",
    metavar="FILE",
    help="Plot the costs by call site over the number of ranks, as .svg or .png.",
)
@click.option("--show", is_flag=True, help="Print the fitted function of every parameter.")
@click.argument("traces", nargs=-1, required=True)
def extrapolate_command(
    ranks: int | None,
    parallelism: str | None,
    output: str,
    prefer: tuple[str, ...],
    scaling: str,
    asked: tuple[str, ...],
    approximate: tuple[str, ...],
    max_access: str | None,
    families: str | None,
    recorded: str | None,
    platform: str | None,
    report_file: str | None,
    plot_file: str | None,
    show: bool,
    traces: tuple[str, ...],
) -> None:
    """Extrapolate the trace of a program to more ranks.

    TRACES are traces of one program on three or more numbers of ranks. Communication is fitted
    exactly: which ranks make a call, its peers, sizes, counts and tags, and the iterations of
    loops. It is an error if no function explains them, or if several do that differ at the
    target number of ranks. Only varying computation volumes are fitted by least squares.

    With --parallelism, TRACES is a recording of one GPU. The other ranks do the same in their
    groups of the grid: ranks that share a matrix (tp) are adjacent, then come copies (dp), then
    pipeline stages (pp). Assumptions are printed.
    """
    if parallelism is not None:
        if ranks is not None or len(traces) != 1:
            raise click.UsageError("--parallelism is for one recording, without --to")
        _write_all_ranks(traces[0], parallelism, output)
        return
    if ranks is None:
        raise click.UsageError("give --to, or --parallelism for a recording of a GPU")
    from tisim.platform import Platform
    from tisim.traces.extrapolation import extrapolate
    from tisim.traces.extrapolation.next_sizes import ambiguous_grids
    from tisim.traces.extrapolation.recordings import Recordings
    from tisim.traces.trace import Trace

    if platform is not None and recorded is None and report_file is None and plot_file is None:
        raise InputError("--platform needs --check, --report or --plot")
    _check_output(output, [*traces, *([] if recorded is None else [recorded])])
    _check_pictures(report_file, plot_file)
    machine = None if platform is None else Platform.load(platform)
    if recorded is not None:
        Trace.open(recorded, ranks=ranks)
    if families is not None:
        _run(families)
    iterations = _iterations(asked)
    if iterations and (report_file is not None or plot_file is not None):
        raise InputError(
            "--report and --plot show recorded runs next to predicted ones and cannot be combined "
            "with --iterations"
        )
    with _reported_if_slow(ambiguous_grids([Trace.open(trace).ranks for trace in traces], ranks)):
        made = extrapolate(
            traces,
            ranks,
            output,
            prefer=prefer,
            scaling=scaling,
            approximate=approximate,
            iterations=iterations,
            max_access=None
            if max_access is None
            else round(parse_size(max_access, "--max-access")),
        )
    if show:
        _print_functions(made)
    _print_summary(made, output, given_access=max_access is not None)
    report_written(output)
    if report_file is not None or plot_file is not None:
        from tisim.traces.extrapolation.scaling import scaling_curves

        recordings = Recordings.read(traces, scaling=scaling, approximate=approximate)
        curves = scaling_curves(recordings, ranks, prefer=prefer, platform=machine)
        _draw(made, curves, report_file, plot_file)
    if recorded is not None and not _checked(made, output, recorded, machine):
        raise SystemExit(1)


def _print_functions(made: Extrapolation) -> None:
    for parameter in made.parameters:
        click.echo(
            f"{parameter.site}: {parameter.what}: {parameter.text} "
            f"(confirmed by {parameter.confirming_sizes})"
        )
    for volume in made.volumes:
        click.echo(
            f"{volume.site}: volume before it: {volume.fit.family}, {volume.fit.value:.6g} (within "
            f"{volume.fit.error:.1%} in cross-validation)"
        )


def _print_summary(made: Extrapolation, output: str, *, given_access: bool) -> None:
    least = min((p.confirming_sizes for p in made.parameters), default=0)
    size = Path(output).stat().st_size
    classes = f"{format_count(made.classes, 'class', 'es')} of ranks"
    click.echo(
        f"{output}: {format_count(made.ranks, 'rank')} in {classes}, {format_bytes(size)}, from "
        f"{', '.join(f'{s:,}' for s in made.sizes)}; on {made.grid}; "
        f"{len(made.parameters):,} parameters, each confirmed by {format_count(least, 'size')} or "
        "more beyond those that determine it"
    )
    if made.volumes:
        worst = max(volume.fit.error for volume in made.volumes)
        click.echo(
            f"volumes are means, fitted at {format_count(len(made.volumes), 'call')}; in "
            f"cross-validation, left-out sizes are predicted within {worst:.1%}"
        )
    if made.largest_accesses:
        sizes = ", ".join(f"{size:,}" for size in sorted({*made.largest_accesses.values()}))
        origin = "" if given_access else f", as in the traces ({', '.join(made.largest_accesses)})"
        click.echo(f"larger accesses to files are split into pieces of {sizes} bytes{origin}")
    if made.approximate:
        listed = ", ".join(f"{action} ({how})" for action, how in made.approximate.items())
        click.echo(f"calls whose numbers are data are approximate: {listed}")


@contextmanager
def _reported_if_slow(sentences: Sequence[str]) -> Iterator[None]:
    """Report what may be refused at the end, unless that is soon."""

    def report() -> None:
        for sentence in sentences:
            click.echo(f"tisim: {sentence}", err=True)

    timer = threading.Timer(PATIENCE, report)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _write_all_ranks(path: str, parallelism: str, output: str) -> None:
    """Make the graph of all ranks of what was recorded of one."""
    from tisim.gpu.step_chakra import is_chakra, read_chakra
    from tisim.gpu.step_kineto import read_kineto
    from tisim.gpu.step_parallelism import extrapolated, read_parallelism
    from tisim.traces.graph_files import write_graph

    grid = read_parallelism(parallelism)
    recording = read_chakra(path) if is_chakra(path) else read_kineto(path, messages=True)
    made, assumed = extrapolated(recording, grid)
    write_graph(output, made.text)
    click.echo(
        f"{output}: {grid.ranks:,} ranks of {recording.kernels:,} nodes, of which "
        f"{recording.collectives:,} communicate, {recording.kept_times:,} of them as recorded"
    )
    for sentence in assumed:
        click.echo(f"assumed: {sentence}")
    click.echo(f"the graph contains the recorded launches: tisim step {output} --set launch=0")
    report_written(output)


def _check_output(output: str, inputs: Sequence[str]) -> None:
    """Check that the output can be written, and takes the place of none of the traces."""
    if Path(output).suffix != PACKED_SUFFIX:
        name = Path(output).stem or "big"
        raise InputError(
            f"the output is a packed trace and needs the suffix {PACKED_SUFFIX}: "
            f"{name}{PACKED_SUFFIX}"
        )
    for path in inputs:
        if Path(path).exists() and Path(output).exists() and Path(path).samefile(output):
            raise InputError(
                "is also an input trace; choose another name for the output", file=output
            )
    check_writable(output)


def _iterations(asked: Sequence[str]) -> dict[str, int]:
    """How often loops are repeated, by their paths."""
    made = {}
    for text in asked:
        path, _, times = text.partition("=")
        if not path or not times.isdecimal() or not times.isascii() or int(times) < 1:
            raise InputError(
                f"--iterations {text}: must be LOOP=N, such as 12=300; --show names the loops"
            )
        made[path] = int(times)
    return made


def _check_pictures(report: str | None, plot: str | None) -> None:
    """Check the names of files before anything is computed."""
    if report is not None:
        from tisim.analysis.report.report import check_report

        check_report(report)
        check_writable(report)
    if plot is not None:
        from tisim.traces.extrapolation.scaling import check_scaling_picture

        check_scaling_picture(plot)
        check_writable(plot)


def _draw(made: Extrapolation, curves: ScalingCurves, report: str | None, plot: str | None) -> None:
    """Say what dominates, and write the page and the picture."""
    for ranks, curve in curves.dominating():
        click.echo(f"from {ranks:,} ranks on, the largest cost is {curve.text}")
    if report is not None:
        from tisim.traces.extrapolation.scaling import write_scaling_report

        write_scaling_report(made, curves, report)
        report_written(report)
    if plot is not None:
        from tisim.traces.extrapolation.scaling import draw_scaling

        draw_scaling(curves, plot)
        report_written(plot)


def _run(families: str) -> None:
    """Run a file that adds families."""
    from runpy import run_path

    try:
        run_path(families)
    except TisimError as error:
        raise InputError(str(error), file=families) from None
    except (Exception, SystemExit) as error:
        reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
        raise InputError(f"cannot run this file of families: {reason}", file=families) from None


def _checked(made: Extrapolation, output: str, recorded: str, platform: Platform | None) -> bool:
    """Say how the trace compares with a recorded one; whether all calls are equal."""
    from tisim.traces.extrapolation.checking import check

    found = check(output, recorded, made.approximate)
    if found.first is None:
        data = f" but those of {', '.join(made.approximate)}" if made.approximate else ""
        click.echo(f"{recorded}: all {found.calls:,} calls are equal, with all their numbers{data}")
    else:
        first = found.first
        extrapolated, real = first.shown()
        click.echo(
            f"{recorded}: {found.different:,} ranks make different calls; call {first.number:,} of "
            f"rank {first.rank:,} is {extrapolated or 'missing'!r}, recorded: {real or 'nothing'!r}"
        )
    for site in found.data:
        click.echo(
            f"the numbers of {site.action} add up to {site.made:,.0f}, recorded: "
            f"{site.recorded:,.0f} ({site.error:.1%} off)"
        )
    for site in found.volumes:
        click.echo(
            f"computed before {site.action}: {site.made:.6g}, recorded: {site.recorded:.6g} "
            f"({site.error:.1%} off)"
        )
    if platform is not None:
        import tisim

        times = [
            tisim.replay(trace, platform=platform).simulated_time for trace in (output, recorded)
        ]
        off = abs(times[0] - times[1]) / (times[1] or 1.0)
        click.echo(
            f"simulated time: {times[0]:.6g} s, of the recorded trace: {times[1]:.6g} s "
            f"({off:.1%} off)"
        )
    return found.first is None
