"""The files of a Pilgrim trace: signatures of calls, and grammars of their order."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from tisim.errors import InputError
from tisim.traces.importers.mpi_calls import MpiCall
from tisim.traces.program import Rule, length_of, sequence_of


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a call."""

    #: As in MPI; empty if unused.
    name: str
    #: ``i32``, ``peer``, ``request`` and so on.
    kind: str
    #: The field with the number of values; empty for a single value.
    length: str


@cache
def functions() -> tuple[str, ...]:
    """Return the names of functions, without ``MPI_``, by number."""
    text = resources.files(__package__).joinpath("functions.txt").read_text()
    return tuple(text.partition("\n")[2].split())


@cache
def layouts() -> dict[str, tuple[Field, ...]]:
    """Return the fields of the calls that become lines, by function name."""
    text = resources.files(__package__).joinpath("layouts.txt").read_text()
    found: dict[str, tuple[Field, ...]] = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            function, *fields = line.split()
            found[function] = tuple(map(_field, fields))
    return found


def _field(text: str) -> Field:
    name, _, kind = text.rpartition(":")
    kind, _, length = kind.removesuffix("]").partition("[")
    return Field(name, kind, length)


#: Pilgrim's numbers for special ranks, tags and requests.
ANY_SOURCE, ANY_TAG, PROC_NULL, NULL_REQUEST = -99999, -99998, -99997, -1
_HEADER = struct.Struct("<iiiI")
_SIZES = {"i32": 4, "peer": 4, "comm": 4, "request": 4, "i64": 8, "status": 8, "pointer": 32}


@dataclass(frozen=True, slots=True)
class Signature:
    """A call with its arguments, shared by the ranks that make it."""

    #: Its name without ``MPI_``.
    function: str
    #: The number of the calling thread.
    thread: int
    #: The scalar fields and the arrays, by their names in MPI. Peers are the rank's own number
    #: minus theirs.
    numbers: dict[str, int]
    lists: dict[str, list[int]]

    def call(self, place: str) -> MpiCall:
        """Return the call for a rank, with fields that may be modified."""
        lists = {name: list(values) for name, values in self.lists.items()}
        return MpiCall(self.function, place, 0, 0, numbers=dict(self.numbers), lists=lists)


def read_signatures(file: Path) -> list[Signature]:
    """Return the signatures by number. Raises InputError if the file is damaged."""
    data = file.read_bytes()
    try:
        (count,) = struct.unpack_from("<i", data)
        # An entry takes at least 22 bytes.
        if not 0 < count <= len(data) // 22:
            raise ValueError
        found: dict[int, Signature] = {}
        place = 4
        for _ in range(count):
            number, _, size, _ = _HEADER.unpack_from(data, place)
            place += _HEADER.size
            if not 0 <= number < count or size < 6 or place + size > len(data):
                raise ValueError
            found[number] = _signature(data[place : place + size])
            place += size
        if place != len(data) or len(found) != count:
            raise ValueError
    except (ValueError, struct.error):
        raise InputError("is not a Pilgrim table of calls, or is truncated", file=file) from None
    return [found[number] for number in range(count)]


def _signature(key: bytes) -> Signature:
    number, thread = struct.unpack_from("<hi", key)
    if not 0 <= number < len(functions()):
        raise ValueError
    function = functions()[number]
    numbers: dict[str, int] = {}
    lists: dict[str, list[int]] = {}
    place = 6
    for field in layouts().get(function, ()):
        if field.kind == "rest":
            place = len(key)
            break
        size = _SIZES[field.kind]
        times = numbers[field.length] if field.length else 1
        if times < 0 or place + times * size > len(key):
            raise ValueError
        if field.name:
            values = struct.unpack_from(
                f"<{times}{'q' if field.kind == 'i64' else 'i'}", key, place
            )
            if field.length:
                lists[field.name] = list(values)
            else:
                numbers[field.name] = values[0]
        place += times * size
    if function in layouts() and place != len(key):
        raise ValueError
    return Signature(function, thread, numbers, lists)


# The concatenated grammars are compressed by another grammar, over pairs of a number and its
# repetitions. Maximum plausible number of pairs.
_MOST_PAIRS = 1 << 26
# Maximum plausible number of calls: a damaged grammar can claim any length.
_MOST_CALLS = 1 << 40
# The number of a rank's first rule; others count down from it.
_START = -1
_Pair = tuple[int, int]


