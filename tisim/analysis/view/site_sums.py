"""Where in the program the time of a window goes: sums by call site."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tisim.analysis.timeline.run_file import Window
from tisim.analysis.view.sites import Sites

if TYPE_CHECKING:
    Row = dict[str, object]

# Records of a window whose call sites are looked up; the trace is read up to the last of them.
_MOST_RECORDS = 200_000
_MOST_ROWS = 1000


def site_sums(window: Window, sites: Sites) -> Row:
    """Seconds of a window by call path, kind of action and state.

    `rows` is None where the window has too many records, and `known` says whether the trace has
    call sites or samples. A computation that was sampled is divided among its call paths as the
    samples are; the others have none of their own: theirs is empty.
    """
    import numpy as np

    if not sites.are_known and sites.sampled is None:
        return {"known": False, "rows": []}
    records = window.records(_MOST_RECORDS)
    if records is None:
        return {"known": True, "rows": None}
    rank, line = records.numbers("rank"), records.numbers("line")
    state, kind = records.numbers("state"), records.numbers("kind")
    seconds = np.minimum(records.reals("end"), window.end)
    seconds = np.maximum(seconds - np.maximum(records.reals("start"), window.begin), 0.0)
    wanted: dict[int, set[int]] = {}
    for one, of_line in {*zip(rank.tolist(), line.tolist(), strict=True)}:
        wanted.setdefault(one, set()).add(of_line)
    paths = sites.paths(wanted)
    info = window.run.info
    sums: dict[tuple[str, int, int], list[float]] = {}
    sampled = {} if sites.sampled is None else {one: sites.sampled.of_rank(one) for one in wanted}
    rows = zip(rank.tolist(), line.tolist(), kind.tolist(), state.tolist(), seconds, strict=True)
    for of_rank, of_line, of_kind, of_state, length in rows:
        shares = sampled[of_rank].get(of_line) if sampled else None
        for path, share in shares or [(paths.get((of_rank, of_line), ""), 1.0)]:
            found = sums.setdefault((path, of_kind, of_state), [0.0, 0.0, 0.0])
            found[0] += share * float(length)
            found[1] += 1
            found[2] = max(found[2], share * float(length))
    longest_first = sorted(sums.items(), key=lambda one: -one[1][0])[:_MOST_ROWS]
    return {
        "known": True,
        "rows": [
            {
                "path": path,
                "kind": info["kinds"][of_kind],
                "state": info["states"][of_state],
                "seconds": total,
                "count": int(count),
                "longest": longest,
            }
            for (path, of_kind, of_state), (total, count, longest) in longest_first
        ],
    }
