"""The calibration procedure: from measured times to a configured platform."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from os import PathLike
from shlex import quote

from tisim.config.table import NetworkModel
from tisim.errors import InputError
from tisim.studies.calibration.advice import advise
from tisim.studies.calibration.calibration import Calibration, settings
from tisim.studies.calibration.contention import (
    Contention,
    fit_burst,
    limiter_bandwidth,
    measure_contention,
)
from tisim.studies.calibration.factors import ENVELOPE, Route, factors_of, fit_transfer
from tisim.studies.calibration.library import library_facts
from tisim.studies.calibration.loopback import with_loopback
from tisim.studies.calibration.measurements import Measurements
from tisim.studies.calibration.overheads import Overheads, correct_for_idle_time, fit_overheads
from tisim.studies.calibration.piecewise import fit_piecewise
from tisim.studies.calibration.platform_file import NOMINAL_HOSTS, PlatformFile
from tisim.studies.calibration.separation import Network, separate, stream_gap
from tisim.studies.calibration.simulation import (
    route_between,
    simulate,
    simulate_rate,
    simulate_star,
)
from tisim.studies.calibration.switches import Switches, Weight, find_switches

#: Called before each step with its name, the number of finished steps and the total number.
Progress = Callable[[str, int, int], None]

# Largest message of a simulated exchange: long enough for its latency to be negligible.
_EXCHANGED = 1 << 26
# Minimum size in bytes of stream messages that fill the link.
_LARGE = 1 << 14
# Minimum nominal latency, as a fraction of the shortest message's time.
_MIN_LATENCY_FRACTION = 0.2
# Number of iterations that alternate between lines over the sizes and the effect of idling.
_IDLE_TURNS = 2


def calibrate(
    measurements: Measurements,
    *,
    platform: str | PathLike[str] | None = None,
    hosts: tuple[str, str] | None = None,
    bandwidth: float | None = None,
    latency: float | None = None,
    links: int = 2,
    breakpoints: Sequence[int] | None = None,
    nodes: int | None = None,
    speed: float | None = None,
    cores: int = 1,
    progress: Progress = lambda step, done, steps: None,
) -> Calibration:
    """Find the parameters with which the simulator reproduces measured times.

    Parameters
    ----------
    measurements
        From `read_measurements`; must include ping-pongs.
    platform
        A platform file with nominal values. Without it they are `bandwidth` and `latency`; missing
        values are taken from the measurements.
    hosts
        The two hosts of the platform that represent the measuring hosts; its first two if None.
    bandwidth, latency, links
        Nominal bandwidth in bytes/s and latency in seconds of one link, and the number of links
        between the two hosts.
    breakpoints
        Message sizes in bytes above which another segment begins; detected if None.
    nodes, speed, cores
        Alternative to a platform file: the hosts of the cluster to write (2 if None), flop/s of a
        core, cores of a host. A single node, measured between two of its cores, has a host for each
        core. If the measuring hosts differ or are not on one switch, they are written as measured,
        unless `nodes` is another number.
    progress
        Called before each step.

    Raises
    ------
    InputError
        If the measurements are insufficient, or the nominal values contradict each other.
    """
    steps = ("overheads", "nominal route", "transfers", "contention", "simulation", "done")

    def begin(step: str) -> None:
        progress(step, steps.index(step), len(steps) - 1)

    if speed is not None and speed <= 0:
        raise InputError(f"the speed of a core must be above zero, not {speed:g}")
    if links < 1:
        raise InputError(f"--links must be at least 1, not {links}")
    if nodes == 1:
        if cores < 2:
            raise InputError(
                "on one node, messages are exchanged between cores; give their number with --cores"
            )
        nodes, cores = cores, 1
    measurements = _checked(measurements, breakpoints or ())
    begin("overheads")
    measurements, overheads = _fit_overheads(measurements, breakpoints)
    begin("nominal route")
    switches = find_switches(measurements, _measured_bandwidth(measurements))
    if platform is None and (bandwidth is None or latency is None):
        nominal = _measured_nominal(measurements, overheads, bandwidth, latency, links)
        measurements = measurements.with_remark(_describe_nominal(bandwidth, latency, nominal))
        bandwidth, latency = nominal
    machine = (nodes, speed, cores)
    file, pair, route = _nominal(platform, hosts, bandwidth, latency, links, machine, switches)
    if switches is not None and not switches.is_uniform and not file.is_measured:
        measurements = measurements.with_remark(_describe_loss(switches))
    begin("transfers")
    ping_pong = measurements.curve("pingpong")
    measurements, burst = _with_burst(measurements, file, pair, route)
    network = Network.of(route.bandwidth, route.latency, ping_pong, ENVELOPE, burst)
    overheads = separate(measurements, overheads, network)
    gap = stream_gap(measurements, ping_pong.nbytes)
    controls = library_facts(measurements).controls
    transfer = fit_transfer(ping_pong, overheads, breakpoints, network, gap, controls)
    factors = factors_of(transfer, route)
    measurements, loopback = with_loopback(measurements, overheads, factors, file, pair[0])
    file.configure({**settings(overheads, factors, loopback), **_polling(measurements)})
    begin("contention")
    measurements = _with_options(measurements, file)
    contention, limiter = _fit_contention(measurements, file, pair, route, switches)
    weight = _fit_weight(measurements, file, pair, switches)
    begin("simulation")
    simulated = simulate(file.load(), pair, _simulated_sizes(measurements))
    found = Calibration(
        measurements,
        route,
        overheads,
        transfer,
        contention,
        pair,
        limiter,
        file,
        burst=burst,
        loopback=loopback,
        switches=switches,
        weight=weight,
        simulated=simulated,
    )
    found = dataclasses.replace(found, warnings=advise(found))
    begin("done")
    return found


def _checked(measurements: Measurements, breakpoints: Sequence[int]) -> Measurements:
    """Check that the measurements suffice; add a remark about breakpoints outside of them."""
    if not measurements.has("pingpong"):
        raise InputError(
            "the measurements contain no ping-pong, which is needed for the time in the network; "
            "add one (osu_latency, IMB PingPong, a SKaMPI Pingpong_Send_Recv, 'tisim benchmark')"
        )
    sizes = measurements.curve("pingpong").nbytes
    outside = [size for size in breakpoints if not sizes[0] <= size < sizes[-1]]
    if not outside:
        return measurements
    return measurements.with_remark(
        f"no ping-pong was measured on both sides of {', '.join(map(str, outside))} bytes: these "
        f"breakpoints are ignored (measured: {sizes[0]:.0f} to {sizes[-1]:.0f} bytes)"
    )


def _measured_nominal(
    measurements: Measurements,
    overheads: Overheads,
    bandwidth: float | None,
    latency: float | None,
    links: int,
) -> tuple[float, float]:
    """Return nominal bandwidth and latency of a link where the user gives none.

    The bandwidth is what large messages and streams achieve; the latency is the time of the
    shortest message less its overheads.
    """
    curve = measurements.curve("pingpong")
    if bandwidth is None:
        bandwidth = _measured_bandwidth(measurements)
    if latency is None:
        shortest = curve.nbytes[:1]
        rest = float(curve.seconds[0] - overheads.seconds_per_message(shortest)[0])
        latency = max(rest, _MIN_LATENCY_FRACTION * float(curve.seconds[0])) / links
    return bandwidth, latency


def _describe_nominal(
    bandwidth: float | None, latency: float | None, found: tuple[float, float]
) -> str:
    """Describe the nominal values that the user did not give."""
    values = [f"bandwidth {found[0] / 1e6:.4g} MB/s"] * (bandwidth is None)
    values += [f"latency {found[1] * 1e6:.4g} us of a link"] * (latency is None)
    return f"nominal values derived from the measurements, as none were given: {', '.join(values)}"


def _measured_bandwidth(measurements: Measurements) -> float:
    """Return the rate of large messages and streams, in bytes/s.

    Messages within a burst have no start-up time, so to speak: their line goes through zero, and is
    flatter than the bandwidth. Streams show the sustained bandwidth.
    """
    curve = measurements.curve("pingpong")
    rates = []
    if measurements.has("stream"):
        stream = measurements.curve("stream")
        large = stream.nbytes >= _LARGE
        rates = list(stream.nbytes[large] / stream.seconds[large])
    line = fit_piecewise(curve).segments[-1].line
    if line.slope > 0 and (line.intercept > 0 or not rates):
        rates.append(1 / line.slope)
    return max(rates) if rates else float(curve.nbytes[-1] / curve.seconds[-1])


def _simulated_sizes(measurements: Measurements) -> list[int]:
    """Return every size in bytes of a measured call that is also simulated."""
    frame = measurements.frame
    used = frame[frame["operation"].isin(["pingpong", "send", "isend", "recv"])]
    return sorted(used["bytes"].unique())


def _fit_overheads(
    measurements: Measurements, breakpoints: Sequence[int] | None
) -> tuple[Measurements, Overheads]:
    """Return the measurements corrected for idling, and the overheads."""
    overheads = fit_overheads(measurements, breakpoints)
    used = measurements
    for _ in range(_IDLE_TURNS):
        corrected = correct_for_idle_time(measurements, overheads)
        if corrected is None:
            break
        used = corrected
        overheads = fit_overheads(used, breakpoints)
    return used, overheads


def _nominal(
    platform: str | PathLike[str] | None,
    hosts: tuple[str, str] | None,
    bandwidth: float | None,
    latency: float | None,
    links: int,
    machine: tuple[int | None, float | None, int],
    switches: Switches | None,
) -> tuple[PlatformFile, tuple[str, str], Route]:
    """Return the platform file to complete, the two measuring hosts, and their route."""
    if platform is not None:
        if bandwidth is not None or latency is not None:
            raise InputError(
                "the nominal bandwidth and latency come from the platform or from the options "
                "--bandwidth and --latency; give one of both"
            )
        if machine != (None, None, 1):
            raise InputError(
                "the number of hosts, their speed and cores come from the platform file; use "
                "--nodes, --speed and --cores only without --platform"
            )
        from tisim.platform import Platform

        file = PlatformFile.read(platform)
        # Loaded from its own file: its includes are relative to it.
        loaded = Platform.load(platform)
        names = [host.name for host in loaded.hosts[:2]] if hosts is None else hosts
        if len(names) < 2:
            raise InputError("a ping-pong needs two hosts; this platform has one", file=platform)
        pair = names[0], names[1]
        return file, pair, route_between(loaded, pair)
    assert bandwidth is not None
    assert latency is not None
    if hosts is not None:
        raise InputError("--hosts needs --platform")
    route = Route(links * latency, bandwidth)
    nodes, speed, cores = machine
    if switches is not None and not switches.is_uniform and nodes in (None, len(switches.hosts)):
        file = PlatformFile.measured(route, switches, speed, cores)
        return file, switches.pair, route
    file = PlatformFile.nominal(route, *machine)
    return file, NOMINAL_HOSTS, route


def _describe_loss(switches: Switches) -> str:
    """Describe the loss of accuracy on a network whose hosts differ."""
    return (
        f"the {len(switches.hosts)} measured hosts are not alike, or not on one switch; the "
        "platform does not reflect this (without --nodes and --platform, they are written as "
        "measured)"
    )


def _fit_weight(
    measurements: Measurements,
    file: PlatformFile,
    pair: tuple[str, str],
    switches: Switches | None,
) -> Weight | None:
    """Choose and set ``network/weight-S``: whether slow links weigh more; None if unknown.

    Fan-outs and incasts of all hosts are compared, if some hosts are slower than others.
    """
    if switches is None or not file.is_measured:
        return None
    frame = measurements.frame
    rows = frame[
        (frame["operation"] == "transfer")
        & frame["pattern"].isin(["incast", "fan-out"])
        & (frame["pairs"] == len(switches.hosts) - 1)
    ]
    if rows.empty:
        return None
    platform = file.load()
    hosts = [pair[0], *(host for host in switches.hosts if host != pair[0])]
    errors: dict[float, float] = {}
    for weight in (NetworkModel().weight_s, 0.0):
        logs = [
            abs(math.log(simulate_star(platform, hosts, pattern, nbytes, weight) / seconds))
            for (pattern, nbytes), seconds in rows.groupby(["pattern", "bytes"])["seconds"]
            .median()
            .items()
        ]
        errors[weight] = math.expm1(sum(logs) / len(logs))
    found = Weight(errors)
    if found.value != NetworkModel().weight_s:
        file.configure({"network/weight-S": f"{found.value:g}"})
    return found


def _with_burst(
    measurements: Measurements, file: PlatformFile, hosts: tuple[str, str], route: Route
) -> tuple[Measurements, float]:
    """Fit the links' burst in bytes and set it; adds a remark if the platform cannot express it."""
    burst = fit_burst(measurements, route.bandwidth, ENVELOPE)
    if burst == 0 or file.set_burst(hosts, burst):
        return measurements, burst
    remark = (
        f"single messages are faster than streams, as if links passed bursts of {burst:.0f} bytes; "
        f"the platform has no <cluster> or <link> between {hosts[0]} and {hosts[1]} to describe "
        "this, so streams will be predicted as fast as single messages"
    )
    return measurements.with_remark(remark), 0.0


