"""Random schedules of a collective end in errors or results: none crashes, none hangs."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

import tisim
from tests.support import campaign
from tisim.actions.script import ANY_SOURCE, Script

RANKS = 4
PEERS = [0, 1, 2, 3, 3, 2, 1, 0, ANY_SOURCE, RANKS, 99, -7, -666, 2**31 - 1, -(2**31), 2**40, 1.5]
SIZES = [0, 8, 1e3, 1e5, 1e7, 8, 0, -100, 1.5, float("nan"), float("inf"), 1e300, 2**53, 10**400]
SLOTS = [-1, 0, 0, 1, 1, 2, 3, 7, 2**31 - 1, -5]
CODES = [*range(10), *range(10), 10, 77, -1]


class Writer:
    """Writes one random schedule per rank, drawn from `random.Random(seed)`."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def __call__(self, s: Script) -> None:
        if random.Random(self._seed).random() < 0.3:
            self._match(s)
        draw = random.Random(f"{self._seed}/{s.rank}")
        # Long random schedules are rarely valid, so most have few invalid values or none.
        wrong = draw.choice([0, 0, 0.02, 0.3])
        requests: list[int] = []
        for _ in range(draw.choice([0, 0, 2, 8])):
            if draw.random() < wrong:
                self._write_row(s, draw)
            else:
                self._call(s, draw, requests)
        if requests and draw.random() < 0.8:
            s.waitall(requests)
        if draw.random() < wrong:
            column = draw.choice([s.kinds, s.peers, s.sizes, s.tags, s.slots])
            if column:
                column.pop(draw.randrange(len(column)))

    def _match(self, s: Script) -> None:
        """Write steps that match those of the other ranks."""
        draw = random.Random(self._seed + 1)
        for _ in range(draw.randrange(5)):
            distance, size = draw.randrange(s.size), draw.choice([0, 8, 10**5, 10**7])
            to, source = (s.rank + distance) % s.size, (s.rank - distance) % s.size
            if draw.random() < 0.5:
                s.sendrecv(to, size, 0, source, size, 0)
            else:
                s.waitall([s.irecv(source, size), s.isend(to, size)])

    def _write_row(self, s: Script, draw: random.Random) -> None:
        s.kinds.append(draw.choice(CODES))
        s.peers.append(draw.choice(PEERS))  # type: ignore[arg-type]
        s.sizes.append(draw.choice(SIZES))
        s.tags.append(draw.choice([0, 1, -444, 2**31 - 1]))
        s.slots.append(draw.choice(SLOTS))

    def _call(self, s: Script, draw: random.Random, requests: list[int]) -> None:
        peer, size, tag = (
            draw.randrange(s.size),
            draw.choice([0, 8, 10**5, 10**7]),
            draw.choice([0, 1]),
        )
        kind = draw.randrange(8)
        if kind == 0:
            s.send(peer, size, tag)
        elif kind == 1:
            s.ssend(peer, size, tag)
        elif kind == 2:
            s.recv(draw.choice([peer, ANY_SOURCE]), size, tag)
        elif kind == 3:
            requests.append(s.isend(peer, size, tag))
        elif kind == 4:
            requests.append(s.irecv(draw.choice([peer, ANY_SOURCE]), size, tag))
        elif kind == 5 and requests:
            s.wait(requests.pop(draw.randrange(len(requests))))
        elif kind == 6:
            s.sendrecv(peer, size, tag, (peer + 1) % s.size, size, tag)
        else:
            s.compute(draw.choice([0, 1e3, 1e9]))


def outcome(trace: tisim.Trace, platform: tisim.Platform, registry: tisim.Registry) -> str:
    config = {"smpi/bcast": "random"}
    try:
        tisim.replay(trace, platform=platform, config=config, registry=registry)
    except (tisim.InputError, tisim.SimulationError) as error:
        return type(error).__name__
    return "Result"


@pytest.fixture
def trace(tmp_path: Path) -> tisim.Trace:
    for rank in range(RANKS):
        lines = f"{rank} init\n{rank} bcast 80\n{rank} bcast 8\n{rank} finalize\n"
        (tmp_path / f"r{rank}").write_text(lines)
    return tisim.Trace.open(tmp_path)


@pytest.mark.parametrize("seed", range(campaign(30, 100)))
def test_hostile_schedules_end(trace: tisim.Trace, root: Path, seed: int) -> None:
    platform = tisim.Platform.load(root / "platforms" / "backbone.xml")
    writers: list[Writer] = []
    registry = tisim.Registry()

    @registry.collective("bcast", "random")
    def random_bcast(s: Script, count: int, size: int, root: int) -> None:
        writers[-1](s)

    outcomes: Counter[str] = Counter()
    for number in range(100):
        writers[:] = [Writer(seed * 1_000_003 + number)]
        outcomes[outcome(trace, platform, registry)] += 1
    assert set(outcomes) == {"InputError", "SimulationError", "Result"}
