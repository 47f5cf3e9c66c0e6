"""Programs compiled by `tisim cc` count their instructions identically in every run."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.unit.record.programs import EXAMPLES, ROOT, Recorder

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64" or shutil.which("gcc") is None,
    reason="GCC on x86-64 is needed",
)

# Lets a program without MPI print its own counts through the functions of the recorder.
TAKE = """
#include <stdint.h>
extern uint64_t *tisim_counted_elsewhere(void);
uint64_t take(void) {
  uint64_t count, *const elsewhere = tisim_counted_elsewhere();
  __asm__ volatile("movq %%r15, %0; xorl %%r15d, %%r15d" : "=r"(count) : : "cc");
  count += *elsewhere;
  *elsewhere = 0;
  return count;
}
"""


def tisim_compile(
    command: str, *arguments: str | Path, compiler: str
) -> subprocess.CompletedProcess[str]:
    variable = {"cc": "TISIM_CC", "c++": "TISIM_CXX", "fc": "TISIM_FC"}[command]
    return subprocess.run(
        [sys.executable, "-m", "tisim", command, *map(str, arguments)],
        env={**os.environ, variable: compiler},
        capture_output=True,
        text=True,
    )


def counts(source: str, suffix: str, directory: Path, *options: str) -> dict[str, int]:
    """Compile a program that prints one name and count per line, and run it twice."""
    command, compiler = ("cc", "gcc") if suffix == ".c" else ("c++", "g++")
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    (directory / "take.c").write_text(TAKE)
    subprocess.run(
        ["gcc", "-O2", "-ffixed-r15", "-c", directory / "take.c", "-o", directory / "take.o"],
        check=True,
    )
    file = directory / f"program{suffix}"
    file.write_text(source)
    program = directory / "program"
    compiled = tisim_compile(
        *(command, *options, file, directory / "take.o", "-o", program, "-pthread"),
        compiler=compiler,
    )
    assert compiled.returncode == 0, compiled.stderr
    texts = [
        subprocess.run([program], check=True, capture_output=True, text=True).stdout
        for _ in range(2)
    ]
    assert texts[0] == texts[1]
    return {name: int(count) for name, count in map(str.split, texts[0].splitlines())}


def test_a_loop_counts_its_instructions(tmp_path: Path) -> None:
    source = """
    #include <stdint.h>
    #include <stdio.h>
    uint64_t take(void);
    int main(void) {
      take();
      for (int turns = 1000; turns <= 4000; turns += 1000) {
        for (int i = 0; i < turns; ++i) __asm__ volatile("nop; nop");
        printf("%d %lu\\n", turns, take());
      }
      return 0;
    }
    """
    counted = counts(source, ".c", tmp_path, "-O2")
    # At most two nops, an addition or decrement, a comparison and a jump.
    each = counted["3000"] - counted["2000"]
    assert each in (4000, 5000)
    assert counted["4000"] - counted["3000"] == each


CALLBACKS = """
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
uint64_t take(void);
static jmp_buf out;
static int compared;
static int compare(const void *a, const void *b) {
  ++compared;
  return *(const int *)a - *(const int *)b;
}
__attribute__((noinline)) static int deep(int n) {
  if (n == 0) longjmp(out, 1);
  return deep(n - 1) + 1;
}
int main(void) {
  static int values[1000];
  unsigned seed = 1;
  for (int i = 0; i < 1000; ++i) values[i] = (int)((seed = seed * 1664525u + 1013904223u) >> 8);
  take();
  qsort(values, 1000, sizeof *values, compare);
  const uint64_t sorted = take();
  printf("sorted %lu\\n", sorted);
  printf("compared %d\\n", compared);
  for (int i = 1; i < 1000; ++i) if (values[i - 1] > values[i]) abort();
  take();
  if (setjmp(out) == 0) deep(100);
  printf("jumped %lu\\n", take());
  return 0;
}
"""


@pytest.mark.parametrize("options", ["-O0", "-O2", "-O2 -fPIC", "-O2 -static", "-O3 -pipe"])
def test_callbacks_and_jumps_are_counted(options: str, tmp_path: Path) -> None:
    """The library's qsort uses the register for values of its own."""
    counted = counts(CALLBACKS, ".c", tmp_path, *options.split())
    # The comparison compiles to about as many instructions as its source has operations.
    assert 4 * counted["compared"] < counted["sorted"] < 30 * counted["compared"]
    assert 100 * 3 <= counted["jumped"] <= 100 * 20


