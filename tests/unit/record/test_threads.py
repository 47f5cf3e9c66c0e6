"""Computations of several threads, and the time a rank waits for an accelerator."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import tisim
from tests.support import GRAPHENE, load_platform
from tests.unit.record.programs import (
    Recorder,
    replay_on_graphene,
)
from tisim.traces import pack, unpack

# Two parallel regions, the first with unequal work, then one thread alone. Thread 1 calls MPI.
THREADS = """
#include <mpi.h>
#include <omp.h>
static double values[4][10000];
static double work(double *v, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) { v[i] = 0.5 * v[i] + i; sum += v[i]; }
  return sum;
}
int main(int argc, char **argv) {
  int provided;
  double sum = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
#pragma omp parallel num_threads(3) reduction(+ : sum)
  sum += work(values[omp_get_thread_num()], 1000 * (omp_get_thread_num() + 1));
  MPI_Barrier(MPI_COMM_WORLD);
#pragma omp parallel num_threads(2) reduction(+ : sum)
  {
    sum += work(values[omp_get_thread_num()], 1000);
#pragma omp barrier
    if (omp_get_thread_num() == 1) MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  sum += work(values[0], 1000);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return sum < 0;
}
"""
LINE = re.compile(r"0 compute (\d+)(?: threads=(\d+) sum=(\d+))?")


def computed(lines: list[str]) -> list[tuple[int, int, int]]:
    """Return the largest volume, number of threads and sum of each computation of rank 0."""
    found = [match for line in lines if (match := LINE.fullmatch(line))]
    return [(int(m[1]), int(m[2] or 1), int(m[3] or m[1])) for m in found]


def test_threads_that_count_themselves(one_recorder: Recorder) -> None:
    program = one_recorder.compile(THREADS, "-fopenmp", counting=True)
    trace = one_recorder.record(program)
    volumes = computed(trace.lines[0])
    alone = next(largest for largest, threads, _ in volumes[3:] if threads == 1 and largest > 1000)
    largest, threads, total = volumes[0]
    assert threads == 3
    # Thread i does i + 1 times the work.
    assert largest / alone == pytest.approx(3, rel=0.01)
    assert total / alone == pytest.approx(6, rel=0.02)
    # In the second region, both threads do the same work; one of them calls MPI.
    region = volumes[1:-2]
    assert sum(item[2] for item in region) / alone == pytest.approx(2, rel=0.02)
    assert trace.calls(0)[1:-1] == ["barrier"] * 4
    replay_on_graphene(trace)


MULTIPLE = """
#include <mpi.h>
#include <pthread.h>
static MPI_Comm copy;
static int rank;
static void *exchange(void *unused) {
  int value = rank, other = -1;
  for (int i = 0; i < 3; ++i)
    MPI_Sendrecv(&value, 1, MPI_INT, 1 - rank, 0, &other, 1, MPI_INT, 1 - rank, 0, copy,
                 MPI_STATUS_IGNORE);
  if (other != 1 - rank) MPI_Abort(MPI_COMM_WORLD, 1);
  return unused;
}
int main(int argc, char **argv) {
  int provided;
  pthread_t thread;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided != MPI_THREAD_MULTIPLE) return 77;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  pthread_create(&thread, NULL, exchange, NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  pthread_join(thread, NULL);
  MPI_Finalize();
  return 0;
}
"""
MULTIPLE_IN_FORTRAN = """
program threads
  use mpi
  use omp_lib
  implicit none
  integer :: provided, copy, ierror
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, ierror)
  if (provided /= MPI_THREAD_MULTIPLE) call exit(77)
  call MPI_Comm_dup(MPI_COMM_WORLD, copy, ierror)
!$omp parallel num_threads(2) private(ierror)
  if (omp_get_thread_num() == 1) call MPI_Barrier(copy, ierror)
