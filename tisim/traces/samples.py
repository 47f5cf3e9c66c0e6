"""Sampled call paths of a recording: where in the program computations take place."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tisim import _core
from tisim.errors import InputError
from tisim.support.files import write_file
from tisim.traces.call_sites import BETWEEN
from tisim.traces.sources import Part

_SECTION = "samples"


@dataclass
class RankSamples:
    """The samples of a rank."""

    #: Processor time of the rank during sampling, in seconds.
    seconds: float = 0.0
    #: Number of timer expirations.
    signals: int = 0
    #: Number of expirations that found the rank in an MPI call.
    in_calls: int = 0
    #: Number of samples dropped for lack of room.
    lost: int = 0
    #: For each sampled computation: the number of the call that follows it, counted from 0 without
    #: computations, and its runs in order of time. A run is a node and the number of consecutive
    #: samples that ended there; a node may have several runs.
    computations: list[tuple[int, list[tuple[int, int]]]] = field(default_factory=list)
    #: Number of samples merged into the last run of their node because the computation had too
    #: many runs. Known only to a recording; not stored in the trace.
    unordered: int = 0


@dataclass
class Samples:
    """The call-path tree of a program, and the samples of each rank."""

    #: For each node, numbered from 1, its parent and its place in the program; the parent of the
    #: outermost functions is 0.
    nodes: list[tuple[int, str]] = field(default_factory=list)
    ranks: dict[int, RankSamples] = field(default_factory=dict)

    def path(self, node: int) -> str:
        """Return the call path of a node, callers first, as `named_paths` takes it."""
        places: list[str] = []
        while node:
            node, place = self.nodes[node - 1]
            places.append(place)
        return BETWEEN.join(reversed(places))

    def fractions(self, rank: int) -> Iterator[tuple[int, dict[int, float]]]:
        """Yield the share of each node in each sampled computation of a rank."""
        for call, runs in self.ranks[rank].computations:
            counts = _counts(runs)
            total = counts.total()
            yield call, {node: count / total for node, count in counts.items()}

    def runs(self, rank: int) -> Iterator[tuple[int, list[tuple[str, int]]]]:
        """Yield the samples of each computation of a rank, in order of time.

        Parameters
        ----------
        rank
            A sampled rank.

        Yields
        ------
        call : int
            The number of the call that follows the computation, counted from 0 without
            computations.
        runs : list of (str, int)
            Call paths, as returned by `path`, and the number of consecutive samples there. A path
            may occur several times. Samples of all threads of the rank are in one order.
        """
        for call, runs in self.ranks[rank].computations:
            yield call, [(self.path(node), count) for node, count in runs]

    def totals(self) -> Counter[int]:
        """Return the number of samples of each node, over all ranks."""
        totals: Counter[int] = Counter()
        for rank in self.ranks.values():
            for _, runs in rank.computations:
                totals.update(_counts(runs))
        return totals

    @property
    def rate(self) -> float:
        """Samples per second of processor time, over all ranks; 0 if unknown."""
        seconds = sum(rank.seconds for rank in self.ranks.values())
        return sum(rank.signals for rank in self.ranks.values()) / seconds if seconds else 0.0


def read_samples(trace: Part) -> Samples | None:
    """Return the samples in a packed trace of version 2; None if it has none. Raises InputError
    when the file is damaged or not such a trace.
    """
    content = _core.optional_section(trace.for_core(), _SECTION)
    return None if content is None else decoded_samples(content)


def add_samples(trace: str | os.PathLike[str], samples: Samples) -> None:
    """Write samples into a packed trace that has none. Raises InputError when the file cannot be
    read or written.
    """
    # Needs the compiled core.
    from tisim.traces.packed_program import with_section

    data = with_section(trace, _SECTION, encoded_samples(samples))
    write_file(trace, data)


def encoded_samples(samples: Samples) -> bytes:
    """Encode the section (docs/tit.md, "The section `samples`")."""
    places = {place: number for number, place in enumerate(dict.fromkeys(_places(samples)))}
    numbers: list[int] = [len(places)]
    texts = b"".join(_varint(len(place.encode())) + place.encode() for place in places)
    tree: list[int] = [len(samples.nodes)]
    for number, (parent, place) in enumerate(samples.nodes, start=1):
        tree += [number - parent, places[place]]
    tree.append(len(samples.ranks))
    before = -1
    for rank, profile in sorted(samples.ranks.items()):
        nanoseconds = round(profile.seconds * 1e9)
        tree += [rank - before - 1, nanoseconds, profile.signals, profile.in_calls, profile.lost]
        tree.append(len(profile.computations))
        before = rank
        last = 0
        for call, runs in profile.computations:
            tree += [call - last, len(runs)]
            last = call
            for node, count in runs:
                tree += [node, count]
    return _varints(numbers) + texts + _varints(tree)


def decoded_samples(content: bytes) -> Samples:
    """Decode the section."""
    reader = _Reader(content)
    places = [reader.text() for _ in range(reader.varint())]
    samples = Samples()
    for number in range(1, reader.varint() + 1):
        samples.nodes.append((number - reader.varint(), places[reader.varint()]))
    rank = -1
    for _ in range(reader.varint()):
        rank += reader.varint() + 1
        nanoseconds, signals, in_calls, lost = (reader.varint() for _ in range(4))
        found = RankSamples(nanoseconds * 1e-9, signals, in_calls, lost)
        samples.ranks[rank] = found
        call = 0
        for _ in range(reader.varint()):
            call += reader.varint()
            runs = [(reader.varint(), reader.varint()) for _ in range(reader.varint())]
            found.computations.append((call, runs))
    return samples


def _counts(runs: Iterable[tuple[int, int]]) -> Counter[int]:
    """Count the samples of each node."""
    counts: Counter[int] = Counter()
    for node, count in runs:
        counts[node] += count
    return counts


class _Reader:
    """Reads numbers and texts from the front of a section."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def text(self) -> str:
        return self._take(self.varint()).decode()

    def _take(self, size: int) -> bytes:
        self._at += size
        if self._at > len(self._content):
            raise InputError("its samples end too early")
        return self._content[self._at - size : self._at]


def _varint(number: int) -> bytes:
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)


def _places(samples: Samples) -> Iterator[str]:
    return (place for _, place in samples.nodes)


def _varints(numbers: Iterable[int]) -> bytes:
    return b"".join(map(_varint, numbers))
