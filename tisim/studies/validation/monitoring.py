"""The messages that Open MPI really sends for a trace, as its own monitoring counts them."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from tisim.errors import ExecutionError
from tisim.studies.execute import execute
from tisim.studies.validation.case import Case
from tisim.traces import Trace

# Columns of a row of the monitoring's file: E or I (of a program's own messages, or inside a
# collective), source, destination, bytes, the word, messages.
_BYTES, _MESSAGES = 3, 5
_TIME_LIMIT = 60.0


@dataclass(frozen=True)
class Messages:
    """How many messages of all ranks, and their bytes."""

    count: int
    bytes: int

    def __sub__(self, other: Messages) -> Messages:
        return Messages(self.count - other.count, self.bytes - other.bytes)


def count_messages(case: Case, trace: Trace) -> Messages | None:
    """The messages of one execution of a trace, those inside collectives included.

    Each count is of the whole life of the ranks. So a second repetition is counted by what it adds,
    and what the executor sends itself by what a second repetition of an empty trace adds.

    Returns
    -------
    Messages or None
        None where the MPI library has no monitoring or the command does not pass it on.
    """
    with tempfile.TemporaryDirectory() as scratch:
        empty = Path(scratch) / "empty.txt"
        empty.write_text("".join(f"{rank} init\n" for rank in range(trace.ranks)))
        own = _of_a_repetition(case, Trace.open(empty), Path(scratch))
        both = _of_a_repetition(case, trace, Path(scratch))
    return None if own is None or both is None else both - own


def _of_a_repetition(case: Case, trace: Trace, scratch: Path) -> Messages | None:
    once = _of_a_run(case, trace, scratch, 1)
    twice = None if once is None else _of_a_run(case, trace, scratch, 2)
    return None if once is None or twice is None else twice - once


def _of_a_run(case: Case, trace: Trace, scratch: Path, repeat: int) -> Messages | None:
    prefix = scratch / f"monitored-{repeat}"
    variables = {
        "OMPI_MCA_pml": "ob1,monitoring",
        "OMPI_MCA_pml_monitoring_enable": "2",
        "OMPI_MCA_pml_monitoring_enable_output": "3",
        "OMPI_MCA_pml_monitoring_filename": str(prefix),
    }
    try:
        execute(
            trace,
            case.command,
            repeat=repeat,
            warm_up=0,
            compute="none",
            time_limit=case.time_limit or _TIME_LIMIT,
            directory=scratch,
            compiler=case.compiler,
            variables=variables,
        )
    except ExecutionError:
        return None
    files = [*scratch.glob(f"{prefix.name}.*.prof")]
    if len(files) != trace.ranks:
        return None
    count = size = 0
    for file in files:
        for line in file.read_text().splitlines():
            words = line.split()
            if words[:1] in (["E"], ["I"]):
                count += int(words[_MESSAGES])
                size += int(words[_BYTES])
        file.unlink()
    return Messages(count, size)
