"""Results of a calibration."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tisim.studies.calibration.contention import Contention
from tisim.studies.calibration.factors import Factor, Route, factors_of, tables
from tisim.studies.calibration.library import LibraryFacts, library_facts
from tisim.studies.calibration.loopback import Loopback
from tisim.studies.calibration.measurements import AGREEMENT, Measurements
from tisim.studies.calibration.overheads import Overheads, Thresholds
from tisim.studies.calibration.piecewise import Piecewise, Segment
from tisim.studies.calibration.platform_file import PlatformFile, config_block
from tisim.studies.calibration.switches import Switches, Weight
from tisim.support.quantities import format_bytes, format_time
from tisim.support.tables import html_facts

if TYPE_CHECKING:
    import pandas as pd

_CALLS = {"send": "MPI_Send", "isend": "MPI_Isend", "recv": "MPI_Recv", "pingpong": "transfer"}
# Smallest relative change that is reported.
_NOTABLE = 0.05


@dataclass(frozen=True)
class Change:
    """One breakpoint of one operation."""

    operation: str  # operation whose time changes
    above: int  # breakpoint in bytes: larger messages belong to the next segment
    # after, before: measured sizes on its two sides, in bytes
    after: int
    before: int
    jump: float  # relative jump of the time at the breakpoint
    explanation: str  # description of the change


def explain(fits: Iterable[Piecewise], thresholds: Thresholds | None) -> tuple[Change, ...]:
    """Explain every breakpoint of some curves, in ascending order of size."""
    changes = []
    for fit in fits:
        for old, new in pairwise(fit.segments):
            if new.piece <= 1:  # pieces of a segment do not change the protocol
                changes.append(_change(fit.operation, old, new, thresholds))
    return tuple(sorted(changes, key=lambda change: (change.above, change.operation)))


def _change(operation: str, old: Segment, new: Segment, thresholds: Thresholds | None) -> Change:
    at = np.array([float(new.above)])
    before, after = old.line.seconds(at)[0], new.line.seconds(at)[0]
    jump = float(after / before - 1) if before > 0 else float("inf")
    words = [*_protocol(operation, new.above, thresholds), *_numbers(operation, old, new, jump)]
    return Change(operation, new.above, old.last, new.first, jump, "; ".join(words))


def _protocol(operation: str, above: int, thresholds: Thresholds | None) -> list[str]:
    """Return the protocol changes at a breakpoint."""
    if thresholds is None:
        return []
    words = []
    if above == thresholds.detached - 1:
        words.append(
            "MPI_Send starts to wait for the receiver"
            if operation == "send"
            else "from eager to rendezvous"
        )
    elif above == thresholds.async_small - 1:
        words.append("nothing arrives before its receive is posted")
    elif above >= thresholds.detached and operation == "send":
        words.append("MPI_Send already waits: not in smpi/os")
    return words


def _numbers(operation: str, old: Segment, new: Segment, jump: float) -> list[str]:
    words = []
    if abs(jump) > _NOTABLE:
        words.append(f"{_CALLS[operation]} takes {_relative(jump)} at once")
    if old.line.slope > 0 and new.line.slope > 0:
        ratio = new.line.slope / old.line.slope
        if abs(ratio - 1) > _NOTABLE:
            words.append(f"each further byte takes {ratio:.2g} times as long")
    elif old.line.slope != new.line.slope:
        grows = new.line.slope > 0
        words.append(
            f"from here on, the time {'grows' if grows else 'does not grow'} with the size"
        )
    return words or ["a small change in the start-up time"]


def _relative(change: float) -> str:
    if change > 1:
        return f"{1 + change:.3g} times as long"
    return f"{abs(change):.0%} {'more' if change > 0 else 'less'}"


@dataclass(frozen=True)
class Calibration:
    """Parameters determined from measurements, and the platform that has them.

    Parameters
    ----------
    measurements
        The measurements, less the effect of idling before a receive on its time.
    route
        Nominal latency and bandwidth between the measuring hosts.
    overheads
        Software overheads and protocol thresholds.
    transfer
        Time of a message without the overheads.
    contention
        Joint bandwidth of both directions of a link; None if it was not measured.
    hosts
        The two hosts of the platform that represent the measuring hosts.
    limiter
        Bandwidth of the limiter links in bytes/s; None if contention was not measured or the hosts
        belong to no cluster.
    platform
        The platform with the calibrated configuration.
    simulated
        The measured calls as simulated on the calibrated platform. One row per size of a ping-pong
        or another call: ``bytes``, and in seconds ``pingpong`` (one way), ``send``, ``isend``,
        ``recv``.
    burst
        Bytes that the links pass without delay (burst); 0 if the measurements show none.
    loopback
        The link within a host; None if no ping-pong was measured there.
    switches
        Network of all measuring hosts; None if not all of their pairs were measured.
    weight
        Evidence for ``network/weight-S``; None if it was not determined.
    warnings
        Reasons to distrust this calibration (`tisim.studies.calibration.advice`).
    """

    measurements: Measurements
    route: Route
    overheads: Overheads
    transfer: Piecewise
    contention: Contention | None
    hosts: tuple[str, str]
    limiter: float | None
    platform: PlatformFile = field(repr=False)
    simulated: pd.DataFrame = field(repr=False, compare=False)
    warnings: tuple[str, ...] = ()
    burst: float = 0.0
    loopback: Loopback | None = None
    switches: Switches | None = None
    weight: Weight | None = None

    @property
    def factors(self) -> tuple[Factor, ...]:
        """Latency and bandwidth factors of each class of sizes."""
        return factors_of(self.transfer, self.route)

    @cached_property
    def config(self) -> dict[str, str]:
        """Configuration keys and values, as in a ``<config>``."""
        return settings(self.overheads, self.factors, self.loopback)

    @property
    def config_block(self) -> str:
        """The configuration to paste: a ``<config>`` block, and properties of a zone."""
        return config_block(self.config, self.library.options())

    @property
    def library(self) -> LibraryFacts:
        """Findings about the MPI library."""
        return library_facts(self.measurements)

    @property
    def fits(self) -> tuple[Piecewise, ...]:
        """All fitted curves, the transfer first."""
        fits = (self.transfer, self.overheads.send, self.overheads.isend, self.overheads.recv)
        return tuple(fit for fit in fits if fit is not None)

    @property
    def changes(self) -> tuple[Change, ...]:
        """Every breakpoint of every operation, with an explanation."""
        return explain(self.fits, self.overheads.thresholds)

    def segments(self) -> pd.DataFrame:
        """Return one row per segment of each operation; see `Piecewise.frame`."""
        import pandas as pd

        frame = pd.concat([fit.frame() for fit in self.fits], ignore_index=True)
        own = frame["operation"] == self.transfer.operation
        frame.loc[own, "latency_factor"] = [factor.latency for factor in self.factors]
        frame.loc[own, "bandwidth_factor"] = [factor.bandwidth for factor in self.factors]
        return frame

    def errors(self) -> pd.DataFrame:
        """Return the relative error of the simulated times at each size of each operation.

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

    def failing(self) -> pd.DataFrame:
        """Return the sizes at which the simulated ping-pong misses a well-known median.

        Rows of `errors` where the error exceeds 5 % although the 95 % interval of the measured
        median is within 3 %.
        """
        errors = self.errors()
        own = errors[errors["operation"] == "pingpong"]
        known = self.measurements.curve("pingpong").is_well_known
        return own[known & (own["error"].abs() > AGREEMENT).to_numpy()]

    def _repr_html_(self) -> str:
        errors = self.errors()["error"].abs()
        rows = [
            ("hosts", " and ".join(self.hosts)),
            ("latency of the route", format_time(self.route.latency)),
            ("bandwidth of the route", f"{format_bytes(self.route.bandwidth)}/s"),
            ("error of simulated times", f"median {errors.median():.1%}, worst {errors.max():.1%}"),
            ("warnings", "; ".join(self.warnings) or "none"),
        ]
        return html_facts("Calibration", rows)

    def to_dict(self) -> dict[str, object]:
        """Return all findings as plain numbers, lists and dicts: the content of `to_json`."""
        thresholds, contention = self.overheads.thresholds, self.contention
        return {
            "config": self.config,
            "library": self.library.name,
            "options": self.library.options(),
            "route": {"latency_s": self.route.latency, "bandwidth_Bps": self.route.bandwidth},
            "burst_bytes": self.burst,
            "loopback": None if self.loopback is None else vars(self.loopback),
            "network": None if self.switches is None else asdict(self.switches),
            "thresholds": None if thresholds is None else vars(thresholds),
            "segments": [_known(row) for row in self.segments().to_dict("records")],
            "breakpoints": [vars(change) for change in self.changes],
            "contention": None
            if contention is None
            else {
                "fraction": contention.fraction,
                "measured_ratio": contention.measured_ratio,
                "limiter_Bps": self.limiter,
                "rates": contention.rates.to_dict("records"),
                "patterns": [
                    {
                        "pattern": pattern.name,
                        "rate": pattern.rate,
                        "best": pattern.best,
                        "modes": [
                            {"bytes": nbytes, **vars(mode)}
                            for nbytes, modes in pattern.modes.items()
                            for mode in modes
                        ],
                    }
                    for pattern in contention.patterns
                ],
            },
            "errors": self.errors().to_dict("records"),
            "failing_sizes": self.failing()["bytes"].astype(int).tolist(),
            "warnings": list(self.warnings),
        }

    def to_json(self) -> str:
        """Return all findings as JSON, with numbers in full precision."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)


def _known(row: dict[str, object]) -> dict[str, object]:
    """Return a row with None for unknown values: an open interval, a missing factor."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in row.items()
    }


def settings(
    overheads: Overheads, found: Sequence[Factor], loopback: Loopback | None = None
) -> dict[str, str]:
    """Return the configuration for overheads and factors, in the order of a ``<config>``."""
    thresholds = overheads.thresholds
    protocol = (
        {}
        if thresholds is None
        else {
            "smpi/async-small-thresh": str(thresholds.async_small),
            "smpi/send-is-detached-thresh": str(thresholds.detached),
        }
    )
    inside = {} if loopback is None else loopback.settings()
    return {
        "network/model": "SMPI",
        **protocol,
        **overheads.tables(),
        **tables(found),
        **inside,
    }
