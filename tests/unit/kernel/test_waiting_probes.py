"""Probes that take no time: they wait until a message is sent to their rank."""

from __future__ import annotations

from pathlib import Path

import tisim

ROOT = Path(__file__).resolve().parents[3]


def test_several_messages_at_one_instant_wake_a_probe_once(tmp_path: Path) -> None:
    ranks = (
        ["probe 1 7", "irecv 1 7 100000", "irecv 2 7 100000", "waitall"],
        ["sleep 3", "send 0 7 100000", "send 3 9 8"],
        ["sleep 3", "send 0 7 100000"],
        ["probe 1 9", "recv 1 9 8"],
    )
    trace = tmp_path / "trace.txt"
    lines = [f"{rank} {line}\n" for rank, own in enumerate(ranks) for line in own]
    trace.write_text("".join(lines))
    result = tisim.replay(
        trace, platform=ROOT / "platforms" / "graphene.xml", config={"smpi/iprobe": "0"}
    )
    assert 3.0 < result.simulated_time < 3.1
    assert result.finish.min() > 3.0
