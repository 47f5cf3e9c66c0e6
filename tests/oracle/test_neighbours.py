"""Collectives of neighbours, as traces have them, against MPI programs in SimGrid.

Traces have no action for them: `tisim record` writes the messages that they are. SimGrid does not
implement the calls either, so that its ranks send and receive these messages too.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from math import prod
from pathlib import Path

import pytest

import tisim
from tests.oracle.simgrid_exec import run_oracle

pytestmark = pytest.mark.oracle

#: Of the first message (tisim/traces/record/library/collectives.c).
FIRST_TAG = 2147483000
#: Of a byte each; beside the sizes from which messages are eager or not in SimGrid.
SIZES = (0, 1, 1000, 65535, 65536, 65537, 300_000)

#: A message that a rank sends to a neighbour: the sender, the receiver and the tag.
Message = tuple[int, int, int]


def cartesian(sides: tuple[int, ...], periods: tuple[bool, ...]) -> list[Message]:
    """What ranks in a process grid send to those below and above them in each dimension."""
    strides = [prod(sides[i + 1 :]) for i in range(len(sides))]

    def rank(place: tuple[int, ...]) -> int:
        return sum(at * stride for at, stride in zip(place, strides, strict=True))

    def messages() -> Iterator[Message]:
        for place in product(*map(range, sides)):
            for i, (side, periodic) in enumerate(zip(sides, periods, strict=True)):
                for step, tag in ((-1, 2 * i), (1, 2 * i + 1)):
                    at = place[i] + step
                    if not periodic and not 0 <= at < side:
                        continue
                    other = (*place[:i], at % side, *place[i + 1 :])
                    yield rank(place), rank(other), FIRST_TAG + tag

    return list(messages())


def graph(ranks: int, degree: int, seed: int) -> list[Message]:
    """What ranks send along the edges of a directed graph."""
    source = random.Random(seed)
    return [
        (rank, other, FIRST_TAG)
        for rank in range(ranks)
        for other in sorted(source.sample(range(ranks), degree))
        if other != rank
    ]


def texts(ranks: int, messages: list[Message], seed: int) -> list[str]:
    """Three exchanges among neighbours, with volumes that put ranks out of step."""
    source = random.Random(seed)
    lines: list[list[str]] = [["init"] for _ in range(ranks)]
    for numbered in (False, True, True):
        size = {message: source.choice(SIZES) for message in messages}
        for rank, own in enumerate(lines):
            calls = [
                f"irecv {sender} {tag} {size[sender, receiver, tag]} 6"
                for sender, receiver, tag in messages
                if receiver == rank
            ]
            calls += [
                f"isend {receiver} {tag} {size[sender, receiver, tag]} 6"
                for sender, receiver, tag in messages
                if sender == rank
            ]
            own.append(f"compute {source.randrange(10**7)}")
            if not numbered:
                own += [*calls, "waitall"]
                continue
            # As calls that do not block: another exchange may be pending.
            own += [f"{call} request={number}" for number, call in enumerate(calls)]
            own.append(f"compute {source.randrange(10**6)}")
            if calls:
                own.append("waitall requests=" + ",".join(map(str, range(len(calls)))))
    return [
        "".join(f"{rank} {line}\n" for line in [*own, "finalize"]) for rank, own in enumerate(lines)
    ]


@pytest.mark.parametrize(
    ("ranks", "messages"),
    [
        (6, cartesian((6,), (False,))),
        (2, cartesian((2,), (True,))),  # below and above is the same rank
        (12, cartesian((4, 3), (True, False))),
        (12, cartesian((3, 2, 2), (True, True, False))),
        (9, graph(9, 4, seed=1)),
    ],
    ids=["line", "pair", "grid", "box", "graph"],
)
def test_an_exchange_among_neighbours_ends_as_in_simgrid(
    ranks: int, messages: list[Message], root: Path, tmp_path: Path
) -> None:
    platform = root / "platforms" / "graphene.xml"
    hosts = [f"graphene-{number}.nancy.grid5000.fr" for number in range(1, ranks + 1)]
    (tmp_path / "hosts").write_text("".join(f"{host}\n" for host in hosts))
    traces = tmp_path / "traces"
    traces.mkdir()
    for rank, text in enumerate(texts(ranks, messages, seed=ranks)):
        (traces / f"rank-{rank}.txt").write_text(text)
    expected = run_oracle(platform, tmp_path / "hosts", traces)
    result = tisim.replay(traces, platform=platform, hosts=hosts)
    assert result.finish.tolist() == pytest.approx(expected, rel=1e-6, abs=1e-9)
