"""Source locations of computations, sampled while the program runs."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import pytest

import tisim
from tests.unit.record.programs import (
    Recorder,
    Trace,
    tisim_record,
)
from tisim.analysis.report.application import application_page
from tisim.traces import inspect, pack
from tisim.traces.call_paths import names_of_paths
from tisim.traces.record.events import NAMED, obstacle
from tisim.traces.record.samples import read_recorded_samples
from tisim.traces.samples import (
    RankSamples,
    Samples,
    decoded_samples,
    encoded_samples,
    read_samples,
)
from tisim.traces.sources import Part

# Computes long enough for 60 samples; its own timer and its own signal keep working.
PROGRAM = """\
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
static volatile double value;
static volatile int alarms, own;
static void alarmed(int number) { (void)number; ++alarms; }
static void on_own(int number) { (void)number; ++own; }
__attribute__((noinline)) void relax(void) {
  for (int i = 0; i < 100000; ++i) value = value * 0.5 + i;
}
__attribute__((noinline)) void solve(void) {
  relax();
  ++value;
}
int main(int argc, char **argv) {
  const struct itimerval interval = {{0, 10000}, {0, 10000}};
  signal(SIGPROF, alarmed);
  signal(SIGRTMAX - 3, on_own);
  setitimer(ITIMER_PROF, &interval, NULL);
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  const clock_t begin = clock();
  while (clock() - begin < CLOCKS_PER_SEC / 4) solve();
  MPI_Barrier(MPI_COMM_WORLD);
  raise(SIGRTMAX - 3);
  printf("%d %d\\n", alarms > 0, own);
  MPI_Finalize();
  return 0;
}
"""


# Thread 1 computes in each region while thread 0 sleeps; between regions it is idle.
THREADS = """\
#include <mpi.h>
#include <omp.h>
#include <time.h>
#include <unistd.h>
static volatile double value;
__attribute__((noinline)) void toil(void) {
  struct timespec now, begin;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  do {
    for (int i = 0; i < 100000; ++i) value = value * 0.5 + i;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000000000L + now.tv_nsec - begin.tv_nsec < 200000000L);
}
int main(int argc, char **argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  for (int i = 0; i < 2; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
#pragma omp parallel num_threads(2)
    if (omp_get_thread_num() == 1) toil();
    else usleep(1000);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
"""


def test_threads_of_regions_are_sampled(
    one_recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    program = one_recorder.compile(THREADS, "-g", "-fopenmp", name="threads")
    trace = one_recorder.record(program, ranks=1, options="--sample")
    samples = read_samples(Part("trace", str(trace.file)))
    assert samples is not None
    rank = samples.ranks[0]
    # Both regions: before the second and before the third barrier.
    assert [call for call, _ in rank.computations][-2:] == [2, 3]
    paths = {path.path: path.samples for path in inspect(trace.file).computed_paths}
    toiling = sum(count for path, count in paths.items() if "toil (threads.c:" in path)
    assert toiling > 0.8 * sum(paths.values())
    # The processor time of both threads.
    assert rank.seconds > 0.35


# A thread of the program computes while the main thread waits for it outside MPI.
OWN_THREAD = THREADS.replace("#include <omp.h>", "#include <pthread.h>").replace(
    THREADS[THREADS.index("int main") :],
    """static void *body(void *unused) { toil(); return unused; }
int main(int argc, char **argv) {
  pthread_t thread;
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  pthread_create(&thread, NULL, body, NULL);
  pthread_join(thread, NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
""",
)


def test_threads_of_the_program_are_sampled(recorder: Recorder) -> None:
    program = recorder.compile(OWN_THREAD, "-g", "-pthread", name="threads")
    for _ in range(4):
        trace = recorder.record(program, ranks=1, options="--sample")
        paths = {path.path: path.samples for path in inspect(trace.file).computed_paths}
        toiling = sum(count for path, count in paths.items() if "toil (threads.c:" in path)
        assert toiling > 0.8 * sum(paths.values())
        # One sample per millisecond of processor time, if the kernel has exact events and leaves a
        # thread its processor for that long.
        if toiling > 100 or obstacle(NAMED["task-clock"]):
            return
    pytest.fail(f"{toiling} samples of 200 ms")


@pytest.fixture
def recorded(one_recorder: Recorder) -> Trace:
    program = one_recorder.compile(PROGRAM, "-g", "-O2")
    return one_recorder.record(program, options="--sample --counter time")


def test_computations_are_named_by_functions_and_lines(recorded: Trace, tmp_path: Path) -> None:
    assert recorded.run.stdout == "1 1\n" * 2
    samples = read_samples(Part("trace", str(recorded.file)))
    assert samples is not None
    assert sorted(samples.ranks) == [0, 1]
    for rank, found in samples.ranks.items():
        assert found.signals >= sum(n for _, runs in found.computations for _, n in runs) > 0
        assert found.lost == 0
        # The calls are init, barrier, barrier and finalize.
        sampled = {call for call, _ in found.computations}
        assert 2 in sampled <= {1, 2, 3}
        for _, fractions in samples.fractions(rank):
            assert sum(fractions.values()) == pytest.approx(1)
    assert f"{samples.rate:.0f} per second of CPU time" in recorded.run.stderr
    if shutil.which("addr2line") or shutil.which("llvm-symbolizer"):
        inspection = inspect(recorded.file)
        first = inspection.computed_paths[0]
        assert first.path == "main (program.c:25) > solve (program.c:14) > relax (program.c:11)"
        assert first.share > 0.5
        assert "program.c:11" in application_page(inspection)
    # Repacking a trace keeps its samples.
    pack(recorded.file, tmp_path / "mean.tit", volumes="mean")
    assert read_samples(Part("mean", str(tmp_path / "mean.tit"))) == samples


# Computes in a, in b and in a again between two calls, all called from one line.
ALTERNATING = THREADS.replace("#include <omp.h>", "").replace("void toil", "static void toil")
ALTERNATING = (
    ALTERNATING[: ALTERNATING.index("int main")]
    + """
__attribute__((noinline)) void a(void) { toil(); ++value; }
__attribute__((noinline)) void b(void) { toil(); ++value; }
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  void (*volatile parts[3])(void) = {a, b, a};
  MPI_Barrier(MPI_COMM_WORLD);
  for (volatile int i = 0; i < 3; ++i) parts[i]();
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
"""
)


def test_samples_keep_their_order_in_time(one_recorder: Recorder) -> None:
    if not (shutil.which("addr2line") or shutil.which("llvm-symbolizer")):
        pytest.skip("nothing here names functions")
    program = one_recorder.compile(ALTERNATING, "-g")
    trace = one_recorder.record(program, ranks=1, options="--sample")
    samples = read_samples(Part("trace", str(trace.file)))
    assert samples is not None
    (runs,) = [runs for call, runs in samples.runs(0) if call == 2]
    names = names_of_paths(tisim.Trace.open(trace.file), {path for path, _ in runs})
    samples_in: list[tuple[str, int]] = []
    for path, count in runs:
        samples_in += [(name, count) for name in re.findall(r"> ([ab]) \(", names[path])]
    phases = [
        (name, sum(count for _, count in same))
        for name, same in groupby(samples_in, key=itemgetter(0))
    ]
    assert [name for name, _ in phases] == ["a", "b", "a"]
    # No phase consists only of delayed samples of another one.
    assert min(count for _, count in phases) > 0.1 * sum(count for _, count in phases)


def test_too_many_runs_lose_their_order_and_no_samples(
    one_recorder: Recorder, tmp_path: Path
) -> None:
    printed, parts = tmp_path / "recorder", tmp_path / "parts"
    assert tisim_record("--print-source", printed).returncode == 0
    source = (printed / "samples.c").read_text()
    few = source.replace("#define MOST_ORDERED (1 << 16)", "#define MOST_ORDERED 2")
    assert few != source
    (printed / "samples.c").write_text(few)
    library = tmp_path / "recorder.so"
    options = ("-std=c11", "-D_GNU_SOURCE", "-fPIC", "-shared", "-pthread", "-o", str(library))
    sources = sorted(printed.glob("*.c"))
    subprocess.run(
        [one_recorder.mpi.cc, *options, *sources, "-ldl"], check=True, capture_output=True
    )
    program = one_recorder.compile(ALTERNATING)
    ran = one_recorder.preload(
        program, parts=parts, ranks=1, library=library, TISIM_RECORD_SAMPLE="1"
    )
    assert ran.returncode == 0, ran.stderr
    samples = read_recorded_samples(parts, {})
    assert samples is not None
    rank = samples.ranks[0]
    assert rank.unordered > 0 == rank.lost
    for _, runs in rank.computations:
        nodes = [node for node, _ in runs]
        assert len(nodes) == len({*nodes})
    # Samples after the last call are not written.
    assert samples.totals().total() == pytest.approx(rank.signals - rank.in_calls, abs=2)


@pytest.mark.skipif(
    platform.machine() != "x86_64" or shutil.which("gcc") is None,
    reason="GCC on x86-64 is needed",
)
def test_samples_do_not_change_counts(one_recorder: Recorder) -> None:
    always_the_same = PROGRAM.replace("clock() - begin < CLOCKS_PER_SEC / 4", "++own < 800")
    always_the_same = always_the_same.replace("{{0, 10000}, {0, 10000}}", "{{0, 0}, {0, 0}}")
    program = one_recorder.compile(always_the_same, counting=True)
    traces = [
        one_recorder.record(program, ranks=1, options=options) for options in ("", "--sample")
    ]
    samples = read_samples(Part("trace", str(traces[1].file)))
    assert samples is not None and samples.totals()
    actions = [[line for line in t.lines[0] if not line.startswith("#")] for t in traces]
    assert actions[0] == actions[1]


def test_other_traces_have_no_samples(one_recorder: Recorder) -> None:
    trace = one_recorder.record(PROGRAM, ranks=1)
    assert read_samples(Part("trace", str(trace.file))) is None
    assert inspect(trace.file).computed_paths == ()


def test_the_section_says_what_was_written() -> None:
    samples = Samples(
        nodes=[(0, "program+0x12"), (1, "program+0x3f"), (1, "lib.so+0x3f"), (0, "lib.so+0x3f")],
        ranks={
            2: RankSamples(
                1.5, 400, 30, 1, [(0, [(2, 1)]), (1_000_000, [(2, 300), (3, 1), (2, 5)])]
            ),
            7: RankSamples(),
        },
    )
    decoded = decoded_samples(encoded_samples(samples))
    assert decoded == samples
    assert decoded.path(3) == "program+0x12 > lib.so+0x3f"
    assert decoded.totals() == {2: 306, 3: 1}
    inner, outer = "program+0x12 > program+0x3f", "program+0x12 > lib.so+0x3f"
    assert list(decoded.runs(2))[1] == (1_000_000, [(inner, 300), (outer, 1), (inner, 5)])
    assert list(decoded.fractions(2))[1] == (1_000_000, {2: 305 / 306, 3: 1 / 306})


def test_ranks_share_one_tree_and_half_a_line_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "rank-0.samples").write_text(
        "node 0 p+0x1\nnode 1 p+0x2\nat 3 2 5\nend 6 1 0 24000000\n"
    )
    (tmp_path / "rank-1.samples").write_text(
        "node 0 p+0x1\nnode 1 p+0x9\nnode 1 p+0x2\nat 0 3 1 2 2 3 4\nunordered 7\nat 4 1"
    )
    samples = read_recorded_samples(tmp_path, {0: 2})
    assert samples is not None
    assert samples.nodes == [(0, "p+0x1"), (1, "p+0x2"), (1, "p+0x9")]
    assert samples.ranks[0] == RankSamples(0.024, 6, 1, 0, [(5, [(2, 5)])])
    assert samples.ranks[1].computations == [(0, [(2, 1), (3, 2), (2, 4)])]
    assert samples.ranks[1].unordered == 7
