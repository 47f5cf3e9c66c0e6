"""Timelines for Paraver, read back and compared with what was recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tisim
from tests.support import GRAPHENE, RING
from tests.unit.timeline.paraver_trace import ParaverTrace, check
from tisim.analysis.timeline.formats import paraver


def recorded(trace: Path, folder: Path, **options: Any) -> tuple[tisim.Result, ParaverTrace]:
    result = tisim.replay(
        trace, platform=GRAPHENE, event_log=True, timeline=folder / "run.prv", **options
    )
    return result, ParaverTrace(folder / "run.prv")


@pytest.mark.parametrize("name", ["lu.S.4", "ft.S.16"])
def test_a_nas_benchmark(name: str, nas_traces: Path, tmp_path: Path) -> None:
    check(*recorded(nas_traces / name, tmp_path))


def test_nodes_processors_and_rows(tmp_path: Path) -> None:
    hosts = ["graphene-7.nancy.grid5000.fr", "graphene-3.nancy.grid5000.fr"]
    _, trace = recorded(RING, tmp_path, hosts=hosts)
    assert trace.cpus_of_node == [2, 2]
    assert trace.nodes == [1, 2, 1, 2]
    assert trace.cpus == {0: 1, 2: 2, 1: 3, 3: 4}
    assert trace.rows["NODE"] == hosts
    assert trace.rows["CPU"] == [f"{host}.{i}" for host in hosts for i in (1, 2)]
    assert trace.rows["THREAD"] == [f"rank {rank}" for rank in range(4)]


def test_records_are_sorted_whatever_the_window(
    tmp_path: Path, nas_traces: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes too late for the window is sorted in the end."""
    (tmp_path / "wide").mkdir()
    recorded(nas_traces / "lu.S.4", tmp_path / "wide")
    monkeypatch.setattr(paraver, "_WINDOW", (20, 1, 20))
    monkeypatch.setattr(paraver, "_LINES", 500)
    check(*recorded(nas_traces / "lu.S.4", tmp_path))
    narrow, wide = ((tmp_path / place / "run.prv").read_text() for place in (".", "wide"))
    assert sorted(narrow.splitlines()) == sorted(wide.splitlines())
