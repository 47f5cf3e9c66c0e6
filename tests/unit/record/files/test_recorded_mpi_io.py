"""Recording MPI-IO calls, and the HDF5 and PnetCDF functions that make them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

import tisim
from tests.unit.record.programs import (
    EXAMPLES,
    Mpi,
    Recorder,
    Trace,
)
from tisim.platform import new
from tisim.traces import check, inspect
from tisim.traces.calls_with_arguments import calls_with_arguments
from tisim.traces.record.layers import layer_wrappers

# Every blocking call, without a view.
CALLS = """
  MPI_File file;
  MPI_Status status;
  char data[1000] = {0};
  CHECK(MPI_File_open(MPI_COMM_WORLD, "shared.0", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                      &file) == MPI_SUCCESS);
  MPI_File_preallocate(file, 4000);
  MPI_File_write_at_all(file, 1000 * rank, data, 1000, MPI_BYTE, &status);
  MPI_File_write_at(file, 2000 + 100 * rank, data, 25, MPI_INT, &status);
  MPI_File_seek(file, 500, MPI_SEEK_SET);
  MPI_File_read(file, data, 100, MPI_BYTE, &status);
  MPI_File_read_all(file, data, 100, MPI_BYTE, &status);
  MPI_File_sync(file);
  MPI_File_read_at(file, 3990, data, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_read_at_all(file, 10, data, 20, MPI_BYTE, &status);
  MPI_File_write(file, data, 10, MPI_BYTE, &status);
  MPI_File_write_all(file, data, 10, MPI_BYTE, &status);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_set_size(file, 3000);
  MPI_File_close(&file);
"""

ACTIONS = """
file_open 0 shared.0 rwc
file_preallocate 0 4000
file_write_at_all 0 1000 {first}
file_write_at 0 100 {second}
file_seek 0 500
file_read 0 100
file_read_all 0 100
file_sync 0
file_read_at 0 10 3990
file_read_at_all 0 20 10
file_write 0 10
file_write_all 0 10
barrier
file_set_size 0 3000
file_close 0
"""

SHARED = """
  MPI_File file;
  char data[100] = {0};
  CHECK(MPI_File_open(MPI_COMM_WORLD, "shared", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                      &file) == MPI_SUCCESS);
  MPI_File_write_shared(file, data, 50, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_write_ordered(file, data, 10, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_seek_shared(file, 8, MPI_SEEK_SET);
  MPI_File_read_ordered(file, data, 5, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_read_shared(file, data, 5, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
"""

# Blocks of 4 integers, distributed cyclically.
VIEW = """
  MPI_File file;
  MPI_Datatype blocks;
  int data[12] = {0};
  CHECK(MPI_File_open(MPI_COMM_WORLD, "blocks", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                      &file) == MPI_SUCCESS);
  MPI_Type_create_resized(MPI_INT, 0, 4, &blocks);
  MPI_Type_vector(1, 4, 1, MPI_INT, &blocks);
  MPI_Type_create_resized(blocks, 0, 32, &blocks);
  MPI_Type_commit(&blocks);
  MPI_File_set_view(file, 100 + 16 * rank, MPI_INT, blocks, "native", MPI_INFO_NULL);
  MPI_File_write_all(file, data, 4, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_write_all(file, data, 8, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_write_at_all(file, 5, data, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in the directory of the test, where programs create their files."""
    monkeypatch.chdir(tmp_path)


def _record(body: str, recorder: Recorder, io: str = "mpi") -> Trace:
    return recorder.record(body, options=f"--io {io}")


def _of_files(trace: Trace, rank: int) -> list[str]:
    return [call for call in trace.calls(rank) if call not in ("init", "finalize")]


def test_calls_of_mpi_io(one_recorder: Recorder) -> None:
    trace = _record(CALLS, one_recorder)
    for rank in range(2):
        expected = ACTIONS.format(first=1000 * rank, second=2000 + 100 * rank).split("\n")[1:-1]
        assert _of_files(trace, rank) == expected
    assert check(tisim.Trace.open(trace.file)).sound


# Also an MPI-IO request together with that of a message, and a file that the program itself opens.
LAYERS = """
  char data[1000];
  int got = 0;
  MPI_File file;
  MPI_Offset length;
  MPI_Request requests[2];
  MPI_File_open(MPI_COMM_WORLD, "shared", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_write_at_all(file, 1000 * rank, data, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
  MPI_File_iwrite_at(file, 2000 + 1000 * rank, data, 1000, MPI_BYTE, &requests[0]);
  MPI_Irecv(&got, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &requests[1]);
  MPI_Send(&rank, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_File_iread_at(file, 0, data, 1000, MPI_BYTE, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_File_get_size(file, &length);
  MPI_File_close(&file);
  const int own = open("own", O_CREAT | O_WRONLY, 0644);
  if (write(own, data, 10) != 10 || close(own) != 0) return 1;
"""


def _of_layer(calls: Sequence[str], layer: str) -> list[str]:
    """Return the calls that a replay of this layer makes, without the layer attribute."""
    apart = (call.partition(" layer=") for call in calls)
    return [call for call, _, of in apart if of in ("", layer)]


def _handles_by_use(calls: Sequence[str]) -> list[str]:
    """Number file handles in order of use, since two layers have more open files than one."""
    numbers: dict[str, str] = {}
    renamed = []
    for action, *words in map(str.split, calls):
        if action in ("open", "write", "pwrite", "read", "pread", "lseek", "close"):
            words[0] = numbers.setdefault(words[0], str(len(numbers)))
        renamed.append(" ".join((action, *words)))
    return renamed


def test_both_layers_are_those_of_recordings_of_one(
    one_recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    traces = {}
    for io in ("mpi", "posix", "both"):
        inside = one_recorder.within(io)
        monkeypatch.chdir(inside.directory)
        traces[io] = _record(LAYERS, inside, io)
    for rank in range(2):
        both = _of_files(traces["both"], rank)
        upper = [call for call in both if call.endswith("layer=mpi")]
        assert [call.partition(" ")[0] for call in upper] == [
            *("file_open", "file_write_at_all", "file_iwrite_at", "waitall", "file_iread_at"),
            *("wait", "file_close"),
        ]
        assert any(call.startswith("pwrite") for call in _of_layer(both, "posix"))
        own = ("open", "write", "close")
        lower = _of_layer(both, "posix")
        assert [call.split()[0] for call in lower[-3:]] == list(own)
        assert len(_of_layer(both, "mpi")) == len(_of_files(traces["mpi"], rank)) + len(own)
        if one_recorder.mpi.name == "MPICH":  # Open MPI creates files with random names
            expected = _of_files(traces["posix"], rank)
            assert _handles_by_use(lower) == _handles_by_use(expected)
    trace = tisim.Trace.open(traces["both"].file)
    assert check(trace).sound
    platform = new.cluster(
        2, bandwidth="1Gbps", latency="1us", speed="1Gf", disk="read=2MBps,write=1MBps,mount=/"
    )
    layers = {
        layer: tisim.replay(
            trace, platform=platform, config=tisim.Config({"tisim/io-layer": layer})
        ).simulated_time
        for layer in ("mpi", "posix")
    }
    assert layers["mpi"] > layers["posix"] > 0.001  # no iwrite in the POSIX layer


def test_the_position_that_ranks_share(one_recorder: Recorder) -> None:
    trace = _record(SHARED, one_recorder)
    for rank in range(2):
        assert _of_files(trace, rank) == [
            *("file_open 0 shared rwc", "file_write_shared 0 50", "file_write_ordered 0 10"),
            *("file_seek_shared 0 8", "file_read_ordered 0 5", "file_read_shared 0 5"),
            "file_close 0",
        ]


def test_offsets_of_views_are_bytes_that_they_show(one_recorder: Recorder) -> None:
    trace = _record(VIEW, one_recorder)
    for rank in range(2):
        assert _of_files(trace, rank) == [
            *("file_open 0 blocks rwc", f"file_set_view 0 {100 + 16 * rank} 16 32"),
            *("file_write_all 0 16", "file_write_all 0 32", "file_write_at_all 0 4 20"),
            "file_close 0",
        ]


# Views of all kinds of types; the last one is contiguous and resets the view.
VIEWS = """
  MPI_File file;
  MPI_Datatype type, part;
  int data[64] = {0};
  CHECK(MPI_File_open(MPI_COMM_WORLD, "views", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                      &file) == MPI_SUCCESS);
  #define VIEW(displacement, etype)                                                            \
    MPI_Type_commit(&type);                                                                    \
    MPI_File_set_view(file, displacement, etype, type, "native", MPI_INFO_NULL);               \
    MPI_Type_free(&type);                                                                      \
    MPI_File_seek(file, 1, MPI_SEEK_SET);                                                      \
    MPI_File_write(file, data, 3, etype, MPI_STATUS_IGNORE);
  MPI_Type_vector(3, 2, 5, MPI_INT, &type);
  VIEW(8, MPI_INT)
  int sizes[] = {4, 6, 5}, parts[] = {2, 3, 2}, starts[] = {1, 2, 3};
  MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
  VIEW(0, MPI_DOUBLE)
  MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_INT, &type);
  VIEW(0, MPI_INT)
  int lengths[] = {2, 2, 2}, places[] = {1, 4, 7};
  MPI_Type_indexed(3, lengths, places, MPI_INT, &type);
  VIEW(0, MPI_INT)
  MPI_Type_contiguous(4, MPI_INT, &part);
  MPI_Type_create_resized(part, 0, 64, &type);
  MPI_Type_free(&part);
  VIEW(4, MPI_INT)
  MPI_Type_contiguous(4, MPI_INT, &type);
  VIEW(16, MPI_INT)
  MPI_File_close(&file);
"""


def test_views_are_blocks_at_distances(one_recorder: Recorder) -> None:
    trace = _record(VIEWS, one_recorder)
    views = [
        ("8 8 3 20 48", 4),
        (f"{8 * (30 + 10 + 3)} 16 3 40 2 240 960", 8),
        ("36 8 3 16 96", 4),
        ("4 8 3 12 32", 4),
        ("4 16 64", 4),
    ]
    expected = ["file_open 0 views rwc"]
    for numbers, unit in views:
        expected += [f"file_set_view 0 {numbers}", f"file_seek 0 {unit}"]
        expected.append(f"file_write 0 {3 * unit}")
    expected += ["file_set_view 0", "file_seek 0 20", "file_write 0 12", "file_close 0"]
    assert _of_files(trace, 0) == expected


def test_irregular_views_are_counted(one_recorder: Recorder) -> None:
    trace = _record(VIEWS.replace("{1, 4, 7}", "{1, 4, 8}"), one_recorder)
    assert "warning: 2 calls to MPI_File_set_view are not in the trace" in trace.run.stderr


def test_files_of_parts_of_the_ranks(one_recorder: Recorder) -> None:
    body = """
      MPI_Comm part;
      MPI_File file;
      char name[32], data[8] = {0};
      MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &part);
      snprintf(name, sizeof name, "part.%d", rank);
      MPI_File_open(part, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
      MPI_File_write_all(file, data, 8, MPI_BYTE, MPI_STATUS_IGNORE);
      MPI_File_close(&file);
      CHECK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == 0);
      MPI_File_read_all(file, data, 8, MPI_BYTE, MPI_STATUS_IGNORE);
      MPI_File_close(&file);
    """
    trace = _record(body, one_recorder)
    for rank in range(2):
        calls = _of_files(trace, rank)
        assert calls[0].startswith("comm_split 0 1 ")
        assert calls[1:] == [
            *("file_open 0 part.%d wc comm=1", "file_write_all 0 8 comm=1", "file_close 0 comm=1"),
            *("open 0 part.%d r size=8", "file_read 0 8", "close 0"),
        ]


# The second of two pending writes is waited for first.
STARTED = """
  MPI_File file;
  MPI_Request requests[2];
  char data[64] = {0};
  CHECK(MPI_File_open(MPI_COMM_WORLD, "later", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                      &file) == MPI_SUCCESS);
  CHECK(MPI_File_iwrite_at(file, 64 * rank, data, 8, MPI_BYTE, &requests[0]) == MPI_SUCCESS);
  MPI_File_seek(file, 64 * rank + 8, MPI_SEEK_SET);
  CHECK(MPI_File_iwrite(file, data, 2, MPI_INT, &requests[1]) == MPI_SUCCESS);
  MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_File_sync(file);
  MPI_File_iread_at(file, 64 * rank, data, 4, MPI_BYTE, &requests[0]);
  MPI_File_iwrite_shared(file, data + 32, 1, MPI_BYTE, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_File_iwrite_at_all(file, 64 * rank + 32, data, 8, MPI_BYTE, &requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_File_close(&file);
"""


def test_calls_that_do_not_block(one_recorder: Recorder) -> None:
    trace = _record(STARTED, one_recorder)
    for rank in range(2):
        first = 64 * rank
        assert _of_files(trace, rank) == [
            "file_open 0 later rwc",
            f"file_iwrite_at 0 8 {first} request=0",
            f"file_seek 0 {first + 8}",
            *("file_iwrite 0 8 request=1", "wait request=1", "wait request=0", "file_sync 0"),
            f"file_iread_at 0 4 {first} request=0",
            *("file_iwrite_shared 0 1 request=1", "waitall requests=0,1"),
            f"file_iwrite_at_all 0 8 {first + 32} request=0",
            *("wait request=0", "file_close 0"),
        ]
    assert check(tisim.Trace.open(trace.file)).sound


# All split collective calls, and one on a file of a single rank.
STEPS = """
  MPI_File file;
  MPI_Status status;
  char data[64] = {0};
  char name[32];
  CHECK(MPI_File_open(MPI_COMM_WORLD, "later", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                      &file) == MPI_SUCCESS);
  MPI_File_write_at_all_begin(file, 8 * rank, data, 8, MPI_BYTE);
  MPI_File_write_at_all_end(file, data, &status);
  MPI_File_write_all_begin(file, data, 2, MPI_INT);
  MPI_File_write_all_end(file, data, MPI_STATUS_IGNORE);
  MPI_File_write_ordered_begin(file, data, 8, MPI_BYTE);
  MPI_File_write_ordered_end(file, data, &status);
  MPI_File_seek(file, 0, MPI_SEEK_SET);
  MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
  MPI_File_read_at_all_begin(file, 8 * rank, data, 8, MPI_BYTE);
  MPI_File_read_at_all_end(file, data, &status);
  MPI_File_read_all_begin(file, data, 8, MPI_BYTE);
  MPI_File_read_all_end(file, data, &status);
  MPI_File_read_ordered_begin(file, data, 8, MPI_BYTE);
  MPI_File_read_ordered_end(file, data, &status);
  MPI_File_close(&file);
  snprintf(name, sizeof name, "alone.%d", rank);
  MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  MPI_File_write_all_begin(file, data, 8, MPI_BYTE);
  MPI_File_write_all_end(file, data, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
"""


def test_calls_in_two_steps(one_recorder: Recorder) -> None:
    trace = _record(STEPS, one_recorder)
    for rank in range(2):
        assert _of_files(trace, rank) == [
            *("file_open 0 later rwc", f"file_write_at_all_begin 0 8 {8 * rank}"),
            *("file_write_at_all_end 0", "file_write_all_begin 0 8", "file_write_all_end 0"),
            *("file_write_ordered_begin 0 8", "file_write_ordered_end 0", "file_seek_shared 0 0"),
            *(f"file_read_at_all_begin 0 8 {8 * rank}", "file_read_at_all_end 0", "file_seek 0 0"),
            *("file_read_all_begin 0 8", "file_read_all_end 0"),
            *("file_read_ordered_begin 0 8", "file_read_ordered_end 0", "file_close 0"),
            *("open 0 alone.%d wc", "file_write 0 8", "close 0"),
        ]
    assert check(tisim.Trace.open(trace.file)).sound


def test_without_being_asked_for_files_are_counted(recorder: Recorder) -> None:
    trace = _record(SHARED, recorder, "none")
    assert "warning: 2 calls to MPI_File_write_shared are not in the trace" in trace.run.stderr
    assert _of_files(trace, 1) == []


# Like CALLS. Handles of `use mpi_f08` are derived types; strings are padded.
FORTRAN = """program files
  MODULE
  HANDLE(MPI_File) :: file
  HANDLE(MPI_Status) :: status STATUS
  character(len=100) :: name, representation
  character(len=1000) :: bytes
  integer :: rank, error, numbers(250)
  name = "shared.0"; representation = "native"; bytes = " "; numbers = 0
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE + MPI_MODE_RDWR, MPI_INFO_NULL, &
    file, error)
  call MPI_File_preallocate(file, 4000_MPI_OFFSET_KIND, error)
  call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_BYTE, MPI_BYTE, representation, &
    MPI_INFO_NULL, error)
  call MPI_File_write_at_all(file, int(1000 * rank, MPI_OFFSET_KIND), bytes, 1000, MPI_BYTE, &
    status, error)
  call MPI_File_write_at(file, int(2000 + 100 * rank, MPI_OFFSET_KIND), numbers, 25, MPI_INTEGER, &
    status, error)
  call MPI_File_seek(file, 500_MPI_OFFSET_KIND, MPI_SEEK_SET, error)
  call MPI_File_read(file, bytes, 100, MPI_BYTE, status, error)
  call MPI_File_read_all(file, bytes, 100, MPI_BYTE, status, error)
  call MPI_File_sync(file, error)
  call MPI_File_read_at(file, 3990_MPI_OFFSET_KIND, bytes, 1000, MPI_BYTE, MPI_STATUS_IGNORE, &
    error)
  call MPI_File_read_at_all(file, 10_MPI_OFFSET_KIND, bytes, 20, MPI_BYTE, status, error)
  call MPI_File_write(file, bytes, 10, MPI_BYTE, status, error)
  call MPI_File_write_all(file, bytes, 10, MPI_BYTE, status, error)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call MPI_File_set_size(file, 3000_MPI_OFFSET_KIND, error)
  call MPI_File_close(file, error)
  call MPI_Finalize(error)
end program
"""


@pytest.mark.parametrize("module", ["include 'mpif.h'", "use mpi", "use mpi_f08"])
def test_calls_from_fortran(module: str, recorder: Recorder) -> None:
    has_types = module == "use mpi_f08"
    text = re.sub(r"HANDLE\((\w+)\)", r"type(\1)" if has_types else "integer", FORTRAN)
    text = text.replace("status STATUS", "status" if has_types else "status(MPI_STATUS_SIZE)")
    program = recorder.compile(text.replace("MODULE", module), "-fallow-argument-mismatch")
    trace = recorder.record(program, options="--io mpi --arguments all")
    for rank in range(2):
        expected = ACTIONS.format(first=1000 * rank, second=2000 + 100 * rank).split("\n")[1:-1]
        expected.insert(2, "file_set_view 0")
        assert trace.calls(rank)[1:-1] == expected
    texts = [text for rank, text in calls_with_arguments(trace.file) if rank == 1]
    opened = 'MPI_File_open(comm=MPI_COMM_WORLD, filename="shared.0", amode=9, '
    assert f"{opened}info=MPI_INFO_NULL, file=0)" in texts
    assert "MPI_File_seek(file=0, offset=500, whence=600)" in texts


HDF5 = Path("/usr/include/hdf5/openmpi")
OPEN_MPI = Mpi("Open MPI", ".openmpi")
LIBRARIES = Path("/usr/lib/x86_64-linux-gnu/hdf5/openmpi")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    has_pnetcdf = Path("/usr/include/pnetcdf.h").is_file()
    if shutil.which("mpicc.openmpi") is None or not HDF5.is_dir() or not has_pnetcdf:
        pytest.skip("Open MPI, libhdf5-openmpi-dev or libpnetcdf-dev is not installed")
    options = (f"-I{HDF5}", f"-L{LIBRARIES}", "-Wl,--no-as-needed", "-lhdf5", "-lpnetcdf")
    directory = tmp_path_factory.mktemp("program")
    return Recorder(OPEN_MPI, directory).compile(EXAMPLES / "hdf5_netcdf.c", *options)


@pytest.mark.parametrize("io", ["mpi", "posix"])
def test_which_function_has_caused_which_bytes(
    io: str, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trace = Recorder(OPEN_MPI, tmp_path).record(program, ranks=4, options=f"--io {io}")
    assert check(tisim.Trace.open(trace.file)).sound
    found = {call.function: (call.read, call.written) for call in inspect(trace.file).library_calls}
    field = 4 * 64 * 1024 * 8
    for step in range(2):
        assert found[f"H5Dwrite /density-{step}"] == (0, field)
        assert found[f"H5Dread /density-{step}"] == (field, 0)
    assert found["ncmpi_put_vara_double_all pressure"] == (0, 2 * field)
    assert found["ncmpi_get_vara_double_all pressure"] == (2 * field, 0)
    assert {"H5Fcreate", "H5Fclose", "ncmpi_enddef", "ncmpi_close"} <= found.keys()
    if io == "posix":  # includes files of Open MPI itself, in /tmp
        return
    platform = new.cluster(
        4, bandwidth="1Gbps", latency="1us", speed="1Gf", disk="read=2GBps,write=1GBps"
    )
    assert tisim.replay(trace.file, platform=platform).simulated_time > field / 1e9


def test_the_wrappers_name_each_function_once() -> None:
    names = [line for line in layer_wrappers().splitlines() if line.startswith("TISIM_LAYER(")]
    assert len(names) == len(set(names)) > 400
    assert "TISIM_LAYER(ncmpi_put_varn_float_all, tisim_name_in_pnetcdf)" in names
    assert "TISIM_LAYER(nc_get_vara, tisim_name_in_netcdf)" in names
