"""The parameters that choose the algorithms of collective operations."""

from __future__ import annotations

from typing import Final

from tisim.config.kinds import TEXT, Value
from tisim.config.parameter import Parameter

_SECTION: Final = "Collective operations"

#: The operations whose algorithm an option ``smpi/<operation>`` chooses.
_OPERATIONS: Final = (
    "allgather allgatherv allreduce alltoall alltoallv barrier bcast exscan gather gatherv reduce"
    " reduce_scatter scan scatter scatterv"
)
OPERATIONS: Final = tuple(_OPERATIONS.split())

#: The selector, and the option of each operation.
COLLECTIVES: Final[tuple[Parameter[Value], ...]] = (
    Parameter(
        key="smpi/coll-selector",
        kind=TEXT,
        default="default",
        section=_SECTION,
        core=False,
        doc="`default`, `ompi`, `mpich`, `mvapich2` or `impi`, see [selectors](selectors.md)",
    ),
    *(
        Parameter(
            key=f"smpi/{operation}",
            kind=TEXT,
            default="",
            section=_SECTION,
            group="smpi/<operation>",
            spellings=("smpi/reducescatter",) if operation == "reduce_scatter" else (),
            core=False,
            doc=f"one algorithm for {', '.join(f'`{name}`' for name in OPERATIONS)}, see "
            "[collectives](collectives.md)",
        )
        for operation in OPERATIONS
    ),
)
