"""The findings of a report, from a run file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

import numpy as np
from numpy.typing import NDArray

from tisim.analysis.report.findings import BusiestLink, Finding, describe_shares, findings
from tisim.analysis.timeline.causes import WaitCauses
from tisim.analysis.timeline.event_log import EventLog
from tisim.analysis.timeline.event_store import EventStore
from tisim.analysis.timeline.run import Run
from tisim.analysis.timeline.run_file import RunFile, Window
from tisim.analysis.timeline.run_file.reader import rows_in_order
from tisim.analysis.viewer.causes import Causes
from tisim.analysis.viewer.network import RunNetwork

if TYPE_CHECKING:
    from tisim.simulation.settings import Settings

    Row = dict[str, object]

# Maximum number of records read at once: 1.2 GB. For longer runs only sums are available.
_MAX_RECORDS = 16_000_000
_TOO_MANY = (
    "This run has too many states to search for single delays: see **Statistics** of its parts and "
    "**Critical path**."
)


class _Records(EventStore):
    """The rows of a run file's tables, ordered by end time."""

    def __init__(self, run: RunFile, waits: WaitCauses | None) -> None:
        # Nothing is written: the run file already contains what an event store writes to files.
        self._tables = {"actions": run.actions, "states": run.states}
        self._known: dict[str, NDArray[np.void]] = {}
        if waits is not None:
            self._known["states"] = waits.rows

    def read(self, name: str) -> NDArray[np.void]:
        if name not in self._known:
            self._known[name] = rows_in_order(self._tables[name], name)
        return self._known[name]


@dataclass
class _RecordedRun(Run):
    """A run whose file contains the hosts of ranks."""

    host_names: Sequence[str] = ()

    def host_name(self, rank: int) -> str:
        return self.host_names[rank]


class RunFindings:
    """The sentences of a run's report, for the page of the viewer."""

    def __init__(self, run: RunFile, network: RunNetwork, causes: Causes) -> None:
        self._run = run
        self._network = network
        self._causes = causes

    def all(self) -> Row:
        """Return the sentences, each with the window, the tab and the state that show it."""
        return {"findings": self._found}

    @cached_property
    def _found(self) -> list[Row]:
        return [
            {
                "text": finding.text,
                **dict(zip(("begin", "end", "first", "last"), finding.window, strict=True)),
                "tab": finding.tab,
                "point": finding.point,
            }
            for finding in self._sentences()
        ]

    def _sentences(self) -> list[Finding]:
        run = self._run
        if sentences := run.info.get("findings"):
            whole = (0.0, run.end, 0, run.ranks - 1)
            return [Finding(text, whole) for text in sentences]
        if run.states.rows + run.actions.rows > _MAX_RECORDS:
            whole = (0.0, run.end, 0, run.ranks - 1)
            sentences = [describe_shares(self._shares()), _TOO_MANY]
            return [Finding(text, whole, "statistics") for text in sentences]
        is_known = self._network.unknown is None
        has_path = is_known and run.path_states is not None
        link = self._busiest_link() if is_known else None
        log, trace = self._log(is_known), run.info["trace"] or ""
        return [*findings(log, trace, link, has_path=has_path)]

    def _log(self, is_known: bool) -> EventLog:
        waits = self._causes.waits_until(self._run.end)
        info, records = self._run.info, _Records(self._run, waits)
        described = _RecordedRun(
            title=info["title"],
            # The settings of a run with an unknown platform are never used.
            settings=cast("Settings", self._network.settings if is_known else None),
            hosts=self._network.hosts.tolist() if is_known else info["host_of"],
            end=self._run.end,
            host_names=[info["hosts"][host] for host in info["host_of"]],
        )
        states = records.read("states")
        finish = np.zeros(self._run.ranks)
        np.maximum.at(finish, states["rank"], states["end"])
        log = EventLog(records, described, finish)
        # A file without path states has no known causes.
        log.wait_causes = waits or WaitCauses(states[:0], self._run.ranks)
        return log

    def _busiest_link(self) -> BusiestLink | None:
        first = next(iter((self._network.loaded(0.0, self._run.end) or {}).values()), None)
        if first is None:
            return None
        return BusiestLink(str(first["link"]), str(first["words"]), float(str(first["load"])))

    def _shares(self) -> dict[str, float]:
        run = self._run
        states = np.array([state for state, _ in run.info["keys"]], np.int32)
        tile = Window(run, 0.0, run.end, 0, run.ranks - 1).sums(1, states)
        seconds = tile.seconds / (float(tile.seconds.sum()) or 1.0)
        names = (run.info["states"][key] for key in tile.key.tolist())
        return dict(zip(names, seconds.tolist(), strict=True))
