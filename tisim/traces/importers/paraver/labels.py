"""What the numbers of a Paraver trace mean: its header, and the .pcf file beside it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from tisim.errors import InputError
from tisim.traces.importers.communicators import Communicator

#: The types of events that are calls: messages, collectives, others, one-sided, files.
CALL_TYPES = range(50000001, 50000006)
#: Of a collective: bytes that the rank sends and receives, 1 at the root, the communicator.
SENT, RECEIVED, ROOT, COMM = range(50100001, 50100005)

# Extrae's numbers of calls that tisim has no action for.
_FURTHER = {
    (50000003, 31): "Init",
    (50000003, 32): "Finalize",
    (50000001, 35): "Rsend",
    (50000001, 38): "Irsend",
    (50000001, 42): "Sendrecv_replace",
    (50000001, 121): "Rsend_init",
    (50000002, 168): "Reduce_scatter_block",
    (50000002, 170): "Alltoallw",
}
_HEADER = re.compile(r"#Paraver \([^)]*\):(\d+)(?:_(ns|us))?:(.*)")
# Two nodes of four processors, then one application of three tasks: 2(4,4):1:3(1:1,1:1,1:2),1
# Older traces have only the number of processors: 4:1:3(1:1,1:2,1:3)
_APPLICATION = re.compile(r"\d+(?:\([\d,]*\))?:(\d+):(\d+)\(([\d:,]*)\)(?:,(\d+))?")
_EVENT_TYPE = re.compile(r"\s*\d+\s+(\d+)\s+(.*\S)")
_VALUE = re.compile(r"\s*(\d+)\s+(.*\S)")
# Callers of Paraver write a hardware counter's name in brackets behind what it counts.
_COUNTER = re.compile(r"\((\w+)\)")


@dataclass(slots=True)
class Header:
    """The first lines of a trace.

    Attributes
    ----------
    ranks
        How many tasks the application has.
    unit
        Seconds that times are counted in.
    communicators
        The ranks of each communicator, by its number.
    """

    ranks: int
    unit: float
    communicators: dict[int, Communicator] = field(default_factory=dict)


def read_header(line: str, file: Path) -> Header:
    """The header of a trace, without its communicators.

    Raises
    ------
    InputError
        If it is none, or there are several applications.
    """
    found = _HEADER.match(line)
    application = None if found is None else _APPLICATION.match(found[3])
    if found is None or application is None:
        raise InputError("has no header as Paraver's traces have", file=file, line=1)
    if application[1] != "1":
        raise InputError(
            f"has {application[1]} applications; a trace of tisim is of one", file=file, line=1
        )
    ranks = int(application[2])
    if ranks != len(application[3].split(",")) or not ranks:
        raise InputError("has another number of tasks than it lists", file=file, line=1)
    return Header(ranks, 1e-9 if found[2] == "ns" else 1e-6)


def read_communicator(words: list[str], ranks: int) -> tuple[int, Communicator | None]:
    """The number and the ranks of a communicator, of a line ``c:1:2:3:1:2:3``; -1: it has none.

    Raises
    ------
    ValueError
        If the line is another one.
    """
    number, count, *members = map(int, words[2:])
    if members == [-1]:
        return number, None  # MPI_COMM_NULL
    if len(members) != count or len(set(members)) != count or not count:
        raise ValueError(words)
    if not all(1 <= member <= ranks for member in members):
        raise ValueError(words)
    return number, Communicator(tuple(member - 1 for member in members))


class Labels:
    """The names of calls and counters.

    Parameters
    ----------
    trace
        The .prv file; its .pcf file may be missing.
    """

    def __init__(self, trace: Path) -> None:
        from tisim import _core

        # MPI's names of calls, without MPI_, by type and value.
        self.calls = _FURTHER | {
            (type_, value): name.removeprefix("MPI_")
            for type_, value, name in _core.paraver_calls()
        }
        #: Types of events by the names of hardware counters.
        self.counters: dict[str, int] = {}
        labels = trace.with_suffix(".pcf")
        if labels.exists():
            self._read(labels)

    def _read(self, file: Path) -> None:
        types: list[int] = []
        section = ""
        with file.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                words = line.split()
                if not words:
                    continue
                if words[0].isupper() and not words[0][0].isdigit():
                    section = words[0]
                    if section == "EVENT_TYPE":
                        types = []
                elif section == "EVENT_TYPE" and (named := _EVENT_TYPE.match(line)) is not None:
                    types.append(int(named[1]))
                    if (counter := _COUNTER.search(named[2])) is not None:
                        self.counters[counter[1]] = int(named[1])
                elif section == "VALUES" and (value := _VALUE.match(line)) is not None:
                    self._name(types, int(value[1]), value[2])

    def _name(self, types: list[int], value: int, name: str) -> None:
        for type_ in types:
            if type_ in CALL_TYPES and value and name.startswith("MPI_"):
                self.calls[type_, value] = name.removeprefix("MPI_")
