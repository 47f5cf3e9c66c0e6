"""The importer of Pilgrim's traces."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.traces.importers.format import FormatTrace, need_speed
from tisim.traces.importers.importer import ForeignTrace, Importer, ImportOptions, Notes
from tisim.traces.importers.mpi_calls import CreationNumbers
from tisim.traces.importers.pilgrim.calls import CallLines
from tisim.traces.importers.pilgrim.files import read_grammars, read_signatures
from tisim.traces.program import Program, Rule, length_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def sequence_of_calls(rules: Sequence[Rule]) -> NDArray[np.int32]:
    """Return the numbers of the signatures in a grammar's expansion."""
    import numpy as np  # slow to load

    found: list[NDArray[np.int32]] = [np.empty(0, np.int32)] * len(rules)
    for rule in range(len(rules) - 1, -1, -1):
        parts = [
            np.tile(found[number], times) if is_rule else np.full(times, number, np.int32)
            for is_rule, number, times in rules[rule]
        ]
        found[rule] = np.concatenate(parts)
    return found[0]


def rules_of_lines(rules: Sequence[Rule], places: Mapping[int, Sequence[int]]) -> list[Rule]:
    """Return the grammar with each call replaced by its lines (`places`), between a first line 0
    and a last line 1.
    """
    made: list[Rule] = [[] for _ in rules]
    repeated: list[Rule] = []
    for rule in range(len(rules) - 1, -1, -1):
        items = made[rule]
        for is_rule, number, times in rules[rule]:
            if is_rule:
                if made[number]:
                    items.append((True, number, times))
                continue
            lines: Rule = [(False, line, 1) for line in places[number]]
            if len(lines) == 1:
                items.append((False, places[number][0], times))
            elif times == 1:
                items.extend(lines)
            elif lines:
                items.append((True, len(rules) + len(repeated), times))
                repeated.append(lines)
    made[0] = [(False, 0, 1), *made[0], (False, 1, 1)]
    made += repeated
    kept = [number for number, items in enumerate(made) if items]
    new = {number: place for place, number in enumerate(kept)}
    return [
        [
            (is_rule, new[number] if is_rule else number, times)
            for is_rule, number, times in made[rule]
        ]
        for rule in kept
    ]


