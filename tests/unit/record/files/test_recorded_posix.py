"""Recording and replaying the POSIX file operations of programs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tisim
from tests.unit.record.programs import (
    Recorder,
    Trace,
)
from tisim.traces import check
from tisim.traces.record.source import Variant, recorder_source

CALLS = """
  char name[64], data[4096] = {0};
  snprintf(name, sizeof name, "out.%05d", rank);
  const int file = open(name, O_CREAT | O_TRUNC | O_RDWR, 0644);
  CHECK(write(file, data, 1000) == 1000);
  CHECK(pwrite(file, data, 500, 2000) == 500);
  CHECK(lseek(file, 0, SEEK_SET) == 0);
  CHECK(read(file, data, 4096) == 2500 && read(file, data, 4096) == 0);
  CHECK(lseek(file, -100, SEEK_CUR) == 2400);
  CHECK(lseek(file, -500, SEEK_END) == 2000);
  CHECK(pread(file, data, 10, 20) == 10 && pread(file, data, 10, 1 << 20) == 0);
  const int copy = dup(file);
  CHECK(fsync(file) == 0 && close(file) == 0);
  CHECK(write(copy, data, 7) == 7 && close(copy) == 0);
  CHECK(open("nowhere/at all", O_RDONLY) < 0);
  struct stat found;
  CHECK(stat(name, &found) == 0 && unlink(name) == 0 && stat(name, &found) != 0);
  snprintf(name, sizeof name, "made by %d #", rank);
  CHECK(mkdir(name, 0777) == 0);
