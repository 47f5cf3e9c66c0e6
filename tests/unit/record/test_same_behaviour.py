"""Recording does not change what programs do; random programs are recorded as written."""

from __future__ import annotations

import functools
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import campaign
from tests.unit.record.programs import Mpi, Recorder, replay_on_graphene
from tests.unit.record.random_programs.program import Author

SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int rank, size, handled;

static void handler(MPI_Comm *comm, int *code, ...) {
  int kind;
  (void)comm;
  MPI_Error_class(*code, &kind);
  printf("%d: the handler has class %d\n", rank, kind == MPI_ERR_RANK);
}

static void on_signal(int number) { handled += number; }

static void *calls(void *number) {
  int value = rank, other;
  const int tag = (int)(long)number;
  for (int i = 0; i < 50; ++i)
    MPI_Sendrecv(&value, 1, MPI_INT, 1 - rank, tag, &other, 1, MPI_INT, 1 - rank, tag,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return (void *)(long)other;
}

int main(int argc, char **argv) {
  const char *mode = argv[1];
  int value = 1, sum = 0, provided;
  const int threads = strcmp(mode, "threads") == 0;
  (void)argc;
  MPI_Init_thread(NULL, NULL, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("%d of %d: %d\n", rank, size, sum);
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(mode, "no finalize") == 0) exit(5);
  if (strcmp(mode, "quick exit") == 0) { fflush(stdout); _exit(6); }
  if (strcmp(mode, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 7);
  if (strcmp(mode, "crash") == 0) raise(SIGSEGV);
  if (strcmp(mode, "fork") == 0) {
    const pid_t child = fork();
    if (child == 0) { printf("%d: a child\n", rank); exit(3); }
    int status;
    waitpid(child, &status, 0);
    printf("%d: it returned %d\n", rank, WEXITSTATUS(status));
    FILE *other = popen("echo a shell", "r");
    char line[64] = "";
    fgets(line, sizeof line, other);
    printf("%d: %s", rank, line);
    pclose(other);
  }
  if (threads && provided == MPI_THREAD_MULTIPLE) {
    pthread_t made[4];
    for (long i = 0; i < 4; ++i) pthread_create(&made[i], NULL, calls, (void *)i);
    for (int i = 0; i < 4; ++i) {
      void *other;
      pthread_join(made[i], &other);
      printf("%d: thread %d met %ld\n", rank, i, (long)other);
    }
  }
  if (strcmp(mode, "dlopen") == 0) {
    int (*barrier)(MPI_Comm) = (int (*)(MPI_Comm))dlsym(RTLD_DEFAULT, "MPI_Barrier");
    void *math = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
    double (*root)(double) = (double (*)(double))dlsym(math, "sqrt");
    printf("%d: %g %d\n", rank, root(4), barrier(MPI_COMM_WORLD));
    dlclose(math);
  }
  if (strcmp(mode, "errors") == 0) {
    MPI_Errhandler mine;
    int kind;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Send(&value, 1, MPI_INT, 99, 0, MPI_COMM_WORLD), &kind);
    printf("%d: returned %d\n", rank, kind == MPI_ERR_RANK);
    MPI_Comm_create_errhandler(handler, &mine);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, mine);
    MPI_Send(&value, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    MPI_Errhandler_free(&mine);
  }
  if (strcmp(mode, "fatal error") == 0) MPI_Send(&value, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
  if (strcmp(mode, "signals") == 0) {
    signal(SIGUSR1, on_signal);
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
    raise(SIGUSR1);
    raise(SIGTERM);
    raise(SIGINT);
    printf("%d: handled %d\n", rank, handled);
  }
  if (strcmp(mode, "no files") == 0) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_FSIZE, &none);
    signal(SIGXFSZ, SIG_IGN);
    printf("%d: chdir %d\n", rank, chdir("/"));
  }
  if (strcmp(mode, "errno") == 0) {
    errno = 42;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("%d: errno %d\n", rank, errno);
  }
  if (strcmp(mode, "wait") == 0) { fflush(stdout); sleep(60); }
  printf("%d: the end\n", rank);
  fflush(stdout);
  MPI_Finalize();
  return strcmp(mode, "status") == 0 ? 9 : 0;
}
"""
MODES = (
    *("status", "no finalize", "quick exit", "abort", "crash", "fork", "threads", "dlopen"),
    *("errors", "fatal error", "signals", "no files", "errno"),
)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Mpi], Path]:
    """Return a function that compiles the program once per MPI library."""
    room = tmp_path_factory.mktemp("behaviour")
    return functools.cache(lambda mpi: Recorder(mpi, room).compile(SOURCE, "-pthread", "-ldl"))


def launched(program: Path, mpi: Mpi, mode: str) -> list[str]:
    return [mpi.run, "-n", "2", str(program), mode]


def recording(program: Path, mpi: Mpi, mode: str, output: Path) -> list[str]:
    words = [sys.executable, "-m", "tisim", "record", "-o", str(output), "--mpicc", mpi.cc]
    return [*words, "--", *launched(program, mpi, mode)]


def outcome(command: list[str]) -> tuple[int, list[str]]:
    """Return the exit status and the program's lines, sorted since ranks print in any order."""
    run = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=600,  # real ranks on busy processors
    )
    lines = [line for line in run.stdout.splitlines() if line[:1].isdigit() and ":" in line]
    return run.returncode, sorted(line for line in lines if "trace.tit" not in line)


