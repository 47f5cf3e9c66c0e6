"""The result of a replay."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, cast, get_args, overload

from tisim.analysis.result_json import (
    COLUMNS,
    COUNTS,
    MEASURED_TIMES,
    CountName,
    RankBuffer,
    TimeName,
    columns_of,
    json_pieces,
    parse,
    rank_row,
    read_file,
)
from tisim.config import Config
from tisim.errors import InputError, TisimError
from tisim.platform.trust import load_basis, trust_text
from tisim.support.quantities import format_seconds
from tisim.support.tables import html_facts

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from tisim.analysis.file_tables import FileTables
    from tisim.analysis.pictures.plots import Plots
    from tisim.analysis.result_json import (
        BreakdownDict,
        JitterDict,
        RankValues,
        ResultDict,
        SummaryDict,
    )
    from tisim.analysis.timeline.critical_path import CriticalPath
    from tisim.analysis.timeline.event_log import Breakdown, EventLog
    from tisim.analysis.timeline.frames import Frames
    from tisim.analysis.timeline.links import Links
    from tisim.kernel.file_sums import IoDict
    from tisim.kernel.steady import SteadyDict


def format_changes(changes: Mapping[str, str]) -> str:
    """Return the changes as text, such as ``bandwidth x10, latency x0.1``."""
    return ", ".join(f"{name} {value}" for name, value in changes.items())


def title_of(trace: str, platform: str, changes: Mapping[str, str]) -> str:
    """Return the title of a run: ``lu.A.8 on graphene.xml with bandwidth x10``."""
    with_changes = f" with {format_changes(changes)}" if changes else ""
    return f"{Path(trace).name} on {Path(platform).name}{with_changes}"


# Optional attributes of a result, with the same names in its JSON.
_OPTIONAL_ATTRIBUTES = ("uncertainty", "jitter", "steady", "io", "volumes")


class Result:
    """The outcome of a replay.

    The times of a rank add up: `compute`, `communication` and `other` together are `finish`, up to
    rounding of the additions, here as in `ranks` and in JSON.

    Results can be pickled and compared. Pickled results, and those read by `from_json`, lack the
    event log; the breakdown in `to_dict` is kept.

    Parameters
    ----------
    columns
        By name, one number per rank: `finish`, `compute` and `other` in seconds, `actions`,
        `bytes_sent` and `messages_sent`.
    start
        Simulated seconds at which the replay started; `finish` is counted from there.
    hosts, wall_time, trace, platform, config, warnings, changes
        The attributes of these names.

    Attributes
    ----------
    hosts
        Name of the host of each rank.
    wall_time
        Wall-clock seconds for reading the files and simulating.
    trace, platform
        Names of the trace and the platform file.
    config
        The configuration used, canonical key to value.
    warnings
        Observations that may matter.
    changes
        Changes of the platform and the mapping, in words by name, such as
        ``{"bandwidth": "x10", "mapping": "block"}``.
    version
        The version of tisim that simulated it.
    event_log
        The events, if the replay kept them (``event_log=True``); else None.
    jitter
        The times with each seed (``replay(..., jitter=9)``); this is their median; else None.
    steady
        The iterations skipped by the simulation (``replay(..., skip_steady=1e-6)``); else None.
    volumes
        The unit of computations, and its meaning on these hosts, if recorded in the trace:
        ``counter``, ``unit`` and ``relation``.
    io
        File accesses of each rank (`tisim.kernel.file_sums.IoDict`); None if there are none.
    """

    def __init__(
        self,
        columns: Mapping[str, RankBuffer],
        hosts: Sequence[str],
        *,
        start: float = 0.0,
        wall_time: float = 0.0,
        trace: str = "",
        platform: str = "",
        config: Config | Mapping[str, object],
        warnings: Sequence[str] = (),
        changes: Mapping[str, str] | None = None,
    ) -> None:
        from tisim import __version__

        # Plain arrays: a replay without data frames does not need numpy.
        self._times: dict[str, array[float]] = {name: array("d") for name in MEASURED_TIMES}
        self._counts: dict[str, array[int]] = {name: array("q") for name in COUNTS}
        for time in MEASURED_TIMES:
            self._times[time].frombytes(columns[time].tobytes())
        for count in COUNTS:
            self._counts[count].frombytes(columns[count].tobytes())
        if start:
            self._times["finish"] = array("d", (t - start for t in self._times["finish"]))
        self.hosts, self.wall_time = list(hosts), wall_time
        self.trace, self.platform, self.changes = trace, platform, dict(changes or {})
        self.warnings, self.version = list(warnings), __version__
        self._config = config
        self.event_log: EventLog | None = None
        self.uncertainty: dict[str, object] | None = None
        self.jitter: JitterDict | None = None
        self.steady: SteadyDict | None = None
        self.io: IoDict | None = None
        self.volumes: dict[str, str] | None = None
        self._breakdown: BreakdownDict | None = None
        self._basis: dict[str, object] | None = None
        self._trust = ""

    @cached_property
    def config(self) -> dict[str, object]:
        """The configuration used, canonical key to value."""
        # Computed on demand: writing all options takes as long as a small replay.
        config = self._config
        return {**(config.as_dict() if isinstance(config, Config) else config)}

    @classmethod
    def from_json(cls, source: str | os.PathLike[str]) -> Result:
        """Read the output of `to_json` or ``tisim replay --json``, which lacks the event log.

        Parameters
        ----------
        source
            The JSON itself, which starts with a brace, or the name of a file.

        Raises
        ------
        InputError
            If the file cannot be read, or is not the result of a replay.
        """
        is_text = isinstance(source, str) and source.lstrip().startswith("{")
        path = None if is_text else source
        written = parse(str(source)) if path is None else read_file(path)
        rows = written["ranks"]
        try:
            result = cls(
                columns_of(rows),
                [str(row["host"]) for row in rows],
                wall_time=float(written.get("wall_time", 0.0)),
                trace=str(written.get("trace", "")),
                platform=str(written.get("platform", "")),
                config=dict(written.get("config", {})),
                warnings=[str(text) for text in written.get("warnings", ())],
                changes=written.get("changes"),
            )
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"is not the result of a replay: {error}", file=path) from None
        result.version = str(written.get("tisim", ""))
        result._breakdown = written.get("breakdown")
        result.jitter, result.steady = written.get("jitter"), written.get("steady")
        result.io, result.volumes = written.get("io"), written.get("volumes")
        result._trust = str(written.get("trust", ""))
        return result

    @property
    def trust(self) -> str:
        """How far to trust the simulated time: its platform's calibration and validation."""
        if self._trust:
            return self._trust
        if self._basis is None:
            self._basis = load_basis(self.platform)
        changes = {name: value for name, value in self.changes.items() if name != "mapping"}
        return trust_text(self.platform, self._basis, format_changes(changes), self.uncertainty)

    @property
    def simulated_time(self) -> float:
        """Seconds until the last rank has finished."""
        return float(max(self._times["finish"]))

    @property
    def actions(self) -> int:
        """Total number of actions of all ranks."""
        return sum(self._counts["actions"])

    @cached_property
    def finish(self) -> NDArray[np.float64]:
        """Seconds at which each rank finished its last action, shape (ranks,)."""
        return self._time_array("finish")

    @cached_property
    def compute(self) -> NDArray[np.float64]:
        """Seconds that each rank spent computing, shape (ranks,)."""
        return self._time_array("compute")

    @cached_property
    def communication(self) -> NDArray[np.float64]:
        """Seconds that each rank spent in MPI calls, shape (ranks,): the rest of `finish`."""
        return self._time_array("communication")

    @cached_property
    def other(self) -> NDArray[np.float64]:
        """Seconds of each rank in sleeps, custom actions, reads and writes, shape (ranks,)."""
        return self._time_array("other")

    @cached_property
    def rank_actions(self) -> NDArray[np.int64]:
        """Number of actions of each rank, shape (ranks,)."""
        return self._count_array("actions")

    @cached_property
    def bytes_sent(self) -> NDArray[np.int64]:
        """Bytes sent by each rank, including those within collectives; shape (ranks,)."""
        return self._count_array("bytes_sent")

    @cached_property
    def messages_sent(self) -> NDArray[np.int64]:
        """Messages sent by each rank, including those within collectives; shape (ranks,)."""
        return self._count_array("messages_sent")

    def _time_array(self, name: TimeName) -> NDArray[np.float64]:
        import numpy as np

        return np.array(self.column(name), dtype=np.float64)

    def _count_array(self, name: CountName) -> NDArray[np.int64]:
        import numpy as np

        return np.array(self.column(name), dtype=np.int64)

    @overload
    def column(self, name: TimeName) -> array[float]: ...
    @overload
    def column(self, name: CountName) -> array[int]: ...
    def column(self, name: TimeName | CountName) -> array[float] | array[int]:
        """Return one number per rank, as a standard Python array that does not need numpy.

        Parameters
        ----------
        name
            One of `COLUMNS` except `rank` and `host`; times are in seconds.
        """
        if name in self._counts:
            return self._counts[name]
        if name != "communication":
            return self._times[name]
        times = zip(*(self._times[part] for part in MEASURED_TIMES), strict=True)
        return array("d", (finish - compute - other for finish, compute, other in times))

    @cached_property
    def ranks(self) -> pd.DataFrame:
        """One row per rank, with the columns `rank`, `host`, `finish`, ... (`COLUMNS`)."""
        from tisim.analysis.timeline.columns import frame

        every = (
            self.rank_actions if name == "actions" else getattr(self, name) for name in COLUMNS[2:]
        )
        columns = zip(COLUMNS, (range(len(self.hosts)), self.hosts, *every), strict=True)
        return frame(dict(columns))

    def require_event_log(self) -> EventLog:
        """Return the event log.

        Raises
        ------
        TisimError
            If the replay did not keep it.
        """
        if self.event_log is None:
            raise TisimError("the result has no event log: replay with event_log=True")
        return self.event_log

    @property
    def timeline(self) -> pd.DataFrame:
        """The actions of every rank, one row each. Requires the event log, as does all below."""
        return self.require_event_log().timeline

    @property
    def breakdown(self) -> Breakdown:
        """The time of each rank by state and by kind of action."""
        return self.require_event_log().breakdown

    @property
    def states(self) -> pd.DataFrame:
        """The states of every rank, one row each, ordered by end time.

        Columns: `rank`, `state`, `kind` of action, `start`, `end` (s), `cause`, the rank that
        was waited for (-1: none), and `line` of the action in the trace.
        """
        return self.require_event_log().states

    @property
    def messages(self) -> pd.DataFrame:
        """Every message, one row each, in the order in which the receivers continued."""
        return self.require_event_log().messages

    @property
    def streams(self) -> pd.DataFrame:
        """The nodes of GPU streams launched by ranks, one row each, ordered by end time.

        Columns: `rank`, `stream`, `node`, `line` of the graph file, and `arrival`, `start` and
        `end` (s): a node arrives, waits for its peers, starts and ends.
        """
        return self.require_event_log().streams

    @property
    def waits(self) -> pd.DataFrame:
        """Waits between ranks, the longest first.

        One row per `rank`, `cause` (the rank that was waited for), `state` (the pattern, such as
        `late sender`) and `kind` of action: `seconds` that the rank waited, and number of waits
        (`count`).
        """
        return self.require_event_log().waits

    @property
    def causes(self) -> pd.DataFrame:
        """The causes of all waits, the largest share first.

        One row per `rank` and `state` that explains waits of others: `seconds` of all waits, their
        `share`, the number of `ranks` that wait because of it, the number of its `parts`, and
        `start`, `end` and `line` of the part that explains most.
        """
        return self.require_event_log().causes

    @property
    def matrix(self) -> pd.DataFrame:
        """The communication matrix: one row per pair of ranks that exchanged messages.

        Columns: `source`, `destination`, `bytes`, `messages`, and the subset that belongs to
        collectives, `collective_bytes` and `collective_messages`.
        """
        return self.require_event_log().matrix

    @property
    def critical_path(self) -> CriticalPath:
        """The critical path: the parts of the simulated time, and possible gains."""
        return self.require_event_log().critical_path

    @property
    def links(self) -> Links:
        """The load of each link over time."""
        return self.require_event_log().links

    @property
    def frames(self) -> Frames:
        """The run in the formats of Hatchet and Pipit: `frames.hatchet()`, `frames.pipit()`."""
        from tisim.analysis.timeline.frames import Frames

        return Frames(self.require_event_log())

    @property
    def plot(self) -> Plots:
        """Pictures on matplotlib axes: `plot.gantt()`, `breakdown()`, `matrix()`, ..."""
        from tisim.analysis.pictures.plots import Plots

        return Plots(self.require_event_log)

    @property
    def file_tables(self) -> FileTables:
        """Data frames of `io`: `files`, `servers`, `bandwidth` and `waits`."""
        from tisim.analysis.file_tables import FileTables

        return FileTables(self.io)

    def to_dict(self) -> ResultDict:
        """Return the result as plain numbers, lists, dicts; `breakdown` needs an event log."""
        return {**self._summary(), "ranks": [rank_row(values) for values in self._rows()]}

    def to_json(self) -> str:
        """Return the result as JSON with numbers in full precision; `from_json` reads it."""
        return "".join(self.json_pieces())

    def json_pieces(self) -> Iterator[str]:
        """Yield the text of `to_json` in pieces: with a million ranks it is long."""
        return json_pieces(self._summary(), COLUMNS, self._rows())

    def _summary(self) -> SummaryDict:
        """Return the result without its ranks."""
        summary: SummaryDict = {
            "tisim": self.version,
            "trace": self.trace,
            "platform": self.platform,
            "simulated_time": self.simulated_time,
            "actions": self.actions,
            "wall_time": self.wall_time,
            "config": self.config,
            "warnings": self.warnings,
        }
        if self.changes:
            summary["changes"] = self.changes
        if self.trust:
            summary["trust"] = self.trust
        breakdown = self._breakdown if self.event_log is None else self.event_log.to_dict()
        if breakdown is not None:
            summary["breakdown"] = breakdown
        more = {name: getattr(self, name) for name in _OPTIONAL_ATTRIBUTES}
        known = {name: value for name, value in more.items() if value is not None}
        return cast("SummaryDict", {**summary, **known})

    def _rows(self) -> Iterator[RankValues]:
        """Yield `COLUMNS` of each rank, as plain numbers and texts."""
        return zip(*self._columns(), strict=True)

    def _columns(self) -> Iterator[Sequence[int | float | str]]:
        times = map(self.column, get_args(TimeName))
        return chain((range(len(self.hosts)), self.hosts), times, self._counts.values())

    def __eq__(self, other: object) -> bool:
        """Return True if all numbers and texts are equal, including the wall time."""
        return self.to_dict() == other.to_dict() if isinstance(other, Result) else NotImplemented

    def __getstate__(self) -> dict[str, object]:
        """Return numbers and texts, without the event log, whose files belong to this process."""
        return {**self.__dict__, "_breakdown": self._summary().get("breakdown"), "event_log": None}

    def __repr__(self) -> str:
        whole = f"{len(self.hosts)} ranks, {self.actions:,} actions"
        changed = f", {format_changes(self.changes)}" if self.changes else ""
        return f"<Result: {format_seconds(self.simulated_time)} simulated, {whole}{changed}>"

    @property
    def title(self) -> str:
        """The inputs of a replay, and their changes."""
        return title_of(self.trace, self.platform, self.changes)

    def _repr_html_(self) -> str:
        rows = [("simulated time", format_seconds(self.simulated_time))]
        rows += [("ranks", f"{len(self.hosts):,}"), ("actions", f"{self.actions:,}")]
        rows.append(("trust", self.trust))
        return html_facts(f"Replay of {self.title}", rows)
