"""A recorded run beside its prediction, by what makes the difference."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from tests.unit.command_line import CommandLine
from tisim.analysis.measured import MeasuredCalls, write_measured_run
from tisim.platform import new
from tisim.traces import Trace
from tisim.traces.volumes import PREDICTED_TIME

pytest.importorskip("pyarrow")

# Rank 0 has a processor for one of two seconds, rank 1 for all of one and a half.
TRACE = """\
# counter: time, seconds of processor time times 1e+09 (nanoseconds)
0 barrier
1 barrier
0 compute 1e9
1 compute 1.5e9
0 isend 1 0 1000000
0 waitall
1 recv 0 0 1000000
"""
# Lines, and when their calls began and ended, of each rank.
CALLS = [([2, 6, 7], [0.0, 2.1, 2.1], [0.1, 2.6, 2.6]), ([3, 8], [0.0, 1.6], [0.1, 2.6])]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """The command's arguments: a platform, the trace and its run."""
    names = [str(tmp_path / name) for name in ("p.xml", "two.txt", "two.tir")]
    new.cluster(2, bandwidth="10MBps", latency="1us", speed="1Gf").write(names[0])
    Path(names[1]).write_text(TRACE)
    calls = [MeasuredCalls(np.array(lines), *map(np.array, times)) for lines, *times in CALLS]
    write_measured_run(Trace.open(names[1]), enumerate(calls), names[2])
    return ["explain", "--platform", *names]


def parts_of(tisim: CommandLine, files: list[str]) -> dict[str, tuple[float, float]]:
    out = json.loads(tisim(*files, "--json", "-").out)
    assert sum(one["share"] for one in out["parts"]) == pytest.approx(1.0)
    sizes = [abs(one["difference"]) for one in out["parts"]]
    assert sizes == sorted(sizes, reverse=True)
    return {one["name"]: (one["real"], one["predicted"]) for one in out["parts"]}


def test_what_a_prediction_does_not_have_is_named(tisim: CommandLine, files: list[str]) -> None:
    parts = parts_of(tisim, files)
    assert parts["computing"] == pytest.approx((1.25, 1.25))
    assert parts["off the processor"] == pytest.approx((0.5, 0.0))
    assert parts["isend"][0] == pytest.approx(0.25)
    assert parts["recv"][0] == pytest.approx(0.5)
    shown = tisim(*files).out
    assert shown.startswith("real 2.6 s, predicted 1.6")
    assert "off the processor" in shown
    assert "does not say how long" not in shown


@pytest.mark.parametrize("counter", ["another one", PREDICTED_TIME])
def test_computing_is_all_time_between_calls_where_nothing_says_more(
    counter: str, tisim: CommandLine, files: list[str]
) -> None:
    trace = Path(files[-2])
    trace.write_text(f"# counter: {counter}\n{TRACE.partition(chr(10))[2]}")
    assert parts_of(tisim, files)["computing"] == pytest.approx((1.75, 1.25))
    assert "does not say how long ranks had a processor" in tisim(*files).out


def test_a_call_that_became_several_actions_is_one(
    tisim: CommandLine, files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def attributes_of(trace: Trace, rank: int) -> Iterator[tuple[int, Mapping[str, object]]]:
        yield from ((line, {"duration": 1}) for line in ((2, 6), (3, 8))[rank])

    monkeypatch.setattr(Trace, "attributes_of", attributes_of)
    parts = parts_of(tisim, files)
    assert parts["isend + waitall"][0] == pytest.approx(0.25)
    assert parts["isend + waitall"][1] > 0.0
    assert "waitall" not in parts


def test_a_prediction_is_no_real_run(tisim: CommandLine, files: list[str], tmp_path: Path) -> None:
    predicted = str(tmp_path / "predicted.tir")
    assert tisim.replay("--timeline", predicted, files[-2], platform=files[2]).status == 0
    ran = tisim(*files[:-1], predicted)
    assert ran.status == 2
    assert "is the run file of a prediction" in ran.err
