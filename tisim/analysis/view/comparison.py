"""What the server answers about two runs: which times belong together, and where time went."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from tisim.analysis.timeline.run_file import RunFile, Window
from tisim.analysis.view.alignment import Alignment
from tisim.analysis.view.questions import MOST_COLUMNS, count, number, window
from tisim.analysis.view.rank_orders import RankOrders
from tisim.errors import InputError

if TYPE_CHECKING:
    Row = dict[str, object]

# Parts of the first run whose delays are listed.
_PARTS = 256
_MOST_STEPS = 20
# Of the largest step of one of them; smaller ones are not listed.
_LEAST_STEP = 0.05


class Comparison:
    """Answers what the page asks of two runs.

    Parameters
    ----------
    first, second
        The runs.
    orders
        The orders of ranks of both.

    Raises
    ------
    InputError
        When they cannot be aligned.
    """

    def __init__(self, first: RunFile, second: RunFile, orders: RankOrders) -> None:
        self._runs = first, second
        self._orders = orders
        self._alignment = Alignment(first, second)
        self.questions: Mapping[str, Callable[[Mapping[str, str]], Row]] = {
            "match": self._match,
            "delays": self._delays,
            "differences": self._differences,
        }

    def _match(self, query: Mapping[str, str]) -> Row:
        """The part of the time of one run that is a part of the other's; ``of`` is the former."""
        of = query.get("of", "a")
        if of not in ("a", "b"):
            raise InputError(f"of is a or b, not {of[:40]!r}")
        begin, end = (
            self._alignment.time(number(query, name), to_second=of == "a")
            for name in ("begin", "end")
        )
        return {"begin": begin, "end": end}

    def _delays(self, query: Mapping[str, str]) -> Row:
        """By how much the second run is behind, over the time of the first."""
        import numpy as np

        columns = max(count(query, "columns", MOST_COLUMNS, _PARTS), 2)
        delays = self._alignment.delays(columns + 1)
        return {
            "least": delays.min(axis=0).tolist(),
            "median": np.median(delays, axis=0).tolist(),
            "most": delays.max(axis=0).tolist(),
            "steps": self._steps(),
        }

    def _steps(self) -> list[Row]:
        """Parts of the first run in which the second loses or gains most; neighbours are joined."""
        import numpy as np

        steps = np.diff(self._alignment.delays(_PARTS + 1), axis=1)
        median = np.median(steps, axis=0)
        sign = np.where(np.abs(median) > _LEAST_STEP * np.abs(median).max(), np.sign(median), 0.0)
        borders = np.flatnonzero(np.diff(np.concatenate(([0.0], sign, [0.0]))))
        width = self._runs[0].end / _PARTS
        found: list[Row] = []
        for begin, end in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True):
            if not sign[begin]:
                continue
            of_ranks = steps[:, begin:end].sum(axis=1)
            found.append(
                {
                    "begin": begin * width,
                    "end": end * width,
                    "seconds": float(np.median(of_ranks)),
                    "rank": self._alignment.ranks[int(np.abs(of_ranks).argmax())],
                }
            )
        found.sort(key=lambda one: -abs(float(str(one["seconds"]))))
        return found[:_MOST_STEPS]

    def _differences(self, query: Mapping[str, str]) -> Row:
        """Seconds by state and call of a window of the first run, and of the same calls."""
        first = window(self._runs[0], query, self._orders)
        begin, end = (self._alignment.time(at, to_second=True) for at in (first.begin, first.end))
        later = {**query, "begin": str(begin), "end": str(max(end, begin + 1e-15))}
        second = window(self._runs[1], later, self._orders)
        sums = [_sums(one) for one in (first, second)]
        return {
            "a": {"begin": first.begin, "end": first.end},
            "b": {"begin": begin, "end": end},
            "ranks": first.ranks,
            "rows": [
                {
                    "state": key[0],
                    "kind": key[1],
                    "a": sums[0].get(key, 0.0),
                    "b": sums[1].get(key, 0.0),
                }
                for key in sorted({*sums[0], *sums[1]})
            ],
        }


def _sums(part: Window) -> dict[tuple[str, str], float]:
    """Seconds by state and kind of action, in words: numbers may differ between versions."""
    import numpy as np

    info = part.run.info
    tile = part.sums(1, np.arange(len(info["keys"]), dtype=np.int32))
    found: dict[tuple[str, str], float] = {}
    for key, seconds in zip(tile.key.tolist(), tile.seconds.tolist(), strict=True):
        state, kind = info["keys"][key]
        name = info["states"][state], info["kinds"][kind]
        found[name] = found.get(name, 0.0) + seconds
    return found
