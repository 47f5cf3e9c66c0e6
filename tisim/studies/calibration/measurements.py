"""Measured times, as one frame for all file formats, and the curve of each operation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tisim.errors import InputError
from tisim.studies.calibration.line import Floats
from tisim.studies.calibration.readers import read_file

if TYPE_CHECKING:
    import pandas as pd

#: Largest relative half-width of the 95 % interval of a well-known median.
WELL_KNOWN = 0.03
#: Maximum relative error of simulated times whose measurements are well known.
AGREEMENT = 0.05


def median_rank(count: int) -> int:
    """Return the rank, from either end, of the values that bound the 95 % interval of the median.

    The interval is bounded by two order statistics, for any distribution of the values (Hahn &
    Meeker, Statistical Intervals, 1991): the number of values below the median is binomial, as for
    coin tosses. 0 for fewer than 6 values.
    """
    from scipy.stats import binom

    return int(binom.ppf(0.025, count, 0.5))


# With fewer times, no two of them bound the median meaningfully.
_MIN_TIMES = 5


def median_half_width(seconds: Floats) -> float:
    """Half-width of the 95 % confidence interval of the median, relative to the median.

    The larger of both sides is used. For five times it spans all of them, which is the 94 %
    interval; it is infinite for fewer.
    """
    ordered = np.sort(seconds)
    if len(ordered) < _MIN_TIMES:
        return float("inf")
    rank = max(median_rank(len(ordered)), 1)
    middle = float(np.median(ordered))
    return max(middle - float(ordered[rank - 1]), float(ordered[-rank]) - middle) / middle


# Lower bound of the time of a message in a stream: the stream's time per message over this.
_MAX_OVERLAP = 4.0


@dataclass(frozen=True)
class Curve:
    """Times of an operation over the message sizes: the median at each size.

    Parameters
    ----------
    operation
        One of `tisim.studies.calibration.readers.OPERATIONS`.
    nbytes, seconds
        Distinct sizes in ascending order, and the median time of each, shape ``(n,)``.
    counts
        Number of measured times at each size, shape ``(n,)``.
    half_widths
        Precision of each median (`median_half_width`), shape ``(n,)``; None if unknown.
    """

    operation: str
    nbytes: Floats
    seconds: Floats
    counts: NDArray[np.int64]
    half_widths: Floats | None = None

    @property
    def intervals(self) -> Floats:
        """Relative half-width of the 95 % interval of each median; infinite if unknown."""
        if self.half_widths is None:
            return np.full_like(self.seconds, np.inf)
        return self.half_widths

    @property
    def is_well_known(self) -> NDArray[np.bool_]:
        """Return for each size whether the median is well determined."""
        return np.asarray(self.intervals <= WELL_KNOWN)

    @property
    def weights(self) -> Floats:
        """Relative weight of each size, between 0 and 2.

        A size measured more often counts more, but at most twice as much as a usual one:
        repetitions at one size share its peculiarities.
        """
        return np.asarray(2.0 * self.counts / (self.counts + np.median(self.counts)))

    def part(self, inside: NDArray[np.bool_]) -> Curve:
        """Return the curve at some of its sizes."""
        return Curve(
            self.operation,
            self.nbytes[inside],
            self.seconds[inside],
            self.counts[inside],
            self.intervals[inside],
        )

    def at(self, nbytes: Floats) -> Floats:
        """Return times at `nbytes`, interpolated on logarithms between sizes, in seconds."""
        known = np.log(self.nbytes + 1.0)
        return np.exp(np.interp(np.log(nbytes + 1.0), known, np.log(self.seconds)))


@dataclass(frozen=True)
class Measurements:
    """Measured times and remarks on them.

    Parameters
    ----------
    frame
        One row per measured time: ``operation`` (str, see `Curve`), ``bytes`` (int), ``seconds``
        (float, positive), ``pairs`` and ``directions`` (int), ``pattern`` (str, of a transfer:
        pairs, shift, incast or fan-out), ``host``, ``peer`` and ``round`` (of all pairs, see
        `tisim.studies.calibration.switches`), ``messages`` (int: their total number, or the number
        of arrived ones), ``idle`` (float: seconds since the process's previous call ended, nan if
        unknown), ``file`` (str).
    remarks
        Information for the user: unused rows, measurements within one host.
    inside
        Rows of two processes on one host, if there are others.
    library
        Version string of the measured MPI library; None if no file has it.
    """

    frame: pd.DataFrame
    remarks: tuple[str, ...] = ()
    inside: pd.DataFrame | None = None
    library: str | None = None

    def with_remark(self, remark: str) -> Measurements:
        """Return the measurements with an additional remark."""
        return replace(self, remarks=(*self.remarks, remark))

    def has(self, operation: str) -> bool:
        """Return whether any time of `operation` was measured."""
        return bool((self.frame["operation"] == operation).any())

    def curve(self, operation: str) -> Curve:
        """Return the median time at each size of `operation`.

        Raises
        ------
        InputError
            If fewer than two sizes were measured.
        """
        rows = self.frame[self.frame["operation"] == operation]
        groups = rows.groupby("bytes", sort=True)["seconds"]
        medians, counts = groups.median(), groups.size()
        if len(medians) < 2:
            sizes = "no size" if medians.empty else f"a single size, {medians.index[0]} bytes,"
            raise InputError(
                f"{sizes} of {operation} was measured; a start-up time and a time per byte need at "
                "least two sizes, and good ones fifty, from 1 byte to the largest message",
                file=None if rows.empty else str(rows["file"].iloc[0]),
            )
        return Curve(
            operation,
            medians.index.to_numpy(dtype=np.float64),
            medians.to_numpy(dtype=np.float64),
            counts.to_numpy(dtype=np.int64),
            np.array([median_half_width(times.to_numpy()) for _, times in groups]),
        )


def read_measurements(files: Iterable[str | PathLike[str]]) -> Measurements:
    """Read measurement files of any known format, recognised by content.

    Parameters
    ----------
    files
        SKaMPI, OSU, IMB, platform-calibration or tisim's own files, in any mixture.

    Raises
    ------
    InputError
        If a file has an unknown format, is damaged or empty, or none of the files contains a usable
        measurement.
    """
    import pandas as pd

    frames, remarks = [], []
    libraries: dict[str, None] = {}
    for file in files:
        path = Path(file)
        samples, own_remarks, library = read_file(path)
        remarks.extend(own_remarks)
        if library is not None:
            libraries[library] = None
        if samples:
            part = pd.DataFrame(samples).rename(columns={"nbytes": "bytes"})
            frames.append(part.assign(file=str(path)))
    if not frames:
        raise InputError("these files contain no measurement that calibration uses")
    if len(libraries) > 1:
        raise InputError(
            f"these files were measured with different MPI libraries: {'; '.join(libraries)}; "
            "calibrate with the files of one library"
        )
    frame = pd.concat(frames, ignore_index=True)
    frame = _without_zeros(frame, remarks)
    frame, inside = _between_hosts(frame, remarks)
    between, within = (_each_message(part).drop(columns="same_host") for part in (frame, inside))
    return Measurements(
        between, tuple(remarks), None if within.empty else within, next(iter(libraries), None)
    )


def _each_message(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with the time per further message in place of that of the whole stream.

    Beyond its further messages, a stream takes one ping-pong: the first message and the answer.
    """
    is_stream = frame["operation"] == "stream"
    if not is_stream.any():
        return frame
    streams = frame[is_stream]
    further = np.maximum(streams["messages"] - 1, 1)
    first = np.zeros(len(streams))
    pings = frame[frame["operation"] == "pingpong"].groupby("bytes")["seconds"].median()
    if len(pings):
        known = pings.index.to_numpy(dtype=np.float64)
        first = np.interp(streams["bytes"], known, pings) + float(pings.iloc[0])
    # A stream hardly longer than one message shows only that the other messages are short.
    least = streams["seconds"] / (_MAX_OVERLAP * streams["messages"])
    seconds = np.maximum((streams["seconds"] - first) / further, least)
    changed = frame["seconds"].copy()
    changed[is_stream] = seconds
    return frame.assign(seconds=changed)


def _without_zeros(frame: pd.DataFrame, remarks: list[str]) -> pd.DataFrame:
    """Drop times that the clock could not resolve; they have no logarithm."""
    zeros = frame["seconds"] == 0
    if zeros.all():
        raise InputError("every measured time is zero: the clock is too coarse")
    if zeros.any():
        remarks.append(f"{zeros.sum()} zero times are ignored: the clock is too coarse")
    return frame[~zeros]


def _between_hosts(frame: pd.DataFrame, remarks: list[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the measurements between hosts, and those within one if there are others."""
    inside = frame["same_host"].eq(True)
    if inside.all():
        remarks.append(
            "both processes were on one host: this calibrates the host's loopback, not the network"
        )
        inside = ~inside
    elif inside.any():
        remarks.append(
            f"intra-node measurements mixed in: {inside.sum()} of {len(frame)} times are between "
            "processes of the same host; their ping-pongs are used for the loopback"
        )
    return frame[~inside], frame[inside]
