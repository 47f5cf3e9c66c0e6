"""The traces that are extrapolated, read once for any number of targets."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from tisim.errors import InputError
from tisim.extrapolation.data.approximation import Approximation
from tisim.extrapolation.hypotheses import Explanation, explain
from tisim.extrapolation.recorded.accidental_loops import without_accidental_loops
from tisim.extrapolation.recorded.program import ClassProgram, read_trace
from tisim.extrapolation.target import write_program
from tisim.extrapolation.volumes import SCALINGS
from tisim.formats.extrapolated import Extrapolated, ExtrapolatedVolume, add_extrapolated

FEWEST_SIZES = 3


@dataclass(frozen=True)
class Recordings:
    """Traces of one program on several numbers of ranks.

    Attributes
    ----------
    sizes
        The numbers of ranks.
    classes
        The programs of all classes of ranks of all traces.
    fit_volumes
        Whether volumes are means that are fitted.
    legacy
        Whether lines are of the legacy dialect.
    scaling
        How volumes scale.
    approximation
        What of the calls is data.
    """

    sizes: tuple[int, ...]
    classes: tuple[ClassProgram, ...]
    fit_volumes: bool
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
        """Read traces.

        Parameters
        ----------
        traces, scaling, approximate
            As `tisim.extrapolation.extrapolate` takes them.

        Raises
        ------
        InputError
            When these are no traces of one program on three numbers of ranks.
        """
        recorded = [read_trace(path, size) for size, path in enumerate(traces)]
        sizes = tuple(trace.ranks for trace in recorded)
        if len(set(sizes)) < FEWEST_SIZES:
            shown = ", ".join(map(str, sorted(set(sizes))))
            raise InputError(
                f"traces of {FEWEST_SIZES} numbers of ranks or more are needed, not of {shown}: "
                "two determine a function, and another one must confirm it"
            )
        if len({trace.legacy for trace in recorded}) > 1:
            raise InputError("the traces are of different dialects; record them all in one")
        if scaling not in SCALINGS:
            raise InputError(f"volumes scale as {', '.join(SCALINGS)}, not as {scaling!r}")
        # Other volumes are parameters like any other, and exact.
        fit_volumes = any(trace.has_measured_volumes for trace in recorded)
        approximation = Approximation.parsed(approximate)
        classes = without_accidental_loops(
            [made for trace in recorded for made in trace.classes(fit_volumes, approximation)]
        )
        known = {call.shape.action for made in classes for call in made.calls}
        if unknown := approximation.how.keys() - known:
            raise InputError(f"the traces have no {', '.join(sorted(unknown))} to approximate")
        return cls(sizes, tuple(classes), fit_volumes, recorded[0].legacy, scaling, approximation)

    def explained(self, ranks: int, prefer: Sequence[str] = ()) -> Explanation:
        """The program on a number of ranks.

        Raises
        ------
        InputError
            When a part of it is explained by no function, or by several that differ there.
        """
        if ranks < 1:
            raise InputError(f"a trace has a rank or more, not {ranks}")
        return explain(self.classes, self.sizes, ranks, prefer, self.scaling)

    def write(self, found: Explanation, ranks: int, output: str | os.PathLike[str]) -> int:
        """Write a program as a trace that says how it was made.

        Returns
        -------
        int
            How many classes of ranks it has.
        """
        how = self.approximation.how
        comments = [f"# approximate: {action}, {way}" for action, way in how.items()]
        precision = "mean" if self.fit_volumes else ""
        count = write_program(
            found.program, ranks, output, self.legacy, precision, comments, self.approximation
        )
        volumes = tuple(
            ExtrapolatedVolume(
                one.site, one.fit.family, round(one.fit.value), one.fit.left_out(ranks)
            )
            for one in found.findings.volumes
            if round(one.fit.value)
        )
        add_extrapolated(output, Extrapolated(tuple(sorted(self.sizes)), volumes, how))
        return count
