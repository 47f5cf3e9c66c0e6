"""The parameters of computations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tisim.config.kinds import COUNT, FLAG, TEXT
from tisim.config.parameter import Record, row

_SECTION: Final = "Processors"


@dataclass(frozen=True, slots=True)
class CpuModel(Record):
    """How computations progress on a host of c cores of s flop/s.

    Each runs at s at most; all together at c * s, max-min fairly (SimGrid 3.32,
    ``cpu_cas01.cpp``).
    """

    simulate_computation: bool = row(
        "smpi/simulate-computation",
        FLAG,
        "yes",
        section=_SECTION,
        doc="no: `compute` lines take no time; the flops of reductions do",
    )
    adjustment_file: str = row(
        "smpi/comp-adjustment-file",
        TEXT,
        "",
        section=_SECTION,
        core=False,
        doc="computations between two calls are divided by a factor, where `location` lines name "
        'the calls. The file has a header line, then lines such as `"a.c:30:b.c:130",1.2`; source '
        "files with or without their directories",
    )
    volume_seed: int = row(
        "tisim/volume-seed",
        COUNT,
        "0",
        section=_SECTION,
        core=False,
        doc="draws the fitted volumes of an extrapolated trace from what their fits leave open; 0: "
        "they are as the trace says. `tisim replay --uncertainty N` sets it",
    )
