"""Timelines for Perfetto of a part of the time, and without the shortest slices."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tisim
from tests.unit.timeline.perfetto_trace import Decoded, Slice
from tisim.analysis.timeline.formats import perfetto
from tisim.errors import InputError

ROOT = Path(__file__).resolve().parents[3]
LU = ROOT / "traces/npb.S.tar.xz/lu.S.4"
GRAPHENE = ROOT / "platforms/graphene.xml"
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
