"""Checks a trace, and says what is in it, without simulating it."""

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
    """Something that is wrong with a trace, or may be.

    Parameters
    ----------
    severity
        ``"error"`` when the trace cannot be replayed or the program that it is of was wrong,
        ``"warning"`` when it can be replayed, but perhaps not as it was meant; ``"note"`` when
        nothing is wrong, but worth knowing (an imbalance).
    rank
        The rank that it is about.
    file
        The rank's file.
    line
        The line in that file, counted from 1; None when it is about no line in particular.
    message
        What is wrong.
    call_path
        Where in the program the call is made, ``"main (ring.c:12) > exchange (ring.c:5)"``; None
        where the trace does not say.
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
    """All actions of one name.

    Parameters
    ----------
    name
        The action.
    actions
        How many there are.
    messages
        The messages that they send from rank to rank; those of collectives are not counted.
    bytes
        The bytes of those messages.
    amount
        What they compute, in flops (or instructions, whatever the trace counts); for ``sleep``
        the seconds.
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
        The same by name.
    findings
        What is wrong, the first 200 in the order in which they were found.
    errors, warnings
        How many of these findings there are in all; notes are not counted.
    counters
        The counters that a recorded trace has beside that of its volumes.
    extrapolated
        How an extrapolated trace was made, in words; empty for others.
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
        """True if there is no error."""
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
    """Say whether a trace is sound.

    Every message that is sent has to be received, in a buffer that is large enough; all ranks of
    a communicator have to call the same collectives in the same order, with arguments that fit;
    requests have to be completed; nothing but computation comes after ``finalize``. Where all of
    that holds, a deadlock that every order of events reaches is found too, such as one of ranks
    that all receive before they send; one that depends on time or on the protocol of messages, only
    a simulation shows. Lines that cannot be read are findings
    too; when there are any, nothing else is looked for.

    Parameters
    ----------
    trace
        A `Trace`, or what `Trace.open` takes.
    custom_actions
        Names of actions of the user's own, which the trace may contain.
    progress
        Is told now and then which part is done, from 0 to 1.

    Returns
    -------
    CheckReport

    Raises
    ------
    InputError
        When there is no such trace, or when a file of it cannot be read at all.
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
    """The findings with their call paths, where the trace was recorded with them."""
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
