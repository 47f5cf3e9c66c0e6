"""Reads traces in the format of Paje, whoever wrote them: the header says what the lines mean."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class PajeState:
    """A state of a container, from the line that pushed it to the one that popped it."""

    container: str
    value: str
    start: float
    end: float
    depth: int


@dataclass
class PajeLink:
    """An arrow between two containers; `end` is NaN for one that never arrives."""

    key: str
    value: str
    source: str
    start: float
    destination: str = ""
    end: float = float("nan")


@dataclass
class PajeTrace:
    """What a trace says, by names instead of aliases."""

    states: list[PajeState] = field(default_factory=list)
    links: dict[str, PajeLink] = field(default_factory=dict)
    #: By the name of a container, when it is created and destroyed.
    lives: dict[str, tuple[float, float]] = field(default_factory=dict)
    #: By the name of a type, what it is: container, state or link, and the type that it belongs to.
    types: dict[str, tuple[str, str]] = field(default_factory=dict)
    #: By the name of a value of a state, its colour.
    colours: dict[str, str] = field(default_factory=dict)


class _Reader:
    def __init__(self) -> None:
        self.trace = PajeTrace()
        # Names by alias: containers may have the same ones as types and values.
        self._containers = {"0": "0"}
        self._types = {"0": "0"}
        self._events: dict[str, tuple[str, list[str]]] = {}
        self._open: dict[str, list[tuple[str, float]]] = {}
        self._time = 0.0

    def define(self, lines: list[str]) -> None:
        _, name, number = lines[0].split()
        self._events[number] = (name, [line.split()[1] for line in lines[1:]])

    def event(self, line: str) -> None:
        number, *words = shlex.split(line)
        name, fields = self._events[number]
        values = dict(zip(fields, words, strict=True))
        if "Time" in values:
            time = float(values["Time"])
            assert time >= self._time, f"time goes back: {line}"
            self._time = time
        named = {key: self._name(key, value) for key, value in values.items()}
        if "Alias" in values:
            kind = self._containers if name == "PajeCreateContainer" else self._types
            assert values["Alias"] not in kind, line
            kind[values["Alias"]] = values["Name"]
        getattr(self, name.removeprefix("Paje"))(values, named)

    def _name(self, key: str, value: str) -> str:
        if key in ("Container", "StartContainer", "EndContainer"):
            return self._containers[value]
        if key in ("Type", "StartContainerType", "EndContainerType"):
            return self._types[value]
        return self._types.get(value, value) if key == "Value" else value

    def DefineContainerType(self, values: dict[str, str], named: dict[str, str]) -> None:  # noqa: N802
        self.trace.types[named["Name"]] = ("container", named["Type"])

    def DefineStateType(self, values: dict[str, str], named: dict[str, str]) -> None:  # noqa: N802
        self.trace.types[named["Name"]] = ("state", named["Type"])

    def DefineLinkType(self, values: dict[str, str], named: dict[str, str]) -> None:  # noqa: N802
        ends = (named["Type"], named["StartContainerType"], named["EndContainerType"])
        self.trace.types[named["Name"]] = ("link", " ".join(ends))

    def DefineEntityValue(self, values: dict[str, str], named: dict[str, str]) -> None:  # noqa: N802
        assert named["Type"] in self.trace.types
        self.trace.colours[named["Name"]] = values["Color"]

    def CreateContainer(self, values: dict[str, str], named: dict[str, str]) -> None:  # noqa: N802
        assert self.trace.types[named["Type"]][0] == "container"
        self.trace.lives[named["Name"]] = (float(values["Time"]), float("nan"))
        self._open[named["Name"]] = []

    def DestroyContainer(self, values: dict[str, str], named: dict[str, str]) -> None:  # noqa: N802
        name = self._containers[values["Name"]]
        begin, _ = self.trace.lives[name]
        self.trace.lives[name] = (begin, float(values["Time"]))
        assert not self._open.pop(name)

    def PushState(self, values: dict[str, str], named: dict[str, str]) -> None:  # noqa: N802
        assert named["Value"] in self.trace.colours
        self._open[named["Container"]].append((named["Value"], float(values["Time"])))

    def PopState(self, values: dict[str, str], named: dict[str, str]) -> None:  # noqa: N802
        where = named["Container"]
        value, start = self._open[where].pop()
        depth = len(self._open[where])
        self.trace.states.append(PajeState(where, value, start, float(values["Time"]), depth))

    def StartLink(self, values: dict[str, str], named: dict[str, str]) -> None:  # noqa: N802
        assert values["Key"] not in self.trace.links
        self.trace.links[values["Key"]] = PajeLink(
            values["Key"], named["Value"], named["StartContainer"], float(values["Time"])
        )

    def EndLink(self, values: dict[str, str], named: dict[str, str]) -> None:  # noqa: N802
        link = self.trace.links[values["Key"]]
        assert not link.destination
        link.destination, link.end = named["EndContainer"], float(values["Time"])


def read_paje(path: Path) -> PajeTrace:
    """Read a trace; asserts what the format demands of it."""
    reader = _Reader()
    definition: list[str] = []
    for line in path.read_text().splitlines():
        if line.startswith("%EndEventDef"):
            reader.define(definition)
            definition = []
        elif line.startswith("%"):
            definition.append(line)
        elif line and not line.startswith("#"):
            reader.event(line)
    return reader.trace
