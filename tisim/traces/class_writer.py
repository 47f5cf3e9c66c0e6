"""Writing a packed trace class by class: what it takes does not depend on iterations."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tisim import _core
from tisim.support.files import replacing
from tisim.traces.program import Rule

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Calls: the shape's text, which of its holes take ranks (bit by bit), and for each hole one
#: number, or one for each rank of the class.
ClassCalls = list[tuple[bytes, int, "list[NDArray[np.int64]]"]]


class ClassTraceWriter:
    """Writes a packed trace of version 2, a class of ranks after the other. The ranks are called
    ``rank-N.txt``.
    """

    def __init__(self, ranks: int) -> None:
        self._writer = _core.ClassWriter(ranks)

    def add(self, members: NDArray[np.int32], calls: ClassCalls, rules: Sequence[Rule]) -> None:
        """Add the next class: its ranks, ascending, its calls, and its grammar. Rule 0 is the
        program; items are places in `calls` or later rules.
        """
        made = [(self._writer.shape(text, holes), numbers) for text, holes, numbers in calls]
        self._writer.add(members, made, rules)

    def finish(
        self, target: str | os.PathLike[str], *, legacy: bool = False, precision: str = ""
    ) -> None:
        """Write the file, which appears when it is whole; an empty `precision` says that volumes
        are exact. Raises InputError when it cannot be written.
        """
        with replacing(target) as unfinished:
            self._writer.finish(legacy, precision, os.fsencode(unfinished))
