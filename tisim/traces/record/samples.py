"""Samples taken in running ranks: files next to the parts of the trace."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.recorded import files_of_ranks
from tisim.traces.samples import RankSamples, Samples, add_samples


def add_recorded_samples(
    directory: Path, trace: Path, calls_before: Mapping[int, int]
) -> Samples | None:
    """Write the result of `read_recorded_samples` into the trace. Raises InputError when the trace
    cannot be written.
    """
    samples = read_recorded_samples(directory, calls_before)
    if samples is not None:
        if not trace.is_file():
            raise InputError("computations were sampled; the trace must then be a file", file=trace)
        add_samples(trace, samples)
    return samples


def read_recorded_samples(directory: Path, calls_before: Mapping[int, int]) -> Samples | None:
    """Return the samples of all ranks in the directory of the parts, with one tree of call paths;
    None if no rank was sampled. By rank, `calls_before` counts the lines before the first call.
    """
    paths = files_of_ranks(directory, ".samples")
    if not paths:
        return None
    samples = Samples()
    known: dict[tuple[int, str], int] = {}
    for rank, path in paths.items():
        samples.ranks[rank] = _read(path, samples, known, calls_before.get(rank, 0))
    return samples


def _read(
    path: Path, samples: Samples, known: dict[tuple[int, str], int], calls_before: int
) -> RankSamples:
    """Read one rank's samples; a killed program may have left a partial line without a newline."""
    found = RankSamples()
    numbers = [0]  # of the rank's nodes, in the tree of all
    for line in path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]:
        kind, *words = line.split(" ")
        if kind == "node":
            node = (numbers[int(words[0])], words[1])
            if node not in known:
                samples.nodes.append(node)
                known[node] = len(samples.nodes)
            numbers.append(known[node])
        elif kind == "at":
            pairs = zip(words[1::2], words[2::2], strict=True)
            runs = [(numbers[int(number)], int(count)) for number, count in pairs]
            found.computations.append((int(words[0]) + calls_before, runs))
        elif kind == "unordered":
            found.unordered = int(words[0])
        elif kind == "end":
            found.signals, found.in_calls, found.lost, nanoseconds = map(int, words)
            found.seconds = nanoseconds * 1e-9
    return found
