"""Sizes of MPI's datatypes, in bytes, by DUMPI's numbers."""

from __future__ import annotations

from tisim.traces.importers.calls import Datatypes

# From MPI_CHAR on, in DUMPI's order, on machines of 64 bits: used where a file lists no sizes.
_FIRST = 2
_SIZES = (1, 1, 1, 1, 4, 2, 2, 4, 4, 8, 8, 4, 8, 16, 8, 8, 8, 1, 0, 0, 8, 12, 12, 6, 8, 20)


def datatypes_of(listed: list[int]) -> Datatypes:
    """The datatypes of a rank.

    Parameters
    ----------
    listed
        The sizes that the file lists, by number; empty: it lists none.
    """
    return Datatypes(dict(enumerate(listed)) or dict(enumerate(_SIZES, _FIRST)))
