"""The commands ``tisim calibrate`` and ``tisim benchmark``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from tisim.commands import (
    Branching,
    force_option,
    json_option,
    number_option,
    print_table,
    report_written,
    write_json,
    write_pieces,
)
from tisim.support.files import check_writable
from tisim.support.quantities import (
    format_bytes,
    parse_bandwidth,
    parse_size,
    parse_speed,
    parse_time,
)

if TYPE_CHECKING:
    from tisim.studies.calibration import Calibration
    from tisim.studies.calibration.cpu import CpuCalibration
    from tisim.studies.calibration.regions import TimedTrace

_FILE = click.Path(path_type=Path)
# Regions of a program that are shown; the parts of unknown ones, and of those with larger visits,
# that are worth a warning.
_REGIONS = 12
_NOTABLE = 0.02
_MUCH = 0.5


def _value(parse: Callable[..., float]) -> Callable[..., float | None]:
    """A callback of click's that reads a quantity with its unit."""

    def callback(_ctx: click.Context, parameter: click.Parameter, text: str | None) -> float | None:
        return None if text is None else parse(text, parameter.opts[0])

    return callback


def _breakpoints(
    _ctx: click.Context, parameter: click.Parameter, text: str | None
) -> list[int] | None:
    if text is None:
        return None
    return sorted({int(parse_size(word, parameter.opts[0])) for word in text.split(",")})


def _pair(
    _ctx: click.Context, parameter: click.Parameter, text: str | None
) -> tuple[str, str] | None:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if len({*names}) != 2 or len(names) != 2 or not all(names):
        raise click.BadParameter("two different host names, separated by a comma", param=parameter)
    return names[0], names[1]


@click.command(
    "calibrate",
    cls=Branching,
    epilog="""\b
Examples:
  tisim calibrate measured.csv --nodes 64 --speed 3.2Gf -o cluster.xml
  tisim calibrate measured.csv --platform nominal.xml -o calibrated.xml --plot fit.png
  tisim calibrate osu_latency.txt osu_bw.txt --bandwidth 125MBps --latency 15us --links 2
  tisim calibrate skampi.out -o two-hosts.xml
  tisim calibrate pingpong.csv --nodes 1 --cores 8 --speed 3.2Gf -o my-machine.xml
  tisim calibrate skampi.out --platform nominal.xml --hosts node-3,node-9 --json found.json
  tisim benchmark --help    # how to measure
""",
)
@click.argument("files", nargs=-1, required=True, type=_FILE)
@click.option("--platform", type=_FILE, metavar="FILE", help="Platform file with nominal values.")
@click.option(
    "--hosts",
    callback=_pair,
    metavar="A,B",
    help="Hosts of the measurements (default: the first two).",
)
@click.option(
    "--bandwidth",
    callback=_value(parse_bandwidth),
    metavar="BANDWIDTH",
    help="Nominal bandwidth of a link, such as 125MBps (default: from the measurements).",
)
@click.option(
    "--latency",
    callback=_value(parse_time),
    metavar="TIME",
    help="Nominal latency of a link, such as 15us (default: from the measurements).",
)
@number_option("--links", default=2, text="Number of links between the two hosts.")
@click.option(
    "--breakpoints",
    callback=_breakpoints,
    metavar="SIZE,...",
    help="Message sizes at which segments of the fit begin, such as 1420,64KiB.",
)
@click.option(
    "--nodes",
    type=click.IntRange(min=1),
    metavar="N",
    help="Write a cluster of N hosts (default: 2). With 1, the measurements are from within one "
    "node, and each of its --cores is written as a host.",
)
@click.option(
    "--speed", callback=_value(parse_speed), metavar="RATE", help="Speed of a core, such as 3.2Gf."
)
@click.option("--cores", type=click.IntRange(min=1), default=1, help="Cores per host (default: 1).")
@number_option(
    "--sets",
    default=20,
    least=0,
    text="Number of parameter sets to write next to -o, for 'tisim replay --uncertainty'.",
)
@number_option("--seed", default=0, least=0, text="Random seed for --sets.")
@click.option("-o", "--output", type=_FILE, metavar="FILE", help="Platform file to write.")
@force_option
@click.option(
    "--plot", type=_FILE, metavar="FILE", help="Plot of the fit to write (.png, .svg, .pdf)."
)
@json_option("all results")
def calibrate_command(
    files: tuple[Path, ...],
    output: Path | None,
    plot: Path | None,
    json_file: str | None,
    sets: int,
    seed: int,
    **nominal: Unpack[_Nominal],
) -> None:
    """Fit the parameters of a platform to measured messages.

    FILES are results of SKaMPI, the OSU micro-benchmarks, the Intel MPI Benchmarks,
    platform-calibration or 'tisim benchmark', in any combination. The parameters are written
    into the platform file or, without one, into a platform of two hosts or of --nodes, whose
    nominal values come from the measurements where none are given. Without -o the <config>
    block is printed.

    See 'tisim calibrate cpu --help' for the speed of hosts, 'tisim calibrate regions --help' for
    that of each part of a program, 'tisim calibrate host --help' for cores that share memory, and
    'tisim calibrate disk --help' for disks.
    """
    from tisim.studies.calibration.measurements import read_measurements
    from tisim.studies.calibration.procedure import calibrate
    from tisim.support.progress import ProgressBar

    if plot is not None:
        from tisim.studies.calibration.report import check_plot

        check_plot(plot)
    for file in (output, plot, json_file):
        if file not in (None, "-"):
            check_writable(str(file))
    with ProgressBar("calibrate") as bar:

        def show(step: str, done: int, steps: int) -> None:
            bar.show(done / steps, title=step)

        found = calibrate(read_measurements(files), progress=show, **nominal)
    if not write_pieces([found.to_json()], json_file):
        from tisim.studies.calibration.report import report

        click.echo(report(found), nl=False)
        if output is None:
            click.echo(f"\n{found.config_block}")
    if output is not None:
        _write_platform(found, output, sets, seed)
    if plot is not None:
        from tisim.studies.calibration.report import save

        save(found, plot)
        report_written(plot)


