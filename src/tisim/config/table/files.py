"""The parameters of collective reads and writes of files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tisim.config.kinds import BYTES, CHOICE, COUNT
from tisim.config.parameter import Record, row

_SECTION: Final = "Files"
_HINTS: Final = ("automatic", "enable", "disable")


@dataclass(frozen=True, slots=True)
class CollectiveFiles(Record):
    """How the ranks of a collective read or write of a file work together."""

    way: str = row(
        "tisim/collective-io",
        CHOICE,
        "independent",
        choices=("independent", "romio", "ompio"),
        section=_SECTION,
        core=False,
        doc="collective reads and writes of files; `independent`: each rank its own part, after a "
        "barrier; `romio`, `ompio`: two-phase I/O as that library does it ([ADR "
        "51](adr/0051-two-phase-io.md))",
    )
    driver: str = row(
        "tisim/collective-io-driver",
        CHOICE,
        "automatic",
        choices=("automatic", "generic", "lustre"),
        section=_SECTION,
        core=False,
        doc="the driver of the MPI library for files on servers; `automatic`: that for Lustre "
        "where files are striped, the generic one elsewhere",
    )
    cb_nodes: int = row(
        "tisim/cb-nodes",
        COUNT,
        "0",
        section=_SECTION,
        core=False,
        doc="aggregators of two-phase I/O; 0: as many as the library takes",
    )
    cb_buffer_size: int = row(
        "tisim/cb-buffer-size",
        BYTES,
        "0",
        section=_SECTION,
        core=False,
        doc="the buffer of an aggregator; 0: 16 MiB of ROMIO, 32 MiB of OMPIO, which uses it in "
        "halves",
    )
    cb_read: str = row(
        "tisim/cb-read",
        CHOICE,
        "automatic",
        choices=_HINTS,
        section=_SECTION,
        core=False,
        doc="two-phase I/O in collective reads: `enable`, `disable`, `automatic`; this is with "
        "ROMIO where the parts of ranks do not follow each other in the order of ranks",
    )
    cb_write: str = row(
        "tisim/cb-write",
        CHOICE,
        "automatic",
        choices=_HINTS,
        section=_SECTION,
        core=False,
        doc="the same in collective writes",
    )
