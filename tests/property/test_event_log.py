"""What is said of a recorded simulation adds up to what the simulation says itself."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tisim
from tests.oracle.cases import Case
from tisim.analysis.timeline.columns import WAITS


def recorded(seed: int, factory: pytest.TempPathFactory) -> tisim.Result:
    """The result of a random program on a random platform."""
    case = Case.draw(seed)
    directory = factory.mktemp("case")
    case.write(directory)
    return tisim.replay(
        directory / "traces",
        platform=directory / "platform.xml",
        hosts=case.hosts,
        config=case.config,
        event_log=True,
    )


def check_states_are_the_time_of_a_rank(result: tisim.Result) -> None:
    by_rank = result.breakdown.by_rank
    assert by_rank.sum(axis=1).to_numpy() == pytest.approx(result.finish, rel=1e-12)
    assert by_rank["compute"].to_numpy() == pytest.approx(result.compute, rel=1e-9, abs=1e-12)
    for rank, states in result.states.groupby("rank"):
        assert states["start"].iloc[0] == 0
        assert (states["start"].to_numpy()[1:] == states["end"].to_numpy()[:-1]).all()
        assert states["end"].iloc[-1] == result.finish[rank]
    by_kind = result.breakdown.by_kind
    assert by_kind["seconds"].sum() == pytest.approx(result.finish.sum(), rel=1e-12)
    assert by_kind["actions"].sum() == result.actions


def check_critical_path_is_the_simulated_time(result: tisim.Result) -> None:
    path = result.critical_path
    assert path.length == result.simulated_time
    parts = path.parts
    if len(parts):
        assert parts["start"].iloc[0] == 0
        assert parts["end"].iloc[-1] == result.simulated_time
        assert (parts["start"].to_numpy()[1:] == parts["end"].to_numpy()[:-1]).all()
        # Each part begins where the one before has come to, or where its message was waited for.
        places = [set(place) for place in parts[["rank", "destination"]].to_numpy().tolist()]
        assert all(one & next_one for one, next_one in pairwise(places))
    time, rank, step = path.turns(10**9)
    assert step == 0
    assert time.tolist() == parts[["start", "end"]].to_numpy().ravel().tolist()
    assert rank.tolist() == parts[["rank", "destination"]].to_numpy().ravel().tolist()
    if len(time):
        some, _, step = path.turns(4)
        assert (some[0], some[-1]) == (time[0], time[-1])
        assert len(some) <= 6 and set(some) <= set(time)
        assert (np.diff(some) >= 0).all()
    assert path.by_kind["seconds"].sum() == pytest.approx(path.length, rel=1e-9)
    assert path.by_rank.to_numpy().sum() == pytest.approx(path.length, rel=1e-9)
    assert (path.gains["seconds"] >= 0).all()
    assert path.gains["seconds"].sum() <= path.length * (1 + 1e-9)


def check_matrix_is_what_was_sent(result: tisim.Result) -> None:
    matrix = result.matrix
    ranks = len(result.finish)
    for name, sent in (("bytes", result.bytes_sent), ("messages", result.messages_sent)):
        of_rank = np.zeros(ranks, dtype=np.int64)
        np.add.at(of_rank, matrix["source"].to_numpy(), matrix[name].to_numpy())
        assert of_rank.tolist() == sent.tolist()
    assert len(matrix) == len(matrix[["source", "destination"]].drop_duplicates())
    assert (matrix["collective_bytes"] <= matrix["bytes"]).all()
    assert len(result.messages) == matrix["messages"].sum()
    assert result.messages["bytes"].sum() == matrix["bytes"].sum()


def check_waits_are_part_of_the_time_in_calls(result: tisim.Result) -> None:
    waits = result.waits
    ranks = len(result.finish)
    waited = np.zeros(ranks)
    np.add.at(waited, waits["rank"].to_numpy(), waits["seconds"].to_numpy())
    assert (waited <= result.communication + 1e-12).all()
    assert waited == pytest.approx(
        result.breakdown.by_rank[list(WAITS)].sum(axis=1).to_numpy(), rel=1e-9, abs=1e-15
    )
    assert set(waits["state"]) <= set(WAITS)
    assert waits["cause"].between(0, ranks - 1).all()
    assert (waits["seconds"] > 0).all()


def check_links_carry_no_more_than_they_can(result: tisim.Result) -> None:
    table = result.links.table
    assert (table["mean"] <= table["peak"] * (1 + 1e-9)).all()
    assert (table["busy"] <= 1 + 1e-9).all()
    assert result.links.over_time.shape == (len(result.links.times), len(table))
    assert (table["bytes"] > 0).all()
    assert (table[~table["fatpipe"]]["peak"] <= 1 + 1e-6).all()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 10**6))
def test_a_recorded_simulation_adds_up(seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    result = recorded(seed, tmp_path_factory)
    check_states_are_the_time_of_a_rank(result)
    check_critical_path_is_the_simulated_time(result)
    check_matrix_is_what_was_sent(result)
    check_waits_are_part_of_the_time_in_calls(result)
    check_links_carry_no_more_than_they_can(result)


def test_no_more_is_gained_than_the_critical_path_says(root: Path) -> None:
    """On links that messages do not share: there an upper bound is one."""
    machine = tisim.Platform.load(root / "platforms/graphene.xml").scaled(
        links="*", sharing="FATPIPE"
    )
    trace = tisim.Trace.open(root / "traces/npb.S.tar.xz/cg.S.16")
    before = tisim.replay(trace, platform=machine, event_log=True)
    gains = before.critical_path.gains
    better = {
        "faster CPUs": {"hosts": "*", "speed": "x1000000000"},
        "lower latency": {"links": "*", "latency": "x1e-09"},
        "more bandwidth": {"links": "*", "bandwidth": "x1000000000"},
    }
    for change, scaling in better.items():
        after = tisim.replay(trace, platform=machine.scaled(**scaling))
        gained = before.simulated_time - after.simulated_time
        assert 0 < gained <= gains["seconds"][change] * (1 + 1e-9), change
        assert before.simulated_time / after.simulated_time <= gains["speedup"][change] * 1.000001
