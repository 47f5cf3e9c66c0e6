"""The behaviour of an application as a section of a report, from its packed trace only."""

from __future__ import annotations

from html import escape
from pathlib import Path

from tisim.analysis.report.page import facts, rest, table
from tisim.errors import InputError
from tisim.support.quantities import format_bytes
from tisim.traces.call_sites import short_path
from tisim.traces.inspection import Inspection, inspect
from tisim.traces.inspection_text import actions_text, ranks_text, shown_call
from tisim.traces.packed import is_packed
from tisim.traces.phases import phases_of

_ROWS = 12


def application_of(trace: str) -> Inspection | None:
    """Inspect the trace of a result; return None if it is missing or not a packed file.

    Other traces would have to be packed first, which takes too long for a report.
    """
    if not Path(trace).is_file():
        return None
    try:
        return inspect(trace) if is_packed(trace) else None
    except InputError:
        return None


def application_tab(found: Inspection | None) -> str:
    """Return the button that opens the section."""
    return "" if found is None else '<button role="tab" data-tab="application">Application</button>'


def application_page(found: Inspection | None) -> str:
    """Return phases, loops, calls and classes of ranks."""
    if found is None:
        return ""
    first = found.classes[0]
    summary = facts(
        [
            ("ranks", f"{found.ranks:,}"),
            ("classes of ranks with the same actions", f"{found.class_count:,}"),
            ("actions", f"{found.actions:,}"),
            ("bytes of the packed trace", f"{found.nbytes:,}"),
            *([("origin", found.extrapolated)] if found.extrapolated else []),
        ]
    )
    return (
        '<section id="application" hidden>'
        '<p class="note">From the structure of the trace, independent of the replay. In a call, '
        "rank+1 is a peer relative to the calling rank, &lt;by rank&gt; a number that differs "
        "between ranks, and * a number that varies over time. <code>tisim inspect</code> shows "
        "more.</p>"
        f"{summary}<h2>Phases of ranks {escape(ranks_text(first))}</h2>{_phases(found)}"
        f"<h2>Loops</h2>{_loops(found)}<h2>Calls</h2>{_calls(found)}"
        f"{_computed_paths(found)}{_call_paths(found)}"
        f"<h2>Actions</h2>{_actions(found)}<h2>Classes of ranks</h2>{_classes(found)}</section>"
    )


def _phases(found: Inspection) -> str:
    phases = phases_of(found.classes[0])
    rows = [
        (
            escape(actions_text(phase.actions) + ("" if phase.whole else ", ...")),
            f"{phase.iterations:,}",
            f"{phase.calls:,}",
        )
        for phase in phases[:_ROWS]
    ]
    return table(["actions", "times", "calls"], rows) + _rest(len(phases))


def _loops(found: Inspection) -> str:
    rows = [
        (
            escape(actions_text(loop.actions)),
            f"{loop.iterations:,}",
            f"{loop.entered:,}",
            f"{loop.calls:,}",
            f"{loop.ranks:,}",
        )
        for loop in found.loops[:_ROWS]
    ]
    head = ["actions per iteration", "iterations", "entered", "calls per iteration", "ranks"]
    return table(head, rows) + _rest(found.loop_count)


def _calls(found: Inspection) -> str:
    rows = [
        (escape(shown_call(call.text)), f"{call.calls:,}", f"{call.ranks:,}")
        for call in found.signatures[:_ROWS]
    ]
    return table(["call", "calls", "ranks"], rows) + _rest(found.signature_count)


def _call_paths(found: Inspection) -> str:
    """Return the calls by call path; only recorded traces have call paths."""
    if not found.call_paths:
        return ""
    rows = [
        (_shown_path(row.path), escape(row.action), f"{row.calls:,}")
        for row in found.call_paths[:_ROWS]
    ]
    listed = table(["called at", "action", "calls"], rows) + _rest(found.call_path_count)
    return f"<h2>Call paths</h2>{listed}"


def _computed_paths(found: Inspection) -> str:
    """Return the computations by call path; only traces with samples have them."""
    if not found.computed_paths:
        return ""
    rows = [
        (_shown_path(row.path), f"{row.samples:,}", f"{row.share:.1%}")
        for row in found.computed_paths[:_ROWS]
    ]
    listed = table(["computed at", "samples", "share"], rows) + _rest(found.computed_path_count)
    return f"<h2>Computations by call path</h2>{listed}"


def _shown_path(path: str) -> str:
    """Return a call path with short names and the full path as its tooltip."""
    return f'<span title="{escape(path)}">{escape(short_path(path))}</span>'


def _actions(found: Inspection) -> str:
    rows = [
        (
            escape(count.name),
            f"{count.actions:,}",
            f"{count.messages:,}" if count.messages else "",
            format_bytes(count.bytes) if count.messages else "",
        )
        for count in found.by_action
    ]
    return table(["action", "number", "messages", "bytes"], rows)


def _classes(found: Inspection) -> str:
    rows = [
        (
            escape(ranks_text(row)),
            f"{row.ranks:,}",
            f"{row.calls:,}",
            f"{row.longest_loop:,}" if row.longest_loop else "",
        )
        for row in found.classes[:_ROWS]
    ]
    head = ["ranks", "number", "calls per rank", "longest loop"]
    return table(head, rows) + _rest(found.class_count)


def _rest(count: int) -> str:
    return rest(count, _ROWS, "tisim inspect lists")
