"""The whole way from measured times to a configured platform, each step of which stands alone."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tisim.calibration.advice import advise
from tisim.calibration.changes import Change, explain
from tisim.calibration.contention import Contention, limiter_bandwidth, measure_contention
from tisim.calibration.factors import Factor, Route, factors_of, fit_transfer, tables
from tisim.calibration.idle import at_usual_idleness
from tisim.calibration.measurements import Measurements
from tisim.calibration.overheads import Overheads, fit_overheads
from tisim.calibration.piecewise import Piecewise
from tisim.calibration.platform_file import PlatformFile, config_block
from tisim.calibration.route import route_between
from tisim.calibration.simulation import simulate, simulate_rate
from tisim.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from tisim.platform import Platform

#: Tells how far the work is: a step's name, the steps done, the steps in all.
Progress = Callable[[str, int, int], None]

# The largest message of a simulated exchange: long enough that its latency does not matter.
_EXCHANGED = 1 << 26
# Lines over the sizes and the effect of idling are found in turn, so many times.
_IDLE_TURNS = 2


@dataclass(frozen=True)
class Calibration:
    """Parameters found from measurements, and the platform that has them.

    Parameters
    ----------
    measurements
        What was measured, less what idling before a receive did to its time.
    route
        Nominal latency and bandwidth between the hosts that measured.
    overheads
        Software overheads and protocol thresholds.
    transfer
        What is left of a message without them.
    contention
        What both directions of a link reach together; None if that was not measured.
    hosts
        The two hosts of the platform that stand for those that measured.
    limiter
        Bandwidth of the limiter links in bytes/s; None if contention was not measured or the hosts
        are in no cluster.
    platform
        The platform with the calibrated configuration.
    """

    measurements: Measurements
    route: Route
    overheads: Overheads
    transfer: Piecewise
    contention: Contention | None
    hosts: tuple[str, str]
    limiter: float | None
    platform: PlatformFile = field(repr=False)

    @property
    def factors(self) -> tuple[Factor, ...]:
        """Latency and bandwidth factors of each class of sizes."""
        return factors_of(self.transfer, self.route)

    @cached_property
    def config(self) -> dict[str, str]:
        """Configuration keys and values, as they stand in a ``<config>``."""
        return settings(self.overheads, self.factors)

    @property
    def config_block(self) -> str:
        """The configuration as a ``<config>`` block."""
        return config_block(self.config)

    @property
    def fits(self) -> tuple[Piecewise, ...]:
        """Every curve that was fitted, the transfer first."""
        found = (self.transfer, self.overheads.send, self.overheads.isend, self.overheads.recv)
        return tuple(fit for fit in found if fit is not None)

    @property
    def changes(self) -> tuple[Change, ...]:
        """Every breakpoint of every operation and what happens there."""
        return explain(self.fits, self.overheads.thresholds)

    def segments(self) -> pd.DataFrame:
        """One row a segment of each operation; see `Piecewise.frame`."""
        import pandas as pd

        frame = pd.concat([fit.frame() for fit in self.fits], ignore_index=True)
        own = frame["operation"] == self.transfer.operation
        frame.loc[own, "latency_factor"] = [factor.latency for factor in self.factors]
        frame.loc[own, "bandwidth_factor"] = [factor.bandwidth for factor in self.factors]
        return frame

    @cached_property
    def simulated(self) -> pd.DataFrame:
        """The measured calls as tisim simulates them on the calibrated platform.

        One row a size that a ping-pong was measured at, plus those of the other calls: ``bytes``,
        and in seconds ``pingpong`` (one way), ``send``, ``isend``, ``recv``.
        """
        frame = self.measurements.frame
        used = frame[frame["operation"].isin(["pingpong", "send", "isend", "recv"])]
        return simulate(load(self.platform), self.hosts, sorted(used["bytes"].unique()))

    def errors(self) -> pd.DataFrame:
        """Relative error of the simulated times, at each size of each operation.

        Columns ``operation``, ``bytes``, ``above_bytes`` (the segment), ``measured`` (median, in
        seconds; of receives after the usual idle time), ``simulated`` and ``error``, which is
        ``simulated / measured - 1``.
        """
        import pandas as pd

        parts = []
        for fit in self.fits:
            curve = self.measurements.curve(fit.operation)
            rows = self.simulated.set_index("bytes").loc[curve.nbytes.astype(int), fit.operation]
            starts = np.array([0, *fit.breakpoints])
            place = np.searchsorted(np.array(fit.breakpoints), curve.nbytes, side="left")
            parts.append(
                pd.DataFrame(
                    {
                        "operation": fit.operation,
                        "bytes": curve.nbytes.astype(int),
                        "above_bytes": starts[place],
                        "measured": curve.seconds,
                        "simulated": rows.to_numpy(),
                        "error": rows.to_numpy() / curve.seconds - 1,
                    }
                )
            )
        return pd.concat(parts, ignore_index=True)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """What practice has taught to look out for in these measurements."""
        return advise(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything found, as plain numbers, lists and dicts: what `to_json` writes."""
        thresholds, contention = self.overheads.thresholds, self.contention
        return {
            "config": self.config,
            "route": {"latency_s": self.route.latency, "bandwidth_Bps": self.route.bandwidth},
            "thresholds": thresholds and vars(thresholds),
            "segments": [_known(row) for row in self.segments().to_dict("records")],
            "breakpoints": [vars(change) for change in self.changes],
            "contention": contention
            and {
                "fraction": contention.fraction,
                "measured_ratio": contention.measured_ratio,
                "limiter_Bps": self.limiter,
                "rates": contention.rates.to_dict("records"),
            },
            "errors": self.errors().to_dict("records"),
            "warnings": list(self.warnings),
        }

    def to_json(self) -> str:
        """Everything found, as JSON, numbers in full precision."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)


def _known(row: dict[str, Any]) -> dict[str, Any]:
    """A row with None for what is not known: an open interval, a factor of what has none."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in row.items()
    }


