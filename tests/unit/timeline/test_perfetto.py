"""Timelines for Perfetto, decoded with the descriptors that Perfetto publishes."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

import tisim
from tests.support import GRAPHENE, RING, ROOT, write_ranks
from tests.unit.timeline.perfetto_trace import Decoded, Slice, arrows, check, check_nesting
from tisim.analysis.timeline.formats import perfetto
from tisim.errors import InputError


def recorded(trace: Path, folder: Path, **options: Any) -> tuple[tisim.Result, Decoded]:
    file = folder / "run.perfetto-trace"
    result = tisim.replay(trace, platform=GRAPHENE, event_log=True, timeline=file, **options)
    return result, Decoded(file)


@pytest.mark.parametrize("name", ["lu.S.4", "ft.S.16"])
def test_all_of_a_nas_benchmark(name: str, nas_traces: Path, tmp_path: Path) -> None:
    check(*recorded(nas_traces / name, tmp_path))


def test_calls_that_wait_for_several_messages_or_for_none(tmp_path: Path) -> None:
    both = "barrier;allreduce 1000 1e5 6"
    texts = [
        "init;isend 1 0 100000;isend 1 1 10;sendRecv 70000 1 70000 1 6 6;waitall;waitall;"
        f"compute 1e7;isend 1 0 500000;{both};finalize",
        "init;irecv 0 0 100000;irecv 0 1 10;sendRecv 70000 0 70000 0 6 6;waitall;"
        f"irecv 0 0 500000;{both};finalize",
        f"compute 1e3;{both}",
    ]
    result, decoded = recorded(write_ranks(tmp_path / "traces", *texts), tmp_path)
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
    result, decoded = recorded(write_ranks(tmp_path / "traces", *programs), tmp_path)
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


LU = ROOT / "traces/npb.S.tar.xz/lu.S.4"
BEGIN, END = 0.0385002, 0.0402003


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Decoded:
    path = tmp_path_factory.mktemp("whole") / "run.perfetto-trace"
    tisim.replay(LU, platform=GRAPHENE, timeline=path)
    return Decoded(path)


def told(one: Slice) -> tuple[object, ...]:
    return one.name, one.category, one.start, one.end, one.depth, sorted(one.notes.items())


def reaching_into(slices: list[Slice], begin: float, end: float) -> Iterator[Slice]:
    """The slices of calls that reach into a part of the time, with those inside."""
    is_shown = False
    for one in slices:
        if one.depth == 0:
            is_shown = (one.end > begin or one.start >= begin) and one.start <= end
        if is_shown:
            yield one


def test_a_part_has_the_calls_that_reach_into_it(whole: Decoded, tmp_path: Path) -> None:
    path = tmp_path / "part.perfetto-trace"
    tisim.replay(LU, platform=GRAPHENE, timeline=path, timeline_part=(BEGIN, END))
    part = Decoded(path)
    assert len(part.ranks()) == 4
    for shown, every in zip(part.ranks(), whole.ranks(), strict=True):
        wanted = [*map(told, reaching_into(every, 1e9 * BEGIN, 1e9 * END))]
        assert 50 < len(wanted) < len(every) / 10
        assert [*map(told, shown)] == wanted
    begun = {flow for rank in part.ranks() for one in rank for flow in one.flows}
    ended = {flow for rank in part.ranks() for one in rank for flow in one.flow_ends}
    assert ended and ended <= begun
    times = [time for track in part.counters.values() for time, _ in track]
    assert times and max(times) <= 1e9 * END and min(times) > 1e9 * (BEGIN - 0.001)


def test_a_part_outside_of_the_run_ends_with_a_message(tmp_path: Path) -> None:
    path = tmp_path / "part.perfetto-trace"
    with pytest.raises(InputError, match=r"lasts from 0 to 0\.079.* s; show a part of that"):
        tisim.replay(LU, platform=GRAPHENE, timeline=path, timeline_part=(1.0, 2.0))
    assert not [*tmp_path.iterdir()]
    with pytest.raises(InputError, match="holds all of the time"):
        tisim.replay(LU, platform=GRAPHENE, timeline=tmp_path / "a.csv", timeline_part=(0.0, 2.0))


def test_large_files_lose_their_shortest_slices(
    whole: Decoded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(perfetto, "_LIMIT", 1_000_000)
    path = tmp_path / "run.perfetto-trace"
    result = tisim.replay(LU, platform=GRAPHENE, timeline=path)
    assert [*tmp_path.iterdir()] == [path]
    thin = Decoded(path)
    (track,) = (one for one in thin.tracks.values() if "are left out" in one.name)
    (_, shortest), _ = thin.counters[track.uuid]
    (warning,) = result.warnings
    assert track.name in warning and "--begin and --end show all of a part" in warning
    kept = 0
    for shown, every in zip(thin.ranks(), whole.ranks(), strict=True):
        wanted = [one for one in every if one.end - one.start >= shortest]
        assert [told(one)[:4] for one in shown] == [told(one)[:4] for one in wanted]
        kept += len(shown)
    assert 1000 < kept < sum(map(len, whole.ranks())) / 2
