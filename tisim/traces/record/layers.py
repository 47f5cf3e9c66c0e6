"""The wrappers of the HDF5, netCDF and PnetCDF functions that read and write."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

_HEADER = """\
/* Written by tisim from its list of functions of I/O libraries. */
#include "layers.h"
#include "state.h"

"""
_HDF5 = [
    "H5Fcreate",
    "H5Fopen",
    "H5Fflush",
    "H5Fclose",
    "H5close",
    "H5Gcreate1",
    "H5Gcreate2",
    "H5Gopen1",
    "H5Gopen2",
    "H5Gclose",
    "H5Acreate1",
    "H5Acreate2",
    "H5Aread",
    "H5Awrite",
    "H5Aclose",
    "H5Dcreate1",
    "H5Dcreate2",
    "H5Dopen1",
    "H5Dopen2",
]
#: Functions whose first argument is a data set.
_HDF5_DATA = [
    "H5Dset_extent",
    "H5Dread",
    "H5Dwrite",
    "H5Dread_chunk",
    "H5Dwrite_chunk",
    "H5Dflush",
    "H5Dclose",
]
_NETCDF = ["create", "create_par", "open", "open_par", "redef", "enddef", "sync", "close"]
_PNETCDF = [
    "create",
    "open",
    "redef",
    "enddef",
    "sync",
    "sync_numrecs",
    "flush",
    "close",
    "wait",
    "wait_all",
]
_TYPES = [
    "text",
    "schar",
    "uchar",
    "ubyte",
    "short",
    "ushort",
    "int",
    "uint",
    "long",
    "float",
    "double",
    "longlong",
    "ulonglong",
    "string",
]


def layer_wrappers() -> str:
    """Return a C source that defines each function in front of the library's."""
    return _HEADER + "".join(f"TISIM_LAYER({name}, {finder})\n" for name, finder in _functions())


def _functions() -> Iterator[tuple[str, str]]:
    """Yield each function and the C function that finds the name of its data."""
    for name in _HDF5:
        yield name, "NULL"
    for name in _HDF5_DATA:
        yield name, "tisim_name_in_hdf5"
    yield from ((f"nc_{name}", "NULL") for name in _NETCDF)
    yield from ((f"ncmpi_{name}", "NULL") for name in _PNETCDF)
    for move, part, kind in product(("put", "get"), "01asmn", ["", *(f"_{t}" for t in _TYPES)]):
        name = f"{move}_var{part.strip('0')}{kind}"
        if part != "n":
            yield f"nc_{name}", "tisim_name_in_netcdf"
        for together in ("", "_all"):
            yield f"ncmpi_{name}{together}", "tisim_name_in_pnetcdf"
