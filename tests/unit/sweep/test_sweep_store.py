"""Output files of sweeps: rows as they finish, remainders after a kill, and resumption."""

from __future__ import annotations

import csv
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tisim
from tests.support import GRAPHENE, RING
from tests.unit.sweep.conftest import same, write_trace
from tisim import InputError
from tisim.studies.sweep.run import SweepInterrupted
from tisim.studies.sweep.store import open_store
from tisim.studies.sweep.worker import Worker
from tisim.support.files import locked

VARY = {"latency": ["x1", "x2", "5us"], "smpi/coll-selector": ["default", "nonsense"]}
SPEC: dict[str, Any] = {"platform": GRAPHENE, "workers": 1}


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The jobs executed in this process."""
    done: list[object] = []
    original = Worker.run
    monkeypatch.setattr(Worker, "run", lambda self, job: done.append(job) or original(self, job))
    return done


def read(file: Path) -> pd.DataFrame:
    return pd.read_csv(file) if file.suffix == ".csv" else pd.read_parquet(file)


@pytest.fixture(params=["rows.csv", "rows.parquet"])
def output(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A file of each format."""
    if request.param.endswith("parquet"):
        pytest.importorskip("pyarrow")
    return tmp_path / str(request.param)


def test_the_file_has_the_frame(output: Path) -> None:
    frame = tisim.sweep(RING, vary=VARY, output=output, **SPEC)
    written = read(output)
    assert list(written.columns) == list(frame.columns)
    assert list(written["scenario"]) == list(frame["scenario"])
    assert list(written["simulated_time"].dropna()) == list(frame["simulated_time"].dropna())
    assert list(written["latency"]) == [str(value) for value in frame["latency"]]
    assert written["error"].isna().sum() == 3
    assert [file.name for file in output.parent.iterdir()] == [output.name]


def test_started_again_it_does_nothing(output: Path, jobs: list[object]) -> None:
    first = tisim.sweep(RING, vary=VARY, output=output, **SPEC)
    count = len(jobs)
    again = tisim.sweep(RING, vary=VARY, output=output, **SPEC)
    assert len(jobs) == count
    pd.testing.assert_frame_equal(first, again)


def test_more_values_are_added_to_those_that_are_there(output: Path, jobs: list[object]) -> None:
    tisim.sweep(RING, vary={"latency": ["x1", "x2"]}, output=output, **SPEC)
    jobs.clear()
    frame = tisim.sweep(RING, vary={"latency": ["x3", "x2", "x1"]}, output=output, **SPEC)
    assert len(jobs) == 1
    assert same(frame, tisim.sweep(RING, vary={"latency": ["x3", "x2", "x1"]}, **SPEC))
    assert list(read(output)["latency"]) == ["x3", "x2", "x1"]


def test_other_columns_do_not_matter(output: Path, jobs: list[object]) -> None:
    tisim.sweep(RING, vary={"latency": ["x1", "x2"]}, output=output, **SPEC)
    jobs.clear()
    points = [{"latency": "x2"}, {"latency": "x2", "bandwidth": "x2"}]
    frame = tisim.sweep(RING, vary=points, output=output, **SPEC)
    assert len(jobs) == 1
    assert list(read(output)["bandwidth"].notna()) == [False, True]
    assert frame["error"].isna().all()


def test_rows_that_are_of_no_use_any_more_are_kept_in_a_copy(output: Path) -> None:
    tisim.sweep(RING, vary={"latency": ["x1", "x2"]}, output=output, **SPEC)
    before = output.read_bytes()
    tisim.sweep(RING, vary={"latency": ["x2", "x3"]}, output=output, **SPEC)
    assert output.with_name(output.name + ".bak").read_bytes() == before
    assert list(read(output)["latency"]) == ["x2", "x3"]


def test_a_changed_input_is_simulated_again(
    output: Path, tmp_path: Path, jobs: list[object]
) -> None:
    machine = tmp_path / "machine.xml"
    machine.write_bytes(GRAPHENE.read_bytes())
    trace = write_trace(tmp_path, "0 compute 1e9\n")
    arguments: dict[str, Any] = {"platform": machine, "vary": {"speed": ["x1", "x2"]}, "workers": 1}
    first = tisim.sweep(trace, output=output, **arguments)
    write_trace(tmp_path, "0 compute 2e9\n")
    second = tisim.sweep(trace, output=output, **arguments)
    assert list(second["simulated_time"]) == list(2 * first["simulated_time"])
    machine.write_text(machine.read_text().replace("3.68Gf", "7.36Gf"))
    third = tisim.sweep(trace, output=output, **arguments)
    assert list(third["simulated_time"]) == list(first["simulated_time"])
    assert len(jobs) == 6