def settings(overheads: Overheads, found: Sequence[Factor]) -> dict[str, str]:
    """The configuration that overheads and factors amount to, in the order of a ``<config>``."""
    thresholds = overheads.thresholds
    protocol = (
        {}
        if thresholds is None
        else {
            "smpi/async-small-thresh": str(thresholds.async_small),
            "smpi/send-is-detached-thresh": str(thresholds.detached),
        }
    )
    return {"network/model": "SMPI", **protocol, **overheads.tables(), **tables(found)}


def load(file: PlatformFile) -> Platform:
    """The platform of a file in the making."""
    from tisim import Platform

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "platform.xml"
        file.write(path)
        return Platform.load(path)


def calibrate(
    measurements: Measurements,
    *,
    platform: str | PathLike[str] | None = None,
    hosts: tuple[str, str] | None = None,
    bandwidth: float | None = None,
    latency: float | None = None,
    links: int = 2,
    breakpoints: Sequence[int] | None = None,
    progress: Progress = lambda step, done, steps: None,
) -> Calibration:
    """Find the parameters with which the simulator reproduces measured times.

    Parameters
    ----------
    measurements
        From `read_measurements`; ping-pongs must be among them.
    platform
        A platform file with nominal values. Or else `bandwidth` and `latency`.
    hosts
        The two hosts of the platform that stand for those that measured; its first two if None.
    bandwidth, latency, links
        Nominal bandwidth in bytes/s and latency in seconds of one link, and the number of links
        between the two hosts.
    breakpoints
        Message sizes in bytes above which another segment begins; found in the times if None.
    progress
        Called before each step.

    Raises
    ------
    InputError
        If the measurements do not suffice, or the nominal values are missing or contradictory.
    """
    steps = ("overheads", "nominal route", "transfers", "contention", "simulation", "done")

    def tell(step: str) -> None:
        progress(step, steps.index(step), len(steps) - 1)

    if not measurements.has("pingpong"):
        raise InputError(
            "no ping-pong among the measurements, and only that shows what the network takes; add "
            "one (osu_latency, IMB PingPong, a SKaMPI Pingpong_Send_Recv, 'tisim benchmark')"
        )
    measurements = _with_outside(measurements, breakpoints or ())
    tell("overheads")
    measurements, overheads = _fit_overheads(measurements, breakpoints)
    tell("nominal route")
    file, pair, route = _nominal(platform, hosts, bandwidth, latency, links)
    tell("transfers")
    transfer = fit_transfer(measurements.curve("pingpong"), overheads, breakpoints)
    file.configure(settings(overheads, factors_of(transfer, route)))
    tell("contention")
    contention = measure_contention(measurements)
    limiter = None if contention is None else _limit(file, pair, route, contention)
    tell("simulation")
    result = Calibration(measurements, route, overheads, transfer, contention, pair, limiter, file)
    _ = result.simulated
    tell("done")
    return result


