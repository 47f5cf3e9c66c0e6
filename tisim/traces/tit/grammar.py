"""Sequences as grammars (docs/tit.md, "Grammars")."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from .numbers import ByteReader, DamagedError

DEEPEST = 128


@dataclass
class Grammar:
    """Rules of items: (whether it is a rule, its number, how often in a row)."""

    rules: list[list[tuple[bool, int, int]]] = field(default_factory=lambda: [[]])
    lengths: list[int] = field(default_factory=lambda: [0])

    def expanded(self) -> Iterator[int]:
        """The terminals of the sequence."""
        path = [iter([(True, 0, 1)])]
        while path:
            item = next(path[-1], None)
            if item is None:
                path.pop()
                continue
            is_rule, number, times = item
            for _ in range(0 if is_rule else times):
                yield number
            if is_rule:
                path.append(self._repeated(number, times))

    def _repeated(self, rule: int, times: int) -> Iterator[tuple[bool, int, int]]:
        for _ in range(times):
            yield from self.rules[rule]


def read_grammar(reader: ByteReader, terminals: int) -> Grammar:
    """The next grammar, of a sequence of numbers below `terminals`."""
    grammar = Grammar()
    next_terminal = 0
    path = [(0, 1)]
    while True:
        code = reader.varint()
        kind = code >> 1
        times = 2 + reader.varint() if code & 1 else 1
        rule = path[-1][0]
        if kind == 0:  # the end of the rule
            _, repeated = path.pop()
            length = grammar.lengths[rule]
            if not path:
                return grammar
            if length == 0 or times != 1:
                raise DamagedError("a rule is empty")
            grammar.lengths[path[-1][0]] += length * repeated
            continue
        if kind == 2:  # a new rule, which follows
            if len(path) == DEEPEST:
                raise DamagedError("rules are too deep in one another")
            number = len(grammar.rules)
            grammar.rules[rule].append((True, number, times))
            grammar.rules.append([])
            grammar.lengths.append(0)
            path.append((number, times))
            continue
        symbol = 2 * next_terminal if kind == 1 else kind - 3
        number = symbol >> 1
        if symbol & 1:
            if number >= len(grammar.rules) or any(number == open_one for open_one, _ in path):
                raise DamagedError("a rule uses an unknown rule")
            grammar.lengths[rule] += grammar.lengths[number] * times
        else:
            if number >= terminals:
                raise DamagedError("a rule has an unknown terminal")
            next_terminal = max(next_terminal, number + 1)
            grammar.lengths[rule] += times
        if grammar.lengths[rule] >> 63:
            raise DamagedError("a sequence is too long")
        grammar.rules[rule].append((bool(symbol & 1), number, times))
