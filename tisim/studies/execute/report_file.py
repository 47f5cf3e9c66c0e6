"""What the executor writes while it runs: results, errors, what each rank is doing."""

from __future__ import annotations

import struct
from pathlib import Path

from tisim.studies.execute.result import Repetition
from tisim.traces import Kind
from tisim.traces.script import name_of_instruction

_STATE = struct.Struct("=iiq")


class Report:
    """The files that an execution leaves in its directory, read again and again.

    Attributes
    ----------
    repetitions
        Those that have ended.
    values
        Numbers that rank 0 has told, by name.
    steps
        How many lines were read: it grows when something has happened.
    done
        Whether the execution came to its end.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._position = 0
        self.repetitions: list[Repetition] = []
        self.values: dict[str, float] = {}
        self.steps = 0
        self.done = False

    def read(self) -> None:
        """Read what has been written since the last time."""
        try:
            with (self._directory / "results").open("rb") as file:
                file.seek(self._position)
                text = file.read()
        except FileNotFoundError:
            return
        whole, newline, _ = text.rpartition(b"\n")
        self._position += len(whole) + len(newline)
        for line in whole.decode().splitlines():
            self._take(line.split())

    def error(self) -> str | None:
        """Why the executor has given up, if it has."""
        try:
            return (self._directory / "error").read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None

    def states(self, ranks: int) -> list[tuple[int, str, int]]:
        """What ranks do or did last: rank, action and line of the trace."""
        states = []
        for rank in range(ranks):
            try:
                data = (self._directory / f"state-{rank}").read_bytes()
            except FileNotFoundError:
                continue
            if len(data) == _STATE.size:
                kind, operation, line = _STATE.unpack(data)
                if kind != Kind.END:
                    states.append((rank, name_of_instruction(kind, operation), line))
        return states

    def _take(self, words: list[str]) -> None:
        self.steps += 1
        if words[0] == "repetition":
            ends = tuple(float(word) for word in words[7:])
            self.repetitions.append(Repetition(ends, float(words[3]), float(words[5])))
        elif words[0] == "done":
            self.done = True
        elif len(words) == 2:
            self.values[words[0]] = float(words[1])