class _Nominal(TypedDict):
    """The options that `tisim.studies.calibration.calibrate` takes as they are."""

    platform: Path | None
    hosts: tuple[str, str] | None
    bandwidth: float | None
    latency: float | None
    links: int
    breakpoints: list[int] | None
    nodes: int | None
    speed: float | None
    cores: int


def _write_platform(found: Calibration, output: Path, sets: int, seed: int) -> None:
    """Write the platform, and the sets of parameters beside it."""
    from tisim.studies.uncertainty.bootstrap import draw_sets
    from tisim.support.progress import ProgressBar

    found.platform.write(output)
    report_written(output)
    if sets:
        with ProgressBar("parameter sets") as bar:
            drawn = draw_sets(found, sets, seed, lambda done, of: bar.show(done / of))
        report_written(drawn.write(output))


@click.command(
    "cpu",
    epilog="""\b
Examples:
  tisim record -o lu.tit --counter register,time -- mpirun -n 8 ./lu.A.x
  tisim calibrate cpu lu.tit --platform nominal.xml -o faster.xml
  tisim calibrate cpu --times timed.csv
  tisim calibrate cpu traces/ --times timed.csv --class B --platform nominal.xml -o faster.xml
""",
)
@click.argument("traces", nargs=-1, type=_FILE)
@click.option(
    "--times",
    multiple=True,
    type=_FILE,
    metavar="FILE",
    help="CSV file of timed computations. Repeatable. Without it, TRACES must be recorded with the "
    "counter time in addition to another one.",
)
@click.option(
    "--class", "problem_class", metavar="NAME", help="Use the rate of this problem class."
)
@click.option(
    "--working-set",
    callback=_value(parse_size),
    metavar="SIZE",
    help="Use the rate of this working set, such as 4MiB.",
)
@click.option("--platform", type=_FILE, metavar="FILE", help="Platform file to complete.")
@click.option("-o", "--output", type=_FILE, metavar="FILE", help="Platform file to write.")
@force_option
@click.option(
    "--host-speeds", is_flag=True, help="Give each measured host its own speed (column host)."
)
@json_option("the rates")
def _cpu(
    traces: tuple[Path, ...],
    times: tuple[Path, ...],
    problem_class: str | None,
    working_set: float | None,
    platform: Path | None,
    output: Path | None,
    host_speeds: bool,
    json_file: str | None,
) -> None:
    """Fit instructions per second to timed computations.

    TRACES are traces recorded with tisim record --counter register,time (or similar) or, with
    --times, the trace whose compute actions were timed; it is not needed if the CSV file has a
    column 'volume'. The CSV file has a header with columns from: seconds, volume, rank, action
    (number of the compute action, from 1), run, class, working_set (bytes) and host. Either
    seconds and volume or seconds and rank are required.
    """
    from tisim.studies.calibration.cpu import calibrate_cpu, read_recorded, read_timed, read_volumes

    if (platform is None) != (output is None):
        raise click.UsageError("--platform and -o must be given together")
    if not (traces or times):
        raise click.UsageError("give recorded traces, or timed computations with --times")
    if times:
        timed = read_timed(times, read_volumes(traces) if traces else None)
    else:
        timed = read_recorded(traces)
    calibration = calibrate_cpu(timed)
    rate = calibration.rate_for(problem_class=problem_class, working_set=working_set)
    if not write_json({**calibration.to_dict(), "used": rate.what}, json_file):
        _print_rates(calibration, rate.what)
    if platform is not None and output is not None:
        from tisim.studies.calibration.cpu import complete

        hosts = calibrate_cpu(rate.of(timed)).hosts if host_speeds else {}
        # Recorded volumes with additional times are instructions; others may be anything.
        options = {} if times else {"tisim/speeds": "instructions"}
        for remark in complete(platform, output, rate, hosts, options):
            click.echo(f"warning: {remark}", err=True)
        report_written(output)


