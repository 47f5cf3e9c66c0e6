"""Programs that use MPI to its limits, or other processes than their own."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import tisim
from tests.campaign import campaign
from tests.unit.record.programs import (
    ENVIRONMENT,
    ROOT,
    Mpi,
    Trace,
    compile_body,
    record_program,
    replay_on_graphene,
    tisim_record,
)
from tisim.traces import unpack
from tisim.traces.record.launch import find_program


def recorded(body: str, directory: Path, mpi: Mpi, ranks: int = 2) -> Trace:
    program = compile_body(body, directory, mpi)
    return record_program(program, directory, mpi, ranks=ranks)


def test_ten_thousand_communicators(one_mpi: Mpi, tmp_path: Path) -> None:
    # MPICH has at most 2,048 at a time.
    at_once = 1900 if one_mpi.name == "MPICH" else 10_000
    body = f"""static MPI_Comm comm[{at_once}];
    for (int made = 0; made < 10000;) {{
      int last = 0;
      for (; last < {at_once} && made < 10000; ++last, ++made)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm[last]);
      MPI_Barrier(comm[last - 1]);
      while (last-- > 0) MPI_Comm_free(&comm[last]);
    }}"""
    # One rank: more of them take minutes on busy cores, recorded or not.
    trace = recorded(body, tmp_path, one_mpi, ranks=1)
    calls = trace.calls(0)
    assert sum(call.startswith("comm_dup 0 ") for call in calls) == 10_000
    assert f"comm_dup 0 {at_once}" in calls
    assert f"barrier comm={at_once}" in calls
    replay_on_graphene(trace)


def test_very_many_pending_requests(one_mpi: Mpi, tmp_path: Path) -> None:
    count = campaign(200_000, 1_000_000)
    body = f"""enum {{ COUNT = {count} }};
    MPI_Request *requests = malloc(COUNT * sizeof *requests);
    int *values = calloc(COUNT, sizeof *values);
    for (int i = 0; i < COUNT; ++i)
      MPI_Irecv(&values[i], 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);"""
    program = compile_body(body, tmp_path, one_mpi)
    output = tmp_path / "trace.tit"
    run = tisim_record(
        *("-o", output, "--mpicc", one_mpi.cc, "--", one_mpi.run, "-n", "1", program),
    )
    assert run.returncode == 0, run.stderr
    platform = tisim.Platform.load(ROOT / "platforms" / "graphene.xml")
    # The requests, the computations before some of them, and six more.
    assert tisim.replay(output, platform=platform).actions >= count + 4


def test_datatypes_that_are_nested_a_hundred_deep(one_mpi: Mpi, tmp_path: Path) -> None:
    body = """MPI_Datatype types[101] = {MPI_INT}; int data[400];
    for (int i = 0; i < 100; ++i) {
      if (i % 50 == 49) MPI_Type_vector(2, 1, 3, types[i], &types[i + 1]);
      else MPI_Type_contiguous(1, types[i], &types[i + 1]);
    }
    MPI_Type_commit(&types[100]);
    if (rank == 0) MPI_Send(data, 2, types[100], 1, 0, MPI_COMM_WORLD);
    else MPI_Recv(data, 2, types[100], 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(data, 1, types[100], 0, MPI_COMM_WORLD);"""
    trace = recorded(body, tmp_path, one_mpi)
    assert trace.calls(0)[1:-1] == ["send 1 0 32", "bcast 16 0 6"]
    replay_on_graphene(trace)


def test_a_program_that_forks_and_starts_others(one_mpi: Mpi, tmp_path: Path) -> None:
    body = """MPI_Barrier(MPI_COMM_WORLD);
    int status = 1; pid_t child = fork();
    if (child == 0) exit(0);
    waitpid(child, &status, 0);
    CHECK(status == 0 && system("exit 3") != 0);
    MPI_Barrier(MPI_COMM_WORLD);"""
    trace = recorded(body, tmp_path, one_mpi)
    for rank in range(2):
        assert trace.calls(rank) == ["init", "barrier", "barrier", "finalize"]


def test_a_program_that_starts_another_mpi_program(one_mpi: Mpi, tmp_path: Path) -> None:
    """The other one is not a rank of this one: it has the recorder, but writes nothing."""
    inner = compile_body("MPI_Barrier(MPI_COMM_WORLD);", tmp_path, one_mpi, "inner")
    # Without the variables by which it would take itself for a rank.
    kept = "^(TISIM_|LD_|PATH=|HOME=|OMPI_ALLOW)"
    start = tmp_path / "start.sh"
    start.write_text(f'#!/bin/sh\nexec env -i $(env | grep -E "{kept}") {inner}\n')
    start.chmod(0o755)
    variables = {**os.environ, **ENVIRONMENT}
    if subprocess.run([start], env=variables, capture_output=True).returncode != 0:
        pytest.skip(f"{one_mpi.name} starts no program without mpirun here")
    body = f"""MPI_Barrier(MPI_COMM_WORLD);
    CHECK(rank == 0 || system("{start}") == 0);
    MPI_Barrier(MPI_COMM_WORLD);"""
    trace = recorded(body, tmp_path, one_mpi)
    assert "cannot write" not in trace.run.stderr
    for rank in range(2):
        assert trace.calls(rank) == ["init", "barrier", "barrier", "finalize"]


def test_a_program_that_others_start(mpi: Mpi, tmp_path: Path) -> None:
    """The program is found among the words of the command, and the others record nothing."""
    program = compile_body("MPI_Barrier(MPI_COMM_WORLD);", tmp_path, mpi)
    script = tmp_path / "start.sh"
    script.write_text('#!/bin/sh\nls / > /dev/null\nexec "$@"\n')
    script.chmod(0o755)
    command = [mpi.run, "-n", "2", str(script), "env", "A=1", str(program)]
    found = find_program(command)
    assert found is not None
    assert found[0] == program
    output = tmp_path / "trace.tit"
    run = tisim_record(*("-o", output, "--mpicc", mpi.cc, "--", *command))
    assert run.returncode == 0, run.stderr
    assert f"{output}: 2 ranks" in run.stderr
    unpack(output, tmp_path / "texts")
    for rank in range(2):
        lines = (tmp_path / "texts" / f"rank-{rank}.txt").read_text().splitlines()
        assert [line for line in lines if line.endswith("barrier")] == [f"{rank} barrier"]


def test_several_programs_in_one_run(one_mpi: Mpi, tmp_path: Path) -> None:
    message = "MPI_Send(&rank, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);"
    first = compile_body(message, tmp_path, one_mpi, "first")
    answer = "MPI_Recv(&size, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);"
    second = compile_body(answer, tmp_path, one_mpi, "second")
    output = tmp_path / "trace.tit"
    run = tisim_record(
        *("-o", output, "--mpicc", one_mpi.cc, "--"),
        *(one_mpi.run, "-n", "1", first, ":", "-n", "1", second),
    )
    assert run.returncode == 0, run.stderr
    unpack(output, tmp_path / "texts")
    lines = [(tmp_path / "texts" / f"rank-{rank}.txt").read_text() for rank in range(2)]
    assert "\n0 send 1 3 4\n" in lines[0]
    assert "\n1 recv 0 3 4\n" in lines[1]


def test_ranks_that_record_nothing(one_mpi: Mpi, tmp_path: Path) -> None:
    """Neither one that only begins and ends nor one that pauses before its first call."""
    body = """if (rank == 1) MPI_Pcontrol(0);
    if (rank == 2) MPI_Send(&rank, 1, MPI_INT, 3, 0, MPI_COMM_WORLD);
    if (rank == 3) MPI_Recv(&rank, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);"""
    trace = recorded(body, tmp_path, one_mpi, ranks=4)
    assert [trace.calls(rank)[1:-1] for rank in range(4)] == [
        [],
        [],
        ["send 3 0 4"],
        ["recv 2 0 4"],
    ]
    replay_on_graphene(trace)
