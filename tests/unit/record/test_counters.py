"""Counters in addition to that of the volumes, and events of the kernel."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

from tests.support import ROOT, tisim_process
from tests.unit.record.programs import Recorder, tisim_record
from tests.unit.record.programs import Trace as Recording
from tisim import Trace
from tisim.errors import InputError
from tisim.traces import check, inspect
from tisim.traces.counts import counter_totals, counts_of
from tisim.traces.record import events
from tisim.traces.record.counters import choose_counters
from tisim.traces.record.events import NAMED, Event, events_of, obstacle
from tisim.traces.volumes import Volumes, volumes_of

LIBRARY = ROOT / "tisim/traces/record/library"
# Touches new memory between two barriers, then computes without touching any.
BODY = """
  enum { PAGES = 200, PAGE = 4096 };
  MPI_Barrier(MPI_COMM_WORLD);
  char *const memory = aligned_alloc(PAGE, PAGES * PAGE);
  for (int i = 0; i < PAGES; ++i) ((volatile char *)memory)[i * PAGE] = 1;
  MPI_Barrier(MPI_COMM_WORLD);
  volatile double sum = 0;
  for (int i = 0; i < 20000000; ++i) sum += 0.5 * i;
  MPI_Barrier(MPI_COMM_WORLD);
"""


def need(event: str) -> None:
    why = obstacle(NAMED[event])
    if why:
        pytest.skip(f"{event} is not counted: {why}")


def test_counters_beside_that_of_volumes(one_recorder: Recorder) -> None:
    need("page-faults")
    trace = one_recorder.record(BODY, options="--counter time,page-faults,task-clock")
    assert "further counters: page-faults, task-clock" in trace.run.stderr
    opened = Trace.open(trace.file)
    for rank in range(2):
        # Skip the comments that show attributes.
        lines = [line for line in trace.lines[rank] if not line.startswith("# @ ")]
        faults = dict(counts_of(opened, rank, "page-faults"))
        clock = dict(counts_of(opened, rank, "task-clock"))
        # Computations, and nothing else, have both counts.
        computations = [n for n, line in enumerate(lines, 1) if " compute " in line]
        assert [*faults] == [*clock] == computations
        barriers = [n for n, line in enumerate(lines, 1) if line.endswith(" barrier")]
        touching, computing = barriers[1] - 1, barriers[2] - 1
        assert faults[touching] >= 100
        assert faults[computing] < 20
        # The kernel's event and the volumes use the same clock.
        volume = int(lines[computing - 1].split()[-1])
        assert clock[computing] == pytest.approx(volume, rel=0.2)
    totals = {counter.name: counter.total for counter in counter_totals(opened)}
    assert [*totals] == ["page-faults", "task-clock"]
    assert check(opened).counters == ("page-faults", "task-clock")
    assert [counter.total for counter in inspect(trace.file).counters] == [0, 0]
    read = inspect(trace.file, statistics=True)
    assert {counter.name: counter.total for counter in read.counters} == totals


def test_the_speed_of_a_host_from_a_recording(one_recorder: Recorder) -> None:
    """The program counts its instructions, and the recorder measures their time.

    Calls missing from the trace do not matter.
    """
    window = "MPI_Win_create(&size, 4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win); MPI_Win_free(&win);"
    program = one_recorder.compile(f"{BODY} MPI_Win win; {window}", counting=True)
    trace = one_recorder.record(program, options="--counter register,time")
    checked = tisim_process("check", trace.file)
    assert "additional counters: time" in checked.stdout
    inspected = tisim_process("inspect", trace.file)
    assert "additional counters:" in inspected.stdout
    found = tisim_process("calibrate", "cpu", "--json", "-", trace.file)
    assert found.returncode == 0, found.stderr
    rates = {rate["what"]: rate["per_second"] for rate in json.loads(found.stdout)["rates"]}
    assert {"all computations", "rank 0", "rank 1"} <= {*rates}
    assert 1e7 < rates["all computations"] < 1e11


def test_perf_with_a_software_event(
    one_recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the processor has no counters, an event of the kernel is handled in the same way."""
    need("task-clock")
    monkeypatch.setenv("TISIM_RECORD_SOFTWARE_EVENT", "1")
    trace = one_recorder.record(BODY, options="--counter perf,time")
    assert "counter: perf, nanoseconds of the software event task-clock" in trace.run.stderr
    volumes = [int(line.split()[-1]) for line in trace.lines[0] if " compute " in line]
    (time,) = counter_totals(Trace.open(trace.file))
    assert time.computations >= len(volumes)
    assert max(volumes) > 1e6


