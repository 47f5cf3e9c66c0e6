"""Random cases of rarer forms: larger topologies, speed lists, odd units, tables, thresholds.

``draw_wide(number)`` always gives the same case; `campaign --wide` compares many of them.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable, Sequence

from tests.oracle.cases import Case, keep_to_simgrid, place, write_program
from tests.oracle.platforms.families import FAMILIES, HEAD, SPEEDS, Builder, Zone
from tests.oracle.programs.call_programs import CallAuthor, GivingUpAuthor, NumberedAuthor
from tests.oracle.programs.collective_calls import CollectiveAuthor
from tests.oracle.programs.configs import SELECTORS, draw_config, overheads, thresholds
from tests.oracle.programs.program import MAX_BYTES, Program, Sizes

OVERHEADS = ("smpi/os", "smpi/ois", "smpi/or")
#: Options with their values; half of the cases set none of them.
RARE = {
    "surf/precision": ("1e-8", "1e-10", "1e-12"),
    "maxmin/precision": ("1e-3", "1e-4", "1e-9"),
    "network/weight-S": ("0.5", "1e6"),
    "network/TCP-gamma": ("1", "1000", "1e9"),
    "network/loopback-bw": ("1e12", "1e6"),
    "network/loopback-lat": ("1e-3", "0"),
    "smpi/finalization-barrier": ("yes",),
    "smpi/iprobe-cpu-usage": ("0.1", "0.5", "2"),
}


class WideBuilder(Builder):
    """Draws elements that the campaign's own builder rarely or never draws."""

    with_lists = True  # several speeds per host; SimGrid's peers and cabinets have one

    def bandwidth(self) -> str:
        if self.rng.random() < 0.1:
            return self.rng.choice(["1e12Bps", "100GBps", "1kBps", "56kbps", "40GiBps", "8e15bps"])
        return super().bandwidth()

    def latency(self) -> str:
        if self.rng.random() < 0.1:
            return self.rng.choice(["0", "1e-12s", "1ns", "10ms", "0.1s", "1ps"])
        return super().latency()

    def speed(self) -> str:
        if self.with_lists and self.rng.random() < 0.15:
            return ",".join(self.rng.choices(SPEEDS, k=self.rng.randint(2, 3)))
        return super().speed()

    def host(self) -> tuple[str, str]:
        name, speed = self.name("host"), self.speed()
        state = self.rng.randint(0, speed.count(","))
        costs = [key for key in OVERHEADS if self.rng.random() < 0.1]
        own = "".join(f'<prop id="{key}" value="{overheads(self.rng)}"/>' for key in costs)
        core = self.rng.choice([1, 1, 1, 2, 3, 5])
        return (
            name,
            f'<host id="{name}" speed="{speed}" core="{core}" pstate="{state}">{own}</host>',
        )

    def cluster(self, *, topology: str = "", size: int | None = None) -> Zone:
        zone = super().cluster(topology=topology, size=size)
        if not topology and self.rng.random() < 0.3:
            numbers = [str(n) for n in self.rng.sample(range(40), len(zone.hosts))]
            zone.xml[0] = re.sub(r'radical="[^"]*"', f'radical="{",".join(numbers)}"', zone.xml[0])
            zone.hosts = [f"{zone.id}-{number}.org" for number in numbers]
        return zone

    def without_lists(self, make: Callable[[], Zone]) -> Zone:
        self.with_lists = False
        zone = make()
        self.with_lists = True
        return zone

    def vivaldi(self) -> Zone:
        return self.without_lists(super().vivaldi)

    def host_links(self) -> Zone:
        return self.without_lists(super().host_links)

    def sides(self, count: int, least: int, most: int, hosts: int) -> list[int]:
        while True:
            sides = [self.rng.randint(least, most) for _ in range(count)]
            if 2 <= math.prod(sides) <= hosts:
                return sides

    def torus(self) -> Zone:
        sides = self.sides(self.rng.randint(1, 5), 2, 7, 300)
        return self.topology("TORUS", math.prod(sides), sides)

    def fat_tree(self) -> Zone:
        levels = self.rng.randint(1, 4)
        down = self.sides(levels, 1, 6, 200)
        up = [self.rng.choice([1, 1, 1, 2]), *self.rng.choices(range(1, 5), k=levels - 1)]
        parallel = self.rng.choices(range(1, 5), k=levels)
        return self.topology("FAT_TREE", math.prod(down), [levels], down, up, parallel)

    def dragonfly(self) -> Zone:
        groups, chassis, nodes = self.sides(3, 1, 4, 48)
        counts = (groups, chassis, self.rng.randint(groups, 6))  # a blade for each group
        rows = [(count, self.rng.randint(1, 4)) for count in counts]
        return self.topology("DRAGONFLY", math.prod(counts) * nodes, *rows, [nodes])


