"""Calls of MPI-IO and POSIX say which functions of HDF5 and PnetCDF have made them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import tisim
from tests.unit.record.programs import EXAMPLES, Mpi, compile_program, record_program
from tisim.platform import new
from tisim.traces import check, inspect
from tisim.traces.record.layers import layer_wrappers

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
    return compile_program(EXAMPLES / "hdf5_netcdf.c", directory, OPEN_MPI, *options)


@pytest.mark.parametrize("io", ["mpi", "posix"])
def test_which_function_has_caused_which_bytes(
    io: str, program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trace = record_program(program, tmp_path, OPEN_MPI, options=("--io", io))
    assert check(tisim.Trace.open(trace.file)).sound
    found = {one.function: (one.read, one.written) for one in inspect(trace.file).library_calls}
    field = 4 * 64 * 1024 * 8
    for step in range(2):
        assert found[f"H5Dwrite /density-{step}"] == (0, field)
        assert found[f"H5Dread /density-{step}"] == (field, 0)
    assert found["ncmpi_put_vara_double_all pressure"] == (0, 2 * field)
    assert found["ncmpi_get_vara_double_all pressure"] == (2 * field, 0)
    assert {"H5Fcreate", "H5Fclose", "ncmpi_enddef", "ncmpi_close"} <= found.keys()
    if io == "posix":  # also files of Open MPI itself, in /tmp
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
