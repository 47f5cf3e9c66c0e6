"""What the core writes as Parquet and Arrow, their library reads: all rows, whatever they are."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tisim import _core
from tisim.analysis.timeline.columns import field_of
from tisim.analysis.timeline.run_file.reader import BatchTable, BlockTable
from tisim.analysis.timeline.run_file.schema import COLUMNS, PATH_COLUMNS
from tisim.analysis.timeline.run_file.writer import row_types

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

RANKS = 40


def drawn_rows(name: str, count: int, seed: int, *, is_wild: bool) -> np.ndarray:
    """Rows with anything in them; those of a rank follow one another in time."""
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
    """What the core writes of rows that come in pieces."""
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
