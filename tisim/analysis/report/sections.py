"""The sections of a report, as text and tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING

from tisim.analysis.pictures.colours import MEANINGS
from tisim.analysis.pictures.gantt import Lanes
from tisim.analysis.report.findings import NAMED, BusiestLink, findings
from tisim.analysis.report.page import bar, facts, legend, listed, numbers, percent, rest, table
from tisim.analysis.report.page_data import BLOCKS, Resolution, first_part
from tisim.analysis.result import format_changes
from tisim.analysis.timeline.columns import STATES, WAITS
from tisim.analysis.timeline.outliers import describe_location, paths_of
from tisim.support.quantities import format_bytes, format_result_time, format_seconds, format_time
from tisim.support.tables import quantity_column, time_column

if TYPE_CHECKING:
    import pandas as pd

    from tisim.analysis.result import Result
    from tisim.analysis.timeline.critical_path import CriticalPath

# An option that shows the effect of each gain.
_WHAT_IF = {
    "faster CPUs": "--speed x2",
    "lower latency": "--latency x0.5",
    "more bandwidth": "--bandwidth x2",
    "less software overhead": "--config smpi/os=0:0:0 --config smpi/or=0:0:0",
}


def headline(result: Result, shares: Mapping[str, float]) -> str:
    """Return the most important numbers."""
    waiting = sum(shares.get(state, 0.0) for state in WAITS)
    communicating = shares.get("transfer", 0.0) + shares.get("overhead", 0.0)
    return numbers(
        [
            ("simulated time", format_result_time(result.simulated_time)),
            ("ranks", f"{len(result.finish):,}"),
            ("compute", f"{shares.get('compute', 0.0):.0%}"),
            ("communication", f"{communicating:.0%}"),
            ("waiting for late ranks", f"{waiting:.0%}"),
        ]
    )


def _findings(result: Result) -> Iterator[str]:
    """Yield the first findings; their emphasised words link to the part of the chart."""
    links = result.links.table
    link = None
    if len(links):
        name, mean, peak = links.iloc[0][["link", "mean", "peak"]]
        words = result.require_event_log().link_words.get(name)
        link = BusiestLink(name, words, mean, peak)
    for finding in findings(result.require_event_log(), result.trace, link):
        begin, end, first, last = finding.window
        href = f"#gantt?t={begin!r}..{end!r}&amp;r={first}..{last}"
        yield re.sub(r"\*\*(.+?)\*\*", rf'<a href="{href}"><b>\1</b></a>', escape(finding.text))


def next_steps(result: Result) -> Iterator[str]:
    """Yield next steps, based on the findings."""
    log = result.require_event_log()
    if log.outliers:
        yield (
            "Examine the computations that took far longer than similar ones: see the table in "
            '<a href="#waits">Waits</a>; click a row to show it in the chart. They are part of the '
            "trace: record the program again if they were an accident."
        )
    if log.slow_ranks:
        hosts = ", ".join(escape(slow.host) for slow in log.slow_ranks[:NAMED])
        yield f"Replay without the slow hosts ({hosts}): <code>--hosts</code> with the other hosts."
    best = str(result.critical_path.gains["seconds"].idxmax())
    if best in _WHAT_IF:
        yield (
            f"Try {best}: <code>tisim replay {_WHAT_IF[best]} ...</code>, and "
            "<code>tisim compare</code> with this run."
        )
    yield (
        "Look closer: <code>tisim replay --timeline run.tir ...</code> and <code>tisim view "
        "run.tir</code> show every state and message at any zoom, and the cause of each wait."
    )


def outlier_table(result: Result) -> str:
    """Return the computations far longer than comparable ones; a click shows one in the chart."""
    found = result.require_event_log().outliers
    paths = paths_of(found, result.trace)
    rows = [
        (
            str(outlier.rank),
            escape(describe_location(outlier, paths)),
            format_result_time(outlier.start),
            format_time(outlier.seconds),
            format_time(outlier.usual),
            format_time(outlier.waited),
            f"{outlier.waiting:,}",
        )
        for outlier in found
    ]
    head = ["rank", "where", "begins", "lasts", "usually", "others wait", "ranks"]
    return table(
        head, rows, 2, [f"{outlier.start!r},{outlier.end!r},{outlier.rank}" for outlier in found]
    )


# Maximum number of rows of the longer tables, of bars of the breakdown, of hosts of ranks.
_ROWS = 30
_BARS = 50
_HOSTS = 200


class PageParts:
    """The sections of a report; `part` is the chart's initial window, in seconds."""

    def __init__(self, result: Result, part: tuple[float, float]) -> None:
        self._result = result
        self._part = part
        self._log = result.require_event_log()
        self._ranks = self._log.run.ranks
        spent = result.breakdown.by_rank.sum()
        self._whole = float(spent.sum()) or 1.0
        self._shares = {state: spent[state] / self._whole for state in STATES if spent[state] > 0}

    @property
    def title(self) -> str:
        time = format_result_time(self._log.run.end)
        return escape(f"{self._log.run.title}: {time}")

    def legend(self) -> str:
        return legend(self._shares)

    def summary(self) -> str:
        """Return an overview of the run: total numbers, findings and next steps."""
        result = self._result
        slow, quick = int(result.finish.argmax()), int(result.finish.argmin())
        rows = [
            ("actions", f"{result.actions:,}"),
            ("messages", f"{int(result.messages_sent.sum()):,}"),
            ("bytes sent", format_bytes(float(result.bytes_sent.sum()))),
            ("last to end", f"rank {slow} on {result.hosts[slow]}"),
            ("first to end", f"rank {quick}, after {format_seconds(result.finish[quick])}"),
            ("trace", result.trace),
            ("platform", result.platform),
            *([("changed", format_changes(result.changes))] if result.changes else []),
        ]
        warnings = "".join(f"<li>{escape(warning)}</li>" for warning in result.warnings)
        more = f'<h2>Warnings</h2><ul class="said">{warnings}</ul>' if warnings else ""
        seconds = {state: share * self._whole for state, share in self._shares.items()}
        return (
            f"{headline(result, self._shares)}"
            f'<p class="note">How far to trust it: {escape(result.trust)}.</p>'
            '<div class="chart"><canvas id="small-chart" aria-label="Overview of the whole run">'
            '</canvas></div><p class="note">Ranks from top to bottom, time to the right; '
            "click to open the chart at that place.</p>"
            f"<h2>Where the time of all ranks goes</h2>{self.legend()}"
            f"{bar(seconds, self._whole)}{listed(_findings(result))}"
            f"<h2>What to do next</h2>{listed(next_steps(result))}{more}"
            f"<h2>The run</h2>{facts(rows)}"
        )

    def gantt_note(self) -> str:
        """Return a note on the initial window and the resolution of the chart."""
        begin, end = self._part
        if self._part == (0.0, self._log.run.end) or self._part != first_part(self._log):
            return self._how_drawn()
        detail = ", with every state" if Resolution(self._log).has_detail else ""
        return (
            f"Shown first: {format_time(end - begin, 3)} in which the shares of the states are "
            f"most similar to those of the whole run{detail}. {self._how_drawn()}"
        )

    def _how_drawn(self) -> str:
        """Return a note on the resolution of the chart."""
        end, room = self._log.run.end, Resolution(self._log)
        if room.is_exact:
            return (
                "Contains every state of every rank; a pixel column with several states shows "
                "their shares of its time, stacked."
            )
        width, lanes = format_time(end / room.bins), room.lanes
        many = "The whole run has too many states to show each: "
        if lanes.size == 1:
            return (
                f"{many}each column of a rank shows the shares of its time per state, stacked, in "
                f"steps of {width}."
            )
        finer = ""
        if (smaller := room.finer) is not None:
            who = "single ranks" if smaller.size == 1 else f"groups of {smaller.size} ranks"
            finer = f", and those of {who} in steps of {format_time(end / room.finer_bins)}"
        return (
            f"{many}the chart contains the shares of the time that groups of {lanes.size:,} ranks "
            f"spend in each state, in steps of {width}{finer}. For every rank at any time, write a "
            "run file (<code>--timeline run.tir</code>), and open it with <code>tisim view "
            "run.tir</code>."
        )

    def breakdown(self) -> str:
        """Return bars by rank and tables by kind of action."""
        return (
            f"<h2>By rank</h2>{self._bars()}<h2>By kind of action, mean over ranks</h2>"
            f"{self._kinds()}<h2>What the states mean</h2>{self._meanings()}"
        )

    def _bars(self) -> str:
        by_rank = self._result.breakdown.by_rank
        lanes = Lanes.at_most(self._ranks, _BARS)
        grouped = by_rank.groupby(lanes.groups).mean()
        end = self._log.run.end
        lines = []
        for lane, row in grouped.iterrows():
            name = lanes.label(int(lane))
            lines.append(
                f'<span class="name">{name}</span>{bar(row.to_dict(), end)}'
                f'<span class="value">{format_result_time(row.sum())}</span>'
            )
        mean = "" if lanes.size == 1 else f" Each bar is the mean of {lanes.size} ranks."
        note = f'<p class="note">The full width is the simulated time.{mean}</p>'
        return f'{note}<div class="bars">{"".join(lines)}</div>'

    def _kinds(self) -> str:
        by_kind = self._result.breakdown.by_kind
        used = list(self._shares)
        spent = by_kind[by_kind["seconds"] > 0]
        mean, *times = time_column("mean", [*(spent["seconds"] / self._ranks)])
        rows = [
            (
                escape(str(kind)),
                f"{row['actions']:,.0f}",
                time,
                percent(row["seconds"] / self._whole),
                bar({state: row[state] for state in used}, self._whole, small=True),
                *(percent(row[state] / self._whole) for state in used),
            )
            for time, (kind, row) in zip(times, spent.iterrows(), strict=True)
        ]
        return table(["kind", "actions", mean, "share", "", *used], rows)

    def _meanings(self) -> str:
        rows = [(escape(state), escape(MEANINGS[state])) for state in self._shares]
        return table(["state", "the rank is"], rows, texts=2)

    def waits(self) -> str:
        """Return wait states, their causes, and the pairs of waiting and late ranks."""
        waits = self._result.waits
        return (
            '<p class="note">Wait states are those of Scalasca: time in which a rank is idle '
            "because another rank is late.</p>"
            f"<h2>Computations that took far longer than similar ones</h2>"
            f"{outlier_table(self._result)}"
            f"<h2>By wait state, mean over ranks</h2>{self._wait_states(waits)}"
            '<h2>Causes of the waits</h2><p class="note">Root causes of the waits of all ranks, '
            "including indirect ones: shares add up to all waiting.</p>"
            f"{self._causes()}<h2>Who waits for whom</h2>{self._wait_pairs(waits)}"
        )

    def _wait_states(self, waits: pd.DataFrame) -> str:
        sums = waits.groupby("state", observed=True)[["seconds", "count"]].sum()
        sums = sums.sort_values("seconds", ascending=False)
        mean, *times = time_column("mean", [*(sums["seconds"] / self._ranks)])
        rows = [
            (
                str(state),
                MEANINGS[str(state)],
                time,
                percent(row["seconds"] / self._whole),
                f"{row['count']:,.0f}",
            )
            for time, (state, row) in zip(times, sums.iterrows(), strict=True)
        ]
        return table(["wait state", "the rank is", mean, "share", "times"], rows, 2)

    def _causes(self) -> str:
        causes = self._result.causes
        shown = causes.head(_ROWS)
        name, *times = time_column("others wait, sum", [*shown["seconds"]])
        begin, *begins = time_column("longest begins", [*shown["start"]])
        last, *lasts = time_column("lasts", [*(shown["end"] - shown["start"])])
        rows = [
            (
                str(row.rank),
                escape(self._result.hosts[row.rank]),
                row.state,
                times[place],
                percent(row.share),
                f"{row.ranks:,}",
                f"{row.parts:,}",
                begins[place],
                lasts[place],
            )
            for place, row in enumerate(shown.itertuples())
        ]
        head = ["rank", "host", "in", name, "share", "ranks", "parts", begin, last]
        windows = [f"{row.start!r},{row.end!r},{row.rank}" for row in shown.itertuples()]
        return table(head, rows, 3, windows) + rest(len(causes), _ROWS)

    def _wait_pairs(self, waits: pd.DataFrame) -> str:
        shown = waits.head(_ROWS)
        name, *times = time_column("sum", [*shown["seconds"]])
        rows = [
            (row.state, row.kind, str(row.rank), str(row.cause), time, f"{row.count:,}")
            for time, row in zip(times, shown.itertuples(), strict=True)
        ]
        head = ["wait state", "in", "rank", "waits for rank", name, "times"]
        return table(head, rows, 2) + rest(len(waits), _ROWS)

    def path(self) -> str:
        """Return the parts of the critical path, and possible gains."""
        path = self._result.critical_path
        gain, *times = time_column("gain", [*path.gains["seconds"]])
        gains = [
            (change, time, percent(row["share"]), f"{row['speedup']:.4g}")
            for time, (change, row) in zip(times, path.gains.iterrows(), strict=True)
        ]
        return (
            '<p class="note">The chain of computations and transfers that ends with rank '
            f"{path.rank}: each begins where the previous one ended, and together they make up the "
            "simulated time. Shortening anything else gains nothing. The Gantt chart shows it as a "
            "red line.</p>"
            "<h2>Upper bounds on the gain from a better machine</h2>"
            f"{table(['if there were', gain, 'share', 'speedup'], gains)}"
            '<p class="note">As if that cost no time at all; another chain may become the longest '
            "earlier.</p>"
            f"<h2>Composition</h2>{self._path_kinds(path)}"
            f"<h2>Ranks on the path</h2>{self._path_ranks(path)}"
            f"<h2>Links of its transfers</h2>{self._path_links(path)}"
        )

    def _path_kinds(self, path: CriticalPath) -> str:
        name, *times = time_column("sum", [*path.by_kind["seconds"]])
        rows = [
            (
                row.state,
                row.kind,
                time,
                percent(row.share),
                bar({row.state: row.seconds}, path.length, small=True),
                f"{row.parts:,}",
            )
            for time, row in zip(times, path.by_kind.itertuples(), strict=True)
        ]
        return table(["state", "in", name, "share", "", "parts"], rows, 2)

    def _path_ranks(self, path: CriticalPath) -> str:
        by_rank = path.by_rank
        order = by_rank.sum(axis=1).sort_values(ascending=False, kind="stable")
        order = order[order > 0]
        shown = order.head(_ROWS)
        acting, *acts = time_column("acting", [*by_rank["seconds"][shown.index]])
        sending, *sends = time_column("sending", [*by_rank["transfers"][shown.index]])
        rows = [
            (
                str(rank),
                escape(self._result.hosts[int(rank)]),
                acts[place],
                sends[place],
                percent(total / path.length),
            )
            for place, (rank, total) in enumerate(shown.items())
        ]
        head = ["rank", "host", acting, sending, "share"]
        return table(head, rows, 2) + rest(len(order), _ROWS)

    def _path_links(self, path: CriticalPath) -> str:
        links, words = path.links, self._log.link_words
        shown = links.head(_ROWS)
        name, *times = time_column("sum", [*shown["seconds"]])
        size, *sizes = quantity_column("size", "B", [*shown["bytes"]])
        rows = [
            (
                escape(row.link),
                escape(words.get(row.link, "")),
                time,
                percent(row.seconds / path.length),
                moved,
                f"{row.transfers:,}",
            )
            for time, moved, row in zip(times, sizes, shown.itertuples(), strict=True)
        ]
        head = ["link", "where", name, "share", size, "transfers"]
        return table(head, rows, 2) + rest(len(links), _ROWS)

    def matrix(self) -> str:
        """Return the pairs that exchange most."""
        matrix = self._result.matrix
        most = matrix.sort_values(["bytes", "messages"], ascending=False, kind="stable")
        shown = most.head(_ROWS)
        size, *sizes = quantity_column("size", "B", [*shown["bytes"]])
        part, *parts = quantity_column("in collectives", "B", [*shown["collective_bytes"]])
        rows = [
            (str(row.source), str(row.destination), sent, f"{row.messages:,}", inside)
            for sent, inside, row in zip(sizes, parts, shown.itertuples(), strict=True)
        ]
        head = ["from rank", "to rank", size, "messages", part]
        lanes = Lanes.at_most(self._ranks, BLOCKS)
        note = (
            ""
            if lanes.size == 1
            else f'<p class="note">Each cell is the sum over {lanes.size} by {lanes.size} '
            "ranks.</p>"
        )
        return f"{note}<h2>Pairs with the most traffic</h2>{table(head, rows)}" + rest(
            len(matrix), _ROWS
        )

    def links(self) -> str:
        """Return the most loaded links."""
        every = self._result.links.table
        apart = every["link"].isin(self._log.limiters)
        limiters = ""
        if apart.any():
            title = "The most loaded limiters, shared by both directions"
            limiters = f"<h2>{title}</h2>{self._link_table(every[apart])}"
        note = (
            '<p class="note">A message uses its bytes divided by the bandwidth factor of its '
            "size on each link, and 5 % of that in the opposite direction if the model has cross "
            "traffic. Mean use is over the whole time, peak over the busiest part of it.</p>"
        )
        return f"<h2>The most loaded links</h2>{self._link_table(every[~apart])}{limiters}{note}"

    def _link_table(self, links: pd.DataFrame) -> str:
        words = self._log.link_words
        shown = links.head(_ROWS)
        speed, *speeds = quantity_column("bandwidth", "B/s", [*shown["bandwidth"]])
        size, *sizes = quantity_column("carried", "B", [*shown["bytes"]])
        rows = [
            (
                escape(row.link) + (" (not shared)" if row.fatpipe else ""),
                escape(words.get(row.link, "")),
                bandwidth,
                carried,
                percent(row.mean),
                percent(row.peak),
                percent(row.busy),
            )
            for bandwidth, carried, row in zip(speeds, sizes, shown.itertuples(), strict=True)
        ]
        head = ["link", "where", speed, size, "mean use", "peak", "in use"]
        return table(head, rows, 2) + rest(len(links), _ROWS)

    def config(self) -> str:
        """Return the options used, and the hosts of ranks."""
        from tisim import __version__

        result = self._result
        options = table(
            ["option", "value"],
            [
                (escape(key), f'<span class="value">{escape(str(value))}</span>')
                for key, value in sorted(result.config.items())
                if value not in ("", None)
            ],
            texts=2,
        )
        hosts = table(
            ["rank", "host"],
            [(str(rank), escape(host)) for rank, host in enumerate(result.hosts[:_HOSTS])],
            texts=2,
        )
        made = facts(
            [("tisim", __version__), ("trace", result.trace), ("platform", result.platform)]
        )
        return f"{made}<h2>Options</h2>{options}<h2>Hosts of ranks</h2>{hosts}" + rest(
            len(result.hosts), _HOSTS
        )
