"""Which calls started the requests that a call names.

A ``wait request=0`` says nothing of its message. Two of them are the same call of a program only if
the calls that started their requests are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tisim.traces.extrapolation.recorded.loops import Item, Repeat, normalized
from tisim.traces.extrapolation.shapes import ClassCall
from tisim.traces.tit.shapes import HOLES

# What stands before the numbers of requests.
_NAMES = b"request"
# Actions that name requests of other calls; all others start those that they name.
_NAMING = frozenset(
    f"{action}{which}"
    for action in ("wait", "test", "start")
    for which in ("", "all", "any", "some")
) | {"cancel", "request_free"}

# Iterations that show whether the later ones are equal.
_ITERATIONS = 3

#: Of each number of a request, the call that started it.
_Started = dict[bytes, int]


def with_starters(
    items: Sequence[Item], calls: Sequence[ClassCall]
) -> tuple[tuple[Item, ...], list[ClassCall]]:
    """The same program, in which calls that name requests know what started them.

    Parameters
    ----------
    items
        The program of a class, of the numbers of calls.
    calls
        Its calls.
    """
    finder = _Finder(calls)
    made = finder.walk(items, {})
    return normalized(made), finder.calls


class _Finder:
    def __init__(self, calls: Sequence[ClassCall]) -> None:
        self.calls = list(calls)
        self._named = [_requests(call) for call in calls]
        self._known: dict[tuple[int, tuple[int, ...]], int] = {}

    def walk(self, items: Sequence[Item], started: _Started) -> tuple[Item, ...]:
        """The items, after which `started` is up to date."""
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
        """A loop, before which its first iteration stands if that ends what was begun earlier."""
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
    """The numbers of requests in a call, each as the bytes of the numbers of all ranks."""
    at = call.shape.text.find(_NAMES)
    if at < 0:
        return []
    before = sum(letter in HOLES for letter in call.shape.text[:at])
    word = call.shape.text[at:].split(b" ")[0]
    count = sum(letter in HOLES for letter in word)
    return [values.tobytes() for values in call.numbers[before : before + count]]
