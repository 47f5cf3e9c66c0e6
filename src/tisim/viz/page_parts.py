"""What a report says in words and tables."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from tisim.quantities import format_bytes, format_time
from tisim.timeline.names import STATES
from tisim.viz.colours import MEANINGS
from tisim.viz.html import bar, facts, legend, percent, table
from tisim.viz.lanes import Lanes
from tisim.viz.page_advice import findings, headline, listed, next_steps, outlier_table
from tisim.viz.page_data import BLOCKS, bins_of, is_exact, lanes_of

if TYPE_CHECKING:
    import pandas as pd

    from tisim.result import Result
    from tisim.timeline.critical_path import CriticalPath

# Rows of the longer tables, bars of the breakdown, ranks whose host is named.
_ROWS = 30
_BARS = 50
_HOSTS = 200


class PageParts:
    """The sections of a report.

    Parameters
    ----------
    result
        A result with an event log.
    """

    def __init__(self, result: Result) -> None:
        self._result = result
        self._log = result.require_event_log()
        self._ranks = self._log.run.ranks
        spent = result.breakdown.by_rank.sum()
        self._whole = float(spent.sum()) or 1.0
        self._shares = {state: spent[state] / self._whole for state in STATES if spent[state] > 0}

    @property
    def title(self) -> str:
        time = format_time(self._log.run.end, 6)
        return escape(f"{self._log.run.title}: {time}")

    def legend(self) -> str:
        return legend(self._shares)

    def summary(self) -> str:
        """The run in small, numbers of the whole, what there is to say, and what to do next."""
        result = self._result
        slow, quick = int(result.finish.argmax()), int(result.finish.argmin())
        rows = [
            ("actions", f"{result.actions:,}"),
            ("messages", f"{int(result.messages_sent.sum()):,}"),
            ("bytes sent", format_bytes(float(result.bytes_sent.sum()))),
            ("last to end", f"rank {slow} on {result.hosts[slow]}"),
            ("first to end", f"rank {quick}, after {result.finish[quick]:.9g} s"),
            ("trace", result.trace),
            ("platform", result.platform),
        ]
        warnings = "".join(f"<li>{escape(warning)}</li>" for warning in result.warnings)
        more = f'<h2>Warnings</h2><ul class="said">{warnings}</ul>' if warnings else ""
        seconds = {state: share * self._whole for state, share in self._shares.items()}
        return (
            f"{headline(result, self._shares)}"
            '<div class="chart"><canvas id="small-chart" aria-label="The whole run in small">'
            '</canvas></div><p class="note">Every rank from top to bottom, time to the right; '
            "a click opens the chart there.</p>"
            f"<h2>Where the time of all ranks goes</h2>{self.legend()}"
            f"{bar(seconds, self._whole)}{listed(findings(result, self._shares))}"
            f"<h2>What to do next</h2>{listed(next_steps(result))}{more}"
            f"<h2>The run</h2>{facts(rows)}"
        )

    def gantt_note(self) -> str:
        """How the chart is made."""
        end = self._log.run.end
        if is_exact(self._log):
            return (
                "Every state of every rank is here; a column of pixels with several states shows "
                "their shares of its time, one upon the other."
            )
        width = format_time(end / bins_of(self._log))
        lanes = lanes_of(self._log)
        who = "its rank spends" if lanes.size == 1 else f"its {lanes.size} ranks spend"
        return (
            f"There are too many states to show each: a column of a lane shows the shares of the "
            f"time that {who} in each state, one upon the other, in steps of {width}."
        )

    def breakdown(self) -> str:
        """Bars by rank, tables by kind of action."""
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
                f'<span class="value">{format_time(row.sum(), 6)}</span>'
            )
        mean = "" if lanes.size == 1 else f" Each bar is the mean of {lanes.size} ranks."
        note = f'<p class="note">The whole width is the simulated time.{mean}</p>'
        return f'{note}<div class="bars">{"".join(lines)}</div>'

    def _kinds(self) -> str:
        by_kind = self._result.breakdown.by_kind
        used = list(self._shares)
        rows = [
            (
                escape(str(kind)),
                f"{row['actions']:,.0f}",
                format_time(row["seconds"] / self._ranks),
                percent(row["seconds"] / self._whole),
                bar({state: row[state] for state in used}, self._whole, small=True),
                *(percent(row[state] / self._whole) for state in used),
            )
            for kind, row in by_kind[by_kind["seconds"] > 0].iterrows()
        ]
        return table(["kind", "actions", "mean", "share", "", *used], rows)

    def _meanings(self) -> str:
        rows = [(escape(state), escape(MEANINGS[state])) for state in self._shares]
        return table(["state", "the rank is"], rows, texts=2)

    def waits(self) -> str:
        """Wait states, who is waited for, and who waits for whom."""
        waits = self._result.waits
        return (
            '<p class="note">Wait states are those of Scalasca: time in which a rank can do '
            "nothing because another one has not come yet. The rank that it waits for is the "
            "cause.</p>"
            f"<h2>Computations that took far longer than others like them</h2>"
            f"{outlier_table(self._result)}"
            f"<h2>By wait state, mean over ranks</h2>{self._wait_states(waits)}"
            f"<h2>Ranks that are waited for</h2>{self._causes(waits)}"
            f"<h2>Who waits for whom</h2>{self._wait_pairs(waits)}"
        )

    def _wait_states(self, waits: pd.DataFrame) -> str:
        sums = waits.groupby("state", observed=True)[["seconds", "count"]].sum()
        rows = [
            (
                str(state),
                MEANINGS[str(state)],
                format_time(row["seconds"] / self._ranks),
                percent(row["seconds"] / self._whole),
                f"{row['count']:,.0f}",
            )
            for state, row in sums.sort_values("seconds", ascending=False).iterrows()
        ]
        return table(["wait state", "the rank is", "mean", "share", "times"], rows, 2)

    def _causes(self, waits: pd.DataFrame) -> str:
        by_state = waits.pivot_table(
            index="cause", columns="state", values="seconds", aggfunc="sum", observed=True
        ).fillna(0.0)
        totals = by_state.sum(axis=1).sort_values(ascending=False, kind="stable")
        rows = [
            (
                str(cause),
                escape(self._result.hosts[int(cause)]),
                format_time(total),
                percent(total / self._whole),
                bar(by_state.loc[cause].to_dict(), float(totals.iloc[0]), small=True),
            )
            for cause, total in totals.head(_ROWS).items()
        ]
        head = ["rank", "host", "others wait for it", "share", ""]
        return table(head, rows, 2) + _rest(len(totals), _ROWS)

    def _wait_pairs(self, waits: pd.DataFrame) -> str:
        rows = [
            (
                row.state,
                row.kind,
                str(row.rank),
                str(row.cause),
                format_time(row.seconds),
                f"{row.count:,}",
            )
            for row in waits.head(_ROWS).itertuples()
        ]
        head = ["wait state", "in", "rank", "waits for rank", "sum", "times"]
        return table(head, rows, 2) + _rest(len(waits), _ROWS)

    def path(self) -> str:
        """What the simulated time consists of, and what could be gained."""
        path = self._result.critical_path
        gains = [
            (change, format_time(row["seconds"]), percent(row["share"]), f"{row['speedup']:.4g}")
            for change, row in path.gains.iterrows()
        ]
        return (
            '<p class="note">The chain of computations and transfers that ends with rank '
            f"{path.rank}: each begins where the one before it ended, and together they are the "
            "simulated time. Shortening anything else gains nothing. The Gantt chart draws it as a "
            "black line.</p>"
            "<h2>What better machines could gain at most</h2>"
            f"{table(['if there were', 'gain', 'share', 'speedup'], gains)}"
            '<p class="note">As if that cost nothing at all; another chain may become the longest '
            "before.</p>"
            f"<h2>What it consists of</h2>{self._path_kinds(path)}"
            f"<h2>Ranks that it stays on</h2>{self._path_ranks(path)}"
            f"<h2>Links that its transfers cross</h2>{self._path_links(path)}"
        )

    def _path_kinds(self, path: CriticalPath) -> str:
        rows = [
            (
                row.state,
                row.kind,
                format_time(row.seconds),
                percent(row.share),
                bar({row.state: row.seconds}, path.length, small=True),
                f"{row.parts:,}",
            )
            for row in path.by_kind.itertuples()
        ]
        return table(["state", "in", "sum", "share", "", "parts"], rows, 2)

    def _path_ranks(self, path: CriticalPath) -> str:
        by_rank = path.by_rank
        order = by_rank.sum(axis=1).sort_values(ascending=False, kind="stable")
        order = order[order > 0]
        rows = [
            (
                str(rank),
                escape(self._result.hosts[int(rank)]),
                format_time(by_rank["seconds"][rank]),
                format_time(by_rank["transfers"][rank]),
                percent(total / path.length),
            )
            for rank, total in order.head(_ROWS).items()
        ]
        head = ["rank", "host", "acting", "sending", "share"]
        return table(head, rows, 2) + _rest(len(order), _ROWS)

    def _path_links(self, path: CriticalPath) -> str:
        links, words = path.links, self._log.link_words
        rows = [
            (
                escape(row.link),
                escape(words.get(row.link, "")),
                format_time(row.seconds),
                percent(row.seconds / path.length),
                format_bytes(row.bytes),
                f"{row.transfers:,}",
            )
            for row in links.head(_ROWS).itertuples()
        ]
        head = ["link", "of host", "sum", "share", "bytes", "transfers"]
        return table(head, rows, 2) + _rest(len(links), _ROWS)

    def matrix(self) -> str:
        """The pairs that exchange most."""
        matrix = self._result.matrix
        most = matrix.sort_values(["bytes", "messages"], ascending=False, kind="stable")
        rows = [
            (
                str(row.source),
                str(row.destination),
                format_bytes(row.bytes),
                f"{row.messages:,}",
                format_bytes(row.collective_bytes),
            )
            for row in most.head(_ROWS).itertuples()
        ]
        head = ["from rank", "to rank", "bytes", "messages", "bytes in collectives"]
        lanes = Lanes.at_most(self._ranks, BLOCKS)
        note = (
            ""
            if lanes.size == 1
            else f'<p class="note">Each cell is the sum over {lanes.size} by {lanes.size} '
            "ranks.</p>"
        )
        return f"{note}<h2>Pairs that exchange most</h2>{table(head, rows)}" + _rest(
            len(matrix), _ROWS
        )

    def links(self) -> str:
        """The most loaded links."""
        links, words = self._result.links.table, self._log.link_words
        rows = [
            (
                escape(row.link) + (" (not shared)" if row.fatpipe else ""),
                escape(words.get(row.link, "")),
                f"{format_bytes(row.bandwidth)}/s",
                format_bytes(row.bytes),
                percent(row.mean),
                percent(row.peak),
                percent(row.busy),
            )
            for row in links.head(_ROWS).itertuples()
        ]
        head = ["link", "of host", "bandwidth", "carried", "mean use", "peak", "in use"]
        note = (
            '<p class="note">What a message takes of a link: its bytes divided by the bandwidth '
            "factor of its size, and 5 % of it on the way back where the model has cross traffic. "
            "Mean use is over all the time, peak that of the busiest part of it.</p>"
        )
        return (
            f"<h2>The most loaded links</h2>{table(head, rows, 2)}{_rest(len(links), _ROWS)}{note}"
        )

    def config(self) -> str:
        """The options used, and where ranks ran."""
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
        return f"{made}<h2>Options</h2>{options}<h2>Hosts of ranks</h2>{hosts}" + _rest(
            len(result.hosts), _HOSTS
        )


def _rest(count: int, shown: int) -> str:
    if count <= shown:
        return ""
    return f'<p class="note">and {count - shown:,} more, which the Python interface has.</p>'