!$omp end parallel
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  call MPI_Finalize(ierror)
end program
"""


@pytest.mark.parametrize(
    ("text", "uncounted"),
    [(MULTIPLE, "MPI_Sendrecv 6"), (MULTIPLE_IN_FORTRAN, "MPI_Barrier 2")],
    ids=["C", "Fortran"],
)
def test_calls_of_several_threads_at_a_time(
    text: str, uncounted: str, one_recorder: Recorder
) -> None:
    """Calls of the first thread are recorded; those of other threads are counted and reported."""
    program = one_recorder.compile(text, "-fopenmp", "-pthread")
    alone = subprocess.run(one_recorder.launched(program), capture_output=True)
    if alone.returncode == 77:
        pytest.skip(f"{one_recorder.mpi.name} has no MPI_THREAD_MULTIPLE")
    trace = one_recorder.record(program)
    function, calls = uncounted.split()
    told = f"{calls} calls to {function}-by-other-threads are not in the trace"
    assert told in trace.run.stderr
    assert trace.calls(0) == [
        f"unsupported {function}-by-other-threads {calls}",
        *("init", "comm_dup 0 1", "barrier", "finalize"),
    ]
    with pytest.raises(tisim.InputError, match=f"called {function}-by-other-threads {calls} times"):
        tisim.replay(trace.file, platform=GRAPHENE)


ACCELERATED = """
  int cudaDeviceSynchronize(void);
  for (int i = 0; i < 3; ++i) if (cudaDeviceSynchronize() != 7) return 1;
"""


def test_the_time_that_a_rank_waits_for_an_accelerator(
    one_recorder: Recorder, tmp_path: Path
) -> None:
    library = tmp_path / "libfake_cuda.so"
    source = tmp_path / "library.c"
    source.write_text(
        "#include <unistd.h>\nint cudaDeviceSynchronize(void) { usleep(100000); return 7; }\n"
    )
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", library], check=True)
    program = one_recorder.compile(ACCELERATED, "-Wl,--no-as-needed", str(library))
    trace = one_recorder.record(program)
    waited = re.search(
        r"waited for an accelerator \(in CUDA or HIP calls\) for up to (\d+) % of their time,",
        trace.run.stderr,
    )
    assert waited is not None
    assert 1 <= int(waited[1]) <= 100


def test_threads_share_the_cores_of_a_host(tmp_path: Path) -> None:
    """A computation uses min(cores, threads) cores, shared with the other ranks of the host."""
    trace = tmp_path / "trace.txt"
    trace.write_text(
        "0 compute 1e9 threads=4 sum=3e9\n0 compute 1e9\n1 compute 1e9 threads=2 sum=2e9\n"
    )
    seconds = {
        # Rank 0 takes as long as its busiest thread, then 1 s.
        4: [2.0, 1.0],
        # Two cores, with 1.5 s of work each.
        2: [2.5, 1.0],
        1: [4.0, 2.0],
    }
    packed = tmp_path / "trace.tit"
    pack(trace, packed)
    for cores, expected in seconds.items():
        platform = two_hosts(tmp_path, cores)
        for file in (trace, packed):
            result = tisim.replay(file, platform=platform, hosts=["a", "b"])
            assert [*result.finish] == pytest.approx(expected, abs=1e-9)
    # Both ranks on one host: six threads on four cores.
    platform = two_hosts(tmp_path, 4)
    trace.write_text("0 compute 1e9 threads=4 sum=4e9\n1 compute 1e9 threads=4 sum=4e9\n")
    result = tisim.replay(trace, platform=platform, hosts=["a", "a"])
    assert [*result.finish] == pytest.approx([2.0, 2.0], abs=1e-9)


def two_hosts(directory: Path, cores: int) -> tisim.Platform:
    return load_platform(
        directory,
        f'<zone id="z" routing="Full"><host id="a" speed="1Gf" core="{cores}"/>'
        f'<host id="b" speed="1Gf" core="{cores}"/><link id="l" bandwidth="1GBps" latency="1us"/>'
        '<route src="a" dst="b"><link_ctn id="l"/></route></zone>',
    )


def test_both_versions_of_packed_traces_keep_threads(tmp_path: Path) -> None:
    for steps in (1, 500):
        lines = "".join(f"0 compute {1000 + i} threads=2 sum={1500 + i}\n" for i in range(steps))
        directory = tmp_path / str(steps)
        directory.mkdir()
        (directory / "rank-0.txt").write_text(lines)
        pack(directory, tmp_path / "packed.tit")
        unpack(tmp_path / "packed.tit", tmp_path / f"texts-{steps}")
        assert (tmp_path / f"texts-{steps}" / "rank-0.txt").read_text() == lines