def seconds_before_lines(
    gaps: NDArray[np.float64], lines: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the seconds of computation before each line. Computation before a call without a line
    counts for the next line.
    """
    import numpy as np  # slow to load

    # One line before those of the calls, and one after them.
    found = np.zeros(int(lines.sum()) + 2)
    written = np.flatnonzero(lines)
    passed = np.cumsum(gaps)
    first = 1 + np.cumsum(lines)[written] - lines[written]
    found[first] = np.diff(passed[written], prepend=0.0)
    done = passed[written[-1]] if len(written) else 0.0
    found[-1] = (passed[-1] if len(passed) else 0.0) - done
    return found


_METADATA, _SIGNATURES, _GRAMMARS = "pilgrim.mt", "funcs.dat", "grammars.dat"
_STARTS, _ENDS = "intervals.dat", "durations.dat"
# Header of the metadata: resolution of lossy times, number of ranks, and mode of times.
_HEADER = struct.Struct("<di20s")
_LOSSLESS = b"LOSSLESS"
_MODES = {_LOSSLESS, b"AGGREGATED", b"TEXT", b"ZSTD", b"CFG", b"HIST", b"SZ", b"ZFP"}
_MOST_RANKS = 1 << 24
# Volumes are 64-bit integers.
_MOST_VOLUME = 2.0**62
_MOST_SECONDS = 1e18
# Pilgrim records calls of this name, which free memory, without times.
_UNTIMED = "free"


class PilgrimImporter(Importer):
    """Reads Pilgrim's output directory, ``pilgrim-logs``."""

    name = "pilgrim"
    title = "Pilgrim"

    def recognises(self, files: Sequence[Path], head: bytes) -> bool:
        return len(files) == 1 and _directory(files[0]) is not None

    def open(self, files: Sequence[Path], options: ImportOptions, notes: Notes) -> ForeignTrace:
        directory = _directory(files[0]) if len(files) == 1 else None
        if directory is None:
            raise InputError(
                f"is not a Pilgrim trace, which is a directory with {_METADATA}, {_SIGNATURES} and "
                f"{_GRAMMARS}",
                file=files[0],
            )
        need_speed(options, directory, "Pilgrim records")
        return PilgrimTrace(directory, options, notes)


class PilgrimTrace(FormatTrace):
    """The signatures, grammars and times of a trace."""

    def __init__(self, directory: Path, options: ImportOptions, notes: Notes) -> None:
        super().__init__(directory, options, notes)
        self.ranks = _ranks_of(directory / _METADATA)
        self._table = directory / _SIGNATURES
        self._signatures = read_signatures(self._table)
        grammars = read_grammars(directory / _GRAMMARS, self.ranks, len(self._signatures))
        self._rules, self._of_rank = grammars
        self._lengths = [length_of(self._rules[number]) for number in self._of_rank]
        calls = sum(self._lengths)
        for name in (_STARTS, _ENDS):
            file = directory / name
            if not file.exists():
                raise InputError("no such file; it contains the times", file=file)
            if file.stat().st_size != 8 * calls:
                raise InputError(f"lacks the times of {calls} calls, 8 bytes each", file=file)
        first = self._signatures[0].thread
        others = [i for i, call in enumerate(self._signatures) if call.thread != first]
        if others:
            notes.add(
                "calls of several threads are in the order of their ends",
                f"signature {others[0]}",
                len(others),
            )
        self._numbers = CreationNumbers()
        self._first_free = 1 + max(
            max([-1, signature.numbers.get("request", -1), *signature.lists.get("requests", [])])
            for signature in self._signatures
        )
        # The most recently expanded grammar and its sequence.
        self._sequence: tuple[int, NDArray[np.int32]] | None = None

    def lines(self, rank: int) -> Iterator[str]:
        yield from self.program(rank).expand(rank)

    def program(self, rank: int) -> Program:
        import numpy as np  # slow to load

        sequence = self._sequence_of(self._of_rank[rank])
        starts, ends = self._times(rank)
        texts, places = self._texts(rank, sequence)
        timed = np.array([signature.function != _UNTIMED for signature in self._signatures])
        measured = np.flatnonzero(timed[sequence])
        gaps = np.zeros(len(sequence))
        if len(measured):
            # Calls of several threads may overlap.
            ended = np.maximum.accumulate(ends[measured])
            gaps[measured] = starts[measured] - np.concatenate(([0.0], ended[:-1]))
        lengths = np.zeros(len(self._signatures), np.int64)
        for number, lines in places.items():
            lengths[number] = len(lines)
        seconds = seconds_before_lines(np.maximum(gaps, 0.0), lengths[sequence])
        computed = np.rint(seconds * self.options.volume_of(1.0))
        if len(computed) and not computed.max() < _MOST_VOLUME:
            raise InputError(
                f"has times of rank {rank} that are implausibly far apart",
                file=self.file / _STARTS,
            )
        volumes = computed.astype(np.int64)
        volumes[volumes <= 0] = -1
        if self.options.times is not None:
            written = 1 + np.cumsum(lengths[sequence])
            before = np.cumsum(volumes >= 0)[written - 1]
            self._keep_times(rank, sequence, starts, ends, written + before)
        return Program(texts, rules_of_lines(self._rules[self._of_rank[rank]], places), volumes)

    def _sequence_of(self, grammar: int) -> NDArray[np.int32]:
        if self._sequence is None or self._sequence[0] != grammar:
            self._sequence = None
            self._sequence = grammar, sequence_of_calls(self._rules[grammar])
        return self._sequence[1]

    def _times(self, rank: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the begin and end of each call of a rank, in seconds."""
        import numpy as np  # slow to load

        first, count = sum(self._lengths[:rank]), self._lengths[rank]
        starts, ends = (
            np.fromfile(self.file / name, "<f8", count, offset=8 * first)
            for name in (_STARTS, _ENDS)
        )
        if not all((np.abs(times) < _MOST_SECONDS).all() for times in (starts, ends)):
            raise InputError(
                f"has times of rank {rank} that are not numbers of seconds", file=self.file
            )
        if count > 1 and starts.min() == ends.max():
            raise InputError(
                f"has the same time for all calls of rank {rank}: the recorder's clock did not "
                "advance",
                file=self.file / _STARTS,
            )
        return starts, ends

    def _texts(
        self, rank: int, sequence: NDArray[np.int32]
    ) -> tuple[list[str], dict[int, list[int]]]:
        """Return the lines of a rank, and the indices of those of each signature."""
        import numpy as np  # slow to load

        numbers, firsts, counts = np.unique(sequence, return_index=True, return_counts=True)
        calls = CallLines(rank, self, self._table, self._numbers, self._first_free)
        texts = [f"{rank} init", f"{rank} finalize"]
        places: dict[int, list[int]] = {}
        for i in np.argsort(firsts):
            number = int(numbers[i])
            lines = calls.spelled(self._signatures[number], number, int(counts[i]))
            places[number] = list(range(len(texts), len(texts) + len(lines)))
            texts += lines
        return texts, places

    def _keep_times(
        self,
        rank: int,
        sequence: NDArray[np.int32],
        starts: NDArray[np.float64],
        ends: NDArray[np.float64],
        lines: NDArray[np.int64],
    ) -> None:
        self.notes.add("times are relative to the end of each rank's MPI_Init", f"rank {rank}")
        assert self.options.times is not None
        for number, start, end, line in zip(sequence, starts, ends, lines, strict=True):
            function = self._signatures[number].function
            if function != _UNTIMED:
                begin = round(start * 1e9)
                last = max(round(end * 1e9), begin)
                self.options.times.add(rank, function, begin, last, int(line))


def _directory(path: Path) -> Path | None:
    """Return the directory of a trace, given the directory or a file in it."""
    directory = path if path.is_dir() else path.parent
    if path.is_file() and path.name not in (_METADATA, _SIGNATURES, _GRAMMARS):
        return None
    whole = all((directory / name).is_file() for name in (_METADATA, _SIGNATURES, _GRAMMARS))
    return directory if whole else None


def _ranks_of(metadata: Path) -> int:
    """Return the number of ranks, if times were recorded without loss."""
    with metadata.open("rb") as stream:
        head = stream.read(_HEADER.size)
    if len(head) == _HEADER.size:
        _, ranks, text = _HEADER.unpack(head)
        mode = text.partition(b"\0")[0]
        if mode in _MODES and 0 < ranks < _MOST_RANKS:
            if mode != _LOSSLESS:
                raise InputError(
                    f"stores times in the mode {mode.decode()}; only {_LOSSLESS.decode()} is "
                    "supported (PILGRIM_TIMING_MODE=LOSSLESS when recording)",
                    file=metadata,
                )
            return int(ranks)
    raise InputError("is not Pilgrim metadata, or is truncated", file=metadata)