WIDE_FAMILIES: dict[str, Callable[[Builder], Zone]] = {
    **FAMILIES,
    "cache": lambda build: build.graph("DijkstraCache"),
    "zones": lambda build: build.zones(depth=2),
}
#: Families that a builder can make difficult for routing, with one-way routes and ties.
CAN_BE_HARD = ("floyd", "dijkstra", "cache", "zones", "nested", "host_links")
AUTHORS = (CollectiveAuthor, NumberedAuthor, CallAuthor, GivingUpAuthor)


def step_table(rng: random.Random, low: float, high: float) -> str:
    """Return a table of factors with boundaries in random order."""
    sizes = {*rng.choices([0, 1, 16, 17, 1000, 1420, 65536, rng.randint(0, 10**6)], k=4)}
    rows = [f"{size}:{round(rng.uniform(low, high), 6)}" for size in sizes]
    rng.shuffle(rows)
    return ";".join(rows)


def wide_config(
    rng: random.Random, hosts: Sequence[str], selectors: Sequence[str]
) -> dict[str, str]:
    """Return a configuration of the campaign with rare options and thresholds."""
    config = draw_config(rng, hosts, selectors)
    if rng.random() < 0.3:
        edges = [0, 1, 2, 3, 17, 513, 1001, 4097, 65535, 65537, 1 << 20, (1 << 31) - 1]
        low, high = sorted(rng.choices(edges, k=2))
        config |= {
            "smpi/async-small-thresh": str(low),
            "smpi/send-is-detached-thresh": str(high),
        }
    if "network/model" not in config:
        for key, (least, most) in {
            "smpi/bw-factor": (0.2, 1.5),
            "smpi/lat-factor": (0.2, 15),
        }.items():
            if rng.random() < 0.15:
                config[key] = step_table(rng, least, most)
    chance = rng.choice([0, 0.15])
    config |= {key: rng.choice(values) for key, values in RARE.items() if rng.random() < chance}
    return config


def draw_wide(number: int, *, selectors: Sequence[str] = SELECTORS) -> Case:
    """Draw the case of a number."""
    rng = random.Random(f"wide {number}")
    family = rng.choice(list(WIDE_FAMILIES))
    hard = family in CAN_BE_HARD and rng.random() < 0.6
    zone = WIDE_FAMILIES[family](WideBuilder(rng, hard))
    text = "\n".join(zone.xml)
    author = rng.choice(AUTHORS)
    ranks = min(
        rng.choice([1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17, 24, 33]), 3 * len(zone.hosts)
    )
    if issubclass(author, CallAuthor):
        ranks = max(2, min(ranks, 16))
    hosts = place(rng, ranks, zone.hosts)
    config = wide_config(rng, hosts, rng.choice([selectors, ("default",)]))
    double = rng.random() < 0.2
    eager = config.get("smpi/async-small-thresh", "0") != "0"
    sizes = Sizes(rng, [size for size in thresholds(config) if size < MAX_BYTES])
    writer = author(rng, ranks, sizes, double=double, eager=eager)
    keep_to_simgrid(writer, config, hosts)
    if isinstance(writer, CallAuthor):
        kinds = writer.compose(rng.choice([5, 15, 40, 100]))
    else:
        kinds = write_program(writer)
    return Case(
        label=f"wide {number}: {family}, {ranks} ranks, {kinds}",
        program=Program(ranks, tuple(writer.lines)),
        init="init 1" if double else "init",
        platform=f'{HEAD}<platform version="4.1">\n{text}\n</platform>\n',
        hosts=hosts,
        config=config,
    )
