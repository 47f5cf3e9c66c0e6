"""Less exact packing of traces of irregular programs: rounded sizes and iterations of loops.

The replacement of a size depends only on the size, and at level ``mean`` on its tag and action:
so both ends of a message agree, and a rank's counts agree with those of all others.

A loop is a consecutive repetition in the grammar of a class of ranks that contains no loop of
varying length. All its occurrences in a rank are one loop. Dropped iterations are the last ones;
added ones repeat the first ones.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tisim.errors import InputError
from tisim.traces import pack
from tisim.traces.checking import check
from tisim.traces.extrapolation.data import LAYOUTS
from tisim.traces.packed import PRECISIONS
from tisim.traces.packed_program import COMPUTE_SHAPE, PackedTrace, RankClass, Rules
from tisim.traces.program import bottom_up_order
from tisim.traces.progress import Progress
from tisim.traces.trace import Trace
from tisim.traces.writer import write_trace

_MESSAGES = frozenset(
    f"{mode}{action}".encode()
    for mode in ("", "i", "s", "b", "is", "ib")
    for action in ("send", "recv", "send_init", "recv_init")
)
_SIZES_NOTE = "# sizes are kept as {} (tisim pack --sizes)\n"
# The key under which a size is averaged, and the size.
_Key = tuple[bytes, int]


def write_rounded_sizes(source: Path, output: Path, level: str) -> None:
    """Write a packed trace with rounded sizes of messages and counts of collectives by rank.

    Parameters
    ----------
    source, output
        The packed traces.
    level
        ``"5e-2"``, the relative error of each size, or ``"mean"``: the mean of all messages with
        one tag, or of all counts of one collective.
    """
    trace = PackedTrace(source)
    replacements = _size_replacements(trace, level)
    with write_trace(output, trace.ranks) as writer:
        for rank in range(trace.ranks):
            writer.write_rank(rank, _lines(trace, rank, level, replacements))


def _lines(
    trace: PackedTrace, rank: int, level: str, replacements: Mapping[_Key, int]
) -> Iterator[str]:
    yield _SIZES_NOTE.format(level)
    for line in trace.lines(rank):
        words = line.split(b" ")
        for kind, place in _sizes(words, trace.ranks, level):
            words[place] = b"%d" % replacements[kind, int(words[place])]
        yield b" ".join(words).decode() + "\n"


def _sizes(words: Sequence[bytes], ranks: int, level: str) -> Iterator[tuple[bytes, int]]:
    """Yield the averaging key of each size of a line, and its index among the words."""
    action = words[1] if len(words) > 1 else b""
    sizes: list[tuple[bytes, int]] = []
    if action in _MESSAGES and len(words) > 4:
        sizes = [(words[3], 4)]
    elif action == b"sendrecv":
        sizes = [(action, 2), (action, 4)]
    elif action.decode() in LAYOUTS:
        at = 2
        for of_ranks in LAYOUTS[action.decode()]:
            width = ranks if of_ranks else 1
            sizes += [(action if of_ranks else action + b" own", at + i) for i in range(width)]
            at += width
        if at > len(words):  # of a smaller communicator
            return
    for kind, place in sizes:
        if words[place].isdigit():
            yield kind if level == "mean" else b"", place


def _size_replacements(trace: PackedTrace, level: str) -> dict[_Key, int]:
    """Return the replacement of each size."""
    lines = Counter(line.partition(b" ")[2] for r in range(trace.ranks) for line in trace.lines(r))
    found: dict[bytes, Counter[int]] = defaultdict(Counter)
    for line, times in lines.items():
        words = [b"", *line.split(b" ")]
        for kind, place in _sizes(words, trace.ranks, level):
            found[kind][int(words[place])] += times
    replacements: dict[_Key, int] = {}
    for kind, sizes in found.items():
        for members in bins(sorted(sizes), level):
            total = sum(sizes[size] for size in members)
            mean = round(sum(size * sizes[size] for size in members) / total)
            replacements.update(((kind, size), mean) for size in members)
    return replacements


def bins(numbers: Sequence[int], level: str) -> Iterator[list[int]]:
    """Partition ascending numbers so that no part exceeds the level's relative width; at level
    ``mean`` all are one part.
    """
    width = math.inf if level == "mean" else 1 + float(level)
    members: list[int] = []
    for number in numbers:
        if members and number > members[0] * width:
            yield members
            members = []
        members.append(number)
    if members:
        yield members


_NOTE = "# iterations are kept as {} (tisim pack --iterations)\n"
# The body of a loop: whether it is a rule, and its number.
_Body = tuple[bool, int]


def write_rounded_loops(source: Path, output: Path, level: str) -> None:
    """Write a packed trace with rounded numbers of iterations.

    Raises InputError when ranks would no longer match one another.
    """
    trace = PackedTrace(source)
    with write_trace(output, trace.ranks) as writer:
        of_rank = {int(rank): made for made in trace.classes for rank in made.ranks}
        kept: dict[int, NDArray[np.int64]] = {}
        for rank in range(trace.ranks):
            made = of_rank[rank]
            if id(made) not in kept:
                kept[id(made)] = _kept_places(made.rules, _count_replacements(made.rules, level))
            texts = list(_texts(trace, made, rank))
            lines = (f"{texts[place]}\n" for place in kept[id(made)].tolist())
            writer.write_rank(rank, (_NOTE.format(level), *lines))
    if check(Trace.open(source)).sound and not check(Trace.open(output)).sound:
        raise InputError(
            f"with --iterations {level} ranks would no longer match: the numbers of iterations "
            "differ between ranks; keep them exact"
        )


def _texts(trace: PackedTrace, made: RankClass, rank: int) -> Iterator[str]:
    """Yield the lines of each call, including the computation before it."""
    lines = trace.lines(rank)
    for place in trace.calls(rank)[0].tolist():
        shape = trace.signatures[made.calls[place]].shape
        text = next(lines).decode()
        has_call = shape == COMPUTE_SHAPE or trace.shapes[shape].is_silent
        if made.has_volumes and not has_call and text.partition(" ")[2].startswith("compute "):
            text += "\n" + next(lines).decode()
        yield text


def _count_replacements(rules: Rules, level: str) -> dict[tuple[_Body, int], int]:
    """Return the replacement of each number of iterations, by loop."""
    times_made = _times_made(rules)
    found: dict[_Body, Counter[int]] = {}
    for number, rule in enumerate(rules):
        for is_rule, item, times in rule:
            if times > 1:
                found.setdefault((is_rule, item), Counter())[times] += times_made[number]
    # Rules that contain a loop of varying length.
    uneven: set[int] = set()
    for number in bottom_up_order(rules):
        for is_rule, item, times in rules[number]:
            if (is_rule and item in uneven) or (times > 1 and len(found[is_rule, item]) > 1):
                uneven.add(number)
    replacements: dict[tuple[_Body, int], int] = {}
    for body, counts in found.items():
        if body[0] and body[1] in uneven:
            continue
        for members in bins(sorted(counts), level):
            total = sum(counts[times] for times in members)
            mean = round(sum(times * counts[times] for times in members) / total)
            replacements.update(((body, times), mean) for times in members)
    return replacements


def _times_made(rules: Rules) -> list[int]:
    """Return the number of occurrences of each rule in the program."""
    made = [0] * len(rules)
    made[0] = 1
    for number in reversed(bottom_up_order(rules)):
        for is_rule, item, times in rules[number]:
            if is_rule:
                made[item] += made[number] * times
    return made


def _kept_places(rules: Rules, replacements: Mapping[tuple[_Body, int], int]) -> NDArray[np.int64]:
    """Return the places of the kept calls, some repeated, in the original sequence."""
    lengths = [0] * len(rules)
    kept: list[NDArray[np.int64]] = [np.zeros(0, np.int64)] * len(rules)
    for number in bottom_up_order(rules):
        parts = [np.zeros(0, np.int64)]
        at = 0
        for is_rule, item, times in rules[number]:
            length = lengths[item] if is_rule else 1
            body = kept[item] if is_rule else np.zeros(1, np.int64)
            left = replacements.get(((is_rule, item), times), times)
            starts = at + np.arange(left) % times * length
            parts.append((starts[:, None] + body).ravel())
            at += times * length
        lengths[number], kept[number] = at, np.concatenate(parts)
    return kept[0]


#: Levels for sizes and iterations: those of volumes except the finest ones.
LEVELS = (PRECISIONS[0], *PRECISIONS[-2:])


def pack_rounded(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    sizes: str = "exact",
    iterations: str = "exact",
    volumes: str = "exact",
    dialect: str = "auto",
    progress: Progress | None = None,
) -> int:
    """Pack a trace with rounded sizes of messages or numbers of iterations.

    Parameters
    ----------
    source
        A trace in any form that `tisim.traces.pack` takes.
    output
        The packed file to write.
    sizes
        ``"exact"``, ``"5e-2"``, the relative error of each size, or ``"mean"``: the mean of all
        messages with one tag, or of all counts of one collective.
    iterations
        As `sizes`, for the iterations of loops; ``"mean"``: the mean of all loops with one body.
    volumes, dialect, progress
        As for `tisim.traces.pack`.

    Returns
    -------
    int
        The bytes of the text, or of the packed file given as `source`.

    Raises
    ------
    InputError
        When the trace cannot be read or written, or uses the legacy dialect, or when the
        iterations of ranks differ so that they would no longer match one another.
    """
    if sizes == iterations == "exact":
        return pack(source, output, dialect=dialect, volumes=volumes, progress=progress)
    with tempfile.TemporaryDirectory(prefix="tisim-pack-") as directory:
        packed = Path(directory, "packed.tit")
        nbytes = pack(source, packed, dialect=dialect)
        if PackedTrace(packed).legacy:
            option = "--iterations" if sizes == "exact" else "--sizes"
            raise InputError(f"{option} supports only traces of the modern dialect")
        for level, write in ((sizes, write_rounded_sizes), (iterations, write_rounded_loops)):
            if level != "exact":
                rounded = packed.with_name(f"{write.__name__}.tit")
                write(packed, rounded, level)
                packed = rounded
        pack(packed, output, volumes=volumes)
    return nbytes
