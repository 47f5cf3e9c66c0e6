"""Run files of real runs contain the measured times, messages, wait states and delays."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from tests.support import GRAPHENE
from tests.unit.command_line import CommandLine
from tests.unit.record.programs import Mpi, Recorder
from tisim.analysis.measured import read_calls, write_measured_run
from tisim.analysis.timeline.run_file import RunFile
from tisim.errors import InputError
from tisim.studies.validation import load_study, validate
from tisim.traces import Trace

pytest.importorskip("pyarrow")

# Rank 1 computes once for long: rank 0 waits for it in a receive, then in a waitall, and rank 1
# for rank 0 in a barrier.
TRACE = """\
0 init
1 init
0 recv 1 7 100
1 compute 1000
1 send 0 7 100
0 irecv 1 8 50
0 compute 10
0 waitall
1 compute 500
1 isend 0 8 50
1 waitall
0 compute 400
0 barrier
1 barrier
"""
# Rank, line, start, end of calls; computations are the time between them.
CALLS = [
    (0, 3, 10.0, 11.2),
    (1, 5, 11.0, 11.1),
    (0, 6, 11.3, 11.4),
    (0, 8, 11.5, 12.1),
    (1, 10, 12.0, 12.05),
    (1, 11, 12.05, 12.1),
    (0, 13, 13.0, 13.2),
    (1, 14, 12.2, 13.2),
]


def table_of(calls: list[tuple[int, int, float, float]], folder: Path) -> Path:
    path = folder / "calls.csv"
    with path.open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["rank", "kind", "start", "end", "line"])
        rows.writerows((rank, "call", start, end, line) for rank, line, start, end in calls)
    return path


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    path = tmp_path / "two.txt"
    path.write_text(TRACE)
    return Trace.open(path)


@pytest.fixture
def run(trace: Trace, tmp_path: Path) -> RunFile:
    path = tmp_path / "two.tir"
    write_measured_run(trace, read_calls(table_of(CALLS, tmp_path), 2), path)
    return RunFile(path)


def states_of(run: RunFile, rank: int) -> list[tuple[str, str, float, float, int]]:
    rows = [state for state in run.states_of(run.states.read(0)) if state["rank"] == rank]
    return [
        (
            str(row["state"]),
            str(row["kind"]),
            round(float(str(row["start"])), 6),
            round(float(str(row["end"])), 6),
            int(str(row["cause"])),
        )
        for row in rows
    ]


def test_states_are_those_that_were_measured(run: RunFile) -> None:
    assert run.info["measured"]
    assert run.end == pytest.approx(3.2)
    assert states_of(run, 0) == [
        ("late sender", "recv", 0.0, 1.0, 1),
        ("transfer", "recv", 1.0, 1.2, -1),
        ("compute", "compute", 1.2, 1.3, -1),
        ("overhead", "irecv", 1.3, 1.4, -1),
        ("compute", "compute", 1.4, 1.5, -1),
        ("late sender", "waitall", 1.5, 2.0, 1),
        ("transfer", "waitall", 2.0, 2.1, -1),
        ("compute", "compute", 2.1, 3.0, -1),
        ("transfer", "barrier", 3.0, 3.2, -1),
    ]
    assert states_of(run, 1)[-2:] == [
        ("wait at barrier", "barrier", 2.2, 3.0, 0),
        ("transfer", "barrier", 3.0, 3.2, -1),
    ]


def test_messages_join_the_calls_that_belong_together(run: RunFile) -> None:
    rows = run.messages.read(0)
    assert rows.numbers("source").tolist() == [1, 1]
    assert rows.numbers("tag").tolist() == [7, 8]
    assert np.allclose(rows.reals("posted"), [1.0, 2.0])
    assert np.allclose(rows.reals("received"), [0.0, 1.3])
    assert np.allclose(rows.reals("arrived"), [1.2, 2.1])


def test_every_rank_has_states_without_a_gap(run: RunFile) -> None:
    for rank in (0, 1):
        states = states_of(run, rank)
        assert states[0][2] == 0.0
        assert [state[3] for state in states[:-1]] == [state[2] for state in states[1:]]


def test_a_table_without_calls_of_the_trace_is_refused(trace: Trace, tmp_path: Path) -> None:
    table = table_of([(0, 99, 0.0, 1.0)], tmp_path)
    with pytest.raises(InputError, match="the trace contains no times of calls"):
        write_measured_run(trace, read_calls(table, 2), tmp_path / "none.tir")
    assert not (tmp_path / "none.tir").exists()
    table.write_text("rank,what\n")
    with pytest.raises(InputError, match="is not a table of calls with the columns"):
        [*read_calls(table, 2)]


def test_an_import_writes_a_run_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "foreign.csv"
    rows = ["rank,start,end,function,peer,tag,bytes"]
    rows += ["0,0.0,1.5,Recv,1,3,8", "1,1.0,1.2,Send,0,3,8"]
    table.write_text("\n".join(rows) + "\n")
    ran = CommandLine(tmp_path, capsys)(
        *("import", "--speed", "1Gf", str(table), "-o", str(tmp_path / "t.tit")),
        *("--timeline", str(tmp_path / "t.tir")),
    )
    assert ran.status == 0, ran.err
    assert ("late sender", "recv", 0.0, 1.0, 1) in states_of(RunFile(tmp_path / "t.tir"), 0)


def test_an_execution_writes_a_run_file(one_mpi: Mpi, tmp_path: Path) -> None:
    from tisim.studies.execute import execute

    path = tmp_path / "two.txt"
    path.write_text(TRACE.replace("1 compute 1000\n", "1 compute 200000000\n"))
    execute(
        Trace.open(path),
        [one_mpi.run],
        repeat=1,
        warm_up=0,
        timeline=tmp_path / "two.tir",
        directory=tmp_path,
        compiler=one_mpi.cc,
    )
    late = [
        state for state in states_of(RunFile(tmp_path / "two.tir"), 0) if state[0] == "late sender"
    ]
    assert (late[0][1], late[0][4]) == ("recv", 1)
    assert late[0][3] - late[0][2] > 0.1


def test_a_study_reads_run_files(run: RunFile, tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    platform = Path(__file__).resolve().parents[3] / "platforms/graphene.xml"
    study.write_text(
        f'[[case]]\nname = "two"\ntrace = "two.txt"\nplatform = "{platform}"\nreal = ["two.tir"]\n'
    )
    found = validate(load_study(study)).results[0]
    assert found.real == (pytest.approx(run.end),)
    assert any(one.startswith("recv: ") for one in found.differences)


def test_a_study_refuses_run_files_of_predictions(trace: Trace, tmp_path: Path) -> None:
    import tisim

    platform = Path(__file__).resolve().parents[3] / "platforms/graphene.xml"
    tisim.replay(trace, platform=platform, timeline=tmp_path / "predicted.tir")
    study = tmp_path / "study.toml"
    case = f'[[case]]\nname = "two"\ntrace = "two.txt"\nplatform = "{platform}"\n'
    study.write_text(case + 'real = ["predicted.tir"]\n')
    with pytest.raises(InputError, match="is the run file of a prediction"):
        load_study(study)
    study.write_text(case + 'real = ["predicted.tir", 1.5]\n')
    with pytest.raises(InputError, match="seconds or run files"):
        load_study(study)


# Sweeps over the ranks, as in LU. In sweep 30, rank 1 computes 10 ms more.
PROGRAM = """
#include <mpi.h>
static volatile double x;
static void work(double seconds) {
  const double begin = MPI_Wtime();
  while (MPI_Wtime() - begin < seconds) x += 1;
}
static void sweep(int rank, int size, int number) {
  double row[64] = {0};
  if (rank > 0) MPI_Recv(row, 64, MPI_DOUBLE, rank - 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  work(1e-5);
  if (number == 30 && rank == 1) work(0.010);
  if (rank + 1 < size) MPI_Send(row, 64, MPI_DOUBLE, rank + 1, 7, MPI_COMM_WORLD);
}
int main(int argc, char **argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int i = 0; i < 60; ++i) {
    sweep(rank, size, i);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
"""


def test_one_long_computation(one_recorder: Recorder, tisim: CommandLine) -> None:
    program = one_recorder.compile(PROGRAM, "-g", name="sweeps")
    trace = one_recorder.record(program, ranks=3, options="--call-sites --counter time --speed 1e9")
    platform = str(GRAPHENE)
    found = str(tisim.directory / "found.json")
    shown = tisim(
        *("replay", "--platform", platform, "--speed", "1Gf", "--breakdown"),
        *("--json", found, str(trace.file)),
    )
    assert shown.status == 0, shown.err
    # Rank, instant, call sites, waiting ranks, and the effect of a faster link.
    written = json.loads(Path(found).read_text())["breakdown"]
    worst = written["outliers"][0]
    assert worst["rank"] == 1
    # Processor time: less than 10 ms if the rank was not always running.
    assert worst["seconds"] > 0.001
    assert worst["waiting"] == 2
    table = shown.out.partition("Computations that took far longer")[2].splitlines()
    place = table[2].partition(" between ")[2]
    assert "sweep" in place and place.count("sweeps.c:") >= 2
    assert "lower latency" in shown.out.partition("Upper bounds on the gain")[2]