@pytest.mark.parametrize("mode", MODES)
def test_what_it_prints_and_returns(
    mode: str, compiled: Callable[[Mpi], Path], recorder: Recorder, tmp_path: Path
) -> None:
    program = compiled(recorder.mpi)
    alone = outcome(launched(program, recorder.mpi, mode))
    # MPICH's mpiexec may drop the output of ranks just before one of them aborts.
    is_lost = mode == "fatal error" and recorder.mpi.name == "MPICH"
    assert len(alone[1]) >= 2 or is_lost
    recorded = outcome(recording(program, recorder.mpi, mode, tmp_path / "trace.tit"))
    status = {"quick exit": 6, "no finalize": 5}.get(mode)
    if status is not None and recorder.mpi.name == "MPICH":
        # Its mpiexec sometimes reports such ranks as killed (1), even without the recorder.
        assert {recorded[0], alone[0]} <= {1, status}
        assert recorded[1] == alone[1]
    elif is_lost:
        assert recorded[0] == alone[0]
    else:
        assert recorded == alone
    if mode == "status":
        nowhere = Path("/dev/full")  # a full disk ends only the recording
        assert outcome(recording(program, recorder.mpi, mode, nowhere))[1] in (alone[1], [])
        assert nowhere.is_char_device()


def test_kills_at_random_moments(compiled: Callable[[Mpi], Path], mpi: Mpi, tmp_path: Path) -> None:
    """If a rank or the launcher is killed, the recording ends with the program's status."""
    program = compiled(mpi)
    drawn = random.Random(1)
    for number in range(campaign(2, 20)):
        output = tmp_path / f"trace-{number}.tit"
        with subprocess.Popen(
            recording(program, mpi, "wait", output),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as running:
            # A launcher without ranks may be one that only reports its version.
            while not (ranks := processes_of(running.pid, program)):
                assert running.poll() is None, running.communicate()
                time.sleep(0.01)
            time.sleep(drawn.random())
            (killed, *_) = ranks if number % 2 else processes_of(running.pid, None)
            os.kill(killed, signal.SIGKILL)
            _, said = running.communicate(timeout=120)
        assert running.returncode not in (0, 70), said
        assert "Traceback" not in said


def processes_of(parent: int, program: Path | None) -> list[int]:
    """Return the descendants of a process that run a program; None: its launcher children."""
    children: dict[int, list[int]] = {}
    names: dict[int, str] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text().rpartition(")")[2].split()
                names[int(entry.name)] = (entry / "cmdline").read_bytes().split(b"\0")[0].decode()
            except OSError:
                continue
            children.setdefault(int(stat[1]), []).append(int(entry.name))
    below = [*children.get(parent, [])]
    if program is None:
        return [one for one in below if Path(names[one]).name.startswith("mpirun")]
    for one in below:
        below += children.get(one, [])
    return [one for one in below if names[one] == str(program)]


PROGRAMS = campaign(2, 500)


@pytest.mark.parametrize("large_counts", [False, True])
@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_random_program(seed: int, large_counts: bool, recorder: Recorder) -> None:
    """Also with functions like MPI_Send_c, if the MPI library has them."""
    author = Author(seed, ranks=2 + seed % 4, events=60)
    source = author.source(large_counts=large_counts)
    lacking = "has no large counts" if large_counts else ""
    ranks = len(author.ranks)
    trace = recorder.record(recorder.compile(source, "-w", or_skip=lacking), ranks=ranks)
    for rank in range(ranks):
        assert trace.calls(rank) == author.expected(rank)
    replay_on_graphene(trace)
