"""Call sites in the program: recorded as addresses, read as functions and lines."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.unit.record.programs import Recorder, Trace
from tisim import Trace as AnyTrace
from tisim.analysis.report.application import application_page
from tisim.traces import check, inspect
from tisim.traces.call_sites import Module, modules_of, named_paths, short_path
from tisim.traces.inspection_parts import CallPath

# The last message in the trace is never received.
PROGRAM = """\
#include <mpi.h>
static int rank, ranks, value;
static inline __attribute__((always_inline)) void exchange(void) {
  MPI_Sendrecv_replace(&value, 1, MPI_INT, (rank + 1) % ranks, 0, (rank + ranks - 1) % ranks, 0,
                       MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
__attribute__((noinline)) void recurse(int level) {
  if (level > 0) {
    recurse(level - 1);
    value += level;
    return;
  }
  exchange();
  ++value;
}
int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (int i = 0; i < 20; ++i) recurse(i % 2);
  if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Pcontrol(0);
    MPI_Recv(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Pcontrol(1);
  }
  MPI_Finalize();
  return 0;
}
"""


needs_names = pytest.mark.skipif(
    not (shutil.which("addr2line") or shutil.which("llvm-symbolizer")),
    reason="neither addr2line nor llvm-symbolizer is installed",
)


@pytest.fixture
def recorded(one_recorder: Recorder) -> Trace:
    program = one_recorder.compile(PROGRAM, "-g", "-O2")
    return one_recorder.record(program, ranks=3, options="--call-sites")


@needs_names
def test_calls_are_named_by_functions_and_lines(recorded: Trace) -> None:
    paths = inspect(recorded.file).call_paths
    once = "main (program.c:20) > recurse (program.c:13) > exchange (program.c:4)"
    twice = (
        "main (program.c:20) > recurse (program.c:9) > recurse (program.c:13) > "
        "exchange (program.c:4)"
    )
    assert {path for path in paths if path.action == "isend"} == {
        CallPath(once, "isend", 30),
        CallPath(twice, "isend", 30),
    }
    assert CallPath("main (program.c:27)", "finalize", 3) in paths
    page = application_page(inspect(recorded.file))
    assert "recurse (program.c:13) &gt; exchange (program.c:4)" in page


@needs_names
def test_a_check_says_where_a_call_was_made(recorded: Trace) -> None:
    report = check(AnyTrace.open(recorded.file))
    assert report.errors == 1
    assert report.findings[0].call_path == "main (program.c:21)"
    assert str(report.findings[0]).endswith("0 received; called at main (program.c:21)")


@needs_names
def test_functions_without_lines_have_their_address(one_recorder: Recorder) -> None:
    """Two calls in the same function remain distinct."""
    program = one_recorder.compile(PROGRAM, "-g0")
    trace = one_recorder.record(program, options="--call-sites")
    sends = {path.path for path in inspect(trace.file).call_paths if path.action == "isend"}
    assert len(sends) == 2
    for path in sends:
        assert re.match(rf"main \({program.name}\+0x[0-9a-f]+\) > recurse \(", path)


def test_modules_are_read_from_comments() -> None:
    lines = ["# ranks: 3", "# module: solver.so 0badf00d /opt/my solver.so", "0 init"]
    module = Module("solver.so", "0badf00d", Path("/opt/my solver.so"))
    assert modules_of(lines) == {"solver.so": module}


def test_what_cannot_be_found_stays_an_address(tmp_path: Path) -> None:
    other = tmp_path / "program"
    other.write_bytes(b"another program, compiled since")
    modules = {
        "program": Module("program", "0badf00d", other),
        "gone.so": Module("gone.so", "-", tmp_path / "gone.so"),
        "text": Module("text", "-", other),
    }
    path = "program+0x10 > gone.so+0x20 > unknown+0x30 > text+0x40"
    assert named_paths([path], modules) == {path: path}


@pytest.mark.parametrize(
    ("whole", "short"),
    [
        (
            "void fe::dot<fe::Vector<double, int>>(fe::Vector<double, int> const&) (v.hpp:2)",
            "fe::dot<...> (v.hpp:2)",
        ),
        ("Send(Domain&, double& (Domain::**)(int), bool) (c.cc:8)", "Send (c.cc:8)"),
        (
            "f<A>::operator()(A&, std::vector<int>) const (f.hpp:5)",
            "f<...>::operator() (f.hpp:5)",
        ),
        ("std::ostream& operator<< <char>(std::ostream&, A) (o.h:1)", "operator<<<...> (o.h:1)"),
        ("A::operator bool() const (a.h:1)", "A::operator bool (a.h:1)"),
        ("(anonymous namespace)::f(int) (a.h:1)", "f (a.h:1)"),
        ("g()::{lambda(int)#1}::operator()(int) const (a.h:1)", "g::lambda#1::operator() (a.h:1)"),
        (
            "std::__cxx11::basic_string<char>::c_str() const (a.h:1)",
            "std::basic_string<...>::c_str (a.h:1)",
        ),
        ("h(int) [clone .part.0] (lib.so+0x12)", "h (lib.so+0x12)"),
        ("main (path.c:19)", "main (path.c:19)"),
        ("lmp+0x12", "lmp+0x12"),
    ],
)
def test_names_of_cxx_are_short_where_they_are_read(whole: str, short: str) -> None:
    assert short_path(f"main (a.c:1) > {whole}") == f"main (a.c:1) > {short}"


def test_an_interpreter_is_one_frame() -> None:
    path = "python3.11+0x1 > libc.so+0x2 > python3.11+0x3 > python3.11+0x4 > MPI.so+0x5"
    assert named_paths([path], {}) == {path: "python3.11 > libc.so+0x2 > python3.11 > MPI.so+0x5"}
