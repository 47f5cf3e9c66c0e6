"""Speed of hosts from timed computations.

`read_timed` reads them, `calibrate_cpu` computes instructions/s, `complete` writes a platform file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from tisim.errors import InputError
from tisim.platform.host_properties import SPEED_DEVIATION
from tisim.studies.calibration.line import Floats
from tisim.studies.calibration.platform_file import PlatformFile
from tisim.studies.calibration.readers import Text, read_text

if TYPE_CHECKING:
    import pandas as pd

    from tisim.traces.trace import Trace


# A host has a single speed in the simulator. Real rates fall when the data of a rank outgrow its
# cache (Desprez et al., ICPP workshops 2011), so measurements distinguish classes of problems or
# working sets, and the rate to use is that of the program to be predicted.

#: Relative spread above which one rate does not fit.
TOLERATED_SPREAD = 0.10
# Minimum relative size of a step in the rate over working sets.
_STEP = 0.10
_Key = TypeVar("_Key", int, str)


@dataclass(frozen=True)
class Rate:
    """A speed and its precision.

    Parameters
    ----------
    what
        Scope of the rate: everything, a class, a range of working sets, a host.
    per_second
        Instructions (or flops) per second: total volume over total time, which preserves the total
        time of the measured computations.
    spread
        Relative standard deviation of the individual rates, weighted by time.
    computations
        Number of timed computations.
    column, low, high
        Scope of the rate: a column of the frame and the range of its values.
    """

    what: str
    per_second: float
    spread: float
    computations: int
    column: str | None = None
    low: str | float | None = None
    high: str | float | None = None

    def of(self, timed: pd.DataFrame) -> pd.DataFrame:
        """Return the timed computations within the scope of the rate."""
        if self.column is None:
            return timed
        return timed[timed[self.column].between(self.low, self.high)]


@dataclass(frozen=True)
class CpuCalibration:
    """Rates of a machine.

    Parameters
    ----------
    overall
        Rate of all computations.
    classes, working_sets, ranks, runs, hosts
        Rate of each class, range of working sets (the key is its upper end in bytes), rank, run and
        host, if the measurements distinguish them.
    """

    overall: Rate
    classes: dict[str, Rate]
    working_sets: dict[float, Rate]
    ranks: dict[int, Rate]
    runs: dict[str, Rate]
    hosts: dict[str, Rate]

    def rate_for(
        self, *, problem_class: str | None = None, working_set: float | None = None
    ) -> Rate:
        """Return the rate for a class of problems or a working set in bytes, else the overall one.

        Raises
        ------
        InputError
            If the class, or working sets, were not measured.
        """
        if problem_class is not None:
            if problem_class not in self.classes:
                known = ", ".join(self.classes) or "none"
                raise InputError(f"no class {problem_class!r} was measured; measured: {known}")
            return self.classes[problem_class]
        if working_set is not None:
            if not self.working_sets:
                raise InputError("the measurements have no column 'working_set'")
            fitting = [end for end in self.working_sets if working_set <= end]
            return self.working_sets[min(fitting) if fitting else max(self.working_sets)]
        return self.overall

    @property
    def warnings(self) -> tuple[str, ...]:
        """Scopes in which one rate does not fit."""
        warnings = []
        if self.overall.spread > TOLERATED_SPREAD:
            warnings.append(
                f"the rates spread by {self.overall.spread:.0%} about their mean: a single rate "
                "does not fit all computations" + self._remedy()
            )
        for name, group in (("ranks", self.ranks), ("runs", self.runs), ("hosts", self.hosts)):
            if between := _between(group):
                warnings.append(
                    f"the rates of {name} differ by {between[2]:.0%}: "
                    f"{between[0].per_second:.4g}/s in {between[0].what}, "
                    f"{between[1].per_second:.4g}/s in {between[1].what}"
                )
        return tuple(warnings)

    def _remedy(self) -> str:
        if len(self.classes) > 1:
            return "; choose the class of the program to predict (--class)"
        if len(self.working_sets) > 1:
            return "; choose the working set of a rank (--working-set)"
        return "; measure problem classes or working sets separately (columns class, working_set)"

    def frame(self) -> pd.DataFrame:
        """Return one row per rate, for each scope with several.

        Columns ``what``, ``per_second``, ``spread``, ``computations``.
        """
        import pandas as pd

        groups = (self.classes, self.working_sets, self.hosts, self.ranks, self.runs)
        apart = [rate for group in groups if len(group) > 1 for rate in group.values()]
        columns = ["what", "per_second", "spread", "computations"]
        return pd.DataFrame([vars(rate) for rate in (self.overall, *apart)], columns=columns)

    def to_dict(self) -> dict[str, object]:
        """All rates and warnings, as plain numbers, lists and dicts."""
        return {"rates": self.frame().to_dict("records"), "warnings": list(self.warnings)}


def _between(group: Mapping[str, Rate] | Mapping[int, Rate]) -> tuple[Rate, Rate, float] | None:
    """Return the slowest and fastest rate of a group and their relative difference, if notable."""
    if len(group) < 2:
        return None
    slow = min(group.values(), key=lambda rate: rate.per_second)
    fast = max(group.values(), key=lambda rate: rate.per_second)
    difference = fast.per_second / slow.per_second - 1
    return (slow, fast, difference) if difference > TOLERATED_SPREAD else None


def calibrate_cpu(timed: pd.DataFrame) -> CpuCalibration:
    """Compute instructions/s from timed computations.

    Parameters
    ----------
    timed
        From `tisim.studies.calibration.read_timed`.
    """
    sets: dict[float, Rate] = {}
    if "working_set" in timed:
        sets = _working_sets(timed)
    return CpuCalibration(
        overall=_rate("all computations", timed),
        classes=_groups(timed, "class", "class {}", str),
        working_sets=sets,
        ranks=_groups(timed, "rank", "rank {}", int),
        runs=_groups(timed, "run", "run {}", str),
        hosts=_groups(timed, "host", "host {}", str),
    )


def _rate(what: str, timed: pd.DataFrame) -> Rate:
    volume, seconds = timed["volume"].to_numpy(), timed["seconds"].to_numpy()
    mean = float(volume.sum() / seconds.sum())
    variance = float(seconds @ (volume / seconds / mean - 1) ** 2 / seconds.sum())
    return Rate(what, mean, float(np.sqrt(variance)), len(timed))


def _groups(timed: pd.DataFrame, column: str, what: str, key: type[_Key]) -> dict[_Key, Rate]:
    """Return the rate of each group of computations with equal values in a column, by value."""
    if column not in timed:
        return {}
    return {
        key(value): replace(_rate(what.format(value), part), column=column, low=value, high=value)
        for value, part in timed.groupby(column, sort=True)
    }


def _working_sets(timed: pd.DataFrame) -> dict[float, Rate]:
    """Return ranges of working sets with a rate each; the key is the upper end in bytes."""
    totals = timed.groupby("working_set", sort=True)[["volume", "seconds"]].sum()
    sets = totals.index.to_numpy(dtype=np.float64)
    logs = np.log(totals["volume"].to_numpy() / totals["seconds"].to_numpy())
    weights = totals["seconds"].to_numpy(dtype=np.float64)
    edges = [0, *_steps(logs, weights, 0, len(logs)), len(logs)]
    found: dict[float, Rate] = {}
    for first, end in pairwise(edges):
        low, high = sets[first], sets[end - 1]
        what = f"working sets of {_binary(low)}" + ("" if low == high else f" to {_binary(high)}")
        inside = timed[timed["working_set"].between(low, high)]
        found[float(high)] = replace(_rate(what, inside), column="working_set", low=low, high=high)
    return found


def _binary(nbytes: float) -> str:
    """Format bytes in binary units, such as 4 MiB."""
    power = min(int(np.log2(max(nbytes, 1)) // 10), 4)
    return f"{nbytes / 1024**power:.4g} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


def _steps(logs: Floats, weights: Floats, first: int, end: int) -> list[int]:
    """Return the places where the rate steps, by recursive division where the sides differ most."""
    best, place = 0.0, None
    for middle in range(first + 1, end):
        left, right = weights[first:middle], weights[middle:end]
        difference = np.average(logs[first:middle], weights=left) - np.average(
            logs[middle:end], weights=right
        )
        # Reduction of the weighted sum of squared deviations by the step.
        gain = difference**2 * left.sum() * right.sum() / (left.sum() + right.sum())
        if gain > best and abs(difference) > _STEP:
            best, place = gain, middle
    if place is None:
        return []
    return [*_steps(logs, weights, first, place), place, *_steps(logs, weights, place, end)]


_NANOSECOND = 1e-9


def read_recorded(traces: Sequence[str | PathLike[str]]) -> pd.DataFrame:
    """Read the computations of recorded traces, each of which is a separate run.

    They are packed traces of ``tisim record --counter register,time`` or the like. Returns a row
    per computation: ``volume``, ``seconds`` (both positive), ``rank`` and ``run``. Raises
    `InputError` if a trace cannot be read, or has no times.
    """
    import pandas as pd

    from tisim.traces import Trace

    rows = [row for name in traces for row in _rows(Trace.open(name), str(name))]
    return pd.DataFrame(rows, columns=["volume", "seconds", "rank", "run"])


def _rows(trace: Trace, run: str) -> list[tuple[float, float, int, str]]:
    from tisim.traces import Kind
    from tisim.traces.counts import counter_names, counts_of

    if "time" not in counter_names(trace):
        raise InputError(
            "the trace lacks the durations of its computations; record it with a counter and time "
            "(tisim record --counter register,time), or give a file with --times",
            file=run,
        )
    rows = []
    for rank in range(trace.ranks):
        nanoseconds = dict(counts_of(trace, rank, "time"))
        for batch in trace.operations(rank, custom_actions=["unsupported"]):
            computes = batch[batch["kind"] == Kind.COMPUTE]
            for line, volume in zip(computes["line"], computes["amount"], strict=True):
                took = nanoseconds.get(int(line), 0)
                if took > 0 and volume > 0:
                    rows.append((float(volume), took * _NANOSECOND, rank, run))
    return rows


def complete(
    platform: str | PathLike[str],
    output: str | PathLike[str],
    rate: Rate,
    hosts: Mapping[str, Rate],
    options: Mapping[str, str] | None = None,
) -> list[str]:
    """Write a platform file with the measured speeds of its hosts, and tisim's own options.

    `rate` is the speed of every host that is not in `hosts`, and its spread the deviation of all
    hosts. Hosts of a ``<cluster>`` share one speed, their mean. Returns remarks: hosts that are not
    in the platform, and clusters whose hosts differ. Raises `InputError` if the platform cannot be
    read or the output cannot be written.
    """
    file = PlatformFile.read(platform)
    file.set_all_speeds(rate.per_second)
    file.set_host_properties({SPEED_DEVIATION: f"{min(rate.spread, 1.0):.3g}"})
    file.set_options(options or {})
    remarks, clusters = [], dict[str, list[Rate]]()
    for name, own in hosts.items():
        if file.set_speed(name, own.per_second):
            continue
        cluster = file.cluster_of(name)
        if cluster is None:
            remarks.append(f"{name} was measured but is not a host of the platform")
        else:
            clusters.setdefault(cluster.get("id", ""), []).append(own)
    for cluster_id, rates in clusters.items():
        speeds = [own.per_second for own in rates]
        file.set_speed(cluster_id, sum(speeds) / len(speeds), "cluster")
        if max(speeds) > (1 + TOLERATED_SPREAD) * min(speeds):
            remarks.append(
                f"the hosts of cluster {cluster_id} differ ({min(speeds):.4g} to {max(speeds):.4g} "
                "flop/s) but share one speed, the mean; declare them as <host>s to distinguish them"
            )
    file.write(output)
    return remarks


# A CSV with a header. ``seconds`` is the duration of the computation. Its amount is ``volume``
# (instructions or flops) or, if the trace is given, that of the compute action which ``rank`` and
# ``action`` name: the first compute action of a rank is action 1; without ``action``, the rows of a
# rank (and run) are its compute actions in order. ``run``, ``class``, ``working_set`` (bytes) and
# ``host`` distinguish measurements.

_COLUMNS = ("rank", "action", "volume", "seconds", "run", "class", "working_set", "host")
_WHOLE = ("rank", "action")
_WORDS = ("run", "class", "host")


def read_timed(
    files: Iterable[str | PathLike[str]], volumes: Mapping[int, list[float]] | None = None
) -> pd.DataFrame:
    """Read timed computations.

    Parameters
    ----------
    files
        CSV files; each without a column ``run`` is a separate run.
    volumes
        Amounts of the compute actions of each rank, in order, for files without ``volume``.

    Returns
    -------
    DataFrame
        One row per computation: ``volume``, ``seconds`` (both positive), ``rank`` (0 if not given),
        ``run`` (str), and ``class`` (str), ``working_set`` (bytes), ``host`` (str) if the files
        have them.

    Raises
    ------
    InputError
        If a file is not such a CSV, is damaged, or does not match the trace.
    """
    import pandas as pd

    parts = [_read(read_text(Path(file)), volumes) for file in files]
    return pd.concat(parts, ignore_index=True)


def read_volumes(traces: Sequence[str | PathLike[str]]) -> dict[int, list[float]]:
    """Return the amounts of the compute actions of each rank of a trace, in order."""
    from tisim.traces import Kind, Trace

    trace = Trace.open(traces[0] if len(traces) == 1 else list(traces))
    volumes: dict[int, list[float]] = {}
    for rank in range(trace.ranks):
        volumes[rank] = []
        for batch in trace.operations(rank):
            # The flops of a reduction are also computed, but were not timed as an action.
            computes = batch[(batch["kind"] == Kind.COMPUTE) & (batch["flags"] == 0)]
            volumes[rank].extend(computes["amount"].tolist())
    return volumes


def _read(text: Text, volumes: Mapping[int, list[float]] | None) -> pd.DataFrame:
    import pandas as pd

    lines = [
        (number, line)
        for number, line in enumerate(text.lines, start=1)
        if line.strip() and not line.startswith("#")
    ]
    header, heads = lines[0][0], [word.strip() for word in lines[0][1].split(",")]
    _check_header(text, header, heads)
    rows: list[dict[str, object]] = []
    for number, line in lines[1:]:
        words = [word.strip() for word in line.split(",")]
        if len(words) != len(heads) or not all(words):
            raise text.cut(number, ",".join(heads))
        rows.append(_row(text, dict(zip(heads, words, strict=True)), number))
    if not rows:
        raise text.error("a header without timed computations below it", header)
    frame = pd.DataFrame(rows)
    if "run" not in frame:
        frame["run"] = str(text.path)
    if "rank" not in frame:
        frame["rank"] = 0
    if "volume" not in frame:
        frame["volume"] = _volumes(text, frame, volumes)
    return frame[(frame["volume"] > 0) & (frame["seconds"] > 0)].drop(columns="line")


def _check_header(text: Text, line: int, heads: list[str]) -> None:
    unknown = [head for head in heads if head not in _COLUMNS]
    if unknown or "seconds" not in heads:
        wrong = f"unknown column {unknown[0]!r}" if unknown else "no column 'seconds'"
        raise text.error(
            f"{wrong} in the header; a file of timed computations needs the column seconds and "
            f"some of {','.join(_COLUMNS)}",
            line,
        )
    if "volume" not in heads and "rank" not in heads:
        raise text.error("no column 'volume', and no column 'rank' to look it up in a trace", line)


def _row(text: Text, words: Mapping[str, str], line: int) -> dict[str, object]:
    row: dict[str, object] = {"line": line}
    for name, word in words.items():
        if name in _WHOLE:
            row[name] = text.size(word, line)
        elif name in _WORDS:
            row[name] = word
        else:
            row[name] = text.quantity(word, f"a {name.replace('_', ' ')}", line)
    return row


def _volumes(
    text: Text, frame: pd.DataFrame, volumes: Mapping[int, list[float]] | None
) -> list[float]:
    """Return the amount of each row's computation, from the trace."""
    if volumes is None:
        raise text.error(
            "no column 'volume': also give the trace whose compute actions were timed", 1
        )
    seen: dict[tuple[str, int], int] = {}
    found = []
    for line, run, rank, action in zip(
        frame["line"],
        frame["run"],
        frame["rank"],
        frame["action"] if "action" in frame else [0] * len(frame),
        strict=True,
    ):
        if rank not in volumes:
            raise text.error(f"the trace has no rank {rank}", line)
        place = action or seen.get((run, rank), 0) + 1
        seen[run, rank] = place
        if place > len(volumes[rank]):
            raise text.error(
                f"the trace of rank {rank} has {len(volumes[rank])} compute actions, but number "
                f"{place} was timed; is this the timed trace?",
                line,
            )
        found.append(volumes[rank][place - 1])
    return found