def test_what_an_empty_computation_counts_is_in_no_volume(one_recorder: Recorder) -> None:
    """Most of the count between two adjacent calls is the cost of reading the clock."""
    message = "&value, 1, MPI_INT, 0, 0"
    program = one_recorder.compile(
        f"for (int i = 0, value; i < 1001; ++i) {{ MPI_Request request; "
        f"MPI_Irecv({message}, MPI_COMM_WORLD, &request); MPI_Send({message}, MPI_COMM_WORLD); "
        "MPI_Wait(&request, MPI_STATUS_IGNORE); }",
        counting=True,
    )
    for counter in ("time", "register,time"):
        # The cost of reading the clock is measured at the start; it may increase later.
        assert any(counts_the_clock_alone(one_recorder, program, counter) for _ in range(5))


def counts_the_clock_alone(recorder: Recorder, program: Path, counter: str) -> bool:
    """Return whether most of the cost of reading the clock is subtracted."""
    trace = recorder.record(program, ranks=1, options=f"--counter {counter}")
    said = re.search(
        r"^subtracted from each computation .*: time ([\d,]+)$", trace.run.stderr, re.M
    )
    assert said is not None
    empty_count = float(said[1].replace(",", ""))
    if counter == "time":
        volumes = [float(line.split()[-1]) for line in trace.lines[0] if " compute " in line]
        # Volumes of zero have no line.
        volumes += [0.0] * (3003 - len(volumes))
    else:
        volumes = [count for _, count in counts_of(Trace.open(trace.file), 0, "time")]
    assert empty_count > 0
    assert len(volumes) >= 3003
    # Without the subtraction, each of them would be empty_count.
    return median(volumes) < 0.8 * empty_count


# An event's page as the kernel maps it, and a counter of the processor.
PAGE = """
#include <stdio.h>
#include <string.h>
#include "user_page.h"
static struct perf_event_mmap_page page;
static uint64_t in_counter;
static int readings;
static uint64_t read_counter(uint32_t number) {
  /* The kernel moves the event to another counter meanwhile. */
  if (readings++ == 0) { page.lock += 2; page.offset = 1000; }
  return number == 3 ? in_counter : 0;
}
static void show(void) {
  uint64_t count = 0;
  if (!tisim_read_user_page(&page, read_counter, &count)) puts("no");
  else printf("%llu\\n", (unsigned long long)count);
}
int main(void) {
  page.index = 4;
  page.pmc_width = 48;
  page.offset = 5;
  in_counter = 7;
  show();
  page.cap_user_rdpmc = 1;
  show();                                                   /* read again after a change */
  in_counter = (UINT64_C(1) << 48) - 600; show();           /* negative: -600 */
  page.pmc_width = 64; in_counter = (uint64_t)-1; show();
  page.time_enabled = 10; page.time_running = 5; show();    /* it counts half of the time */
  page.time_running = 10; page.index = 0; show();           /* it is on no counter now */
  return 0;
}
"""


