"""How the recorder writes: compressed while running, merged by the ranks, within limits."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.unit.record.programs import (
    Recorder,
    lines_of,
    tisim_record,
)
from tisim.errors import InputError
from tisim.traces.record.settings import Settings
from tisim.traces.record.source import installed

# A ring of messages; if a second argument is given, their sizes never repeat.
RING = """
  static char sent[1 << 16], received[1 << 16];
  int iterations = atoi(argv[1]);
  unsigned state = 1;
  if (getenv("FILE_LIMIT") != NULL) {
    struct rlimit limit = {(rlim_t)atoi(getenv("FILE_LIMIT")), RLIM_INFINITY};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  for (int i = 0; i < iterations; ++i) {
    int bytes = 64;
    state = state * 1103515245u + 12345u;
    if (argc > 2) bytes = (int)(state >> 16);
    MPI_Sendrecv(sent, bytes, MPI_CHAR, (rank + 1) % size, 0, received, sizeof received, MPI_CHAR,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Finalize();
  if (rank == 0) puts("the program is done");
  return 0;
"""


# Messages of random sizes, which exceed the limits of two of these tests.
MANY = ("6000", "random")


def with_library(
    recorder: Recorder, *command: str | Path, **more: Any
) -> subprocess.CompletedProcess[str]:
    """Run ranks without Python; their recorder compresses its output."""
    more.setdefault("parts", recorder.directory / "parts")
    library = str(installed("libtisim_trace.so"))
    return recorder.preload(*command, TISIM_RECORD_LIBRARY=library, **more)


def calls_of(trace: Path) -> list[list[str]]:
    """Return the lines of each rank without computations, whose volumes differ between runs."""
    return [[line for line in own if "compute" not in line] for own in lines_of(trace)]


# Each process sees its own directory there, as on hosts without a shared file system.
OWN_HOST = """#!/bin/sh
exec unshare --mount sh -c 'mount -t tmpfs none "$1"; shift; exec "$@"' sh {room} {program} 20
"""


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None, reason="needs root and unshare"
)
def test_hosts_need_not_share_a_directory(one_recorder: Recorder, tmp_path: Path) -> None:
    ring = one_recorder.compile(RING)
    room, script = tmp_path / "room", tmp_path / "host.sh"
    room.mkdir()
    script.write_text(OWN_HOST.format(room=room, program=ring))
    script.chmod(0o755)
    gather = f"--gather {room}"
    gathered = one_recorder.record(script, ranks=3, options=gather)
    assert list(room.iterdir()) == []
    here = one_recorder.record(ring, "20", ranks=3, options=gather)
    assert list(room.iterdir()) == []  # shared by the ranks of a host
    for rank in range(3):
        assert gathered.calls(rank) == here.calls(rank) != []


def test_the_ranks_merge_their_parts(recorder: Recorder, tmp_path: Path) -> None:
    """Without Python, even if their number is not a power of two."""
    output = tmp_path / "merged.tit"
    ring = recorder.compile(RING)
    run = with_library(recorder, ring, "20", ranks=5, TISIM_RECORD_OUTPUT=str(output))
    assert (run.returncode, run.stderr) == (0, "")
    assert [*(tmp_path / "parts").iterdir()] == []
    lines = calls_of(output)
    for rank, own in enumerate(lines):
        calls = [line for line in own if line[0] != "#"]
        assert len(calls) == 2 + 3 * 20
        assert calls[1] == f"{rank} isend {(rank + 1) % 5} 0 64 request=0"


# Rank 0 cannot allocate large blocks while the ranks merge their parts.
WITHOUT_MEMORY = """
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
static int is_merging;
void* calloc(size_t count, size_t size) {
  if (is_merging && size > 16384) return NULL;
  void* const memory = malloc(count * size);
  return memory == NULL ? NULL : memset(memory, 0, count * size);
}
int main(int argc, char** argv) {
  static char sent[1 << 16], received[1 << 16];
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 3000; ++i) {
    MPI_Sendrecv(sent, rand() & 65535, MPI_CHAR, 1 - rank, 0, received, sizeof received, MPI_CHAR,
                 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  is_merging = rank == 0;
  MPI_Finalize();
  return 0;
}
"""


def test_a_rank_without_memory_leaves_the_merge_to_the_command(
    recorder: Recorder, tmp_path: Path
) -> None:
    output = tmp_path / "merged.tit"
    program = recorder.compile(WITHOUT_MEMORY)
    run = with_library(recorder, program, TISIM_RECORD_OUTPUT=str(output))
    assert run.returncode == 0, run.stderr
    assert "the ranks could not merge their parts" in run.stderr
    assert not output.exists()
    assert len([*(tmp_path / "parts").iterdir()]) == 2


def test_parts_of_text_have_the_same_calls(one_recorder: Recorder, tmp_path: Path) -> None:
    """The recorder writes text if the trace library cannot be loaded."""
    ring, parts = one_recorder.compile(RING), tmp_path / "parts"
    run = one_recorder.preload(ring, "20", parts=parts, ranks=5, TISIM_RECORD_LIBRARY="/no/such")
    assert run.returncode == 0
    assert "this rank writes text" in run.stderr
    packed = tisim_record("-o", tmp_path / "text.tit", "--pack", parts)
    assert packed.returncode == 0, packed.stderr
    trace = one_recorder.record(ring, "20", ranks=5)
    assert calls_of(tmp_path / "text.tit") == calls_of(trace.file)


def test_a_file_that_may_not_grow_stops_the_recording_only(
    one_recorder: Recorder, tmp_path: Path
) -> None:
    run = with_library(
        *(one_recorder, one_recorder.compile(RING), *MANY),
        FILE_LIMIT="16384",
        TISIM_RECORD_MEMORY="65536",
    )
    assert run.returncode == 0, run.stderr
    assert "the program is done" in run.stdout
    assert run.stderr.count("File too large; this rank is no longer recorded") == 2
    packed = tisim_record("-o", tmp_path / "cut.tit", "--pack", tmp_path / "parts")
    assert "rank 0, 1 did not reach MPI_Finalize" in packed.stderr
    lines = calls_of(tmp_path / "cut.tit")
    # The number of calls in 16 kB depends on how much the measured volumes vary: 400 on a loaded
    # machine, a few thousand on an idle one.
    calls = [sum(line[0] != "#" for line in own) for own in lines]
    assert min(calls) > 50


# Runs a command with a small file system of its own, and keeps the files in it.
SMALL_DISK = """
mount -t tmpfs -o size="$1" none "$2" || exit 77
"${@:4}"
status=$?
cp "$2"/* "$3"
exit $status
"""


@pytest.mark.parametrize(("size", "compressed"), [("64k", True), ("1m", False)])
def test_a_full_disk_stops_the_recording_only(
    size: str, compressed: bool, one_recorder: Recorder, tmp_path: Path
) -> None:
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not installed")
    parts, kept = tmp_path / "parts", tmp_path / "kept"
    kept.mkdir()
    run = (with_library if compressed else Recorder.preload)(
        *(one_recorder, one_recorder.compile(RING), "20000", "random"),
        under=("unshare", "--mount", "bash", "-c", SMALL_DISK, "bash", size, parts, kept),
        parts=parts,
        TISIM_RECORD_MEMORY="65536",
    )
    if run.returncode in (1, 77) and "the program is done" not in run.stdout:
        pytest.skip("no file system may be mounted here")
    assert run.returncode == 0, run.stderr
    assert "the program is done" in run.stdout
    assert "No space left on device; this rank is no longer recorded" in run.stderr
    packed = tisim_record("-o", tmp_path / "cut.tit", "--pack", kept)
    assert packed.returncode == 0, packed.stderr
    assert "the trace is incomplete" in packed.stderr


def test_a_recording_of_limited_size(one_recorder: Recorder, tmp_path: Path) -> None:
    limits = {"TISIM_RECORD_MEMORY": "65536", "TISIM_RECORD_MAX_SIZE": "20000"}
    run = with_library(one_recorder, one_recorder.compile(RING), *MANY, **limits)
    assert run.returncode == 0
    assert run.stderr.count("it has its greatest size; this rank is no longer recorded") == 2
    for part in (tmp_path / "parts").iterdir():
        assert part.stat().st_size > 10_000


def test_some_ranks_are_recorded(one_recorder: Recorder, tmp_path: Path) -> None:
    ring = one_recorder.compile(RING)
    run = one_recorder.run(*one_recorder.launched(ring, "20", ranks=5), options="--ranks 0-1,3")
    assert run.returncode == 0, run.stderr
    lines = calls_of(tmp_path / "trace.tit")
    assert [bool(own) for own in lines] == [True, True, False, True, False]
    assert lines[0][0] == "# incomplete: ranks 2, 4"


@pytest.mark.parametrize("text", ["", "a", "3-", "3-1", "1,,2", "-2"])
def test_lists_of_ranks_that_are_none(text: str) -> None:
    with pytest.raises(InputError, match="rank"):
        Settings(ranks=text)


def test_limits_of_the_wrong_size() -> None:
    with pytest.raises(InputError, match="between 65,536 and 67,108,864 bytes, not 1"):
        Settings(memory=1)
    with pytest.raises(InputError, match="cannot be recorded"):
        Settings(max_size=-1)
    assert not {
        name for name in Settings().variables() if name.endswith(("MEMORY", "SIZE", "RANKS"))
    }
