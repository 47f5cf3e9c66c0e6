"""Columns of Arrow from arrays and back, without pandas."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from tisim.analysis.timeline.arrow import arrow_array, numpy_array  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]


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