SUMS = """
#include <stdint.h>
#include <stdio.h>
uint64_t take(void);
double values[64];
__attribute__((noinline)) double half(double *x) { *x *= 0.5; return *x; }
__attribute__((noinline))
double sum(double *a, double *b, double *c, double *d, double *e, double *f, int n) {
  double s = 0;
  for (int i = 0; i < n; ++i) {
    s += half(a + i) + a[i] + b[i] + c[i] + d[i] + e[i] + f[i];
    half(b + i); half(c + i); half(d + i);
  }
  return s;
}
int main(void) {
  for (int i = 0; i < 64; ++i) values[i] = i;
  take();
  double s = sum(values, values + 10, values + 20, values + 30, values + 40, values + 50, 10);
  printf("sum %d\\n", (int)s);
  printf("count %lu\\n", take());
  return 0;
}
"""


def test_callers_keep_their_registers(tmp_path: Path) -> None:
    """A caller that knows the function's body could keep values in a register used for counting."""
    assert counts(SUMS, ".c", tmp_path, "-O2")["sum"] == 1770


def test_a_program_of_which_nothing_counts_is_linked(tmp_path: Path) -> None:
    source = tmp_path / "program.c"
    source.write_text("int main(void) { return 0; }")
    subprocess.run(["gcc", "-c", source, "-o", tmp_path / "program.o"], check=True)
    arguments = (tmp_path / "program.o", "-o", tmp_path / "program")
    compiled = tisim_compile("cc", *arguments, compiler="gcc")
    assert compiled.returncode == 0, compiled.stderr
    assert subprocess.run([tmp_path / "program"]).returncode == 0


EXCEPTIONS = """
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>
extern "C" std::uint64_t take();
static int compare(const void *a, const void *b) {
  if (*static_cast<const int *>(a) == 42) throw 5;
  return *static_cast<const int *>(a) - *static_cast<const int *>(b);
}
__attribute__((noinline)) int odd(int x) {
  if (x % 2 == 0) throw std::runtime_error("even");
  return x;
}
int main() {
  int thrown = 0;
  take();
  for (int i = 0; i < 100; ++i) {
    try { thrown += odd(i) < 0; } catch (const std::exception &) { ++thrown; }
  }
  std::printf("own %lu\\n", take());
  std::vector<int> values(1000);
  for (int turn = 0; turn < 20; ++turn) {
    for (int i = 0; i < 1000; ++i) values[i] = i * 7919 % 1000;
    try { std::qsort(values.data(), 1000, 4, compare); } catch (int) { ++thrown; }
  }
  std::printf("foreign %lu\\n", take());
  try { values.at(5000) = 1; } catch (const std::out_of_range &) { ++thrown; }
  std::printf("library %lu\\n", take());
  std::printf("thrown %d\\n", thrown);
}
"""


@pytest.mark.parametrize("options", ["-O0", "-O2"])
def test_exceptions_are_counted(options: str, tmp_path: Path) -> None:
    counted = counts(EXCEPTIONS, ".cpp", tmp_path, options)
    assert counted["thrown"] == 50 + 20 + 1
    assert 100 * 5 < counted["own"] < 100 * 100
    assert 20_000 * 3 < counted["foreign"] < 20_000 * 200
    assert 0 < counted["library"] < 1000


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("int f(int x) { return x; }", ("-flto",), "omit it"),
        (
            'void f(void) { __asm__ volatile("movq $1, %%r15" ::: "memory"); }',
            (),
            "r15 is reserved for counting",
        ),
    ],
)
def test_code_that_cannot_count_is_refused(
    source: str, options: tuple[str, ...], message: str, tmp_path: Path
) -> None:
    file = tmp_path / "code.c"
    file.write_text(source)
    arguments = (*options, "-O2", "-c", file, "-o", tmp_path / "code.o")
    compiled = tisim_compile("cc", *arguments, compiler="gcc")
    assert compiled.returncode != 0
    assert message in compiled.stderr
    assert not (tmp_path / "code.o").exists()


