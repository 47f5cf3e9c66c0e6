"""A recorded trace by class of ranks: calls with numbers, and loops of calls."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tisim.errors import InputError
from tisim.traces import pack
from tisim.traces.extrapolation.data import Approximation, collapsed
from tisim.traces.extrapolation.shapes import ClassCall, Numbers, Shape, with_numbers_in_name
from tisim.traces.extrapolation.volumes import value_of
from tisim.traces.packed import is_packed
from tisim.traces.packed_program import (
    BY_RANK,
    COMPUTE_SHAPE,
    CONSTANT,
    EXCLUSIVE,
    HOLES,
    NO_RANK,
    RELATIVE,
    STEP,
    PackedTrace,
    RankClass,
    Rules,
)
from tisim.traces.program import bottom_up_order

# Sequitur represents the same loop in many ways: it may begin anywhere in its body, and its first
# or last iteration may be outside. Here rules that only name a part are expanded, every repetition
# is found again, and a loop begins as far to the left as possible.

#: Maximum number of items of a program without loops; longer ones have no structure to fit.
MOST_ITEMS = 20_000
# Maximum number of items in the body of a loop.
_LONGEST_BODY = 4_000


@dataclass(frozen=True)
class Repeat:
    """Items repeated a number of times in a row."""

    times: int
    body: tuple[Item, ...]


#: A call, by number, or a loop.
Item = int | Repeat


def loops_of(rules: Rules, calls: Sequence[int | None]) -> tuple[Item, ...]:
    """Convert a grammar to a sequence of calls and loops. `calls` maps each terminal to a number,
    equal for equal calls; None is left out. Raises InputError when hardly anything of the sequence
    repeats.
    """
    made: dict[int, tuple[Item, ...]] = {}
    for rule in bottom_up_order(rules):
        items: list[Item] = []
        for is_rule, number, times in rules[rule]:
            body = made[number] if is_rule else _call(calls[number])
            items += body if times == 1 or not body else (Repeat(times, body),)
            if len(items) > MOST_ITEMS:
                raise InputError(
                    f"the program has more than {MOST_ITEMS:,} calls outside of loops; record "
                    "fewer iterations, or pack it with --volumes mean"
                )
        made[rule] = tuple(items)
    return normalized(made[0])


def _call(number: int | None) -> tuple[Item, ...]:
    return () if number is None else (number,)


def leaves(items: Sequence[Item], first: int = 0) -> Iterator[tuple[int, int]]:
    """Yield the calls in the order in which they are made: the place in the items, and the call."""
    for item in items:
        if isinstance(item, Repeat):
            for _ in range(item.times):
                yield from leaves(item.body, first)
        else:
            yield first, item
        first += places(item)


def places(item: Item) -> int:
    """Return the number of places for calls in an item."""
    return sum(map(places, item.body)) if isinstance(item, Repeat) else 1


def normalized(items: Sequence[Item]) -> tuple[Item, ...]:
    """Return the same sequence with all its loops, each as far to the left as possible."""
    made: list[Item] = []
    for item in items:
        made += _normalized_loop(item) if isinstance(item, Repeat) else (item,)
    while True:
        before = made
        made = _moved_left(_with_repetitions(made))
        if made == before:
            return tuple(made)


def _normalized_loop(loop: Repeat) -> tuple[Item, ...]:
    body = normalized(loop.body)
    if len(body) == 1 and isinstance(body[0], Repeat):
        return (Repeat(loop.times * body[0].times, body[0].body),)
    if loop.times == 1:
        return body
    # Equal last and first items of consecutive iterations form a loop of their own.
    if len(body) > 1 and body[0] == body[-1]:
        inner = normalized((*body[1:-1], Repeat(2, (body[0],))))
        return normalized((body[0], Repeat(loop.times - 1, inner), *body[1:]))
    return (Repeat(loop.times, body),)


def _with_repetitions(items: list[Item]) -> list[Item]:
    """Turn consecutive equal parts into loops, the shortest parts and the leftmost ones first."""
    while True:
        found = _first_repetition(items)
        if found is None:
            return items
        start, length, times = found
        loop = Repeat(times, tuple(items[start : start + length]))
        items = [
            *items[:start],
            *_normalized_loop(loop),
            *items[start + length * times :],
        ]


def _first_repetition(items: list[Item]) -> tuple[int, int, int] | None:
    numbers: dict[Item, int] = {}
    ids = np.array([numbers.setdefault(item, len(numbers)) for item in items], dtype=np.int64)
    for length in range(1, min(len(items) // 2, _LONGEST_BODY) + 1):
        equal = ids[length:] == ids[:-length]
        if not equal.any():
            continue
        edges = np.flatnonzero(np.diff(np.concatenate(([0], equal.view(np.int8), [0]))))
        for first, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
            if end - first >= length:
                return first, length, (end - first) // length + 1
    return None


def _moved_left(items: list[Item]) -> list[Item]:
    """Move loops left as far as possible, and absorb adjacent iterations."""
    made = list(items)
    at = 0
    while at < len(made):
        item = made[at]
        if not isinstance(item, Repeat):
            at += 1
            continue
        body, times = list(item.body), item.times
        while at > 0 and made[at - 1] == body[-1] and len(body) > 1:
            body.insert(0, body.pop())
            made[at - 1 : at + 1] = [Repeat(times, tuple(body)), body[0]]
            at -= 1
        size = len(body)
        while at >= size and made[at - size : at] == body:
            del made[at - size : at]
            at -= size
            times += 1
        while made[at + 1 : at + 1 + size] == body:
            del made[at + 1 : at + 1 + size]
            times += 1
        before = made[at - 1] if at else None
        if isinstance(before, Repeat) and before.body == tuple(body):
            times += before.times
            del made[at]
            at -= 1
        made[at] = Repeat(times, tuple(body))
        at += 1
    return made


# A ``wait request=0`` does not describe its message. Two of them are the same call of a program
# only if the calls that started their requests are.

# The text before the numbers of requests.
_NAMES = b"request"
# Actions that name requests of other calls; all other actions start the requests that they name.
_NAMING = frozenset(
    f"{action}{which}"
    for action in ("wait", "test", "start")
    for which in ("", "all", "any", "some")
) | {"cancel", "request_free"}
# Number of iterations that show whether the later ones are equal.
_ITERATIONS = 3
#: The call that started each request, by the number of the request.
_Started = dict[bytes, int]


def with_starters(
    items: Sequence[Item], calls: Sequence[ClassCall]
) -> tuple[tuple[Item, ...], list[ClassCall]]:
    """Link calls that name requests to the calls that started these."""
    finder = _Finder(calls)
    made = finder.walk(items, {})
    return normalized(made), finder.calls


class _Finder:
    def __init__(self, calls: Sequence[ClassCall]) -> None:
        self.calls = list(calls)
        self._named = [_requests(call) for call in calls]
        self._known: dict[tuple[int, tuple[int, ...]], int] = {}

    def walk(self, items: Sequence[Item], started: _Started) -> tuple[Item, ...]:
        """Return the items; `started` is up to date afterwards."""
        made: list[Item] = []
        for item in items:
            if isinstance(item, Repeat):
                made += self._loop(item, started)
                continue
            named = self._named[item]
            if self.calls[item].shape.action in _NAMING:
                made.append(self._started_by(item, [started.get(key) for key in named]))
            else:
                made.append(item)
                started.update(dict.fromkeys(named, item))
        return tuple(made)

    def _loop(self, loop: Repeat, started: _Started) -> tuple[Item, ...]:
        """Convert a loop; its first iteration is split off if it completes earlier requests."""
        first, second, third = (self.walk(loop.body, started) for _ in range(_ITERATIONS))
        if first == second == third:
            return (Repeat(loop.times, first),)
        if second == third:
            return (*first, Repeat(loop.times - 1, second))
        return (loop,)  # as without numbers of requests

    def _started_by(self, item: int, starters: Sequence[int | None]) -> int:
        known = tuple(starter for starter in starters if starter is not None)
        if not known or len(known) < len(starters):
            return item
        if (item, known) not in self._known:
            call = self.calls[item]
            texts = tuple(self.calls[starter].shape.text for starter in known)
            shape = replace(call.shape, started_by=texts)
            self._known[item, known] = len(self.calls)
            starting = tuple(self.calls[starter] for starter in known)
            self.calls.append(replace(call, shape=shape, starters=starting))
        return self._known[item, known]


def _requests(call: ClassCall) -> list[bytes]:
    """Return the numbers of requests in a call, each as the bytes of the numbers of all ranks."""
    at = call.shape.text.find(_NAMES)
    if at < 0:
        return []
    before = sum(letter in HOLES for letter in call.shape.text[:at])
    word = call.shape.text[at:].split(b" ")[0]
    count = sum(letter in HOLES for letter in word)
    return [values.tobytes() for values in call.numbers[before : before + count]]


# Declared volumes take few values, such as those of shares of a box at its corners, edges and
# sides; measured ones differ on each rank.
_MOST_DECLARED = 32
# A comment describes how a trace was made, not the program.
_COMMENT = bytes([NO_RANK]) + b"#"


@dataclass(frozen=True)
class ClassProgram:
    """The program of the ranks of a class."""

    #: Index of its trace.
    size: int
    ranks: Numbers
    calls: list[ClassCall]
    #: The program, as numbers of calls.
    items: tuple[Item, ...]
    #: If volumes are fitted: for each place in the items and each rank, the mean computation before
    #: the call.
    volumes: NDArray[np.float64] | None = None


@dataclass(frozen=True)
class RecordedTrace:
    """One of the source traces of an extrapolation."""

    name: str
    trace: PackedTrace
    size: int = 0

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.trace.ranks

    @property
    def legacy(self) -> bool:
        """True if its lines use the legacy dialect."""
        return self.trace.legacy

    @property
    def has_measured_volumes(self) -> bool:
        """True if volumes vary from call to call, or differ on nearly every rank."""
        classes = self.trace.classes
        return any(made.has_volumes for made in classes) or self._most_by_rank > _MOST_DECLARED

    @property
    def has_volumes_by_rank(self) -> bool:
        """True if volumes differ between ranks of a class."""
        return self._most_by_rank > 0

    @cached_property
    def _most_by_rank(self) -> int:
        """Maximum number of distinct volumes of one call on the ranks of a class."""
        most = 0
        for made in self.trace.classes:
            vectors = iter(made.vectors)
            for call in (self.trace.signatures[number] for number in made.calls):
                by_rank = [next(vectors) for mode, _ in call.arguments if mode == BY_RANK]
                if call.shape == COMPUTE_SHAPE:
                    most = max([most, *(np.unique(vector).size for vector in by_rank)])
        return most

    def classes(self, fit_volumes: bool, approximation: Approximation) -> list[ClassProgram]:
        """Return the programs of its classes. With `fit_volumes`, computations are not calls, but
        means before the calls. Raises InputError when a class has no structure.
        """
        try:
            return [
                _read_class(self, made, fit_volumes, approximation)
                for made in self.trace.classes
                if made.ranks.size
            ]
        except InputError as error:
            raise InputError(error.message, file=Path(self.name)) from None


def read_trace(path: str | os.PathLike[str]) -> RecordedTrace:
    """Read a trace; it is packed first if necessary. Raises InputError when it is not a trace."""
    name = Path(path)
    if is_packed(name):
        return RecordedTrace(str(name), PackedTrace(name))
    with tempfile.TemporaryDirectory(prefix="tisim-extrapolate-") as directory:
        packed = Path(directory) / "packed.tit"
        pack(name, packed)
        return RecordedTrace(str(name), PackedTrace(packed))


def _read_class(
    trace: RecordedTrace,
    made: RankClass,
    fit_volumes: bool,
    approximation: Approximation,
) -> ClassProgram:
    ranks = made.ranks.astype(np.int64)
    if made.has_volumes and not fit_volumes:
        raise InputError("its volumes vary from call to call, so they can only be fitted")
    calls: list[ClassCall] = []
    known: dict[tuple[object, ...], int] = {}
    numbers_of: list[int | None] = []
    vectors = iter(made.vectors)
    for call in (trace.trace.signatures[number] for number in made.calls):
        by_rank = [next(vectors) if mode == BY_RANK else None for mode, _ in call.arguments]
        shape = trace.trace.shapes[call.shape]
        text, marks = shape.text, shape.holes
        is_comment = text[:2] == _COMMENT
        if is_comment or (fit_volumes and (call.shape == COMPUTE_SHAPE or shape.is_silent)):
            numbers_of.append(None)
            continue
        holes = Shape(text, marks, shape.rank_holes)
        means = approximation.means(trace.trace, holes)
        holes = replace(holes, is_data=means is not None)
        values = [
            np.full(len(ranks), means[hole], dtype=np.int64)
            if means is not None
            else known
            if known is not None
            else _by_rule(holes.action, *call.arguments[hole], ranks)
            for hole, known in enumerate(by_rank)
        ]
        if STEP in marks:  # the order of lines of different ranks in one file
            holes, values = replace(holes, text=text[:-1], marks=marks[:-1]), values[:-1]
        holes, values = with_numbers_in_name(holes, values, len(ranks))
        holes, values = collapsed(holes, values, trace.ranks)
        text = holes.text
        key = (text, *(value.tobytes() for value in values))
        if key not in known:
            known[key] = len(calls)
            varying = frozenset(
                hole
                for hole, of_ranks in enumerate(values)
                if not holes.is_rank(hole)
                and (hole in holes.in_name or (of_ranks != of_ranks[0]).any())
            )
            calls.append(ClassCall(holes, tuple(values), varying))
        numbers_of.append(known[key])
    items, calls = with_starters(loops_of(made.rules, numbers_of), calls)
    volumes = _volumes(trace.trace, made, ranks, numbers_of, items) if fit_volumes else None
    return ClassProgram(trace.size, ranks, calls, items, volumes)


def _by_rule(action: str, mode: int, value: int, ranks: Numbers) -> Numbers:
    if mode == CONSTANT:
        return np.full(len(ranks), value, dtype=np.int64)
    if mode in (RELATIVE, EXCLUSIVE):
        return ranks + value if mode == RELATIVE else ranks ^ value
    raise InputError(
        f"sizes or other arguments of {action} vary from call to call; if they are data, "
        f"--approximate {action} uses their means"
    )


def _volumes(
    trace: PackedTrace,
    made: RankClass,
    ranks: Numbers,
    numbers_of: list[int | None],
    items: tuple[Item, ...],
) -> NDArray[np.float64]:
    """Return each rank's mean computation before each place; the last one includes the tail."""
    count = sum(map(places, items))
    sums = np.zeros((count, len(ranks)))
    times = np.zeros(count)
    for position, rank in enumerate(ranks.tolist()):
        at = leaves(items)
        place, waiting = 0, 0.0
        terminals, amounts = trace.calls(rank)
        for terminal, amount in zip(terminals.tolist(), amounts.tolist(), strict=True):
            waiting += amount
            code = _volume_of(trace, made, terminal, position)
            waiting += 0.0 if code is None else float(value_of(code))
            if numbers_of[terminal] is None:
                continue
            place, _ = next(at)
            sums[place, position] += waiting
            times[place] += position == 0
            waiting = 0.0
        if count:
            sums[place, position] += waiting
    means: NDArray[np.float64] = sums / np.maximum(times, 1)[:, None]
    return means


def _volume_of(trace: PackedTrace, made: RankClass, terminal: int, position: int) -> int | None:
    """Return the volume code of a computation in the grammar."""
    call = trace.signatures[made.calls[terminal]]
    if call.shape != COMPUTE_SHAPE:
        return None
    mode, value = call.arguments[0]
    if mode == CONSTANT:
        return value
    before = sum(
        mode == BY_RANK
        for number in made.calls[:terminal]
        for mode, _ in trace.signatures[number].arguments
    )
    return int(made.vectors[before][position])
