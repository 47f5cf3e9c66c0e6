"""A real run, read from its run file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tisim.analysis.timeline.run_file import RunFile
from tisim.errors import InputError


@dataclass(frozen=True)
class RealRun:
    """A real run.

    Attributes
    ----------
    ends
        When each rank ended, in seconds.
    kinds
        Seconds in calls of each kind, summed over the ranks.
    """

    ends: tuple[float, ...]
    kinds: Mapping[str, float]

    @property
    def time(self) -> float:
        """When the last rank ended, in seconds."""
        return max(self.ends)

    @classmethod
    def read(cls, path: Path, ranks: int | None = None) -> RealRun:
        """Read a run file of a real run.

        Raises
        ------
        InputError
            When it cannot be read, is a prediction's, or has not so many ranks.
        """
        import numpy as np

        run = RunFile(path)
        if not run.info["measured"]:
            raise InputError(
                "is the run file of a prediction; 'tisim execute', 'record' and 'import' write "
                "those of real runs",
                file=path,
            )
        if ranks is not None and run.ranks != ranks:
            raise InputError(f"has {run.ranks} ranks, the trace {ranks}", file=path)
        ends = np.zeros(run.ranks)
        kinds = np.zeros(len(run.info["kinds"]))
        for block in range(run.actions.blocks):
            rows = run.actions.read(block)
            np.maximum.at(ends, rows.numbers("rank"), rows.reals("end"))
            seconds = rows.reals("end") - rows.reals("start")
            kinds += np.bincount(rows.numbers("kind"), seconds, len(kinds))
        sums: dict[str, float] = {}
        for name, seconds_of in zip(run.info["kinds"], kinds.tolist(), strict=True):
            if seconds_of > 0.0:
                sums[name] = sums.get(name, 0.0) + seconds_of
        return cls(tuple(ends.tolist()), sums)