@click.command(
    "regions",
    epilog="""\b
Examples:
  tisim record -o small.tit --counter register,time --call-sites -- mpirun -n 4 ./counting 100
  tisim record -o plain.tit --counter time -- mpirun -n 4 ./program 100
  tisim record -o large.tit --counter register --call-sites -- mpirun -n 4 ./counting 400
  tisim calibrate regions small.tit --times plain.tit --apply large.tit -o large.times.tit
  tisim calibrate regions small.tit --times plain.tit --also tiny.tit plain.tiny.tit \\
      --apply large.tit -o large.times.tit
  tisim record -o cold.tit --counter cold -- mpirun -n 4 ./program 100
  tisim calibrate regions small.tit --times plain.tit --cold cold.tit --cached 0.3 \\
      --apply large.tit -o large.times.tit
  tisim replay --platform here.xml --speed 1Gf large.times.tit
""",
)
@click.argument("trace", type=_FILE)
@click.option(
    "--times",
    multiple=True,
    required=True,
    type=_FILE,
    metavar="TRACE",
    help="The same program with the same input, compiled as for production, recorded with "
    "--counter time. Repeatable; the median of several runs is used.",
)
@click.option(
    "--also",
    multiple=True,
    nargs=2,
    type=_FILE,
    metavar="TRACE TIMES",
    help="Counted and timed trace of another input or number of ranks. Each region of --apply gets "
    "the rate of the input whose visits have the most similar volume. Repeatable; the median "
    "of several TIMES of the same TRACE is used.",
)
@click.option(
    "--cold",
    multiple=True,
    type=_FILE,
    metavar="TRACE",
    help="Like --times, but recorded with --counter cold, for when the data of --apply do not fit "
    "into the last-level cache ('tisim record' reports the memory per rank): regions whose "
    "visits compute more than twice the measured volume are slowed down as with cold caches. "
    "Repeatable.",
)
@click.option(
    "--cached",
    type=float,
    default=0.0,
    show_default=True,
    metavar="SHARE",
    help="Share of the data of --apply that fits into the last-level cache, 0 to 1: its size "
    "('lscpu') divided by the memory of all ranks that share it. This share is not slowed "
    "down.",
)
@click.option(
    "--apply",
    "other",
    type=_FILE,
    metavar="TRACE",
    help="Counted trace of another input or number of ranks whose times to predict.",
)
@click.option(
    "-o",
    "--output",
    type=_FILE,
    metavar="FILE.tit",
    help="Trace to write, with volumes in nanoseconds.",
)
@json_option("the rates")
def _regions(
    trace: Path,
    times: tuple[Path, ...],
    also: tuple[tuple[Path, Path], ...],
    cold: tuple[Path, ...],
    cached: float,
    other: Path | None,
    output: Path | None,
    json_file: str | None,
) -> None:
    """Measure the speed of each region of a program, and predict the times of another run.

    A region is the computation between two calls, identified by their call paths. TRACE counts
    its instructions ('tisim record --counter register --call-sites' with a program compiled by
    'tisim cc'); --times provides their durations. --apply is written as a trace whose volumes are
    nanoseconds on this machine.
    """
    from tisim.commands import check_trace_output
    from tisim.studies.calibration.regions import largest, measure_regions, write_timed

    if (other is None) != (output is None):
        raise click.UsageError("--apply and -o must be given together")
    if also and other is None:
        raise click.UsageError("--also needs --apply; the printed rates are those of TRACE")
    if cold and other is None:
        raise click.UsageError("--cold needs --apply; the printed rates are those of --times")
    if not 0 <= cached <= 1:  # nor NaN
        raise click.UsageError(f"--cached must be from 0 to 1, not {cached:g}")
    if cached and not cold:
        raise click.UsageError("--cached needs --cold")
    if output is not None:
        check_trace_output(str(output))
    rates = measure_regions(trace, times, cold)
    regions = [
        {"before": region.before, "after": region.after, **vars(rate)}
        for region, rate in largest(rates, len(rates.regions))
    ]
    bias = None if rates.counted_seconds is None else rates.counted_seconds / rates.seconds
    if not write_json({"regions": regions, "bias": bias}, json_file):
        rows = [
            [
                f"{rate.seconds / rates.seconds:.1%}",
                f"{rate.volume / rate.seconds:.4g}",
                f"{rate.visits:,}",
                region.text(),
            ]
            for region, rate in largest(rates, _REGIONS)
        ]
        total = ["100.0%", f"{rates.per_second:.4g}", "", "all"]
        print_table([["time", "per second", "visits", "region"], total, *rows], left={3})
    if bias is not None:
        message = f"The counting program takes {bias:.3g} times as long as the timed one."
        click.echo(message, err=json_file == "-")
    if other is not None and output is not None:
        runs: dict[Path, list[Path]] = {}
        for counted, run in also:
            runs.setdefault(counted, []).append(run)
        further = [measure_regions(counted, of_input) for counted, of_input in runs.items()]
        timed = write_timed(other, [rates, *further], output, cached)
        message = f"{other}: computes {timed.seconds:.5g} s, summed over ranks"
        if cold:
            message += f"; {timed.warm:.5g} s if its data fit into the caches"
        click.echo(message, err=json_file == "-")
        _warn_of_regions(timed, [trace, *runs])
        report_written(output)