def test_a_fresh_start(output: Path, jobs: list[object]) -> None:
    tisim.sweep(RING, vary={"latency": ["x1", "x2"]}, output=output, **SPEC)
    tisim.sweep(RING, vary={"latency": ["x1", "x2"]}, output=output, resume=False, **SPEC)
    assert len(jobs) == 4
    assert len(read(output)) == 2


def test_what_a_machine_failed_at_is_tried_again(
    output: Path, monkeypatch: pytest.MonkeyPatch, jobs: list[object]
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Worker, "_replay", raise_memory_error)
        frame = tisim.sweep(RING, vary={"latency": ["x1", "x2"]}, output=output, **SPEC)
        assert list(frame["error"]) == ["MemoryError"] * 2
    jobs.clear()
    frame = tisim.sweep(RING, vary={"latency": ["x1", "x2"]}, output=output, **SPEC)
    assert frame["error"].isna().all()
    assert len(jobs) == 2


def raise_memory_error(worker: Worker, job: object) -> None:
    raise MemoryError


@pytest.mark.parametrize("content", ["a,b\n1,2\n", "a,b\n", "\0\xff"])
def test_a_file_of_something_else_is_left_alone(content: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text(content)
    with pytest.raises(InputError, match="already exists and is"):
        tisim.sweep(RING, output=file, resume=False, **SPEC)
    assert file.read_text() == content


def test_a_file_that_was_edited_is_told(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    tisim.sweep(RING, output=file, **SPEC)
    time = str(pd.read_csv(file)["simulated_time"][0])
    file.write_text(file.read_text().replace(f",{time},", ",about one,"))
    with pytest.raises(InputError, match="contains a value that no sweep wrote"):
        tisim.sweep(RING, output=file, **SPEC)
    assert "about one" in file.read_text()


def test_a_directory_that_does_not_exist_is_told_before_the_work(jobs: list[object]) -> None:
    with pytest.raises(InputError, match="cannot be written: No such file or directory"):
        tisim.sweep(RING, output="no/such/directory/rows.csv", **SPEC)
    assert not jobs


def test_what_a_crash_left_of_a_line_is_dropped(tmp_path: Path, jobs: list[object]) -> None:
    file = tmp_path / "rows.csv"
    tisim.sweep(RING, vary={"latency": ["x1", "x2"]}, output=file, **SPEC)
    text = file.read_text()
    file.write_text(text[:-30])
    jobs.clear()
    tisim.sweep(RING, vary={"latency": ["x1", "x2"]}, output=file, **SPEC)
    assert len(jobs) == 1
    plan = [row["key"] for row in csv.DictReader(text.splitlines())]
    assert [row["key"] for row in csv.DictReader(file.read_text().splitlines())] == plan


def test_ctrl_c_keeps_what_is_done(
    output: Path, monkeypatch: pytest.MonkeyPatch, jobs: list[object]
) -> None:
    original = Worker.run

    def interrupted(worker: Worker, job: object) -> object:
        if len(jobs) == 2:
            raise KeyboardInterrupt
        return original(worker, job)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Worker, "run", interrupted)
        with pytest.raises(SweepInterrupted, match="2 of 4 scenarios are done") as stopped:
            tisim.sweep(RING, vary={"latency": ["x1", "x2", "x3", "x4"]}, output=output, **SPEC)
    assert list(stopped.value.frame["latency"]) == ["x1", "x2"]
    assert list(read(output)["latency"]) == ["x1", "x2"]
    jobs.clear()
    frame = tisim.sweep(RING, vary={"latency": ["x1", "x2", "x3", "x4"]}, output=output, **SPEC)
    assert len(jobs) == 2
    assert frame["ratio"].notna().all()


NAP = """
import time, tisim

@tisim.action("nap")
def nap(rank, seconds):
    time.sleep(float(seconds))
    yield rank.env.timeout(0)
"""


@pytest.mark.parametrize("kill", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_whatever_ends_it_the_rows_are_there(
    kill: signal.Signals, tmp_path: Path, make_module: Callable[..., str]
) -> None:
    make_module("napping", NAP)
    write_trace(tmp_path, "0 nap 0.05\n0 compute 1e6\n")
    study = tmp_path / "study.toml"
    study.write_text(
        f'trace = "trace.txt"\nplatform = "{GRAPHENE}"\nmodules = ["napping"]\n'
        f"workers = 2\n[vary]\nspeed = {[f'x{1 + n / 100}' for n in range(60)]}\n"
    )
    file = tmp_path / "study.csv"
    command = [sys.executable, "-m", "tisim", "sweep", str(study), "--output", str(file)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        while not (file.exists() and file.read_text().count("\n") > 5):
            assert running.poll() is None, running.stderr and running.stderr.read()
            time.sleep(0.01)
        running.send_signal(kill)
        _, told = running.communicate(timeout=30)
    rows = read(file)
    assert 5 <= len(rows) < 60
    assert rows["error"].isna().all()
    if kill == signal.SIGINT:
        assert running.returncode == 130
        assert "run it again to complete the rest" in told
        assert "Traceback" not in told
    finished = dict(zip(rows["key"], rows["wall_time"], strict=True))
    subprocess.run(command, check=True, timeout=60, capture_output=True)
    after = read(file).set_index("key")
    assert len(after) == 60
    assert {key: after["wall_time"][key] for key in finished} == finished


def test_a_ratio_that_was_not_known_yet_is_made_up_for(tmp_path: Path, jobs: list[object]) -> None:
    file = tmp_path / "rows.csv"
    expected = tisim.sweep(RING, vary={"latency": ["x2", "x3"]}, output=file, **SPEC)
    rows = pd.read_csv(file)
    rows[["ratio", "baseline_time"]] = float("nan")  # as if the baseline were the last to end
    rows.to_csv(file, index=False)
    jobs.clear()
    frame = tisim.sweep(RING, vary={"latency": ["x2", "x3"]}, output=file, **SPEC)
    assert len(jobs) == 1
    assert same(frame, expected)


def test_parquet_needs_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(InputError, match=r"pip install 'tisim\[parquet\]'"):
        open_store("rows.parquet")


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "rows.csv"
    link.symlink_to(tmp_path / "elsewhere" / "rows.csv")
    tisim.sweep(RING, output=link, **SPEC)
    assert link.is_symlink()
    assert len(read(link)) == 1


def test_rows_of_another_simulator_are_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A core compiled from other sources, whatever its version."""
    from tisim.studies.sweep import plan

    target = tmp_path / "out.csv"
    arguments = {
        "platform": GRAPHENE,
        "vary": {"latency": ["x1", "x2"]},
        "workers": 1,
        "output": target,
    }
    first = tisim.sweep(RING, **arguments)
    monkeypatch.setattr(plan, "simulator_digest", lambda: "another")
    second = tisim.sweep(RING, **arguments)
    assert set(first["key"]).isdisjoint(second["key"])
    assert (tmp_path / "out.csv.bak").exists()
    assert list(first["simulated_time"]) == list(second["simulated_time"])


def test_the_digest_of_the_simulator_is_that_of_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import importlib.machinery
    import importlib.util

    from tisim.studies.sweep import plan

    plan.simulator_digest.cache_clear()
    before = plan.simulator_digest()
    other = tmp_path / "core.so"
    other.write_bytes(b"another core")
    spec = importlib.machinery.ModuleSpec("tisim._core", None, origin=str(other))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    plan.simulator_digest.cache_clear()
    assert plan.simulator_digest() != before
    monkeypatch.undo()
    plan.simulator_digest.cache_clear()
    assert plan.simulator_digest() == before


def test_what_the_digest_leaves_out_exists() -> None:
    from tisim.studies.sweep import plan

    package = Path(plan.__file__).parents[2]
    assert [name for name in plan._NOT_SIMULATING if not (package / name).exists()] == []


def test_two_sweeps_do_not_write_one_file(tmp_path: Path) -> None:
    """The second is refused while the first is running, and finds its rows afterwards."""
    file = tmp_path / "rows.csv"
    with locked(file), pytest.raises(InputError, match="another process is writing it"):
        tisim.sweep(RING, vary=VARY, output=file, **SPEC)
    assert not file.exists()
    assert len(tisim.sweep(RING, vary=VARY, output=file, **SPEC)) == 6
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]
