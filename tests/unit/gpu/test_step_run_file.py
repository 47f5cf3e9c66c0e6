"""Run files of training steps: a lane per GPU, and one for each of its streams."""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.unit.command_line import CommandLine
from tisim.analysis.timeline.run_file import RunFile
from tisim.analysis.viewer.answers import Answers

pq = pytest.importorskip("pyarrow.parquet")

GRAPH = """graph 1
ranks 4
communicator all 4 1
program 0-3
  seconds main 1e-3
  record main done
  seconds main 2e-3
  wait side done
  all_reduce side all 1e9
  synchronize side
  host 1e-3
  seconds main 1e-3
end
"""


def lanes_of(
    file: Path,
) -> tuple[dict[str, Any], list[dict[str, Any]], dict[tuple[int, str], float], list[float]]:
    """Return the contents of a run file; seconds by lane and state without gaps; ends of lanes."""
    with zipfile.ZipFile(file) as archive:
        info = json.loads(archive.read("run.json"))
        states = pq.read_table(io.BytesIO(archive.read("states.parquet"))).to_pylist()
    seconds: dict[tuple[int, str], float] = {}
    last = [0.0] * len(info["lanes"])
    for row in states:
        lane, state = row["rank"], info["states"][row["state"]]
        begin = last[lane] if row["start"] is None else row["start"]
        assert begin == pytest.approx(last[lane])
        seconds[lane, state] = seconds.get((lane, state), 0.0) + row["end"] - begin
        last[lane] = row["end"]
    return info, states, seconds, last


def test_lanes_are_gpus_and_streams_and_show_what_is_exposed(
    tisim: CommandLine, tmp_path: Path
) -> None:
    file = tmp_path / "step.tir"
    ran = tisim("step", tisim.write("a.graph", GRAPH), "--timeline", str(file), "--json", "-")
    end = json.loads(ran.out)["seconds"]
    info, states, seconds, last = lanes_of(file)
    assert info["lanes"] == ["GPU 0", "main", "side"]
    assert info["hosts"] == ["GPU 0 and 3 alike"]
    assert info["end"] == pytest.approx(end)
    assert last == [pytest.approx(end)] * 3
    reduces = seconds[2, "transfer"]
    # The second kernel overlaps it, and loses SMs.
    assert seconds[0, "compute"] == seconds[1, "compute"] > 4e-3
    second = seconds[1, "compute"] - 2e-3
    assert seconds[0, "transfer"] == pytest.approx(reduces - second, abs=2e-4)
    assert seconds[0, "sleep"] > 1e-3
    kinds = {info["kinds"][row["kind"]] for row in states if row["rank"] == 2}
    assert kinds == {"sleep", "allreduce"}


def test_findings_are_those_of_gpus(tisim: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "step.tir"
    options = ("--breakdown", "--critical-path", "--what-if", "--timeline", str(file))
    printed = tisim("step", tisim.write("a.graph", GRAPH), *options).out
    answers = Answers([RunFile(file)])
    found = json.loads(answers.answer("findings", {}) or b"")["findings"]
    occupations, path, gains = (script["text"] for script in found)
    of_path, of_links = (
        json.loads(answers.answer(name, {}) or b"")["unknown"] for name in ("path", "links")
    )

    def share(row: str) -> str:
        match = re.search(rf"^  {row} .* (\d+\.\d)$", printed, re.MULTILINE)
        assert match is not None, printed
        return match[1]

    assert f"do nothing for {share('all')}%: bubbles" in occupations
    assert "is exposed communication" in occupations
    assert f"seconds {share('seconds')}%" in path
    assert f"all_reduce all {share('all_reduce all')}%" in path
    assert f"NVLink x2 {100 - float(share('NVLink x2')):.1f}%" in gains
    assert f"at most **{100 - float(share('no bubbles')):.1f}%**" in gains
    assert "Findings" in of_path
    assert "training step" in of_links
