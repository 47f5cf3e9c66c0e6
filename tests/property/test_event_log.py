"""Event logs, timelines and causes of waits agree with the simulation."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import tisim
from tests.oracle.cases import Case
from tests.oracle.test_paje import read_paje
from tests.unit.timeline import test_paraver, test_perfetto
from tisim.analysis.timeline.columns import WAITS
from tisim.analysis.timeline.event_log import EventLog
from tisim.platform import new
from tisim.traces.generate import Halo2D, Halo3D, Ring, TreeAllreduce, Wavefront
from tisim.traces.generate.pattern import Pattern


def recorded(seed: int, factory: pytest.TempPathFactory) -> tisim.Result:
    """Return the result of a random program on a random platform."""
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
        # Each part begins where the previous one ended, or where its message was waited for.
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
    """On links that messages do not share: there the estimate is an upper bound."""
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


FORMATS = ("csv", "timed.csv", "parquet", "trace", "prv", "perfetto-trace")


def replayed(seed: int, folder: Path) -> tisim.Result:
    case = Case.draw(seed)
    case.write(folder)
    same = {"platform": folder / "platform.xml", "hosts": case.hosts, "config": case.config}
    files = [folder / f"run.{suffix}" for suffix in FORMATS]
    result = tisim.replay(folder / "traces", **same, event_log=True, timeline=files)
    # Recording changes nothing.
    assert result.finish.tolist() == tisim.replay(folder / "traces", **same).finish.tolist()
    return result


def check_actions(result: tisim.Result) -> None:
    """Check that the actions of every rank are its trace lines, without gaps until its end."""
    actions = result.timeline
    assert len(actions) == result.actions
    for rank, finish in enumerate(result.finish):
        own = actions[actions["rank"] == rank]
        if len(own):
            assert own["start"].iloc[0] == 0
            assert (own["start"].to_numpy()[1:] == own["end"].to_numpy()[:-1]).all()
            assert own["end"].iloc[-1] == finish
            assert (np.diff(own["line"]) > 0).all()


def check_messages(result: tisim.Result) -> None:
    messages = result.messages
    assert (messages["posted"] <= messages["started"]).all()
    assert (messages["started"] <= messages["arrived"]).all()
    sums = messages.groupby("source")["bytes"].sum()
    assert {rank: n for rank, n in enumerate(result.bytes_sent) if n} == {
        rank: n for rank, n in sums.items() if n
    }


def same(actual: pd.Series, expected: pd.Series, tolerance: float = 0.0) -> bool:
    """True if the columns are equal, numbers within a tolerance."""
    if not pd.api.types.is_numeric_dtype(actual):
        return actual.tolist() == expected.tolist()
    numbers = (column.to_numpy(dtype=np.float64) for column in (actual, expected))
    return np.allclose(*numbers, rtol=0, atol=tolerance, equal_nan=True)


def check_tables(result: tisim.Result, folder: Path) -> None:
    """Parquet is exact, CSV has twelve decimals."""
    for name, frame in (("run", result.timeline), ("run.messages", result.messages)):
        exact = pd.read_parquet(folder / f"{name}.parquet")
        text = pd.read_csv(folder / f"{name}.csv")
        assert set(text) <= set(exact) == set(frame)
        assert all(same(exact[column], frame[column]) for column in exact)
        assert all(same(text[column], frame[column], 6e-13) for column in text)
    timed = pd.read_csv(folder / "run.timed.csv")
    actions = result.timeline
    assert timed["action"].tolist() == actions["kind"].tolist()
    assert np.allclose(timed["duration"], actions["end"] - actions["start"], rtol=0, atol=1e-12)


def check_paje(result: tisim.Result, folder: Path) -> None:
    trace = read_paje(folder / "run.trace")
    assert all(
        trace.lives[f"rank-{rank}"] == pytest.approx((0, finish), abs=1e-9)
        for rank, finish in enumerate(result.finish)
    )
    assert all(not math.isnan(link.end) for link in trace.links.values())
    messages = result.messages[~result.messages["collective"]]
    pairs = zip(messages["source"], messages["destination"], strict=True)
    # An exchange of a rank with itself is not a message.
    actions = result.timeline
    own = actions[(actions["kind"] == "sendrecv") & (actions["rank"] == actions["peer"])]
    expected = Counter(pairs) + Counter((rank, rank) for rank in own["rank"])
    arrows = Counter((link.source, link.destination) for link in trace.links.values())
    assert arrows == {(f"rank-{a}", f"rank-{b}"): count for (a, b), count in expected.items()}


@settings(
    max_examples=6,
    deadline=None,
    phases=(Phase.generate,),
    suppress_health_check=[HealthCheck.too_slow],
)
@given(seed=st.integers(0, 10**6))
def test_all_formats_say_what_was_recorded(
    seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pytest.importorskip("pyarrow")
    folder = tmp_path_factory.mktemp("case")
    result = replayed(seed, folder)
    check_actions(result)
    check_messages(result)
    check_tables(result, folder)
    check_paje(result, folder)
    test_paraver.check(result, test_paraver.ParaverTrace(folder / "run.prv"))
    test_perfetto.check(result, test_perfetto.Decoded(folder / "run.perfetto-trace"))


PATTERNS: dict[str, Callable[[int, int, int], Pattern]] = {
    "wavefront": lambda ranks, nbytes, seed: Wavefront(
        ranks=ranks, iterations=3, compute=2e7, nbytes=nbytes, noise=0.1, seed=seed
    ),
    "wavefront, allreduce": lambda ranks, nbytes, seed: Wavefront(
        ranks=ranks, iterations=3, compute=2e7, nbytes=nbytes, noise=0.1, seed=seed, allreduce=40
    ),
    "pipeline": lambda ranks, nbytes, seed: Wavefront(
        ranks=ranks, grid=(ranks, 1), iterations=2, compute=2e7, nbytes=nbytes, noise=0.1, seed=seed
    ),
    "halo": lambda ranks, nbytes, seed: Halo2D(
        ranks=ranks, iterations=8, nbytes=nbytes, noise=0.1, seed=seed
    ),
    "halo, allreduce": lambda ranks, nbytes, seed: Halo3D(
        ranks=ranks, iterations=8, nbytes=nbytes, noise=0.1, seed=seed, allreduce=8
    ),
    "tree": lambda ranks, nbytes, seed: TreeAllreduce(
        ranks=ranks, iterations=6, nbytes=nbytes, noise=0.1, seed=seed
    ),
    "ring": lambda ranks, nbytes, seed: Ring(
        ranks=ranks, iterations=8, nbytes=nbytes, noise=0.1, seed=seed
    ),
}
EAGER, RENDEZVOUS = 1024, 200_000


def replay(
    folder: Path, pattern: Pattern, delays: dict[tuple[int, int], float]
) -> tuple[EventLog, set[tuple[int, int]]]:
    """Replay a program; `delays` adds flops to the n-th computation of a rank.

    Returns the events, and the rank and line of these computations.
    """
    folder.mkdir()
    places = set()
    for rank in range(pattern.ranks):
        lines = "".join(pattern.pieces(rank)).splitlines()
        computes = [place for place, line in enumerate(lines) if " compute " in line]
        for (late, number), flops in delays.items():
            if late == rank:
                place = computes[number % len(computes)]
                head, volume = lines[place].rsplit(" ", 1)
                lines[place] = f"{head} {float(volume) + flops}"
                places.add((rank, place + 1))
        (folder / f"r{rank}").write_text("\n".join(lines) + "\n")
    platform = new.cluster(pattern.ranks, bandwidth="1GBps", latency="1us", speed="1Gf")
    return tisim.replay(folder, platform=platform, event_log=True).require_event_log(), places


@pytest.mark.parametrize("case", range(4))
@pytest.mark.parametrize("nbytes", [EAGER, RENDEZVOUS], ids=["eager", "rendezvous"])
@pytest.mark.parametrize("name", PATTERNS)
def test_lost_time_is_ascribed_to_the_delays(
    tmp_path: Path, name: str, nbytes: int, case: int
) -> None:
    drawn = random.Random(f"{name} {nbytes} {case}")
    pattern = PATTERNS[name]((8, 27, 64, 128)[case], nbytes, drawn.randrange(1 << 30))
    delays = {
        (drawn.randrange(pattern.ranks), drawn.randrange(1000)): drawn.choice([5e6, 2e7, 5e7])
        for _ in range(drawn.randint(1, 3))
    }
    before, _ = replay(tmp_path / "before", pattern, {})
    log, places = replay(tmp_path / "late", pattern, delays)
    waited = float(log.waits["seconds"].sum())
    lost = waited - float(before.waits["seconds"].sum())
    states = log.store.read("states")
    sums = [
        log.wait_causes.total_wait_caused(int(row))[0]
        for row in np.flatnonzero(
            np.isin(
                states["rank"].astype(np.int64) << 32 | states["line"],
                [rank << 32 | line for rank, line in places],
            )
        )
    ]
    assert 0.95 * lost <= sum(sums) <= waited
    # All waiting time is ascribed to some cause.
    assert sum(cause.seconds for cause in log.wait_causes.all) == pytest.approx(waited, rel=1e-9)
