"""Timelines in all formats say what was recorded, of random programs on random platforms."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import tisim
from tests.oracle.cases import Case
from tests.oracle.paje import read_paje
from tests.unit.timeline import paraver_trace, perfetto_trace

pytest.importorskip("pyarrow")

FORMATS = ("csv", "timed.csv", "parquet", "trace", "prv", "perfetto-trace")


def recorded(seed: int, folder: Path) -> tisim.Result:
    case = Case.draw(seed)
    case.write(folder)
    same = {"platform": folder / "platform.xml", "hosts": case.hosts, "config": case.config}
    files = [folder / f"run.{suffix}" for suffix in FORMATS]
    result = tisim.replay(folder / "traces", **same, event_log=True, timeline=files)
    # To record changes nothing.
    assert result.finish.tolist() == tisim.replay(folder / "traces", **same).finish.tolist()
    return result


def check_actions(result: tisim.Result) -> None:
    """Every line of every rank's trace, one after the other until the rank ends."""
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


def same(found: pd.Series, expected: pd.Series, tolerance: float = 0.0) -> bool:
    """True if the columns are equal, numbers to a tolerance."""
    if not pd.api.types.is_numeric_dtype(found):
        return found.tolist() == expected.tolist()
    numbers = (column.to_numpy(dtype=np.float64) for column in (found, expected))
    return np.allclose(*numbers, rtol=0, atol=tolerance, equal_nan=True)


def check_tables(result: tisim.Result, folder: Path) -> None:
    """Parquet is exact, CSV has twelve digits after the point."""
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
    folder = tmp_path_factory.mktemp("case")
    result = recorded(seed, folder)
    check_actions(result)
    check_messages(result)
    check_tables(result, folder)
    check_paje(result, folder)
    paraver_trace.check(result, paraver_trace.ParaverTrace(folder / "run.prv"))
    perfetto_trace.check(result, perfetto_trace.Decoded(folder / "run.perfetto-trace"))