def _warn_of_regions(timed: TimedTrace, measured: Sequence[Path]) -> None:
    """Warn where much of a predicted trace is in regions that the measured ones hardly have."""
    if timed.unknown > _NOTABLE:
        names = " and ".join(map(str, measured))
        click.echo(
            f"warning: {timed.unknown:.0%} of it is in regions absent from {names}, predicted with "
            "the rate of all regions",
            err=True,
        )
    if timed.larger > _MUCH:
        click.echo(
            f"warning: {timed.larger:.0%} of it is in regions that compute more than twice the "
            "measured volume per visit: the prediction is too fast where their data no longer fit "
            "into a cache; measure a larger input (--also) or cold caches (--cold)",
            err=True,
        )


@click.command(
    "host",
    epilog="""\b
Examples:
  tisim calibrate host -- mpirun -n 8
  tisim record -o alone.tit --counter register,time -- mpirun -n 1 ./program
  tisim record -o together.tit --counter register,time -- mpirun -n 8 ./program
  tisim calibrate host --alone alone.tit --together together.tit \\
      --platform nominal.xml -o measured.xml -- mpirun -n 8
""",
)
@click.option(
    "--alone",
    type=_FILE,
    metavar="TRACE",
    help="Trace of a program with one rank on this node, recorded with --counter register,time.",
)
@click.option(
    "--together",
    type=_FILE,
    metavar="TRACE",
    help="The same program, or a larger one, with a rank on each core of this node.",
)
@click.option(
    "--mpicc", metavar="COMMAND", help="Compiler wrapper of the MPI library (default: mpicc)."
)
@click.option("--platform", type=_FILE, metavar="FILE", help="Platform file to complete.")
@click.option("-o", "--output", type=_FILE, metavar="FILE", help="Platform file to write.")
@force_option
@json_option("the results")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def _host(
    alone: Path | None,
    together: Path | None,
    mpicc: str | None,
    platform: Path | None,
    output: Path | None,
    json_file: str | None,
    command: tuple[str, ...],
) -> None:
    """Measure how the cores of this node share memory, from one rank to one rank per core.

    COMMAND, after --, launches the ranks, such as mpirun -n 8. With two traces, the bandwidth
    demand of the program's own computations is derived from their rates; the hosts of --platform
    get the speed, the bandwidth and the demand, and computations on the same host then slow each
    other down.
    """
    import os

    from tisim.studies.calibration.host import demand_of, scan_host

    if (platform is None) != (output is None):
        raise click.UsageError("--platform and -o must be given together")
    if (alone is None) != (together is None) or (platform is not None and alone is None):
        raise click.UsageError("a platform needs both --alone and --together")
    demand = None
    scan = scan_host(command, os.cpu_count() or 1, compiler=mpicc)
    if alone is not None and together is not None:
        demand = demand_of(scan, alone, together)
    shown = {
        "bandwidth": scan.bandwidth,
        "arithmetic": scan.arithmetic,
        "properties": demand.properties() if demand else {},
    }
    if not write_json(shown, json_file):
        rows = [
            [str(ranks), f"{format_bytes(rate)}/s", f"{scan.arithmetic[ranks] / 1e9:.4g} Gflop/s"]
            for ranks, rate in scan.bandwidth.items()
        ]
        print_table([["ranks", "memory, all ranks", "registers, all ranks"], *rows])
        if demand is not None:
            click.echo(f"\n{demand.text()}")
    warning = scan.warning()
    if warning is not None:
        click.echo(f"warning: {warning}", err=True)
    if platform is not None and output is not None and demand is not None:
        from tisim.studies.calibration.platform_file import PlatformFile

        file = PlatformFile.read(platform)
        file.set_all_speeds(demand.alone)
        file.set_options({"tisim/speeds": "instructions"})
        file.set_host_properties(demand.properties())
        file.write(output)
        report_written(output)


