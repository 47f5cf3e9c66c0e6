"""Sets of parameters drawn from the measurements behind a calibration.

A bootstrap (Efron, Ann. Stat. 7, 1979): the repetitions of each size are resampled with
replacement, and the lines are fitted again between the same breakpoints. This covers the
uncertainty of the medians. Programs also experience differences from run to run, which affect all
sizes of a run alike: each set has the bandwidth of one of the measured concurrent transfers,
relative to the others of its pattern and size, and start-up times between those back to back and
those after idling.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tisim.studies.calibration.calibration import settings
from tisim.studies.calibration.contention import two_modes
from tisim.studies.calibration.factors import ENVELOPE, Factor, seconds_of_controls
from tisim.studies.calibration.piecewise import Piecewise, Segment, fit_piecewise
from tisim.studies.calibration.separation import Network
from tisim.studies.uncertainty.replays import ParameterSets

if TYPE_CHECKING:
    from tisim.studies.calibration.calibration import Calibration
    from tisim.studies.calibration.line import Floats
    from tisim.studies.calibration.measurements import Measurements

#: Number of sets that `tisim calibrate` stores.
DEFAULT_SETS = 20
# Quantiles outside of which rates of repeated transfers count as outliers.
_TAILS = (0.05, 0.95)
# Largest message in bytes whose start-up time depends on idling.
_SMALL = 4096


def draw_sets(
    found: Calibration,
    count: int = DEFAULT_SETS,
    seed: int = 0,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> ParameterSets:
    """Draw sets of parameters.

    Parameters
    ----------
    found
        A calibration.
    count
        Number of sets.
    seed
        Random seed.
    progress
        Called before each set, with the number of finished sets and the total number.
    """
    random = np.random.default_rng(seed)
    rates = _relative_rates(found.measurements)
    slowest = _idle_ratio(found.measurements)
    sets = []
    for number in range(count):
        progress(number, count)
        resampled = _resampled(found.measurements, random)
        rate = float(random.choice(rates))
        startup = float(np.exp(random.uniform(*sorted((0.0, np.log(slowest))))))
        sets.append(_refitted(found, resampled, rate, startup))
    files = dict.fromkeys(Path(str(name)).name for name in found.measurements.frame.get("file", ()))
    return ParameterSets(seed, tuple(sets), measured=tuple(files), options=found.config)


def _resampled(measured: Measurements, random: np.random.Generator) -> Measurements:
    """Return the measurements with the repetitions of each size resampled."""
    rows = measured.frame.groupby(["operation", "bytes"], sort=False).indices.values()
    drawn = np.concatenate([random.choice(own, len(own)) for own in rows])
    return replace(measured, frame=measured.frame.iloc[np.sort(drawn)].reset_index(drop=True))


def _refitted(
    found: Calibration, measured: Measurements, rate: float, startup: float
) -> dict[str, str]:
    """Return the options of a set.

    The breakpoints and thresholds are those of `found`; `rate` and `startup` are the bandwidth and
    the latencies relative to those of the ping-pong.
    """
    overheads = found.overheads
    ratios = {
        name: _ratio(found.measurements, measured, name)
        for name in ("send", "isend", "recv", "pingpong")
    }
    drawn = replace(
        overheads,
        send=_scaled(overheads.send, ratios["send"]),
        isend=_scaled(overheads.isend, ratios["isend"]),
        recv=_scaled(overheads.recv, ratios["recv"]),
        send_in_messages=_scaled(overheads.send_in_messages, ratios["send"]),
        recv_in_messages=_scaled(overheads.recv_in_messages, ratios["recv"]),
    )
    curve = measured.curve("pingpong")
    lines = found.transfer
    network = Network.of(found.route.bandwidth, found.route.latency, curve, ENVELOPE, found.burst)
    if all(segment.line.sizes >= _MIN_SIZES for segment in lines.segments):
        lines = fit_piecewise(
            curve,
            breakpoints=lines.breakpoints,
            offset=drawn.seconds_per_message(curve.nbytes)
            + seconds_of_controls(curve, drawn, found.library.controls)
            - network.burst_saving(curve.nbytes),
            least_slope=1.0 / network.bandwidth,
        )
    else:  # pieces of a few sizes are scaled like the medians
        scaled = _scaled(lines, ratios["pingpong"])
        assert scaled is not None
        lines = scaled
    return settings(drawn, [_factor(found, segment, rate, startup) for segment in lines.segments])


# Minimum number of sizes of a line to be fitted again.
_MIN_SIZES = 4


def _factor(found: Calibration, segment: Segment, rate: float, startup: float) -> Factor:
    route, line = found.route, segment.line
    latency = max(line.intercept - ENVELOPE * line.slope, 0.0) / route.latency
    bandwidth = min(1.0 / (line.slope * route.bandwidth), 1.0) if line.slope > 0 else 1.0
    return Factor(segment.above, latency * startup, min(bandwidth * rate, 1.0))


def _ratio(before: Measurements, after: Measurements, operation: str) -> Callable[[Segment], float]:
    """Return a function: ratio of an operation's times in a segment, from the medians of sizes."""
    if not before.has(operation):
        return lambda segment: 1.0
    old, new = before.curve(operation), after.curve(operation)
    logs = np.log(new.seconds / old.seconds)

    def ratio(segment: Segment) -> float:
        inside = (old.nbytes >= segment.first) & (old.nbytes <= segment.last)
        # The errors of the sizes are independent; a line has two coefficients.
        return float(np.exp(logs[inside].mean())) if inside.any() else 1.0

    return ratio


def _scaled(lines: Piecewise | None, ratio: Callable[[Segment], float]) -> Piecewise | None:
    if lines is None:
        return None
    segments = []
    for segment in lines.segments:
        line, factor = segment.line, ratio(segment)
        line = replace(line, intercept=line.intercept * factor, slope=line.slope * factor)
        segments.append(replace(segment, line=line))
    return replace(lines, segments=tuple(segments))


def _relative_rates(measured: Measurements) -> Floats:
    """Return the variation of concurrent transfers' bandwidth between runs of a pattern and size.

    Bimodal ones are omitted: there, ranks wait for each other, which is simulated.
    """
    frame = measured.frame
    rows = frame[frame["operation"] == "transfer"]
    kinds = [rows[name] for name in ("bytes", "pairs", "directions", "pattern") if name in rows]
    groups = [] if rows.empty else [times.to_numpy() for _, times in rows["seconds"].groupby(kinds)]
    relative = [np.median(times) / times for times in groups if two_modes(times) is None]
    if not relative:
        return np.ones(1)
    every = np.concatenate(relative)
    return np.asarray(np.clip(every, *np.quantile(every, _TAILS)))


def _idle_ratio(measured: Measurements) -> float:
    """Return the ratio of small ping-pongs after idling to those back to back."""
    frame = measured.frame
    small = frame[frame["bytes"] <= _SMALL]
    medians = small.groupby(["operation", "bytes"])["seconds"].median()
    operations = medians.index.get_level_values("operation")
    if not {"idle_pingpong", "pingpong"} <= set(operations):
        return 1.0
    ratios = (medians["idle_pingpong"] / medians["pingpong"]).dropna()
    return float(ratios.median()) if len(ratios) else 1.0
