"""Searching the states of a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tisim.analysis.timeline.columns import WAITS
from tisim.analysis.timeline.run_file import RunFile, Window
from tisim.analysis.viewer.search import Search
from tisim.errors import InputError


def found(run_file: Path, text: str) -> list[dict[str, object]]:
    run = RunFile(run_file)
    answer = Search(run, text).found(Window(run, 0.0, run.end, 0, run.ranks - 1), 5000)
    states = answer["states"]
    assert isinstance(states, list) and answer["matches"] == len(states)
    return states


def test_the_longest_come_first(run_file: Path) -> None:
    states = found(run_file, "wait > 0.1ms and rank in 1..2")
    lengths = [one["end"] - one["start"] for one in states]
    assert lengths == sorted(lengths, reverse=True) and lengths[-1] > 0.1e-3
    assert {one["rank"] for one in states} == {1, 2}
    assert {one["state"] for one in states} <= set(WAITS)


def test_calls_have_their_names_of_mpi(run_file: Path) -> None:
    states = found(run_file, "call = MPI_Allreduce and cause = 3")
    assert states == found(run_file, "cause = 3 and call = allreduce") != []
    assert {one["kind"] for one in states} == {"allreduce"}


def test_hosts_are_named_by_patterns(run_file: Path) -> None:
    run = RunFile(run_file)
    few = "line in 5..20"
    hosts = [run.info["hosts"][place] for place in run.info["host_of"]]
    states = found(run_file, f"{few} and host = {hosts[1]}")
    assert {hosts[int(str(one["rank"]))] for one in states} == {hosts[1]}
    every = len(found(run_file, f"{few} and host = *"))
    assert len(found(run_file, f"{few} and host != {hosts[1]}")) == every - len(states) > 0
    with pytest.raises(InputError, match="no rank of this run is on a host 'mars'; hosts are"):
        found(run_file, "host = mars")
    with pytest.raises(InputError, match="host is = or != a name, not <"):
        found(run_file, "host < 3")


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("MPI_Allreduce", "call = allreduce"),
        ("allreduce rank 2", "call = allreduce and rank = 2"),
        (
            "late sender ranks 1 to 2 and wait > 0.1ms",
            "state = late sender and rank in 1..2 and wait > 0.1ms",
        ),
        ("Rank 3 and MPI_Send and line in 5..90", "rank = 3 and call = send and line in 5..90"),
        ("graphene-1 MPI_Allreduce", "call = allreduce and rank = 1"),
    ],
)
def test_words_alone_are_conditions(run_file: Path, text: str, same: str) -> None:
    assert found(run_file, text) == found(run_file, same) != []


@pytest.mark.parametrize(
    ("text", "fits"),
    [
        ("state != compute and state != overhead and time >= 0.1ms", lambda one: True),
        ("line in 5..9", lambda one: 5 <= one["line"] <= 9),
        ("start < 1ms and end <= 1ms", lambda one: one["end"] <= 1e-3),
        ("bytes > 500", lambda one: one["bytes"] > 500),
    ],
)
def test_conditions(run_file: Path, text: str, fits: object) -> None:
    states = found(run_file, text)
    assert callable(fits) and states and all(map(fits, states))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rank", "'rank' is not a condition"),
        (
            "MPI_Allreduce at noon",
            "'at noon' is not a condition .* the calls allreduce, .* states ",
        ),
        ("rank > x", "rank is a whole number, not 'x'"),
        ("rank in 3", "in needs a range such as 100..200"),
        ("wait in 1ms", "in needs a range such as 1ms..2ms"),
        ("wait > 1 parsec", "unknown unit"),
        ("call > send", "call is = or != a name"),
        ("call = MPI_Bakery", "this run has no call 'MPI_Bakery'; it has"),
        ("x" * 501, "at most 500 characters"),
    ],
)
def test_what_cannot_be_searched_for(run_file: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message.replace("'", ".")):
        found(run_file, text)