def _polling(measurements: Measurements) -> dict[str, str]:
    """Return the cost of a test and a probe that find nothing, constant over attempts."""
    rows = measurements.frame.groupby("operation")["seconds"].median()
    costs = {f"smpi/{name}": f"{rows[name]:.6g}" for name in ("test", "iprobe") if name in rows}
    return {**costs, "smpi/grow-injected-times": "no"} if costs else {}


def _memory(measurements: Measurements) -> dict[str, str]:
    """Return the cost of copying and combining blocks: each size has the nearest one's bytes/s."""
    blocks = measurements.frame[measurements.frame["bytes"] > 0]
    rows = blocks.groupby(["operation", "bytes"])["seconds"].median()
    tables = {}
    for operation in ("copy", "combine"):
        if operation in rows:
            sizes = [float(nbytes) for nbytes in rows[operation].index]
            above = [0.0, *(math.sqrt(low * high) for low, high in pairwise(sizes))]
            slopes = rows[operation].to_numpy() / sizes
            tables[f"smpi/{operation}"] = ";".join(
                f"{start:.0f}:0:{slope:.6g}" for start, slope in zip(above, slopes, strict=True)
            )
    return tables


def _with_options(measurements: Measurements, file: PlatformFile) -> Measurements:
    """Set options that SimGrid lacks: those of the MPI library, and the cost of work in memory.

    Adds a remark if the platform cannot express them.
    """
    options = {**library_facts(measurements).options(), **_memory(measurements)}
    if not options or file.set_options(options):
        return measurements
    words = " ".join(f"--config {quote(f'{name}={value}')}" for name, value in options.items())
    return measurements.with_remark(
        f"the platform's zones are in included files: replay with {words}"
    )


def _fit_contention(
    measurements: Measurements,
    file: PlatformFile,
    hosts: tuple[str, str],
    route: Route,
    switches: Switches | None,
) -> tuple[Contention | None, float | None]:
    """Return the rates of concurrent messages, and the limiter's bandwidth, or None.

    The limiter, which is set, is the one with which the simulated exchange has the measured ratio.
    Hosts outside of clusters have none, nor hosts that differ: a shift among them is limited by a
    trunk or a slow cable.
    """
    contention = measure_contention(measurements)
    alike = switches is None or switches.is_uniform
    if contention is None or not contention.is_host_bound or not alike:
        return contention, None
    if not file.set_limiters(hosts, 2 * route.bandwidth):
        return contention, None

    def simulated(limiter: float) -> float:
        file.set_limiters(hosts, limiter)
        platform = file.load()
        one, both = (simulate_rate(platform, hosts, _EXCHANGED, n) for n in (1, 2))
        return both / one

    found = limiter_bandwidth(contention.ratio, route.bandwidth, simulated)
    file.set_limiters(hosts, found)
    return contention, found
