"""Run files contain all events, are compact, and are read defensively."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import tisim
from tests.support import GRAPHENE, LU, RING, ROOT
from tisim.analysis.timeline.formats.parquet import arrow_array
from tisim.analysis.timeline.run_file import RecordClasses, RunFile, Window, writer
from tisim.analysis.timeline.run_file.reader import numpy_array
from tisim.errors import InputError

pytest.importorskip("pyarrow")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[tisim.Result, Path]:
    """A replay with an event log, and its run file with as many levels as longer runs have."""
    path = tmp_path_factory.mktemp("lu") / "lu.tir"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "_STATES_PER_CELL", 2)
        patch.setattr(writer, "_CELLS_AT_ONCE", 20_000)
        patch.setattr(writer, "BLOCK", 500)
        result = tisim.replay(LU, platform=GRAPHENE, event_log=True, timeline=path)
    return result, path


@pytest.fixture(scope="module")
def run(written: tuple[tisim.Result, Path]) -> RunFile:
    return RunFile(written[1])


def all_rows(run: RunFile, name: str, column: str) -> np.ndarray:
    table = getattr(run, name)
    return np.concatenate([table.read(block).reals(column) for block in range(table.blocks)])


def test_it_has_every_record(written: tuple[tisim.Result, Path], run: RunFile) -> None:
    result = written[0]
    assert run.info["records"] == {
        "states": len(result.states),
        "actions": len(result.timeline),
        "messages": len(result.messages),
    }
    for name, frame in (("states", result.states), ("actions", result.timeline)):
        for column in ("start", "end", "line", "rank"):
            assert sorted(all_rows(run, name, column)) == sorted(frame[column])
    for column in ("posted", "arrived", "bytes", "source"):
        assert sorted(all_rows(run, "messages", column)) == sorted(result.messages[column])
    assert run.end == result.simulated_time
    assert run.info["hosts"][run.info["host_of"][3]] == result.hosts[3]
    assert run.info["trace"] == str(LU)


def test_a_record_takes_few_bytes(tmp_path: Path) -> None:
    tisim.replay(LU, platform=GRAPHENE, timeline=tmp_path / "lu.tir")
    records = sum(RunFile(tmp_path / "lu.tir").info["records"].values())
    assert (tmp_path / "lu.tir").stat().st_size <= 30 * records


def test_beginnings_that_follow_are_not_stored(run: RunFile) -> None:
    for table in (run.states, run.actions):
        stored = table._file.read(columns=["start"]).column("start").null_count
        assert stored > 0.99 * table.rows - 4 * table.blocks
        for block in range(table.blocks):
            rows = table.read(block)
            assert not np.isnan(rows.reals("start")).any()


def test_columns_that_are_mapped_into_memory_are_aligned(
    written: tuple[tisim.Result, Path],
) -> None:
    with zipfile.ZipFile(written[1]) as archive:
        for name in ("spans.arrow", "levels.arrow"):
            with archive.open(name) as member:
                assert member._orig_compress_start % 64 == 0


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a.tir", "b.tir"):
        tisim.replay(RING, platform=GRAPHENE, timeline=tmp_path / name)
    assert (tmp_path / "a.tir").read_bytes() == (tmp_path / "b.tir").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tir", "b.tir"]


@pytest.mark.parametrize("columns", [20, 256, 300, 1024])
def test_levels_say_what_the_records_say(
    run: RunFile, columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = np.arange(len(run.info["keys"]), dtype=np.int32)
    window = Window(run, 0.0, run.end, 0, 3)
    assert window.level(columns, 4) is not None
    of_levels = window.tile(columns, 4, keys)
    monkeypatch.setitem(run.info, "levels", [])
    assert window.level(columns, 4) is None
    of_records = window.tile(columns, 4, keys)
    sums = []
    for tile in (of_levels, of_records):
        grid = np.zeros((columns, 4, len(keys)))
        np.add.at(grid, (tile.column, tile.lane, tile.key), tile.seconds)
        sums.append(grid)
    # Times are spread evenly over a part of a level; no part is wider than a column.
    moved = np.abs(np.cumsum(sums[0] - sums[1], axis=0)).max()
    assert moved <= (1e-4 if columns == 256 else 1) * run.end / columns
    assert of_levels.count.sum() == of_records.count.sum() == run.info["records"]["states"]


def test_sums_agree_with_the_breakdown(written: tuple[tisim.Result, Path], run: RunFile) -> None:
    states = np.array([state for state, _ in run.info["keys"]], np.int32)
    tile = Window(run, 0.0, run.end, 0, 3).sums(4, states)
    by_rank = written[0].breakdown.by_rank.to_numpy()
    sums = np.zeros_like(by_rank)
    sums[tile.lane, tile.key] = tile.seconds
    assert sums == pytest.approx(by_rank, rel=1e-5, abs=1e-9)


def test_many_ranks_have_levels_of_groups(tmp_path: Path) -> None:
    grids = writer.grids(100_000, 1_000_000_000)
    assert [of_group[0]["group"] for of_group in grids] == [1, 4, 16, 64, 256, 1024]
    cells = sum(
        100_000 // level["group"] * level["parts"] for of_group in grids for level in of_group
    )
    assert cells < 1_000_000_000


def test_a_run_without_time(tmp_path: Path) -> None:
    (tmp_path / "rank-0.txt").write_text("0 init\n0 finalize\n")
    path = tmp_path / "none.tir"
    tisim.replay(tmp_path / "rank-0.txt", platform=GRAPHENE, timeline=path)
    run = RunFile(path)
    assert run.end == 0.0 and run.info["levels"] == []


def rewritten(source: Path, target: Path, **changes: object) -> Path:
    """Write a copy of a run file with other values in its run.json."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for item in old.infolist():
            content = old.read(item)
            if item.filename == "run.json":
                content = json.dumps({**json.loads(content), **changes}).encode()
            new.writestr(item, content)
    return target


