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
    ds_read: str = row(
        "tisim/ds-read",
        CHOICE,
        "automatic",
        choices=_HINTS,
        section=_SECTION,
        core=False,
        doc="data sieving in a rank's own reads of parts with holes, which views leave: `enable`, "
        "`disable`, `automatic`; this is with `romio`",
    )
    ds_write: str = row(
        "tisim/ds-write",
        CHOICE,
        "automatic",
        choices=_HINTS,
        section=_SECTION,
        core=False,
        doc="the same in writes, of which each buffer is locked, read and written",
    )
    ind_rd_buffer_size: int = row(
        "tisim/ind-rd-buffer-size",
        BYTES,
        "4MiB",
        section=_SECTION,
        core=False,
        doc="the buffer of data sieving in reads",
    )
    ind_wr_buffer_size: int = row(
        "tisim/ind-wr-buffer-size",
        BYTES,
        "512KiB",
        section=_SECTION,
        core=False,
        doc="the same in writes",
    )

    def model_fields(self) -> dict[str, int]:
        """The core's fields, which depend on several options."""

        def sieve(hint: str, size: int) -> int:
            sieves = hint == "enable" or (hint == "automatic" and self.way == "romio")
            return size if sieves else 0

        return {
            "two_phase": self.way != "independent",
            "overlaps_splits": self.way == "ompio",
            "sieve_reads": sieve(self.ds_read, self.ind_rd_buffer_size),
            "sieve_writes": sieve(self.ds_write, self.ind_wr_buffer_size),
        }
