"""Random programs of the calls beyond SimGrid's replay: communicators, requests of every kind.

As in `programs.py` the lines stand in an order in which the ranks could execute them one by one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from tests.oracle.cases import Case, keep_to_simgrid, place
from tests.oracle.platforms.families import FAMILIES, draw_platform
from tests.oracle.programs.configs import draw_config, thresholds
from tests.oracle.programs.program import Program
from tests.oracle.programs.request_author import RequestAuthor
from tests.oracle.programs.sizes import Sizes

#: Methods of an author that write a little, each with its weight, by the character of a program.
Moves = dict[str, list[tuple[Callable[[], None], float]]]


class CallAuthor(RequestAuthor):
    """An author that mixes calls of all kinds."""

    def moves(self) -> Moves:
        """What programs of each character do, with weights."""
        return {
            "communicators": [(self.split, 2), (self.duplicate, 0.5), (self.free, 0.5)],
            "collectives": [(self.blocking, 3)],
            "nonblocking": [(self.nonblocking, 4)],
            "messages": [(self.message, 8), (self.answer, 4)],
            "probes": [(self.message, 2), (self.answer, 2), (self.iprobe, 3)],
            "persistent": [(self.prepare, 1), (self.start, 4)],
            "tests": [(self.test, 5)],
            "several": [(self.several, 4)],
        }

    def compose(self, steps: int) -> str:
        """Write a program of a random character, whose name is returned."""
        moves = self.moves()
        kinds = [kind for kind in moves if self.rng.random() < 0.5] or ["communicators"]
        chosen = [(self.compute, 2.0), (self.sleep, 0.3), (self.wait, 4.0)]
        chosen += [move for kind in kinds for move in moves[kind]]
        for move in self.rng.choices([m for m, _ in chosen], [w for _, w in chosen], k=steps):
            move()
        while self.open:
            self.answer()
        return " ".join(kinds)


def draw_calls(
    seed: int,
    *,
    families: Sequence[str] = tuple(FAMILIES),
    selectors: Sequence[str] = ("default",),
    author: type[CallAuthor] = CallAuthor,
) -> Case:
    """The case of a seed."""
    rng = random.Random(seed)
    family = rng.choice(list(families))
    platform, names = draw_platform(rng, family)
    ranks = min(rng.choice([2, 3, 4, 4, 5, 6, 8, 8, 12, 16]), 2 * len(names))
    hosts = place(rng, ranks, names)
    config = draw_config(rng, hosts, selectors)
    double = rng.random() < 0.2
    eager = config.get("smpi/async-small-thresh", "0") != "0"
    writer = author(rng, ranks, Sizes(rng, thresholds(config)), double=double, eager=eager)
    keep_to_simgrid(writer, config, hosts)
    kinds = writer.compose(rng.choice([5, 15, 40, 100]))
    return Case(
        label=f"calls, seed {seed}: {family}, {ranks} ranks, {kinds}",
        program=Program(ranks, tuple(writer.lines)),
        init="init 1" if double else "init",
        platform=platform,
        hosts=hosts,
        config=config,
    )
