"""Which functions computations were in, by the samples of the recording."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from tisim.traces import Kind, Trace
from tisim.traces.call_paths import names_of_paths
from tisim.traces.samples import Samples, read_samples
from tisim.traces.sources import Part

if TYPE_CHECKING:
    # Call paths such as ``main (a.c:9) > solve (a.c:20)`` with their shares of a computation.
    Shares = list[tuple[str, float]]


class SampledPaths:
    """The call paths that computations of a trace were sampled in.

    Parameters
    ----------
    trace
        The trace; only those that were recorded with ``--sample`` have any.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._ranks: dict[int, Mapping[int, Shares]] = {}

    @property
    def are_known(self) -> bool:
        """Whether the trace has samples."""
        return self._samples is not None

    def of_rank(self, rank: int) -> Mapping[int, Shares]:
        """The paths of each computation of a rank that was sampled, by its line of the trace.

        The shares of one computation add up to 1; the largest comes first. A computation of
        several lines before one call has the same shares in all of them.
        """
        if rank not in self._ranks:
            self._ranks[rank] = dict(self._read(rank))
        return self._ranks[rank]

    def _read(self, rank: int) -> Iterator[tuple[int, Shares]]:
        import numpy as np

        samples = self._samples
        if samples is None or rank not in samples.ranks:
            return
        paths = {call: self._named(shares) for call, shares in samples.fractions(rank)}
        calls = 0
        for batch in self._trace.operations(rank, custom_actions=["unsupported"]):
            is_computation = batch["kind"] == Kind.COMPUTE
            before = calls + np.cumsum(~is_computation)
            calls = int(before[-1])
            lines = batch["line"][is_computation].tolist()
            for line, call in zip(lines, before[is_computation].tolist(), strict=True):
                if call in paths:
                    yield line, paths[call]

    def _named(self, shares: Mapping[int, float]) -> Shares:
        """The shares of paths in words; addresses on one line of the source are one path."""
        sums: defaultdict[str, float] = defaultdict(float)
        for node, share in shares.items():
            sums[self._names[node]] += share
        return sorted(sums.items(), key=lambda one: (-one[1], one[0]))

    @cached_property
    def _samples(self) -> Samples | None:
        source = self._trace.source
        return read_samples(Part(source, source)) if isinstance(source, str) else None

    @cached_property
    def _names(self) -> Mapping[int, str]:
        """The call path of each node that has samples."""
        if self._samples is None:
            return {}
        paths = {node: self._samples.path(node) for node in self._samples.totals()}
        names = names_of_paths(self._trace, {*paths.values()})
        return {node: names[path] for node, path in paths.items()}
