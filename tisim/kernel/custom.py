"""Custom actions: started by a trace line, executed by a SimPy process."""

from __future__ import annotations

import inspect
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Never

from tisim.errors import InputError, TisimError
from tisim.kernel.mpi import MpiRank

if TYPE_CHECKING:
    import simpy

    from tisim.actions.registry import Action
    from tisim.kernel.core_environment import CoreEnvironment

    # An action in progress; see `Action` for its types.
    ActionGenerator = Generator[simpy.Event, Never, object]


@dataclass(frozen=True, slots=True)
class Line:
    """The trace line of an action."""

    words: Sequence[str]
    rank: int
    file: str
    number: int

    def __str__(self) -> str:
        words = " ".join(self.words)
        return f"the action '{words}' of rank {self.rank}, at {self.file}:{self.number}"

    def error(self, message: str) -> InputError:
        """Return an error about this line."""
        return InputError(f"action {self.words[0]}: {message}", file=self.file, line=self.number)


class CustomActions:
    """The user-defined actions in progress in an environment."""

    def __init__(self, env: CoreEnvironment) -> None:
        self._env = env
        self._lines: dict[int, Line] = {}

    def start(self) -> None:
        """Start the action requested by the core."""
        env = self._env
        core, settings = env.driver.core, env.settings
        needed = core.needed_action()
        index, words = needed.rank, needed.words
        state = core.rank_state(index)
        line = Line(words, state.rank, state.file, state.line)
        rank = MpiRank(env, index, state.rank, settings.host_name(state.host))
        generator = _call_action(settings.action(words[0]), rank, line)
        self._lines[index] = line
        process = env.process(self._execute(generator, rank, line))
        process.callbacks.append(_fail)

    def _execute(
        self, generator: ActionGenerator, rank: MpiRank, line: Line
    ) -> Generator[simpy.Event, object, None]:
        try:
            yield from generator
        except TisimError as error:
            if isinstance(error, InputError) and error.file is None:
                raise line.error(error.message) from error
            raise
        except Exception as error:
            error.add_note(f"in {line}")
            raise
        # A call that the action started without waiting for it is still part of the action.
        while (event := self._env.calling(rank)) is not None:
            yield event
        rank.retire(line.words[0])
        del self._lines[rank.index]
        self._env.driver.core.resume(rank.index)

    def rank_labels(self) -> dict[int, str]:
        """Describe the current action of each rank that is in one, for a report."""
        return {
            index: f"{line.file}:{line.number}: rank {line.rank}: in the action "
            f"'{' '.join(line.words)}'"
            for index, line in self._lines.items()
        }


def _fail(process: simpy.Event) -> None:
    """End the simulation with the original error of an action; SimPy would raise a copy."""
    if not process.ok:
        error = process.value
        assert isinstance(error, BaseException)
        raise error


def _call_action(action: Action, rank: MpiRank, line: Line) -> ActionGenerator:
    """Return the generator of an action; raises if the line's words do not fit the function."""
    try:
        generator = action(rank, *line.words[1:])
    except TypeError as error:
        try:
            inspect.signature(action).bind(rank, *line.words[1:])
        except TypeError as reason:
            raise line.error(f"its function does not accept these words: {reason}") from error
        raise
    if not hasattr(generator, "throw"):
        raise line.error("its function is not a generator: it needs a yield")
    return generator
