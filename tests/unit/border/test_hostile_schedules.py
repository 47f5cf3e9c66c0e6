"""A schedule that an algorithm of the user writes wrongly is an error that names the step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tisim
from tests.support import GRAPHENE
from tisim.actions.script import Script

RANKS = 8


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    for rank in range(RANKS):
        (tmp_path / f"r{rank}").write_text(f"{rank} init\n{rank} bcast 80\n{rank} finalize\n")
    return tmp_path


def add_row(s: Script, kind: int, peer: object, size: object, slot: object = -1) -> None:
    s.kinds.append(kind)
    s.peers.append(peer)  # type: ignore[arg-type]
    s.sizes.append(size)  # type: ignore[arg-type]
    s.tags.append(0)
    s.slots.append(slot)  # type: ignore[arg-type]


def shorten(s: Script) -> None:
    s.send(1, 8)
    s.sizes.pop()


def wait_twice(s: Script) -> None:
    request = s.irecv((s.rank + 1) % s.size, 8)
    s.wait(request)
    s.wait(request)


def use_pending_slot(s: Script) -> None:
    s.irecv(1, 8)
    add_row(s, 4, 1, 8, 0)


def drop_column(s: Script) -> None:
    s.peers = None  # type: ignore[assignment]


HOSTILE: list[tuple[Callable[[Script], object], str]] = [
    (lambda s: s.send(s.size, 8), "step 1: sends to rank 8 of a communicator of 8 ranks; ranks"),
    (lambda s: s.send(-7, 8), "step 1: sends to rank -7 of"),
    (lambda s: s.recv(99, 8), "step 1: receives from rank 99 of"),
    (lambda s: s.irecv(-1, 8), "step 1: receives from rank -1 of"),
    (lambda s: s.sendrecv(1, 8, 0, 99, 8, 0), "step 1: receives from rank 99 of"),
    (lambda s: s.send(2**40, 8), "step 1: its peer is 1099511627776, which is not a whole number"),
    (lambda s: s.send(1.5, 8), "step 1: its peer is 1.5, which is not a whole number"),  # type: ignore[arg-type]
    (lambda s: s.wait(3), "step 1: waits for the request 3, which is not pending"),
    (lambda s: s.waitall([3]), "step 1: waits for the request 3, which is not pending"),
    (lambda s: add_row(s, 5, 0, 0), "step 1: waits for the request -1, which is not pending"),
    (wait_twice, "step 3: waits for the request 0, which is not pending"),
    (use_pending_slot, "step 2: starts the request 0, which is still pending"),
    (lambda s: s.send(1, -100), "step 1: sends -100 bytes"),
    (lambda s: s.send(1, 1.5), "step 1: sends 1.5 bytes"),  # type: ignore[arg-type]
    (lambda s: s.send(1, float("nan")), "step 1: sends nan bytes"),  # type: ignore[arg-type]
    (lambda s: s.send(1, 10**300), "step 1: sends 1.0000000000000001e[+]300 bytes"),
    (lambda s: s.send(1, 10**400), "step 1: its size is 1000000"),
    (lambda s: s.send(1, "8"), "step 1: its size is '8', which is not a number"),  # type: ignore[arg-type]
    (lambda s: s.compute(float("inf")), "step 1: computes inf flops"),
    (lambda s: add_row(s, 77, 0, 0), "step 1: has the unknown code 77"),
    (lambda s: add_row(s, 8, 0, 0), "step 1: is the receiving half of a sendrecv"),
    (shorten, "its columns differ in length: 1 kinds, 1 peers, 0 sizes, 1 tags, 1 slots"),
    (drop_column, "its peers are not a list"),
]


@pytest.fixture
def hostile() -> Iterator[Callable[[Callable[[Script], object]], None]]:
    written: list[Callable[[Script], object]] = []

    with tisim.default_registry.restored():

        @tisim.collective("bcast", "my_bcast")
        def my_bcast(s: Script, count: int, size: int, root: int) -> None:
            if s.rank == 3:
                written[0](s)

        yield written.append


@pytest.mark.parametrize(("write", "message"), HOSTILE)
def test_error_names_algorithm_rank_and_step(
    trace: Path, hostile: Callable[..., None], write: Callable[[Script], object], message: str
) -> None:
    hostile(write)
    with pytest.raises(tisim.InputError, match=message) as caught:
        tisim.replay(
            trace,
            platform=GRAPHENE,
            config={"smpi/bcast": "my_bcast"},
        )
    assert "algorithm 'my_bcast' (bcast), rank 3, " in caught.value.message
    assert caught.value.file == str(trace / "r3")
    assert caught.value.line == 2


@pytest.mark.parametrize(
    ("line", "config", "author"),
    [
        (
            "allreduce 80 0",
            {"smpi/allreduce": "redbcast"},
            "algorithm 'my_bcast' (bcast) in algorithm 'redbcast' (allreduce)",
        ),
        ("comm_dup 0 1", {}, "algorithm 'my_bcast' (bcast) in the algorithms of comm_dup"),
    ],
)
def test_error_names_the_algorithm_that_another_one_has_called(
    tmp_path: Path, hostile: Callable[..., None], line: str, config: dict[str, str], author: str
) -> None:
    for rank in range(RANKS):
        (tmp_path / f"r{rank}").write_text(f"{rank} init\n{rank} {line}\n{rank} finalize\n")
    hostile(lambda s: s.send(99, 8))
    with pytest.raises(tisim.InputError) as caught:
        tisim.replay(
            tmp_path,
            platform=GRAPHENE,
            config={**config, "smpi/bcast": "my_bcast"},
        )
    assert caught.value.message.startswith(f"{author}, rank 3, step ")
    assert "sends to rank 99 of a communicator of 8 ranks" in caught.value.message


def test_error_of_an_algorithm_that_calls_others_names_it_alone(
    tmp_path: Path, trace: Path
) -> None:
    registry = tisim.Registry()

    @registry.collective("bcast", "barrier_first")
    def barrier_first(s: Script, count: int, size: int, root: int) -> None:
        s.chosen("barrier")(s)
        s.send(99, 8)

    with pytest.raises(tisim.InputError, match=r": algorithm 'barrier_first' \(bcast\), rank"):
        tisim.replay(
            trace,
            platform=GRAPHENE,
            config={"smpi/bcast": "barrier_first"},
            registry=registry,
        )


def test_schedules_that_do_not_match_are_a_deadlock(
    trace: Path, hostile: Callable[..., None]
) -> None:
    hostile(lambda s: s.recv(4, 8))
    with pytest.raises(tisim.SimulationError, match=r"deadlock .*\n.*r3:2: rank 3: bcast waits"):
        tisim.replay(
            trace,
            platform=GRAPHENE,
            config={"smpi/bcast": "my_bcast"},
        )
