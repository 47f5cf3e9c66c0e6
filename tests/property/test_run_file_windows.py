"""No wait that is longer than a pixel is lost, whatever the window."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tisim
from tisim.analysis.timeline.columns import WAITS
from tisim.analysis.timeline.run_file import RunFile, Window, writer
from tisim.traces.generate import Halo3D

pytest.importorskip("pyarrow")

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFile:
    """A run of many ranks with levels of several group sizes."""
    folder = tmp_path_factory.mktemp("run")
    Halo3D(ranks=300, iterations=6, noise=0.3).write(folder / "halo.tit")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "_STATES_OF_A_CELL", 1)
        patch.setattr(writer, "_FEWEST_LANES", 4)
        patch.setattr(writer, "_FEWEST_PARTS", 16)
        tisim.replay(
            folder / "halo.tit",
            platform=ROOT / "platforms/graphene.xml",
            timeline=folder / "run.tir",
        )
    opened = RunFile(folder / "run.tir")
    assert {level["group"] for level in opened.info["levels"]} == {1, 4, 16, 64}
    return opened


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_no_wait_longer_than_a_pixel_is_lost(run: RunFile, data: st.DataObject) -> None:
    unit = st.floats(0, 1)
    begin, end = sorted(data.draw(st.tuples(unit, unit).filter(lambda one: one[0] != one[1])))
    first, last = sorted(data.draw(st.tuples(st.integers(0, 299), st.integers(0, 299))))
    columns = data.draw(st.integers(1, 200))
    window = Window(run, begin * run.end, end * run.end, first, last)
    lanes = data.draw(st.integers(1, min(window.ranks, 100)))
    states = np.array([state for state, _ in run.info["keys"]], np.int32)
    tile = window.tile(columns, lanes, states)
    longest = np.zeros((lanes, columns, len(run.info["states"])))
    longest[tile.lane, tile.column, tile.key] = tile.longest

    rows = window.records(1 << 30)
    assert rows is not None
    width = (window.end - window.begin) / columns
    start, stop = rows.reals("start"), rows.reals("end")
    waits = np.isin(rows.numbers("state"), [run.info["states"].index(one) for one in WAITS])
    long = waits & (stop - start > width) & (stop > window.begin) & (start < window.end)
    # Those that are hardly longer than a pixel are the hardest.
    hardest = np.argsort(np.where(long, stop - start, np.inf))[: min(long.sum(), 200)]
    for i in hardest:
        # The lane of a rank may be that of another rank of its group.
        near = {
            (rank - first) * lanes // window.ranks
            for rank in (int(rows.numbers("rank")[i]) + d for d in range(-64, 65))
            if first <= rank <= last
        }
        inside = max(start[i], window.begin), min(stop[i], window.end)
        column = min(int((sum(inside) / 2 - window.begin) / width), columns - 1)
        seen = longest[sorted(near), column, rows.numbers("state")[i]].max()
        assert seen >= (stop[i] - start[i]) * (1 - 1e-6)


@pytest.mark.parametrize(("first", "last", "lanes"), [(0, 299, 7), (0, 299, 60), (13, 250, 9)])
def test_lanes_that_fit_no_group_are_full(run: RunFile, first: int, last: int, lanes: int) -> None:
    window = Window(run, 0.1 * run.end, 0.7 * run.end, first, last)
    level = window.level(10, lanes, is_exact=False)
    assert level is not None and level["group"] > 1
    exact = window.level(10, lanes)
    assert exact is None or exact["group"] < level["group"]
    states = np.array([state for state, _ in run.info["keys"]], np.int32)
    tile = window.tile(10, lanes, states)
    seconds = np.bincount(tile.lane, tile.seconds, lanes)
    ranks = np.bincount(np.arange(window.ranks) * lanes // window.ranks, minlength=lanes)
    assert seconds == pytest.approx(ranks * (window.end - window.begin), rel=1e-4)


def test_many_records_are_drawn_from_wide_parts(
    run: RunFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    window = Window(run, 0.0, run.end, 0, 299)
    finest = max(one["parts"] for one in run.info["levels"] if one["group"] == 1)
    assert window.level(4 * finest, 300, is_exact=False) is None
    monkeypatch.setattr("tisim.analysis.timeline.run_file.window._MANY_RECORDS", 1)
    level = window.level(4 * finest, 300, is_exact=False)
    assert level is not None and (level["group"], level["parts"]) == (1, finest)
    assert window.level(9 * finest, 300, is_exact=False) is None
    assert window.level(4 * finest, 300) is None


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_sums_count_the_states_that_overlap_a_window(run: RunFile, data: st.DataObject) -> None:
    begin = data.draw(st.floats(0, 0.98)) * run.end
    end = begin + run.end * data.draw(st.sampled_from([1e-7, 1e-5, 1e-3, 0.02]))
    first, last = sorted(data.draw(st.tuples(st.integers(0, 299), st.integers(0, 299))))
    window = Window(run, begin, end, first, last)
    states = np.array([state for state, _ in run.info["keys"]], np.int32)
    tile = window.sums(1, states)
    rows = window.records(1 << 30)
    assert rows is not None
    inside = (rows.reals("end") > window.begin) & (rows.reals("start") < window.end)
    expected = np.bincount(rows.numbers("state")[inside], minlength=256)
    counted = np.zeros(256, np.int64)
    counted[tile.key] = tile.count
    # States without length count only if they lie inside.
    timed = rows.reals("end") > rows.reals("start")
    least = np.bincount(rows.numbers("state")[inside & timed], minlength=256)
    assert (counted >= least).all() and (counted <= expected).all()
