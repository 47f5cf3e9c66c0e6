"""Truncated and changed files of all formats are imported, or fail with one message."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.unit.importers import (
    test_darshan,
    test_dumpi,
    test_goal,
    test_liballprof,
    test_paraver,
    test_scalatrace,
    test_table,
)
from tests.unit.importers.foreign import mutations
from tisim.errors import InputError
from tisim.traces.importers import convert

PARAVER = test_paraver.HEADER + "".join(f"{record}\n" for record in test_paraver.EXCHANGE)
#: The format, name and content of an intact file.
WHOLE = {
    "darshan": ("darshan", "dxt.txt", test_darshan.TEXT.encode()),
    "dimemas": ("dimemas", "run.dim", test_paraver.DIM.encode()),
    "dumpi": ("dumpi", "rank.bin", test_dumpi.sample()),
    "dumpi2ascii": ("dumpi", "rank.txt", test_dumpi.TEXT.encode()),
    "goal": ("goal", "schedule.goal", test_goal.TEXT.encode()),
    "binary goal": ("goal", "schedule.goal", test_goal.binary(*test_goal.NODES)),
    "liballprof": ("liballprof", "t-0.txt", test_liballprof.sample().encode()),
    "paraver": ("paraver", "run.prv", PARAVER.encode()),
    "recorder": ("recorder", "0.txt", test_darshan.RANK_0.encode()),
    "scalatrace": ("scalatrace", "0", test_scalatrace.TRACE.encode()),
    "table": ("table", "calls.csv", test_table.TABLE.encode()),
}


@pytest.mark.parametrize("name", WHOLE)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_cut_and_changed_files_end_with_one_message(
    name: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    form, file, whole = WHOLE[name]
    text = data.draw(mutations(whole))
    assume(not re.search(rb"iter: \( \d{4}", text))  # a valid but long ScalaTrace trace
    ends_with_one_message(tmp_path_factory, form, file, text)


def test_a_time_with_two_points_in_dumpi(tmp_path_factory: pytest.TempPathFactory) -> None:
    text = test_dumpi.TEXT.replace("1.7000", "1..7000").encode()
    ends_with_one_message(tmp_path_factory, "dumpi", "rank.txt", text)


@pytest.mark.parametrize("number", ["inf", "nan", "1e308"])
def test_times_that_no_trace_can_have(number: str, tmp_path: Path) -> None:
    file = tmp_path / "dxt.txt"
    file.write_text(test_darshan.TEXT.replace("0.6000", number, 1))
    timeline = tmp_path / "calls.csv"
    with pytest.raises(InputError, match="rank 0 has an impossible number"):
        convert(file, tmp_path / "t.tit", format="darshan", speed=1e9, timeline=timeline)
    assert [path.name for path in tmp_path.iterdir()] == ["dxt.txt"]


def ends_with_one_message(
    factory: pytest.TempPathFactory, form: str, file: str, text: bytes
) -> None:
    directory = factory.mktemp("mutated")
    (directory / file).write_bytes(text)
    try:
        convert(directory / file, directory / "trace.tit", format=form, speed=1e9)
    except InputError as error:
        assert "\n" not in str(error)
        assert not (directory / "trace.tit").exists()