def test_another_compiler_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "othercc"
    other.write_text("#!/bin/sh\necho another compiler\n")
    other.chmod(0o755)
    compiled = tisim_compile("cc", "-c", "a.c", compiler=str(other))
    assert compiled.returncode == 2
    assert "needs GCC" in compiled.stderr
    missing = tisim_compile("cc", "-c", "a.c", compiler="no-such-cc")
    assert missing.returncode == 2
    assert "no-such-cc was not found" in missing.stderr


@pytest.mark.parametrize("name", ["conjugate_gradient.f90", "transpose.f90"])
def test_volumes_are_the_same_in_two_runs(name: str, one_recorder: Recorder) -> None:
    program = one_recorder.compile(EXAMPLES / name, "-O2", counting=True)
    traces = [one_recorder.record(program, ranks=4).lines for _ in range(2)]
    assert traces[0] == traces[1]
    assert "# counter: register, instructions of code compiled by tisim cc" in traces[0][0]
    volumes = [int(line.split()[2]) for line in traces[0][1] if line.startswith("1 compute ")]
    assert max(volumes) > 1000


def test_many_ranks_on_few_cores(one_recorder: Recorder) -> None:
    """Each rank has the same calls and volumes in every run, however many ranks share a core."""
    program = one_recorder.compile(EXAMPLES / "wavefront.c", "-O2", counting=True)
    runs = [one_recorder.record(program, "12", "2", ranks=16).lines for _ in range(2)]
    assert runs[0] == runs[1]
    assert sum(" compute " in line for line in runs[0][15]) > 16


LIBRARY = """
  double sum = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (clock_t begin = clock(); clock() - begin < CLOCKS_PER_SEC; )
    for (int i = 0; i < 100000; ++i) sum += WORK;
  MPI_Barrier(MPI_COMM_WORLD);
  printf("%g\\n", sum);
"""


@pytest.mark.parametrize(("work", "warns"), [("lgamma(i + sum)", True), ("i * 0.5", False)])
def test_libraries_that_do_not_count_are_named(
    work: str, warns: bool, one_recorder: Recorder
) -> None:
    program = one_recorder.compile(LIBRARY.replace("WORK", work), counting=True)
    trace = one_recorder.record(program, ranks=1)
    assert ("code that was not compiled by tisim cc and" in trace.run.stderr) == warns
    assert ("libm.so.6 (" in trace.run.stderr) == warns


def test_compilers_have_names_of_one_word(tmp_path: Path) -> None:
    """Some makefiles run `which ${CC}`."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    (tmp_path / "program.c").write_text("int main(void) { return 0; }\n")
    for word, command in {"tisim-cc": "cc", "tisim-c++": "c++", "tisim-fc": "fc"}.items():
        module, function = scripts[word].split(":")
        script = tmp_path / word
        script.write_text(f"#!{sys.executable}\nfrom {module} import {function}\n{function}()\n")
        script.chmod(0o755)
        help_text = subprocess.run([script, "--help"], capture_output=True, text=True).stdout
        assert help_text.startswith(f"Usage: tisim {command} ")
    (tmp_path / "Makefile").write_text("program: program.c\n\t$(shell which ${CC}) $< -o $@\n")
    variables = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    made = subprocess.run(
        ["make", "CC=tisim-cc"],
        cwd=tmp_path,
        env={**os.environ, **variables, "TISIM_CC": "gcc"},
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    assert subprocess.run([tmp_path / "program"]).returncode == 0
