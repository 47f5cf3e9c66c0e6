"""Timelines as comma-separated values, and what every timeline must hold."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import tisim

ROOT = Path(__file__).resolve().parents[3]
GRAPHENE = ROOT / "platforms/graphene.xml"
RING = ROOT / "traces/ring.4"


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_a_row_an_action_and_a_row_a_message(tmp_path: Path) -> None:
    result = tisim.replay(RING, platform=GRAPHENE, timeline=tmp_path / "ring.csv")
    actions = rows_of(tmp_path / "ring.csv")
    assert len(actions) == result.actions
    by_rank = [[a for a in actions if a["rank"] == str(rank)] for rank in range(4)]
    assert [a["kind"] for a in by_rank[0]] == ["nop", "compute", "send", "recv", "nop"]
    assert [a["peer"] for a in by_rank[0]] == ["-1", "-1", "1", "3", "-1"]
    assert [a["bytes"] for a in by_rank[0]] == ["-1", "-1", "1000000", "1000000", "-1"]
    assert [a["line"] for a in by_rank[0]] == ["2", "3", "4", "5", "6"]
    for rank, of_rank in enumerate(by_rank):
        assert [a["end"] for a in of_rank[:-1]] == [a["start"] for a in of_rank[1:]]
        assert float(of_rank[-1]["end"]) == pytest.approx(result.finish[rank], abs=1e-12)
    messages = rows_of(tmp_path / "ring.messages.csv")
    pairs = [(m["source"], m["destination"], m["bytes"]) for m in messages]
    assert sorted(pairs) == [(str(r), str((r + 1) % 4), "1000000") for r in range(4)]
    for message in messages:
        assert float(message["posted"]) <= float(message["started"]) < float(message["arrived"])


def test_the_timed_trace(tmp_path: Path) -> None:
    result = tisim.replay(RING, platform=GRAPHENE, timeline=tmp_path / "ring.timed.csv")
    rows = rows_of(tmp_path / "ring.timed.csv")
    assert not list(tmp_path.glob("*.messages.csv"))
    durations = np.zeros(4)
    for row in rows:
        durations[int(row["rank"])] += float(row["duration"])
    assert durations == pytest.approx(result.finish, abs=1e-11)
    (compute,) = (r for r in rows if r["rank"] == "0" and r["action"] == "compute")
    assert float(compute["volume"]) == 1e6


def test_no_file_is_left_by_a_replay_that_fails(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    trace.mkdir()
    (trace / "rank-0.txt").write_text("0 recv 1 0 8\n")
    (trace / "rank-1.txt").write_text("1 compute 1e6\n")
    out = tmp_path / "out"
    out.mkdir()
    (out / "run.csv").write_text("as before")
    with pytest.raises(tisim.SimulationError, match="deadlock"):
        tisim.replay(trace, platform=GRAPHENE, timeline=out / "run.csv")
    assert [path.name for path in out.iterdir()] == ["run.csv"]
    assert (out / "run.csv").read_text() == "as before"


def test_an_unknown_suffix_is_refused_before_the_replay(tmp_path: Path) -> None:
    with pytest.raises(tisim.InputError, match=r"run\.xyz: a timeline's suffix is one of"):
        tisim.replay(RING, platform=GRAPHENE, timeline=tmp_path / "run.xyz")
    with pytest.raises(tisim.InputError, match="cannot be written: No such file or directory"):
        tisim.replay(RING, platform=GRAPHENE, timeline=tmp_path / "nowhere" / "run.csv")


def test_what_was_not_recorded_cannot_be_asked_for() -> None:
    result = tisim.replay(RING, platform=GRAPHENE)
    with pytest.raises(tisim.TisimError, match="event_log=True"):
        result.timeline  # noqa: B018
