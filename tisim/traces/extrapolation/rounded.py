"""Packing traces of irregular programs less exactly: sizes, and iterations of loops."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tisim.errors import InputError
from tisim.traces import pack
from tisim.traces.extrapolation.rounded_loops import write_rounded_loops
from tisim.traces.extrapolation.rounded_sizes import write_rounded_sizes
from tisim.traces.packed_program import PackedTrace

#: How exactly sizes and iterations can be kept.
LEVELS = ("exact", "5e-2", "mean")


def pack_rounded(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    sizes: str = "exact",
    iterations: str = "exact",
    volumes: str = "exact",
    dialect: str = "auto",
) -> int:
    """Pack a trace with other sizes of messages, or other numbers of iterations.

    Parameters
    ----------
    source
        A trace in any form that `tisim.traces.pack` takes.
    output
        The packed file to write.
    sizes
        ``"exact"``, ``"5e-2"``, to this relative error each, or ``"mean"``: of all messages with
        one tag, or of all counts of one collective.
    iterations
        The same of how often loops are repeated; ``"mean"``: of all that repeat the same.
    volumes, dialect
        As for `tisim.traces.pack`.

    Returns
    -------
    int
        The bytes of the text, or of the packed file that was `source`.

    Raises
    ------
    InputError
        When the trace cannot be read or written, or is of the legacy dialect, or when ranks differ
        in their iterations so that they would no longer fit to each other.
    """
    with tempfile.TemporaryDirectory(prefix="tisim-pack-") as directory:
        packed = Path(directory, "packed.tit")
        nbytes = pack(source, packed, dialect=dialect)
        if PackedTrace(packed).legacy:
            option = "--iterations" if sizes == "exact" else "--sizes"
            raise InputError(f"{option} takes traces of the modern dialect only")
        for level, write in ((sizes, write_rounded_sizes), (iterations, write_rounded_loops)):
            if level != "exact":
                rounded = packed.with_name(f"{write.__name__}.tit")
                write(packed, rounded, level)
                packed = rounded
        pack(packed, output, volumes=volumes)
    return nbytes