def test_reading_a_counter_of_the_processor(tmp_path: Path) -> None:
    source, program = tmp_path / "page.c", tmp_path / "page"
    source.write_text(PAGE)
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is not installed")
    command = [compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{LIBRARY}"]
    subprocess.run([*command, source, "-o", program], check=True)
    read = subprocess.run([program], check=True, capture_output=True, text=True)
    assert read.stdout.split() == ["no", "1007", "400", "999", "no", "no"]


def test_counters_that_are_none() -> None:
    assert choose_counters("time", None).variables() == {"TISIM_RECORD_COUNTER": "time"}
    for asked, why in (
        ("cycles", "the first counter measures the volumes and must be"),
        ("time,time", "occurs twice"),
        ("register,time,time", "occurs twice"),
        ("time,flips", "unknown further counter 'flips'"),
        ("time,", "unknown further counter ''"),
        ("time,rxyz", "unknown further counter 'rxyz'"),
        ("qemu,time", "does not support further counters"),
    ):
        with pytest.raises(InputError, match=why):
            choose_counters(asked, None)


def test_events_of_processors(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert events_of("r01c7") == (Event(4, 0x1C7),)
    assert [str(event) for event in events_of("cache-misses")] == ["0:3*1"]
    said = tmp_path / "cpuinfo"
    monkeypatch.setattr(events, "_CPUINFO", str(said))
    said.write_text("vendor_id\t: GenuineIntel\n")
    assert [event.weight for event in events_of("flops")] == [1, 2, 4, 8, 16]
    said.write_text("vendor_id\t: AuthenticAMD\ncpu family\t: 25\n")
    assert [*map(str, events_of("flops"))] == ["4:ff03*1"]
    said.write_text("vendor_id\t: another\n")
    assert events_of("flops") == ()


# Waits between two barriers without using the processor.
WAITING = """
  MPI_Barrier(MPI_COMM_WORLD);
  usleep(200000);
  MPI_Barrier(MPI_COMM_WORLD);
"""


def computed(trace: Recording) -> list[float]:
    """Return the seconds of computation before each call of rank 0."""
    seconds, found = 0.0, []
    for line in trace.lines[0]:
        words = line.split()
        if line.startswith("#"):
            continue
        if words[1] == "compute":
            seconds = float(words[2]) * 1e-9
        else:
            found.append(seconds)
            seconds = 0.0
    return found


def test_waits_are_computation_or_left_out(one_recorder: Recorder) -> None:
    left_out = one_recorder.record(WAITING, options="--counter time")
    added = one_recorder.record(WAITING, options="--counter elapsed")
    assert max(computed(left_out)) < 0.2 <= max(computed(added))
    assert "waiting for a CPU" in left_out.run.stderr
    assert "waiting for a CPU" not in added.run.stderr
    assert volumes_of(added.file) == Volumes("elapsed, seconds times 1e+09", "ns", 1e9)


def test_mpi_init_is_computation_or_left_out(one_recorder: Recorder) -> None:
    left_out = one_recorder.record(WAITING, options="--counter elapsed")
    added = one_recorder.record(WAITING, options="--counter elapsed --with-init")
    assert "not in the trace, mean over ranks: MPI_Init" in left_out.run.stderr
    assert "not in the trace" not in added.run.stderr
    # The program does nothing before the first barrier, and MPI_Init takes milliseconds.
    assert computed(added)[1] > 1e-3


# Computes in many steps; exits with 3 if flushing the caches changed its data, and with 4 if it
# touched memory that the program never used.
COLD = """
  enum { WORDS = 1 << 20, PAGE = 4096, UNUSED = 64 * PAGE };
  double *const data = malloc(WORDS * sizeof *data);
  char *const unused = mmap(NULL, UNUSED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                            0);
  for (int i = 0; i < WORDS; ++i) data[i] = i;
  for (int step = 0; step < 20; ++step) {
    for (int i = 0; i < WORDS; ++i) data[i] += 1;
    MPI_Barrier(MPI_COMM_WORLD);
  }
  for (int i = 0; i < WORDS; ++i) if (data[i] != i + 20) exit(3);
  unsigned char pages[UNUSED / PAGE];
  if (mincore(unused, UNUSED, pages) != 0) exit(5);
  for (int i = 0; i < UNUSED / PAGE; ++i) if (pages[i] & 1) exit(4);
"""


def test_times_of_cold_caches_are_those_of_the_same_calls(one_recorder: Recorder) -> None:
    if "clflushopt" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("needs a processor with clflushopt")
    warm = one_recorder.record(COLD, options="--counter time")
    cold = one_recorder.record(COLD, options="--counter cold")
    assert cold.run.returncode == 0
    assert cold.calls(0) == warm.calls(0)
    assert len(computed(cold)) == len(computed(warm)) >= 20
    volumes = volumes_of(cold.file)
    assert volumes == Volumes(
        "time, seconds of processor time times 1e+09, with cold caches", "ns", 1e9
    )
    assert re.search(
        r"^memory: \S+ [kM]B per rank, in addition to that of MPI_Init$", cold.run.stderr, re.M
    )


def test_mpi_init_has_no_instructions(tmp_path: Path) -> None:
    run = tisim_record(
        "-o", tmp_path / "x.tit", "--counter", "qemu", "--with-init", "--", sys.executable
    )
    assert run.returncode == 2
    assert (
        "--with-init adds a time to the volumes, not available for the counter qemu" in run.stderr
    )
