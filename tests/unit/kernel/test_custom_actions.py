"""User-defined actions in traces."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

import tisim
from tests.support import NPB, ROOT, write_ranks
from tisim.kernel import Environment, MpiRank

BACKBONE = tisim.Platform.load(ROOT / "platforms" / "backbone.xml")

Action = Generator[Any, Any, Any]
pytestmark = pytest.mark.usefixtures("restored_registry")


def replay(directory: Path, *ranks: str, **options: Any) -> tisim.Result:
    return tisim.replay(write_ranks(directory, *ranks), platform=BACKBONE, **options)


def test_an_action_gets_its_rank_and_the_words_of_its_line(tmp_path: Path) -> None:
    seen: list[Any] = []

    @tisim.action("checkpoint")
    def checkpoint(rank: MpiRank, *words: str) -> Action:
        seen.append((rank.number, rank.host, rank.size, words, rank.env.now))
        yield rank.env.timeout(2)

    result = replay(tmp_path, "compute 1e9;Checkpoint 1e6 fast;compute 1e9", "compute 5e9")
    assert seen == [(0, "c-0.me", 2, ("1e6", "fast"), 1.0)]
    assert result.finish.tolist() == [4.0, 5.0]
    assert result.compute.tolist() == [2.0, 5.0]
    assert result.other.tolist() == [2.0, 0.0]
    assert result.actions == 4


def test_an_action_may_call_mpi_and_use_simpy(tmp_path: Path) -> None:
    @tisim.action("exchange")
    def exchange(rank: MpiRank, nbytes: str) -> Action:
        other = 1 - rank.number
        yield rank.isend(other, int(nbytes), tag=7)
        yield rank.recv(other, int(nbytes), tag=7)
        yield rank.waitall()
        yield rank.barrier()
        yield rank.sendrecv(other, 1000, other, 1000)
        yield rank.env.transfer(rank.host, "c-9.me", 10) & rank.execute(1e6)

    ours = replay(tmp_path, "exchange 100000;compute 5", "exchange 100000;compute 5")
    assert ours.finish[0] == ours.finish[1]
    assert ours.messages_sent.tolist() == [3, 3]  # isend, barrier, sendrecv
    assert ours.bytes_sent.tolist() == [101000, 101000]


def test_an_action_that_does_what_a_line_does_changes_nothing(tmp_path: Path) -> None:
    trace = NPB / "cg.S.16"
    plain = tisim.replay(trace, platform=BACKBONE)

    @tisim.action("work")
    def work(rank: MpiRank, flops: str) -> Action:
        yield rank.execute(float(flops))

    @tisim.action("cook")
    def cook(rank: MpiRank, flops: str) -> Action:
        yield rank.env.execute(rank.host, float(flops))

    for rank in range(16):
        text = "".join(_lines(trace, rank)).replace(" compute ", " work " if rank % 2 else " cook ")
        (tmp_path / f"rank-{rank}.txt").write_text(text)
    ours = tisim.replay(tmp_path, platform=BACKBONE)
    assert ours.finish.tolist() == plain.finish.tolist()
    assert ours.actions == plain.actions


def _lines(trace: Path, rank: int) -> Iterator[str]:
    import tarfile

    with tarfile.open(trace.parent) as archive:
        file = archive.extractfile(f"cg.S.16/rank-{rank}.txt")
        assert file is not None
        yield from file.read().decode().splitlines(keepends=True)


def test_what_an_action_started_and_did_not_wait_for_is_part_of_it(tmp_path: Path) -> None:
    @tisim.action("quick")
    def quick(rank: MpiRank) -> Action:
        rank.execute(2e9)
        return
        yield

    assert replay(tmp_path, "quick;compute 1e9").finish.tolist() == [3.0]


def test_a_rank_is_not_the_actions_any_more_when_it_is_over(tmp_path: Path) -> None:
    kept: list[MpiRank] = []

    @tisim.action("keep")
    def keep(rank: MpiRank) -> Action:
        kept.append(rank)
        yield rank.env.timeout(1)

    @tisim.action("misuse")
    def misuse(rank: MpiRank) -> Action:
        yield rank.env.timeout(2)
        yield kept[0].send(0, 1)

    with pytest.raises(
        tisim.InputError, match="the action keep of rank 0 has ended; it can no longer use"
    ):
        replay(tmp_path, "keep;compute 9e9", "misuse")


def test_words_that_do_not_fit_the_function(tmp_path: Path) -> None:
    @tisim.action("checkpoint")
    def checkpoint(rank: MpiRank, nbytes: str) -> Action:
        yield rank.env.timeout(float(nbytes))

    with pytest.raises(tisim.InputError) as error:
        replay(tmp_path, "compute 1;checkpoint")
    assert str(error.value) == (
        f"{tmp_path}/rank-0.txt:2: action checkpoint: its function does not accept these words: "
        "missing a required argument: 'nbytes'"
    )
    with pytest.raises(tisim.InputError, match=r"rank-0.txt:1: .* too many positional arguments"):
        replay(tmp_path, "checkpoint 1 2")


def test_a_function_that_is_not_a_generator(tmp_path: Path) -> None:
    @tisim.action("checkpoint")
    def checkpoint(rank: MpiRank) -> None:  # type: ignore[misc]
        rank.env.timeout(1)

    with pytest.raises(
        tisim.InputError, match=r"rank-0.txt:1: action .* its function is not a generator"
    ):
        replay(tmp_path, "checkpoint")


def test_an_exception_in_an_action_says_where_the_action_stands(tmp_path: Path) -> None:
    @tisim.action("checkpoint")
    def checkpoint(rank: MpiRank, nbytes: str) -> Action:
        yield rank.env.timeout(1)
        yield rank.env.timeout(float(nbytes))

    with pytest.raises(ValueError, match="could not convert string to float: 'many'") as error:
        replay(tmp_path, "compute 1", "checkpoint many")
    assert error.value.__notes__ == [
        f"in the action 'checkpoint many' of rank 1, at {tmp_path}/rank-1.txt:1"
    ]
    assert error.traceback[-1].name == "checkpoint"  # the user's line is the last


def test_a_wrong_call_in_an_action_is_a_wrong_line(tmp_path: Path) -> None:
    @tisim.action("tell")
    def tell(rank: MpiRank, peer: str) -> Action:
        yield rank.send(int(peer), 10)

    with pytest.raises(tisim.InputError) as error:
        replay(tmp_path, "compute 1;tell 7")
    assert str(error.value) == (
        f"{tmp_path}/rank-0.txt:2: action tell: no rank 7; ranks are numbered from 0 to 0"
    )


def test_a_deadlock_in_an_action(tmp_path: Path) -> None:
    @tisim.action("hang")
    def hang(rank: MpiRank, how: str) -> Action:
        yield rank.recv(1, 10, 4) if how == "recv" else rank.env.event()

    with pytest.raises(tisim.SimulationError) as error:
        replay(tmp_path, "hang recv", "compute 1;hang event", "recv 0 1 1")
    assert str(error.value).splitlines()[1:] == [
        f"  {tmp_path}/rank-0.txt:1: rank 0: in the action 'hang recv': recv waits for a message "
        "from rank 1 with tag 4",
        f"  {tmp_path}/rank-1.txt:2: rank 1: in the action 'hang event': waits for an event",
        f"  {tmp_path}/rank-2.txt:1: rank 2: recv waits for a message from rank 0 with tag 1",
    ]


@pytest.mark.parametrize("name", ["", "two words", "#hash"])
def test_names_that_cannot_stand_in_a_trace(name: str) -> None:
    with pytest.raises(tisim.InputError, match="one word"):
        tisim.action(name)


def test_a_name_that_traces_have_already() -> None:
    with pytest.raises(tisim.InputError, match="the action 'Send' already exists;"):
        tisim.action("Send")


def test_actions_in_the_second_of_two_jobs(tmp_path: Path) -> None:
    seen: list[Any] = []

    @tisim.action("note")
    def note(rank: MpiRank) -> Action:
        seen.append((rank.number, rank.host))
        yield rank.env.timeout(1)

    write_ranks(tmp_path, "note", "note")
    env = Environment(BACKBONE)
    env.replay(tmp_path, ["c-0.me", "c-1.me"])
    env.replay(tmp_path, ["c-2.me", "c-3.me"])
    env.run()
    assert seen == [(0, "c-0.me"), (1, "c-1.me"), (0, "c-2.me"), (1, "c-3.me")]


def test_without_registered_actions_the_word_is_unknown(tmp_path: Path) -> None:
    with pytest.raises(tisim.InputError, match=r"rank-0.txt:1: unknown action 'checkpoint'"):
        replay(tmp_path, "checkpoint 5")