"""

ACTIONS = """
open 0 out.%05d rwct
write 0 1000
pwrite 0 500 2000
lseek 0 0
read 0 2500
lseek 0 -100 cur
lseek 0 2000
pread 0 10 20
fsync 0
write 0 7
close 0
stat out.%05d
unlink out.%05d
mkdir made_by_%d__
"""

# None of these files contains data of the program.
LEFT_OUT = """
  char data[64];
  int ends[2];
  CHECK(pipe(ends) == 0 && write(ends[1], data, 8) == 8 && read(ends[0], data, 8) == 8);
  CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
  CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 && write(ends[1], data, 8) == 8);
  CHECK(read(ends[0], data, 8) == 8 && close(ends[0]) == 0 && close(ends[1]) == 0);
  const char *const names[] = {"/proc/self/stat", "/dev/zero", NULL};
  for (const char *const *name = names; *name != NULL; ++name) {
    const int file = open(*name, O_RDONLY);
    CHECK(file >= 0 && read(file, data, 8) == 8 && close(file) == 0);
    FILE *const stream = fopen(*name, "r");
    CHECK(stream != NULL && fread(data, 1, 8, stream) == 8 && fclose(stream) == 0);
  }
  struct stat found;
  CHECK(stat("/proc/self", &found) == 0);
  printf("to standard output\\n");
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    const int file = open("of a child", O_CREAT | O_WRONLY, 0644);
    _exit(file < 0 || write(file, data, 8) != 8 || close(file) != 0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
"""

# 8,000 bytes through buffers of 4,096.
STREAMS = """
  char name[64], data[8001];
  snprintf(name, sizeof name, "text.%d", rank);
  FILE *stream = fopen(name, "w");
  CHECK(stream != NULL && setvbuf(stream, NULL, _IOFBF, 4096) == 0);
  for (int i = 0; i < 1000; ++i) CHECK(fprintf(stream, "%07d\\n", i) == 8);
  CHECK(fclose(stream) == 0);
  CHECK((stream = fopen(name, "r")) != NULL && setvbuf(stream, NULL, _IOFBF, 4096) == 0);
  for (int i = 0; i < 1000; ++i) CHECK(fgets(data, 100, stream) != NULL);
  CHECK(fgets(data, 100, stream) == NULL && fclose(stream) == 0);
  CHECK((stream = fopen(name, "a")) != NULL);
  CHECK(fputs("more", stream) >= 0 && fflush(stream) == 0 && fputc('!', stream) == '!');
  CHECK(fclose(stream) == 0 && (stream = fopen(name, "r+")) != NULL);
  CHECK(fread(data, 1, 8001, stream) == 8001);
  CHECK(fseek(stream, 4, SEEK_SET) == 0 && fwrite("here", 1, 4, stream) == 4);
  CHECK(fclose(stream) == 0);
"""

STREAM_ACTIONS = """
open 0 text.%d wct
write 0 4096
write 0 3904
close 0
open 0 text.%d r
read 0 4096
read 0 3904
close 0
open 0 text.%d wca
write 0 4
write 0 1
close 0
"""

FORTRAN = """\
program files
  use mpi
  implicit none
  integer :: error, rank
  real(8) :: values(1000)
  character(16) :: name
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  write(name, '(a,i3.3)') 'data.', rank
  values = rank
  open(unit=10, file=name, form='unformatted', access='stream', status='replace')
  write(10) values
  close(10)
  call MPI_Finalize(error)
end program
"""

COLLECTIVE = """
  MPI_File file;
  char data[1000] = {0};
  MPI_File_open(MPI_COMM_WORLD, "shared", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_write_at_all(file, 1000 * rank, data, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in the directory of the test, where programs create their files."""
    monkeypatch.chdir(tmp_path)


def _record(program: str, recorder: Recorder, ranks: int = 2) -> Trace:
    return recorder.record(program, ranks=ranks, options="--io posix")


def _of_files(trace: Trace, rank: int) -> list[str]:
    return [call for call in trace.calls(rank) if call not in ("init", "finalize")]


def _bytes_written(trace: Trace, name: str, ranks: int) -> int:
    """Return the number of bytes that all ranks write to the file with that name."""
    written = 0
    for rank in range(ranks):
        handles: dict[str, bool] = {}
        for action, *words in map(str.split, trace.calls(rank)):
            if action == "open":
                handles[words[0]] = words[1].endswith(name)
            elif action in ("write", "pwrite") and handles[words[0]]:
                written += int(words[1])
    return written


SERIES = """
  char name[64];
  for (int step = 0; step < 6; ++step) {
    snprintf(name, sizeof name, "step-%03d", step);
    const int shared = open(name, O_RDWR | O_CREAT, 0644);
    snprintf(name, sizeof name, "rank-%d.step-%d", rank, step);
    const int own = open(name, O_RDWR | O_CREAT, 0644);
    close(own);
    close(shared);
  }
"""


def test_a_number_that_counts_steps_is_not_the_rank(one_recorder: Recorder) -> None:
    trace = _record(SERIES, one_recorder, ranks=4)
    expected = [name for s in range(6) for name in (f"step-{s:03d}", f"rank-%d.step-{s}")]
    for rank in (2, 3):
        calls = [call.split() for call in trace.calls(rank)]
        opened = [call[2] for call in calls if call[0] == "open" and not call[2].startswith("/")]
        assert opened == expected


def test_calls_of_posix(one_recorder: Recorder) -> None:
    trace = _record(CALLS, one_recorder)
    for rank in range(2):
        assert _of_files(trace, rank) == ACTIONS.split("\n")[1:-1]
    assert check(tisim.Trace.open(trace.file)).sound


def test_what_is_no_data_is_left_out(one_recorder: Recorder) -> None:
    trace = _record(LEFT_OUT, one_recorder)
    assert [_of_files(trace, rank) for rank in range(2)] == [[], []]


def test_streams_write_what_their_buffers_do(one_recorder: Recorder) -> None:
    trace = _record(STREAMS, one_recorder)
    expected = STREAM_ACTIONS.split("\n")[1:-1]
    for rank in range(2):
        calls = _of_files(trace, rank)
        assert calls[: len(expected)] == expected
        updated = calls[len(expected) :]
        assert updated[0] == "open 0 text.%d rw"
        assert updated[-2:] == ["write 0 4", "close 0"]
    assert check(tisim.Trace.open(trace.file)).sound


def test_files_of_fortran(one_recorder: Recorder) -> None:
    trace = _record(FORTRAN, one_recorder)
    for rank in range(2):
        calls = _of_files(trace, rank)
        assert any(re.fullmatch(r"open 0 data.%03d rwct?", call) for call in calls), calls
        assert calls[-1] == "close 0"
    assert _bytes_written(trace, "data.%03d", 2) == 2 * 8000


def test_mpi_io_is_recorded_as_what_it_does(one_recorder: Recorder) -> None:
    trace = _record(COLLECTIVE, one_recorder)
    assert _bytes_written(trace, "shared", 2) == 2000
    assert "MPI_File" not in trace.run.stderr


def test_a_file_that_was_there_has_its_length(one_recorder: Recorder, tmp_path: Path) -> None:
    (tmp_path / "input").write_bytes(bytes(100))
    body = """
      char data[100];
      const int file = open("input", O_RDONLY);
      CHECK(read(file, data, 100) == 100);
    """
    trace = _record(body, one_recorder)
    assert _of_files(trace, 0) == ["open 0 input r size=100", "read 0 100"]


def test_a_recording_is_replayed_on_a_disk(one_recorder: Recorder, tmp_path: Path) -> None:
    body = """
      static char data[1 << 20];
      char name[4096];
      snprintf(name, sizeof name, "%s/out.%d", argv[1], rank);
      const int file = open(name, O_CREAT | O_WRONLY, 0644);
      for (int i = 0; i < 4; ++i) CHECK(write(file, data, sizeof data) == sizeof data);
      CHECK(close(file) == 0);
    """
    trace = one_recorder.record(body, str(tmp_path), options="--io posix --speed 1")
    builder = tisim.PlatformBuilder("two hosts with disks")
    with builder.zone("world"):
        for host in "ab":
            builder.host(host, "1Gf", disks={"ssd": ("8MiBps", "4MiBps", "/")})
        builder.link("l", "1Gbps", "1us")
        builder.route("a", "b", ["l"])
    result = tisim.replay(trace.file, platform=builder.build(), hosts=["a", "b"])
    assert result.simulated_time == pytest.approx(1.0, rel=1e-3)


def test_a_recorder_that_is_not_asked_for_files_has_nothing_of_them() -> None:
    without, with_files = recorder_source(), recorder_source(Variant(posix=True))
    assert {*with_files} - {*without} >= {"posix_wrappers.c", "posix.c"}
    assert without.items() <= with_files.items()
    assert "ssize_t tisim_posix_read(" in with_files["posix_wrappers.c"]
