"""Random cases: a program, a platform, the placement of ranks, and a configuration.

``Case.draw(seed)`` always gives the same case for the same arguments.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.oracle.platforms.families import FAMILIES, draw_platform
from tests.oracle.programs.algorithms import TO_ITSELF, fails
from tests.oracle.programs.collective_calls import OPERATIONS, CollectiveAuthor
from tests.oracle.programs.configs import draw_config, names_algorithms, thresholds
from tests.oracle.programs.program import Line, Program, Sizes, Word
from tests.oracle.simgrid_exec import run_oracle

SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
LATENCY = re.compile(r'(\b(?:\w+_)?lat(?:ency)?)="([\d.e+-]+)(s|ms|us|ns)"')


def keep_to_simgrid(
    author: CollectiveAuthor, config: Mapping[str, str], hosts: Sequence[str]
) -> None:
    """Restrict an author to collective calls that SimGrid supports in a configuration."""
    selector = config.get("smpi/coll-selector", "default")
    # SimGrid's tuned algorithms use the count of one side for the other side.
    author.one_type = names_algorithms(config)
    # Ranks in two calls at once affect each other's algorithms (docs/selectors.md).
    shares_choices = selector in ("mvapich2", "impi")  # impi uses the reductions of mvapich2
    author.apart = author.eager or (shares_choices and len(set(hosts)) < len(hosts))
    if selector == "default":
        # For larger blocks it chooses a pairwise exchange; SimGrid's needs a power of two.
        author.most_alltoall = 2999

    def why(words: Sequence[Word], default_width: int, members: Sequence[int]) -> str | None:
        named = (str(words[0]), config.get(f"smpi/{words[0]}", ""))
        if len(members) == 1 and named in TO_ITSELF:
            return "sends to itself"
        places = [hosts[rank] for rank in members]
        return fails(words, default_width, selector=selector, hosts=places)

    author.fails = why


@dataclass(frozen=True)
class Case:
    """The complete input of a simulator.

    Attributes
    ----------
    label
        Description of how the case was drawn.
    program
        Actions of the ranks.
    init
        The first words of each trace after the rank: ``init``, or ``init 1`` (double is the
        default type).
    platform
        The text of the platform file.
    hosts
        The host of each rank.
    config
        Options of SimGrid.
    """

    label: str
    program: Program
    init: str
    platform: str
    hosts: tuple[str, ...]
    config: dict[str, str]

    @classmethod
    def draw(
        cls,
        seed: int,
        *,
        families: Sequence[str] = tuple(FAMILIES),
        selectors: Sequence[str] = ("default",),
        author: type[CollectiveAuthor] = CollectiveAuthor,
    ) -> Case:
        """Draw the case of a seed; `author` writes its program."""
        rng = random.Random(seed)
        family = rng.choice(list(families))
        platform, names = draw_platform(rng, family)
        ranks = min(rng.choice([2, 3, 4, 5, 6, 8, 8, 12, 16, 16, 24, 32]), 2 * len(names))
        hosts = place(rng, ranks, names)
        config = draw_config(rng, hosts, selectors)
        double = rng.random() < 0.2
        eager = config.get("smpi/async-small-thresh", "0") != "0"
        sizes = Sizes(rng, thresholds(config))
        writer = author(rng, ranks, sizes, double=double, eager=eager)
        keep_to_simgrid(writer, config, hosts)
        kinds = write_program(writer)
        return cls(
            label=f"seed {seed}: {family}, {ranks} ranks, {kinds}",
            program=Program(ranks, tuple(writer.lines)),
            init="init 1" if double else "init",
            platform=platform,
            hosts=hosts,
            config=config,
        )

    def write(self, directory: Path) -> None:
        """Write ``platform.xml``, ``hosts``, ``config.json`` and the traces to a directory."""
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "platform.xml").write_text(self.platform)
        (directory / "hosts").write_text("".join(f"{host}\n" for host in self.hosts))
        (directory / "config.json").write_text(json.dumps(self.config, indent=1) + "\n")
        traces = directory / "traces"
        traces.mkdir(exist_ok=True)
        for rank, text in enumerate(self.program.texts()):
            (traces / f"rank-{rank}.txt").write_text(f"{rank} {self.init}\n{text}{rank} finalize\n")

    def without_rank(self, rank: int) -> Case:
        hosts = self.hosts[:rank] + self.hosts[rank + 1 :]
        return replace(self, program=self.program.without_rank(rank), hosts=hosts)

    def perturbed(self, instructions: float = 1e-6) -> Iterator[Case]:
        """Yield the case with one compute volume changed: the first, the middle or the last one."""
        lines = self.program.lines
        computes = [
            i
            for i, line in enumerate(lines)
            if line.words[0] == "compute" and float(str(line.words[1])) > 0
        ]
        for i in sorted({computes[k] for k in (0, len(computes) // 2, -1)} if computes else ()):
            volume = float(str(lines[i].words[1])) + instructions
            changed = Line(lines[i].event, lines[i].rank, ("compute", repr(volume)))
            program = replace(self.program, lines=(*lines[:i], changed, *lines[i + 1 :]))
            yield replace(self, program=program)

    def jittered(self, seed: int, relative: float = 1e-14) -> Case:
        """Return the case with every latency changed by a few units in the last place."""
        rng = random.Random(seed)

        def change(match: re.Match[str]) -> str:
            seconds = float(match[2]) * SECONDS[match[3]]
            return f'{match[1]}="{seconds * (1 + rng.choice([-relative, relative]))!r}s"'

        return replace(self, platform=LATENCY.sub(change, self.platform))

    def at_precisions(self, relative: float = 1e-6) -> Iterator[Case]:
        """Yield the case with slightly smaller and slightly larger precision of dates."""
        for precision in (1e-9 * (1 - relative), 1e-9 * (1 + relative)):
            yield replace(self, config={**self.config, "surf/precision": repr(precision)})


def write_program(author: CollectiveAuthor) -> str:
    """Let an author write a program of a random character; return the character's name."""
    rng = author.rng
    with_messages = rng.random() < 0.75
    moves = [author.compute, author.sleep]
    weights = [2.0, 0.3]
    kinds = []
    if with_messages:
        moves += [author.message, author.half, author.meet, author.wait, author.waitall]
        weights += [6, 5, 4, 4, 1]
        kinds.append("messages")
        if rng.random() < 0.3:
            moves.append(author.test)
            weights.append(5)
            kinds.append("tests")
        if rng.random() < 0.4:
            moves += [author.sendrecv, author.nobody]
            weights += [2, 0.3]
            kinds.append("sendrecv")
    if not with_messages or rng.random() < 0.4:
        some = rng.sample(OPERATIONS, rng.randint(1, 4))
        moves += [lambda name=name: author.collective(name) for name in some]  # type: ignore[misc]
        weights += [2.0] * len(some)
        kinds += some
    author.run(rng.choice([5, 15, 40, 100]), moves, weights)
    return " ".join(kinds)


def place(rng: random.Random, ranks: int, names: Sequence[str]) -> tuple[str, ...]:
    """Return a host for each rank: in order, shuffled, or with several ranks per host."""
    style = rng.random()
    pool = list(names)
    if style < 0.4:
        rng.shuffle(pool)
    elif style < 0.6:
        pool = rng.sample(pool, rng.randint(1, len(pool)))
    elif style < 0.8:
        each = rng.randint(2, 4)
        pool = [name for name in pool for _ in range(each)]
    return tuple(pool[rank % len(pool)] for rank in range(ranks))


def run_simgrid(case: Case, directory: Path, *, timeout: float = 60.0) -> list[float]:
    """Write the case to `directory` and return the time at which each rank ends in SimGrid."""
    case.write(directory)
    items = [f"{key}:{value}" for key, value in case.config.items()]
    return run_oracle(
        directory / "platform.xml",
        directory / "hosts",
        directory / "traces",
        items,
        timeout=timeout,
    )
