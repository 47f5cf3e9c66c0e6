"""The source traces of extrapolations, read once for any number of targets."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise

from tisim.errors import InputError
from tisim.traces.extrapolated import Extrapolated, ExtrapolatedVolume, add_extrapolated
from tisim.traces.extrapolation.accidental_loops import without_accidental_loops
from tisim.traces.extrapolation.data import Approximation
from tisim.traces.extrapolation.hypotheses import Explanation, explain
from tisim.traces.extrapolation.next_sizes import candidate_sizes
from tisim.traces.extrapolation.recorded import ClassProgram, RecordedTrace, read_trace
from tisim.traces.extrapolation.target import write_program
from tisim.traces.extrapolation.volumes import FEWEST_SIZES, SCALINGS, UnexplainedVolumeError

# A simple program takes 4 GB at this number of ranks.
_MOST_RANKS = 1 << 24


@dataclass(frozen=True)
class Recordings:
    """Traces of one program on several numbers of ranks."""

    #: The numbers of ranks, in ascending order.
    sizes: tuple[int, ...]
    #: The programs of all classes of ranks in all traces.
    classes: tuple[ClassProgram, ...]
    #: Reads the programs with mean volumes to be fitted, in case no function explains the volumes
    #: of the ranks; None if `classes` has the means already, or all volumes are exact.
    means: Callable[[], tuple[ClassProgram, ...]] | None
    #: True if lines use the legacy dialect.
    legacy: bool
    scaling: str
    approximation: Approximation

    @classmethod
    def read(
        cls,
        traces: Sequence[str | os.PathLike[str]],
        *,
        scaling: str = "auto",
        approximate: Sequence[str] = (),
    ) -> Recordings:
        """Read traces. Raises InputError unless they are traces of one program on at least three
        numbers of ranks.
        """
        recorded = [read_trace(path) for path in traces]
        return cls.of(recorded, scaling=scaling, approximate=approximate)

    @classmethod
    def of(
        cls,
        traces: Sequence[RecordedTrace],
        *,
        scaling: str = "auto",
        approximate: Sequence[str] = (),
    ) -> Recordings:
        """Read the programs of traces; raises as `read` does."""
        if len(traces) < FEWEST_SIZES:
            sizes = tuple(sorted(trace.ranks for trace in traces))
            example = next(candidate_sizes(sizes))
            raise InputError(
                f"traces of at least {FEWEST_SIZES} numbers of ranks are needed, not of "
                f"{', '.join(map(str, sizes))}: two determine a function, and a third must confirm "
                f"it; for example, also record {example:,} ranks"
            )
        as_given = sorted(traces, key=lambda trace: trace.ranks)
        recorded = [replace(trace, size=size) for size, trace in enumerate(as_given)]
        sizes = tuple(trace.ranks for trace in recorded)
        for a, b in pairwise(recorded):
            if a.ranks == b.ranks:
                raise InputError(
                    f"has {b.ranks:,} ranks, like {a.name}; give one trace for each number of "
                    "ranks",
                    file=b.name,
                )
        if len({trace.legacy for trace in recorded}) > 1:
            raise InputError("the traces have different dialects; record all of them in one")
        if scaling not in SCALINGS:
            raise InputError(f"scaling must be one of {', '.join(SCALINGS)}, not {scaling!r}")
        # Volumes that are not measured are exact parameters like any other.
        is_measured = any(trace.has_measured_volumes for trace in recorded)
        approximation = Approximation.parsed(approximate)

        def classes_of(fit_volumes: bool) -> tuple[ClassProgram, ...]:
            parts = [
                made for trace in recorded for made in trace.classes(fit_volumes, approximation)
            ]
            return tuple(without_accidental_loops(parts))

        classes = classes_of(is_measured)
        is_open = not is_measured and any(trace.has_volumes_by_rank for trace in recorded)
        # Reading means reads every action, so it is done only on demand, and once.
        means = cache(partial(classes_of, True)) if is_open else None
        known = {call.shape.action for made in classes for call in made.calls}
        if unknown := approximation.how.keys() - known:
            raise InputError(f"the traces have no {', '.join(sorted(unknown))} to approximate")
        return cls(sizes, classes, means, recorded[0].legacy, scaling, approximation)

    def explain(
        self,
        ranks: int,
        prefer: Sequence[str] = (),
        iterations: Mapping[str, int] | None = None,
    ) -> Explanation:
        """Return the program on a number of ranks. Raises InputError when no function explains a
        part of it, or several that differ there do.
        """
        if ranks < 1:
            raise InputError(f"a trace must have at least one rank, not {ranks}")
        if ranks > _MOST_RANKS:
            raise InputError(
                f"at most {_MOST_RANKS:,} ranks can be predicted, not {ranks:,}: the calls of each "
                "rank must fit into memory"
            )
        asked = iterations or {}
        try:
            return explain(self.classes, self.sizes, ranks, prefer, self.scaling, asked)
        except UnexplainedVolumeError:
            if self.means is None:
                raise
        return explain(self.means(), self.sizes, ranks, prefer, self.scaling, asked)

    def write(self, found: Explanation, ranks: int, output: str | os.PathLike[str]) -> int:
        """Write a program as a trace with its origin; return its number of classes of ranks."""
        how = self.approximation.how
        comments = [f"# approximate: {action}, {way}" for action, way in how.items()]
        precision = "mean" if found.findings.volumes else ""
        count = write_program(
            found.program, ranks, output, self.legacy, precision, comments, self.approximation
        )
        volumes = tuple(
            ExtrapolatedVolume(
                one.site, one.fit.family, round(one.fit.value), one.fit.leave_one_out(ranks)
            )
            for one in found.findings.volumes
            if round(one.fit.value)
        )
        add_extrapolated(output, Extrapolated(self.sizes, volumes, how))
        return count