@click.command(
    "disk",
    epilog="""\b
Examples:
  fio --name=w --rw=write --bs=1M --size=4G --direct=1 --output-format=json --output=w.json
  fio --name=r --rw=read --bs=1M --size=4G --direct=1 --output-format=json --output=r.json
  tisim calibrate disk w.json r.json --mount /scratch
  mpirun -n 16 ior -a POSIX --posix.odirect -w -r -t 4m -b 1g > ior.txt
  tisim calibrate disk ior.txt --mount /scratch
""",
)
@click.argument("files", nargs=-1, required=True, type=_FILE)
@click.option("--mount", metavar="PATH", help="Mount point of the disk.")
@click.option("--size", metavar="BYTES", help="Capacity of the disk, such as 1TB.")
@json_option("the results")
def _disk(
    files: tuple[Path, ...], mount: str | None, size: str | None, json_file: str | None
) -> None:
    """Derive the bandwidths of a disk from results of fio (JSON) and IOR (JSON or printed output).

    Of runs with several call sizes, the fastest is used. The last line printed is the argument of
    'tisim platform new --disk', and the property tisim/disk of a <host> or <cluster>.
    """
    from dataclasses import asdict

    from tisim.platform.description.storage import disk_of_text
    from tisim.studies.calibration.disk import calibrate_disk

    found = calibrate_disk(files)
    words = found.words(mount, size)
    disk_of_text(words)  # refuses a mount point or a size with a comma
    for remark in found.remarks:
        click.echo(f"warning: {remark}", err=True)
    if write_json({**asdict(found), "disk": words}, json_file):
        return
    rows = [
        [rate.direction, rate.block, f"{format_bytes(rate.bandwidth)}/s", f"{rate.spread:.1%}",
         str(rate.runs)]
        for rate in found.rates
    ]  # fmt: skip
    print_table([["direction", "block", "median", "spread", "runs"], *rows], left=(0, 1))
    click.echo(f"\n--disk {words}")


def _print_rates(found: CpuCalibration, used: str) -> None:
    rows = [
        [
            f"{row.per_second:.5g}",
            f"{row.spread:.1%}",
            str(row.computations),
            row.what + (" (used)" if row.what == used else ""),
        ]
        for row in found.frame().itertuples()
    ]
    print_table([["per second", "spread", "computations", "of"], *rows], left=(3,))
    for warning in found.warnings:
        click.echo(f"warning: {warning}")


calibrate_command.further.update(cpu=_cpu, regions=_regions, host=_host, disk=_disk)
