"""Durations of calls, and programs that are recorded several times."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import tisim
from tests.unit.record.programs import Recorder, tisim_record
from tisim import Trace
from tisim.errors import InputError
from tisim.traces.record.repetitions import record_repeatedly
from tisim.traces.record.settings import Settings
from tisim.traces.record.timeline import check_timeline, write_timeline
from tisim.traces.spread import deviation_of

# Rank 1 sleeps before it sends, so that the receive of rank 0 takes a second.
PROGRAM = """
  int value = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) { sleep(1); MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD); }
  if (rank == 0) MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
"""


@pytest.mark.parametrize("hosts", ["one", "each rank"])
def test_a_timeline_and_durations(one_recorder: Recorder, tmp_path: Path, hosts: str) -> None:
    program = one_recorder.compile(PROGRAM)
    variables: dict[str, str] = {}
    if hosts == "each rank":
        # The clock of each rank is ten seconds ahead of the previous rank's clock.
        variables["TISIM_RECORD_EACH_RANK_A_HOST"] = "10000000000"
    table = tmp_path / "times.csv"
    run = one_recorder.run(
        *one_recorder.launched(program, ranks=3),
        options=f"--times --timeline {table}",
        variables=variables,
    )
    assert run.returncode == 0, run.stderr
    assert "8 calls; the clocks of the hosts differ by at most" in run.stderr
    assert ("at most 0 s" in run.stderr) == (hosts == "one")
    with table.open() as file:
        rows = [*csv.DictReader(file)]
    receive = next(row for row in rows if row["function"] == "MPI_Recv")
    send = next(row for row in rows if row["function"] == "MPI_Send")
    assert (receive["rank"], send["rank"]) == ("0", "1")
    assert float(receive["begin"]) < float(send["begin"]) < float(receive["end"])
    assert float(receive["end"]) - float(receive["begin"]) > 0.5
    # The trace has the same durations, in nanoseconds.
    lines = dict(Trace.open(tmp_path / "trace.tit").attributes_of(0))
    durations = [int(values["duration"]) for values in lines.values() if "duration" in values]
    assert len(durations) >= 3
    assert max(durations) > 500_000_000


def test_clocks_are_aligned_in_between(tmp_path: Path) -> None:
    """The clock of rank 1's host is ahead by 1,000 ns at first and by 3,000 ns at the end."""
    (tmp_path / "rank-0.times").write_text(
        "begin,end,function\n# clock 0 0 0\n5000,6000,MPI_Send\n# clock 10000 0 0\n"
    )
    (tmp_path / "rank-1.times").write_text(
        "begin,end,function\n# clock 0 1000 50\n5000,10000,MPI_Recv\n# clock 10000 3000 70\n5,"
    )
    timeline = write_timeline(tmp_path, tmp_path / "all.csv")
    assert (timeline.calls, timeline.clock_error) == (2, pytest.approx(140e-9))
    assert (tmp_path / "all.csv").read_text().splitlines() == [
        "rank,function,begin,end",
        "0,MPI_Send,0.000002000,0.000003000",
        "1,MPI_Recv,0.000000000,0.000004000",
    ]


def test_a_timeline_in_parquet(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    (tmp_path / "rank-0.times").write_text("begin,end,function\n5000,6000,MPI_Send\n")
    timeline = write_timeline(tmp_path, tmp_path / "all.parquet")
    assert timeline.calls == 1
    table = pandas.read_parquet(timeline.path)
    assert list(table) == ["rank", "function", "begin", "end"]
    assert table.to_numpy().tolist() == [[0, "MPI_Send", 0.0, pytest.approx(1e-6)]]


def test_timelines_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"choose \.csv or \.parquet"):
        check_timeline(tmp_path / "times.prv")
    with pytest.raises(InputError, match="no rank wrote the times of"):
        write_timeline(tmp_path, tmp_path / "times.csv")
    run = tisim_record("-o", tmp_path / "a.tit", "--timeline", tmp_path / "t.csv", "--", "true")
    assert run.returncode == 2
    assert "needs --times" in run.stderr


def test_a_run_file_of_a_recorded_run(one_recorder: Recorder, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    from tisim.analysis.timeline.run_file import RunFile

    program = one_recorder.compile(PROGRAM)
    ran = one_recorder.run(
        *one_recorder.launched(program), options=f"--times --timeline {tmp_path / 'run.tir'}"
    )
    assert ran.returncode == 0, ran.stderr
    run = RunFile(tmp_path / "run.tir")
    waits = [
        state for state in run.states_of(run.states.read(0)) if state["state"] == "late sender"
    ]
    assert [(wait["rank"], wait["kind"], wait["cause"]) for wait in waits] == [(0, "recv", 1)]
    assert float(str(waits[0]["end"])) - float(str(waits[0]["start"])) > 0.5


# Computes for a while before each of three barriers.
BODY = """
  for (int round = 0; round < 3; ++round) {
    volatile double sum = 0;
    for (int i = 0; i < 1000000; ++i) sum += 0.5 * i;
    MPI_Barrier(MPI_COMM_WORLD);
  }
"""


def test_the_spread_of_processor_time(one_recorder: Recorder, tmp_path: Path) -> None:
    trace = one_recorder.record(BODY, options="--repeat 3 --counter time,page-faults")
    assert "volumes (time): over 3 runs, the deviation of their sum is" in trace.run.stderr
    assert "; that of one computation " in trace.run.stderr
    assert "page-faults: " in trace.run.stderr
    assert "which has the median total volume" in trace.run.stderr
    assert trace.calls(0).count("barrier") == 3
    assert deviation_of(tisim.Trace.open(trace.file)) is not None
    assert "not in the trace, mean over ranks: MPI_Init " in trace.run.stderr
    assert " for a CPU " in trace.run.stderr
    # No files of the other runs remain.
    assert [path.name for path in tmp_path.iterdir() if ".runs-" in path.name] == []


def test_instructions_do_not_differ(one_recorder: Recorder) -> None:
    program = one_recorder.compile(BODY, counting=True)
    trace = one_recorder.record(program, options="--repeat 3 --counter register")
    assert "volumes (register): the same in all 3 runs" in trace.run.stderr
    assert "median" not in trace.run.stderr


def test_runs_with_different_calls(one_recorder: Recorder, tmp_path: Path) -> None:
    """Each run calls MPI_Barrier once more than the previous one."""
    body = f"""FILE *const file = fopen("{tmp_path}/runs", "a+");
    if (rank == 0) fputc('.', file);
    fseek(file, 0, SEEK_END);
    long runs = ftell(file);
    fclose(file);
    MPI_Bcast(&runs, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    while (runs-- > 0) MPI_Barrier(MPI_COMM_WORLD);"""
    trace = one_recorder.record(body, options="--repeat 3 --counter time")
    assert "the runs have different numbers of calls" in trace.run.stderr
    assert "that of one computation" not in trace.run.stderr


def test_a_run_that_fails_is_the_last_one(one_recorder: Recorder, tmp_path: Path) -> None:
    program = one_recorder.compile("MPI_Finalize(); return 3;")
    run = one_recorder.run(*one_recorder.launched(program, ranks=1), options="--repeat 3")
    assert run.returncode == 3
    assert "run 1 failed, so there were no further runs;" in run.stderr
    assert (tmp_path / "trace.tit").is_file()


def test_a_timeline_is_of_one_run(tmp_path: Path) -> None:
    settings = Settings(times=True, timeline=tmp_path / "a.csv")
    with pytest.raises(InputError, match="--timeline and --repeat cannot be combined"):
        record_repeatedly(["true"], tmp_path / "a.tit", settings, times=2)
