"""Run files: no long wait is lost in any window, and other libraries read all their rows."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tisim
from tests.support import GRAPHENE
from tisim import _core
from tisim.analysis.timeline.columns import WAITS, field_of
from tisim.analysis.timeline.run_file import RunFile, Window, writer
from tisim.analysis.timeline.run_file.reader import BatchTable, BlockTable
from tisim.analysis.timeline.run_file.schema import COLUMNS, PATH_COLUMNS
from tisim.analysis.timeline.run_file.writer import row_types
from tisim.traces.generate import Halo3D

pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFile:
    """A run of many ranks with levels of several group sizes."""
    folder = tmp_path_factory.mktemp("run")
    Halo3D(ranks=300, iterations=6, noise=0.3).write(folder / "halo.tit")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "_STATES_PER_CELL", 1)
        patch.setattr(writer, "_MIN_LANES", 4)
        patch.setattr(writer, "_MIN_PARTS", 16)
        tisim.replay(
            folder / "halo.tit",
            platform=GRAPHENE,
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
    waits = np.isin(rows.numbers("state"), [run.info["states"].index(wait) for wait in WAITS])
    long = waits & (stop - start > width) & (stop > window.begin) & (start < window.end)
    # Waits that are hardly longer than a pixel are the hardest.
    hardest = np.argsort(np.where(long, stop - start, np.inf))[: min(long.sum(), 200)]
    for i in hardest:
        # A rank may be shown in the lane of another rank of its group.
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
    # States of zero length count only if they are inside the window.
    timed = rows.reals("end") > rows.reals("start")
    least = np.bincount(rows.numbers("state")[inside & timed], minlength=256)
    assert (counted >= least).all() and (counted <= expected).all()


pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

RANKS = 40


def drawn_rows(name: str, count: int, seed: int, *, is_wild: bool) -> np.ndarray:
    """Draw rows with arbitrary values; the rows of a rank do not overlap in time."""
    draw = np.random.default_rng(seed)
    rows = np.zeros(count, row_types()[name])
    for field, (kind, _) in rows.dtype.fields.items():
        if kind.kind == "f":
            rows[field] = draw.uniform(-1, 1, count)
        else:
            limits = np.iinfo(kind)
            low, high = (limits.min, limits.max) if is_wild else (0, min(limits.max, 20))
            rows[field] = draw.integers(low, high, count, endpoint=True)
    for truth in ("collective", "detached", "receives", "by_peer"):
        if truth in rows.dtype.names:
            rows[truth] &= 1
    if "rank" in rows.dtype.names:
        rows["rank"] = draw.integers(0, RANKS, count)
        for rank in range(RANKS):
            own = np.flatnonzero(rows["rank"] == rank)
            times = np.sort(draw.uniform(0, 1, len(own) + 1))
            rows["start"][own], rows["end"][own] = times[:-1], times[1:]
            rows["start"][own[len(own) // 2 :]] += draw.integers(0, 2) * 1e-9
    return rows


def written(table: object, rows: np.ndarray, pieces: list[int]) -> bytes:
    """Return the core's output for rows that are added in pieces."""
    found = b""
    for piece in np.split(rows, sorted(min(one, len(rows)) for one in pieces)):
        table.add(piece.tobytes())
        found += table.take(False)
    return found + table.take(True)


sizes = st.one_of(st.integers(0, 300), st.sampled_from([131_072, 131_073, 140_000]))
pieces = st.lists(st.integers(0, 140_000), max_size=4)


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(["states", "actions", "messages"]),
    count=sizes,
    seed=st.integers(0, 1 << 30),
    is_wild=st.booleans(),
    pieces=pieces,
)
def test_tables_of_records(
    name: str, count: int, seed: int, is_wild: bool, pieces: list[int]
) -> None:
    rows = drawn_rows(name, count, seed, is_wild=is_wild)
    table = {
        "states": _core.StateTable,
        "actions": _core.ActionTable,
        "messages": _core.MessageTable,
    }[name](RANKS)
    content = written(table, rows, pieces)
    assert len(table) == count
    file = pq.ParquetFile(io.BytesIO(content))
    more = PATH_COLUMNS if name == "states" else ()
    assert {*file.schema_arrow.names} == {*COLUMNS[name], *more}
    file.read().validate(full=True)
    blocks = BlockTable(pa.BufferReader(content))
    assert blocks.rows == count
    for block in range(blocks.blocks):
        part = rows[block * 131_072 : (block + 1) * 131_072]
        if "rank" in part.dtype.names:
            part = part[np.argsort(part["rank"], kind="stable")]
        read = blocks.read(block)
        for column in blocks.columns:
            wanted = part[field_of(column)]
            if (name == "messages" and wanted.dtype.kind == "f") or column == "started":
                wanted = np.where(wanted < 0, np.nan, wanted)
            if wanted.dtype.kind == "f":
                np.testing.assert_array_equal(read.reals(column), wanted)
                least, most = (one[block] for one in blocks.range_of(column))
                if column != "volume" and not np.isnan(wanted).all():
                    assert column == "start" or most == np.nanmax(wanted)
                    assert least <= np.nanmin(wanted)
            else:
                np.testing.assert_array_equal(read.numbers(column), wanted.astype(np.int64))


@settings(max_examples=30, deadline=None)
@given(count=st.integers(0, 2000), seed=st.integers(0, 1 << 30), full=st.integers(1, 500))
def test_states_by_rank(count: int, seed: int, full: int) -> None:
    rows = drawn_rows("states", count, seed, is_wild=False)
    rows = rows[np.argsort(rows["end"], kind="stable")]
    spans = _core.SpanFile(RANKS, full)
    content = written(spans, rows, [count // 2])
    file = pa.ipc.open_file(content)
    assert file.num_record_batches == len(spans.batches())
    ends: list[list[float]] = [[] for _ in range(RANKS)]
    keys: list[list[int]] = [[] for _ in range(RANKS)]
    table = BatchTable(pa.BufferReader(content))
    for number, (begin, end, states) in enumerate(spans.batches()):
        file.get_batch(number).validate(full=True)
        begins, offsets, found_ends, found_keys = table.states(number)
        assert len(found_ends) == states
        for rank in range(RANKS):
            own = slice(offsets[rank], offsets[rank + 1])
            if offsets[rank] < offsets[rank + 1]:
                assert begins[rank] == (ends[rank][-1] if ends[rank] else 0.0) >= begin
                assert found_ends[own][-1] <= end
            ends[rank] += found_ends[own].tolist()
            keys[rank] += found_keys[own].tolist()
    for rank in range(RANKS):
        own_rows = rows[rows["rank"] == rank]
        real = np.array(keys[rank], np.int64) != 0xFFFF
        assert np.array(ends[rank])[real].tolist() == own_rows["end"].tolist()
        wanted = own_rows["state"].astype(np.int64) << 8 | own_rows["kind"]
        assert np.array(keys[rank], np.int64)[real].tolist() == wanted.tolist()
    occurring = rows["state"].astype(np.int64) << 8 | rows["kind"]
    assert spans.keys() == sorted({*occurring.tolist()})
