"""Timelines for Perfetto, decoded with the descriptors that Perfetto publishes."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

import tisim
from tests.unit.timeline.perfetto_trace import Decoded, arrows, check, check_nesting

ROOT = Path(__file__).resolve().parents[3]
GRAPHENE = ROOT / "platforms/graphene.xml"
RING = ROOT / "traces/ring.4"


def recorded(trace: Path, folder: Path, **options: Any) -> tuple[tisim.Result, Decoded]:
    file = folder / "run.perfetto-trace"
    result = tisim.replay(trace, platform=GRAPHENE, event_log=True, timeline=file, **options)
    return result, Decoded(file)


@pytest.mark.parametrize("name", ["lu.S.4", "ft.S.16"])
def test_all_of_a_nas_benchmark(name: str, nas_traces: Path, tmp_path: Path) -> None:
    check(*recorded(nas_traces / name, tmp_path))


def write(folder: Path, programs: list[list[str]]) -> Path:
    folder.mkdir()
    for rank, actions in enumerate(programs):
        text = "".join(f"{rank} {action}\n" for action in actions)
        (folder / f"rank-{rank}.txt").write_text(text)
    return folder


def test_calls_that_wait_for_several_messages_or_for_none(tmp_path: Path) -> None:
    both = "barrier;allreduce 1000 1e5 6"
    texts = [
        "init;isend 1 0 100000;isend 1 1 10;sendRecv 70000 1 70000 1 6 6;waitall;waitall;"
        f"compute 1e7;isend 1 0 500000;{both};finalize",
        "init;irecv 0 0 100000;irecv 0 1 10;sendRecv 70000 0 70000 0 6 6;waitall;"
        f"irecv 0 0 500000;{both};finalize",
        f"compute 1e3;{both}",
    ]
    programs = [text.split(";") for text in texts]
    result, decoded = recorded(write(tmp_path / "traces", programs), tmp_path)
    check(result, decoded)
    # The end of a rank waits for what is pending, and shows it.
    outer = [[one for one in slices if one.depth == 0] for slices in decoded.ranks()]
    assert [slices[-1].name for slices in outer] == ["nop", "nop", "allreduce"]
    assert outer[1][-1].start < outer[1][-1].end
    assert [one.name for one in outer[2]] == ["compute", "barrier", "allreduce"]


def test_tracks_are_named_after_ranks_and_hosts(tmp_path: Path) -> None:
    hosts = ["graphene-7.nancy.grid5000.fr", "graphene-3.nancy.grid5000.fr"]
    _, decoded = recorded(RING, tmp_path, hosts=hosts)
    names = [decoded.tracks[track].name for track in decoded.of_parent("ring.4 on graphene.xml")]
    assert names == [f"rank {rank} on {hosts[rank % 2]}" for rank in range(4)]


@pytest.mark.usefixtures("restored_registry")
def test_messages_of_a_custom_action_that_is_one_slice_are_no_arrows(
    tmp_path: Path,
) -> None:
    @tisim.action("exchange")
    def exchange(rank: Any, nbytes: str) -> Generator[Any, Any, Any]:
        yield rank.isend(1 - rank.number, int(nbytes))
        yield rank.recv(1 - rank.number, int(nbytes))
        yield rank.barrier()
        yield rank.waitall()

    programs = [["exchange 100000", f"sendRecv 10 {1 - rank} 10 {1 - rank} 6 6"] for rank in (0, 1)]
    result, decoded = recorded(write(tmp_path / "traces", programs), tmp_path)
    assert [[one.name for one in slices if one.depth == 0] for slices in decoded.ranks()] == 2 * [
        ["custom", "sendrecv"]
    ]
    check_nesting(decoded)
    between = sorted((a, sends.name, b, receives.name) for a, sends, b, receives in arrows(decoded))
    assert [arrow for arrow in between if arrow[1] == "sendrecv"] == [
        (0, "sendrecv", 1, "sendrecv"),
        (1, "sendrecv", 0, "sendrecv"),
    ]
    assert len(between) == len(result.messages) - 2
