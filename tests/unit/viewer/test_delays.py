"""Waits are followed to what delayed those who were waited for, since both last met."""

from __future__ import annotations

from pathlib import Path

import pytest

import tisim
from tisim.analysis.timeline.run_file import RunFile
from tisim.analysis.viewer.causes import Causes
from tisim.platform import new

pytest.importorskip("pyarrow")


def run_of(folder: Path, ranks: int, text: str) -> RunFile:
    (folder / "t.txt").write_text(text)
    platform = new.cluster(ranks, bandwidth="1GBps", latency="1us", speed="1Gf")
    tisim.replay(folder / "t.txt", platform=platform, timeline=folder / "t.tir")
    return RunFile(folder / "t.tir")


def test_what_lies_before_a_collective_is_forgotten(tmp_path: Path) -> None:
    """Rank 5 is late once before a barrier, and less so before it sends to rank 3."""
    lines = ""
    for rank in range(8):
        first, second = (50e6, 5e6) if rank == 5 else (1e6, 1e6)
        lines += f"{rank} init\n{rank} compute {first}\n{rank} barrier\n{rank} compute {second}\n"
        lines += {3: "3 recv 5 0 8\n", 5: "5 send 3 0 8\n"}.get(rank, "")
    causes = Causes(run_of(tmp_path, 8, lines))
    details = causes.details(3, 53e-3)
    assert details["state"]["state"] == "late sender"
    (origin,) = details["chain"]
    assert (origin["rank"], origin["state"]) == (5, "compute")
    assert origin["end"] - origin["start"] == origin["within"] == pytest.approx(5e-3)
    assert origin["longer"] == pytest.approx(4e-3, rel=0.01)


def test_a_late_rank_that_has_waited_is_no_origin(tmp_path: Path) -> None:
    """Rank 0 is late for rank 1, which is therefore late for rank 2 after its own computation."""
    text = "0 init\n0 compute 6e6\n0 send 1 0 8\n"
    text += (
        "1 init\n1 recv 0 0 8\n1 compute 3e6\n1 send 2 0 8\n2 init\n2 compute 8e6\n2 recv 1 0 8\n"
    )
    causes = Causes(run_of(tmp_path, 3, text))
    details = causes.details(2, 8.5e-3)
    # While rank 2 waits, rank 1 computes; but that takes no longer than rank 2 has computed.
    waited, origin = details["chain"]
    assert (waited["rank"], waited["state"]) == (1, "late sender")
    assert waited["longer"] == pytest.approx(-5e-3, rel=0.01)
    assert (origin["rank"], origin["state"]) == (0, "compute")
    assert origin["longer"] == pytest.approx(6e-3, rel=0.01)