class Grammars(NamedTuple):
    """The distinct grammars over signature numbers, and the index of each rank's grammar."""

    rules: list[list[Rule]]
    of_rank: list[int]


def read_grammars(file: Path, ranks: int, signatures: int) -> Grammars:
    """Read the grammars of all ranks. Raises InputError if the file is damaged."""
    data = file.read_bytes()
    try:
        of_rank = list(struct.unpack_from(f"<{ranks}i", data))
        place = 4 * ranks
        count, start, length, rules = struct.unpack_from("<iiQi", data, place)
        if not 0 < count <= ranks or not set(of_rank) <= set(range(count)):
            raise ValueError
        found: dict[int, list[_Pair]] = {}
        place += 20
        for _ in range(rules):
            rule, symbols = struct.unpack_from("<ii", data, place)
            numbers = struct.unpack_from(f"<{2 * symbols}i", data, place + 8)
            found[rule] = list(zip(numbers[::2], numbers[1::2], strict=True))
            place += 8 + 8 * symbols
        if place != len(data):
            raise ValueError
        pairs = _pairs(found, start, length // 2)
        return Grammars(_split(pairs, count, signatures), of_rank)
    except (ValueError, KeyError, StopIteration, struct.error):
        raise InputError("contains no Pilgrim grammars, or is truncated", file=file) from None


def _pairs(rules: dict[int, list[_Pair]], start: int, length: int) -> list[_Pair]:
    """Expand the grammar of all grammars; numbers up to that of its start are rules.

    Its terminals are pairs, whose second number is not a repetition.
    """
    pairs: dict[_Pair, int] = {}
    ordered = [
        [item if item[0] else (False, pairs.setdefault(item[1:], len(pairs)), 1) for item in rule]
        for rule in _ordered(rules, start)
    ]
    if length > _MOST_PAIRS or length_of(ordered) != length:
        raise ValueError
    by_number = list(pairs)
    return [by_number[number] for number in sequence_of(ordered)]


def _split(pairs: list[_Pair], count: int, signatures: int) -> list[list[Rule]]:
    """Split the concatenated grammars: for each, the number of rules, then each rule."""
    numbers = iter(pairs)
    made = []
    for _ in range(count):
        rules: dict[int, list[_Pair]] = {}
        for _ in range(next(numbers, (0, 0))[0]):
            rule, symbols = next(numbers)[0], next(numbers)[0]
            rules[rule] = list(islice(numbers, max(symbols, 0)))
            if len(rules[rule]) != symbols:
                raise ValueError
        ordered = _ordered(rules, _START)
        terminals = [number for rule in ordered for is_rule, number, _ in rule if not is_rule]
        if any(number >= signatures for number in terminals) or length_of(ordered) > _MOST_CALLS:
            raise ValueError
        made.append(ordered)
    if next(numbers, None) is not None:
        raise ValueError
    return made


def _ordered(rules: dict[int, list[_Pair]], start: int) -> list[Rule]:
    """Number rules so that each refers only to later ones, the first one 0.

    Rules are numbered downwards from `start`; other numbers are terminals.
    """
    done: list[int] = []
    # The rules being visited, outermost first, and the remainder of each.
    around = [(start, iter(rules[start]))]
    seen = {start}
    while around:
        number, items = around[-1]
        inner = next(
            (symbol for symbol, _ in items if symbol <= start and symbol not in seen), None
        )
        if inner is None:
            done.append(number)
            around.pop()
        else:
            seen.add(inner)
            around.append((inner, iter(rules[inner])))
    done.reverse()
    place = {number: i for i, number in enumerate(done)}
    made: list[Rule] = []
    for i, number in enumerate(done):
        rule: Rule = []
        for symbol, times in rules[number]:
            is_rule = symbol <= start
            # A rule placed before this one encloses it and would contain itself.
            if times < 1 or (is_rule and place[symbol] <= i):
                raise ValueError
            rule.append((is_rule, place[symbol] if is_rule else symbol, times))
        if not rule:
            raise ValueError
        made.append(rule)
    return made