def _fit_overheads(
    measurements: Measurements, breakpoints: Sequence[int] | None
) -> tuple[Measurements, Overheads]:
    """The overheads, and the measurements without what idling did to them."""
    overheads = fit_overheads(measurements, breakpoints)
    used = measurements
    for _ in range(_IDLE_TURNS):
        corrected = at_usual_idleness(measurements, overheads)
        if corrected is None:
            break
        used = corrected
        overheads = fit_overheads(used, breakpoints)
    return used, overheads


def _with_outside(measurements: Measurements, breakpoints: Sequence[int]) -> Measurements:
    """The measurements, with a remark about breakpoints where nothing was measured."""
    sizes = measurements.curve("pingpong").nbytes
    outside = [size for size in breakpoints if not sizes[0] <= size < sizes[-1]]
    if not outside:
        return measurements
    remark = (
        f"no ping-pong was measured on both sides of {', '.join(map(str, outside))} bytes: these "
        f"breakpoints are not used (measured: {sizes[0]:.0f} to {sizes[-1]:.0f} bytes)"
    )
    return Measurements(measurements.frame, (*measurements.remarks, remark))


def _nominal(
    platform: str | PathLike[str] | None,
    hosts: tuple[str, str] | None,
    bandwidth: float | None,
    latency: float | None,
    links: int,
) -> tuple[PlatformFile, tuple[str, str], Route]:
    """The platform file to complete, the two hosts that measured, and the route between them."""
    if platform is not None:
        if bandwidth is not None or latency is not None:
            raise InputError(
                "the nominal bandwidth and latency come from the platform or from the options "
                "--bandwidth and --latency; give one of both"
            )
        file = PlatformFile.read(platform)
        loaded = load_from(platform)
        pair = hosts if hosts is not None else _first_two(loaded, platform)
        return file, pair, route_between(loaded, pair)
    if bandwidth is None or latency is None:
        raise InputError(
            "factors are relative to nominal values: give a platform file (--platform), or the "
            "bandwidth and latency of a link (--bandwidth 125MBps --latency 15us --links 2)"
        )
    if links < 1:
        raise InputError(f"there is at least one link between two hosts, not {links}")
    if hosts is not None:
        raise InputError("hosts are those of a platform file; give --platform too")
    route = Route(links * latency, bandwidth)
    file = PlatformFile.nominal(route)
    return file, file.nominal_hosts, route


def load_from(path: str | PathLike[str]) -> Platform:
    """A platform as it stands in its file (its own includes are relative to it)."""
    from tisim import Platform

    return Platform.load(path)


def _first_two(platform: Platform, path: str | PathLike[str]) -> tuple[str, str]:
    names = [host.name for host in platform.hosts[:2]]
    if len(names) < 2:
        raise InputError("a ping-pong needs two hosts; this platform has one", file=path)
    return names[0], names[1]


def _limit(
    file: PlatformFile, hosts: tuple[str, str], route: Route, contention: Contention
) -> float | None:
    """Find the limiter with which the simulated exchange reaches the measured ratio; set it.

    Returns its bandwidth, or None if the hosts are in no cluster.
    """
    if not file.limit(hosts, 2 * route.bandwidth):
        return None

    def simulated(limiter: float) -> float:
        file.limit(hosts, limiter)
        platform = load(file)
        one, both = (simulate_rate(platform, hosts, _EXCHANGED, n) for n in (1, 2))
        return both / one

    found = limiter_bandwidth(contention.ratio, route.bandwidth, simulated)
    file.limit(hosts, found)
    return found
