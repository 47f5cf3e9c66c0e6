"""Programs that push MPI to its limits or start others, and programs of distributions."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import tisim
from tests.support import GRAPHENE, campaign
from tests.unit.record.programs import (
    ENVIRONMENT,
    Mpi,
    Recorder,
    libraries,
    lines_of,
    replay_on_graphene,
)
from tests.unit.record.programs import replay_on_graphene as replay
from tisim.traces.record.launch import find_program


def test_ten_thousand_communicators(one_recorder: Recorder) -> None:
    at_once = 1900 if one_recorder.mpi.name == "MPICH" else 10_000
    body = f"""static MPI_Comm comm[{at_once}];
    for (int made = 0; made < 10000;) {{
      int last = 0;
      for (; last < {at_once} && made < 10000; ++last, ++made)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm[last]);
      MPI_Barrier(comm[last - 1]);
      while (last-- > 0) MPI_Comm_free(&comm[last]);
    }}"""
    # A single rank: more of them take minutes on busy cores, recorded or not.
    trace = one_recorder.record(body, ranks=1)
    calls = trace.calls(0)
    assert sum(call.startswith("comm_dup 0 ") for call in calls) == 10_000
    assert f"comm_dup 0 {at_once}" in calls
    assert f"barrier comm={at_once}" in calls
    replay_on_graphene(trace)


def test_very_many_pending_requests(one_recorder: Recorder, tmp_path: Path) -> None:
    count = campaign(200_000, 1_000_000)
    body = f"""enum {{ COUNT = {count} }};
    MPI_Request *requests = malloc(COUNT * sizeof *requests);
    int *values = calloc(COUNT, sizeof *values);
    for (int i = 0; i < COUNT; ++i)
      MPI_Irecv(&values[i], 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &requests[i]);
    MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);"""
    run = one_recorder.run(*one_recorder.launched(one_recorder.compile(body), ranks=1))
    assert run.returncode == 0, run.stderr
    # The requests and four other calls; some computations may precede them.
    result = tisim.replay(tmp_path / "trace.tit", platform=GRAPHENE)
    assert result.actions >= count + 4


def test_datatypes_that_are_nested_a_hundred_deep(one_recorder: Recorder) -> None:
    body = """MPI_Datatype types[101] = {MPI_INT}; int data[400];
    for (int i = 0; i < 100; ++i) {
      if (i % 50 == 49) MPI_Type_vector(2, 1, 3, types[i], &types[i + 1]);
      else MPI_Type_contiguous(1, types[i], &types[i + 1]);
    }
    MPI_Type_commit(&types[100]);
    if (rank == 0) MPI_Send(data, 2, types[100], 1, 0, MPI_COMM_WORLD);
    else MPI_Recv(data, 2, types[100], 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(data, 1, types[100], 0, MPI_COMM_WORLD);"""
    trace = one_recorder.record(body)
    assert trace.calls(0)[1:-1] == ["send 1 0 32", "bcast 16 0 6"]
    replay_on_graphene(trace)


def test_a_program_that_forks_and_starts_others(one_recorder: Recorder) -> None:
    body = """MPI_Barrier(MPI_COMM_WORLD);
    int status = 1; pid_t child = fork();
    if (child == 0) exit(0);
    waitpid(child, &status, 0);
    CHECK(status == 0 && system("exit 3") != 0);
    MPI_Barrier(MPI_COMM_WORLD);"""
    trace = one_recorder.record(body)
    for rank in range(2):
        assert trace.calls(rank) == ["init", "barrier", "barrier", "finalize"]


def test_a_program_that_starts_another_mpi_program(one_recorder: Recorder, tmp_path: Path) -> None:
    """The other program's process is not a rank of this one: it writes nothing."""
    inner = one_recorder.compile("MPI_Barrier(MPI_COMM_WORLD);", name="inner")
    # Without the variables that would make it a rank of this program.
    kept = "^(TISIM_|LD_|PATH=|HOME=|OMPI_ALLOW)"
    start = tmp_path / "start.sh"
    start.write_text(f'#!/bin/sh\nexec env -i $(env | grep -E "{kept}") {inner}\n')
    start.chmod(0o755)
    if subprocess.run([start], capture_output=True).returncode != 0:
        pytest.skip(f"{one_recorder.mpi.name} starts no program without mpirun here")
    body = f"""MPI_Barrier(MPI_COMM_WORLD);
    CHECK(rank == 0 || system("{start}") == 0);
    MPI_Barrier(MPI_COMM_WORLD);"""
    trace = one_recorder.record(body)
    assert "cannot write" not in trace.run.stderr
    for rank in range(2):
        assert trace.calls(rank) == ["init", "barrier", "barrier", "finalize"]


def test_a_program_that_others_start(recorder: Recorder, tmp_path: Path) -> None:
    """The program is found in the command line, and the other programs record nothing."""
    program = recorder.compile("MPI_Barrier(MPI_COMM_WORLD);")
    script = tmp_path / "start.sh"
    script.write_text('#!/bin/sh\nls / > /dev/null\nexec "$@"\n')
    script.chmod(0o755)
    command = recorder.launched(script, "env", "A=1", program)
    found = find_program(command)
    assert found is not None
    assert found[0] == program
    run = recorder.run(*command)
    assert run.returncode == 0, run.stderr
    assert f"{tmp_path / 'trace.tit'}: 2 ranks" in run.stderr
    for rank, lines in enumerate(lines_of(tmp_path / "trace.tit")):
        assert [line for line in lines if line.endswith("barrier")] == [f"{rank} barrier"]


def test_calls_by_names_of_the_profiling_interface(one_recorder: Recorder) -> None:
    """They bypass the recorder, which the command reports unless a trace never contains them."""
    body = """if (rank == 0) PMPI_Send(&rank, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    else PMPI_Recv(&rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);"""
    trace = one_recorder.record(body)
    assert "warning: the program calls PMPI_Recv, PMPI_Send directly" in trace.run.stderr
    assert trace.calls(0) == ["init", "barrier", "finalize"]


def test_a_program_that_looks_its_calls_up_in_the_library(one_recorder: Recorder) -> None:
    """No recorder can be interposed."""
    program = one_recorder.compile("""
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <mpi.h>
        int main(void) {
          Dl_info where;
          if (!dladdr((void *)MPI_Get_version, &where)) return 1;
          void *library = dlopen(where.dli_fname, RTLD_NOW);
          int (*init)(int *, char ***) = (int (*)(int *, char ***))dlsym(library, "MPI_Init");
          int (*finalize)(void) = (int (*)(void))dlsym(library, "MPI_Finalize");
          return init(NULL, NULL) || finalize();
        }
    """)
    run = one_recorder.run(*one_recorder.launched(program))
    assert run.returncode == 2, run.stderr
    assert "up in the MPI library itself (dlsym)" in run.stderr


def test_several_programs_in_one_run(one_recorder: Recorder, tmp_path: Path) -> None:
    message = "MPI_Send(&rank, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);"
    first = one_recorder.compile(message, name="first")
    answer = "MPI_Recv(&size, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);"
    second = one_recorder.compile(answer, name="second")
    run = one_recorder.run(*one_recorder.launched(first, ":", "-n", "1", second, ranks=1))
    assert run.returncode == 0, run.stderr
    lines = lines_of(tmp_path / "trace.tit")
    assert "0 send 1 3 4" in lines[0]
    assert "1 recv 0 3 4" in lines[1]


def test_ranks_that_record_nothing(one_recorder: Recorder) -> None:
    """One rank only initializes and finalizes, another pauses before its first call."""
    body = """if (rank == 1) MPI_Pcontrol(0);
    if (rank == 2) MPI_Send(&rank, 1, MPI_INT, 3, 0, MPI_COMM_WORLD);
    if (rank == 3) MPI_Recv(&rank, 1, MPI_INT, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);"""
    trace = one_recorder.record(body, ranks=4)
    calls = [trace.calls(rank)[1:-1] for rank in range(4)]
    assert calls == [[], [], ["send 3 0 4"], ["recv 2 0 4"]]
    replay_on_graphene(trace)


_LAMMPS = """\
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 4 0 4 0 4
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
run 10
"""

_PYTHON = """\
from array import array
from mpi4py import MPI
world = MPI.COMM_WORLD
after, before = (world.rank + 1) % world.size, (world.rank - 1) % world.size
sent, received = array("d", [1.0] * 1000), array("d", [0.0] * 1000)
for _ in range(20):
    MPI.Request.Waitall([world.Isend(sent, after, 3), world.Irecv(received, before, 3)])
    world.Allreduce(MPI.IN_PLACE, sent)
request = world.Irecv(received, before, 9)
request.Cancel()
request.Wait()
"""

# HPC Challenge's 43 input lines for a problem of size 64 on a grid of 1 x 2 ranks.
_HPCC = ["", "", "HPL.out", "8", "1", "64", "1", "32", "0", "1", "1", "2", "16.0"]
_HPCC += ["1", "2", "1", "4", "1", "2", "1", "1", "1", "1", "1", "0", "2", "64", "0", "0", "1", "8"]
_HPCC += ["", "0", "1200", "0", "40", ""]


def library_of(file: Path) -> Mpi:
    """Return the MPI library that a program of the distribution is linked with."""
    linked = subprocess.run(["ldd", file], capture_output=True, text=True, check=False).stdout
    suffix = ".mpich" if "mpich" in linked else ".openmpi"
    for mpi in libraries():
        if mpi.suffix == suffix:
            return mpi
    pytest.skip(f"the commands of {file.name}'s MPI library are not installed")


def installed(name: str) -> tuple[Path, Mpi]:
    executable = shutil.which(name)
    if executable is None:
        pytest.skip(f"{name} is not installed")
    return Path(executable), library_of(Path(executable))


def test_lammps(tmp_path: Path) -> None:
    program, mpi = installed("lmp")
    (tmp_path / "in.melt").write_text(_LAMMPS)
    options = ("-in", str(tmp_path / "in.melt"), "-log", "none")
    trace = Recorder(mpi, tmp_path).record(program, *options, ranks=4)
    assert any(call.startswith("irecv ") for call in trace.calls(0))
    replay(trace)


def test_mpi4py(tmp_path: Path) -> None:
    python = Path("/usr/bin/python3")
    where = "import mpi4py.MPI; print(mpi4py.MPI.__file__)"
    module = subprocess.run([python, "-c", where], capture_output=True, text=True, check=False,
                            env={**os.environ, **ENVIRONMENT})  # fmt: skip
    if module.returncode != 0:
        pytest.skip("the system's Python has no mpi4py")
    (tmp_path / "ring.py").write_text(_PYTHON)
    mpi = library_of(Path(module.stdout.strip()))
    script = str(tmp_path / "ring.py")
    trace = Recorder(mpi, tmp_path).record(python, script, ranks=3)
    assert sum(call.startswith("isend ") for call in trace.calls(1)) == 20
    assert sum(call.startswith("cancel ") for call in trace.calls(1)) == 1
    replay(trace)


def test_hpcc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It cancels the receives left over from its random accesses."""
    program, mpi = installed("hpcc")
    (tmp_path / "hpccinf.txt").write_text("\n".join(_HPCC) + "\n")
    monkeypatch.chdir(tmp_path)
    trace = Recorder(mpi, tmp_path).record(program)
    assert "End of HPC Challenge tests." in (tmp_path / "hpccoutf.txt").read_text()
    calls = [call for rank in range(2) for call in trace.calls(rank)]
    assert sum(call.startswith("cancel ") for call in calls) == 8
    assert not any(call.startswith("unsupported") for call in calls)
    result = replay(trace)
    assert isinstance(result, tisim.Result)
