"""Checks a trace and summarises its contents without simulating it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tisim import _core
from tisim.traces.call_paths import call_paths
from tisim.traces.counts import counter_names
from tisim.traces.trace import Trace


@dataclass(frozen=True, slots=True)
class Finding:
    """An error or a possible error in a trace.

    Parameters
    ----------
    severity
        ``"error"`` when the trace cannot be replayed or the recorded program was wrong,
        ``"warning"`` when it can be replayed, but perhaps not as intended; ``"note"`` for
        information that is not an error (an imbalance).
    rank
        The rank concerned.
    file
        The rank's file.
    line
        The line in that file, counted from 1; None if the finding concerns no particular line.
    message
        Description of the finding.
    call_path
        Where the program makes the call, ``"main (ring.c:12) > exchange (ring.c:5)"``; None
        if the trace does not say.
    """

    severity: str
    rank: int
    file: str
    line: int | None
    message: str
    call_path: str | None = None

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        where = "" if self.call_path is None else f"; called at {self.call_path}"
        return f"{place}: {self.severity}: {self.message}{where}"


@dataclass(frozen=True, slots=True)
class ActionCount:
    """All actions with one name.

    Parameters
    ----------
    name
        The action.
    actions
        Number of actions.
    messages
        Messages that they send from rank to rank, without those of collectives.
    bytes
        The bytes of those messages.
    amount
        Computed amount, in flops (or instructions, depending on the trace); for ``sleep``,
        seconds.
    """

    name: str
    actions: int
    messages: int
    bytes: int
    amount: float


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The results of `check`.

    Parameters
    ----------
    name
        The trace.
    ranks
        The number of its ranks.
    dialect
        ``"modern"`` or ``"legacy"``.
    actions
        The number of its actions.
    counts
        Counts by name of the action.
    findings
        The first 200 findings in the order in which they were found.
    errors, warnings
        Total number of such findings; notes are not counted.
    counters
        Counters of a recorded trace in addition to that of its volumes.
    extrapolated
        Description of how an extrapolated trace was made; empty for other traces.
    """

    name: str
    ranks: int
    dialect: str
    actions: int
    counts: tuple[ActionCount, ...]
    findings: tuple[Finding, ...]
    errors: int
    warnings: int
    counters: tuple[str, ...] = ()
    extrapolated: str = ""

    @property
    def sound(self) -> bool:
        """True if there are no errors."""
        return self.errors == 0

    @property
    def messages(self) -> int:
        """The messages from rank to rank."""
        return sum(count.messages for count in self.counts)

    @property
    def bytes(self) -> int:
        """The bytes of those messages."""
        return sum(count.bytes for count in self.counts)

    @property
    def flops(self) -> float:
        """The total computation of all ranks."""
        return sum(count.amount for count in self.counts if count.name != "sleep")


def check(
    trace: Trace | str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    custom_actions: Sequence[str] = (),
    progress: Callable[[float], None] | None = None,
) -> CheckReport:
    """Check whether a trace is sound.

    Every message that is sent must be received, in a buffer that is large enough; all ranks of
    a communicator must call the same collectives in the same order, with compatible arguments;
    requests must be completed; only computation may follow ``finalize``. If all of that holds,
    deadlocks that occur under every order of events are found too, such as all ranks receiving
    before they send; only a simulation finds those that depend on time or on the message protocol.
    Unreadable lines are findings too; if there are any, nothing else is checked.

    Parameters
    ----------
    trace
        A `Trace`, or any argument of `Trace.open`.
    custom_actions
        Names of user-defined actions that the trace may contain.
    progress
        Called regularly with the completed fraction, from 0 to 1.

    Returns
    -------
    CheckReport

    Raises
    ------
    InputError
        When there is no such trace, or when one of its files cannot be read at all.
    """
    opened = trace if isinstance(trace, Trace) else Trace.open(trace)
    made = opened.extrapolated
    found = _core.check(opened.core_with(custom_actions=custom_actions), progress)
    return CheckReport(
        name=opened.name,
        ranks=opened.ranks,
        dialect=opened.dialect,
        actions=found["actions"],
        counts=tuple(ActionCount(*count) for count in found["counts"]),
        findings=_located(opened, [Finding(*finding) for finding in found["findings"]]),
        errors=found["errors"],
        warnings=found["warnings"],
        counters=counter_names(opened),
        extrapolated="" if made is None else made.text(),
    )


def _located(trace: Trace, findings: list[Finding]) -> tuple[Finding, ...]:
    """Add call paths to the findings, if the trace was recorded with them."""
    wanted: dict[int, set[int]] = {}
    for finding in findings:
        if finding.line is not None:
            wanted.setdefault(finding.rank, set()).add(finding.line)
    paths = call_paths(trace, wanted)
    located = []
    for finding in findings:
        path = None if finding.line is None else paths.get((finding.rank, finding.line))
        located.append(finding if path is None else replace(finding, call_path=path))
    return tuple(located)