def test_what_is_no_run_file(written: tuple[tisim.Result, Path], tmp_path: Path) -> None:
    path = tmp_path / "x.tir"
    with pytest.raises(InputError, match=r"x\.tir: cannot be read: No such file"):
        RunFile(path)
    for content in (b"", b"PK", b"text", written[1].read_bytes()[:-100]):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"x\.tir: is not a run file, or damaged"):
            RunFile(path)
    rewritten(written[1], path, format="another")
    with pytest.raises(InputError, match="does not contain 'tisim run'"):
        RunFile(path)
    rewritten(written[1], path, version=1)
    with pytest.raises(InputError, match="of version 1, this tisim reads version 2"):
        RunFile(path)


@pytest.mark.parametrize("member", ["spans.arrow", "levels.arrow", "states.parquet"])
def test_damaged_tables_end_with_one_message(
    written: tuple[tisim.Result, Path], tmp_path: Path, member: str
) -> None:
    """Whichever bytes of a table are wrong, a picture results or the file is reported damaged."""
    path = tmp_path / "x.tir"
    content = written[1].read_bytes()
    with zipfile.ZipFile(written[1]) as archive:
        item = archive.getinfo(member)
    first, last = item.header_offset + 100, item.header_offset + item.file_size
    random = np.random.default_rng(7)
    of_records = RecordClasses(1, lambda rows: np.zeros(len(rows), np.int32))
    refused = 0
    for _ in range(50):
        damaged = bytearray(content)
        begin, end = sorted(random.integers(first, last, 2).tolist())
        damaged[begin:end] = b"\xff" * (end - begin)
        path.write_bytes(damaged)
        try:
            run = RunFile(path)
            keys = np.arange(len(run.info["keys"]), dtype=np.int32)
            for columns in (20, 20_000):
                Window(run, 0.0, run.end, 0, 3).tile(columns, 4, keys)
            Window(run, 0.0, run.end, 0, 3).tile(20, 4, of_records)
        except InputError as error:
            assert "is not a run file, or damaged" in str(error)
            refused += 1
    assert refused > 0


pa = pytest.importorskip("pyarrow")


@pytest.mark.parametrize(
    "values",
    [
        np.arange(11, dtype=np.uint32),
        np.linspace(0, 1, 9),
        np.arange(17) % 3 == 0,
        np.zeros(0, np.int64),
        np.arange(20, dtype=np.int16)[::2],
    ],
)
def test_values_come_back(values: np.ndarray) -> None:
    column = pa.chunked_array([arrow_array(values)])
    assert column.to_pylist() == values.tolist()
    back = numpy_array(column)
    assert back.dtype == values.dtype and back.tolist() == values.tolist()
    parts = pa.chunked_array([arrow_array(values), arrow_array(values)]).slice(1)
    assert numpy_array(parts).tolist() == [*values, *values][1:]


def test_what_is_missing_is_nan() -> None:
    values = np.array([1.0, -1.0, 2.5, -1.0])
    column = pa.chunked_array([arrow_array(values, values < 0)])
    assert column.to_pylist() == [1.0, None, 2.5, None]
    assert np.array_equal(numpy_array(column), [1.0, np.nan, 2.5, np.nan], equal_nan=True)
    assert arrow_array(values, values > 9).null_count == 0


def test_run_files_are_written_and_read_without_pandas(tmp_path: Path) -> None:
    program = (
        "import sys, tisim; from tisim.analysis.timeline.run_file import RunFile;"
        "tisim.replay('traces/ring.4', platform='platforms/graphene.xml', timeline=sys.argv[1]);"
        "run = RunFile(sys.argv[1]);"
        "assert len(run.states.read(0)) == 16 and len(run.messages.read(0).reals('arrived')) == 4;"
        "assert 'pandas' not in sys.modules"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "a.tir")]
    subprocess.run(command, cwd=ROOT, check=True)
