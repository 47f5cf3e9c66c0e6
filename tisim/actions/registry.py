"""Your own actions and collective algorithms."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Never, TypeVar

from tisim import _core
from tisim.actions.collectives import catalogue
from tisim.actions.collectives.catalogue import Algorithm
from tisim.errors import InputError

if TYPE_CHECKING:
    import simpy

    #: Carries out an action of the user's: takes the rank (`tisim.kernel.MpiRank`) and the further
    #: words of the line, and yields events. The send type `Never` accepts generators whatever they
    #: expect to be sent.
    Action = Callable[..., Generator[simpy.Event, Never, object]]

_A = TypeVar("_A", bound="Action")
_C = TypeVar("_C", bound=Algorithm)


class Registry:
    """Your own actions and collective algorithms, for the replays that take them.

    `tisim.replay` and `tisim.kernel.Environment` take a registry; without one they use the default
    registry, which the decorators `tisim.action` and `tisim.collective` fill. Registries know
    nothing of one another. One whose functions can be imported by name can be pickled.

    Examples
    --------
    >>> registry = tisim.Registry()
    >>> @registry.collective("barrier", "silent")
    ... def silent(s):
    ...     "A barrier that waits for nobody."
    >>> registry.names("barrier")[-1]
    'silent'
    >>> registry.remove_collective("barrier", "silent")
    """

    def __init__(self) -> None:
        self._actions: dict[str, Action] = {}
        self._collectives: dict[tuple[str, str], Algorithm] = {}

    def __repr__(self) -> str:
        names = [*self._actions, *(f"{op}:{name}" for op, name in self._collectives)]
        return f"<tisim.Registry of {', '.join(names) or 'nothing'}>"

    @property
    def actions(self) -> Mapping[str, Action]:
        """The actions by name."""
        return MappingProxyType(self._actions)

    @property
    def collectives(self) -> Mapping[tuple[str, str], Algorithm]:
        """The algorithms by operation and name."""
        return MappingProxyType(self._collectives)

    # Actions

    def action(self, name: str) -> Callable[[_A], _A]:
        """Give traces an action of your own: ``3 checkpoint 1e9`` then runs your function.

        The function is a generator that takes the rank (`tisim.kernel.MpiRank`) and the line's
        further words, and yields events: what `rank.env.execute`, `rank.env.transfer`, the rank's
        own calls and SimPy's events give. Only replays of traces that contain the word change.

        Parameters
        ----------
        name
            The action's word in a trace. A name that was registered before is replaced, so that a
            notebook's cell can run twice.

        Raises
        ------
        InputError
            When the name cannot stand in a trace line, or is an action of tisim's own.
        """
        if not name or any(c.isspace() for c in name) or name.startswith("#"):
            raise InputError(f"an action's name is one word without blanks, not {name!r}")
        if name.lower() in {known for known, _ in _core.known_actions()}:
            raise InputError(f"the action {name!r} exists already; register yours by another name")

        def register(function: _A) -> _A:
            self._actions[name] = function
            return function

        return register

    def remove_action(self, name: str) -> None:
        """Take an action out: the inverse of `action`.

        Raises
        ------
        InputError
            When there is no such action.
        """
        if self._actions.pop(name, None) is None:
            raise InputError(f"no action {name!r} is registered")

    # Collectives

    def collective(self, operation: str, name: str) -> Callable[[_C], _C]:
        """Decorate a function to make it the algorithm `name` of `operation`.

        Parameters
        ----------
        operation
            Such as ``"allreduce"``; `tisim.actions.collectives.catalogue` says what its function
            takes.
        name
            The name that ``smpi/<operation>`` selects it by. A name that was registered before is
            replaced.

        Raises
        ------
        InputError
            There is no such operation, or tisim has an algorithm of that name itself.
        """
        catalogue.check_free(operation, name)

        def register(function: _C) -> _C:
            self._collectives[operation, name] = function
            return function

        return register

    def remove_collective(self, operation: str, name: str) -> None:
        """Take an algorithm out: the inverse of `collective`.

        Raises
        ------
        InputError
            When there is no such algorithm.
        """
        if self._collectives.pop((operation, name), None) is None:
            raise InputError(f"no algorithm {name!r} of {operation} is registered")

    def algorithm(self, operation: str, name: str) -> Algorithm:
        """Return the algorithm or selector `name` of `operation`, registered or tisim's own.

        Raises
        ------
        InputError
            There is no such operation or algorithm; the message has the nearest names.
        """
        found = self._collectives.get((operation, name))
        return found or catalogue.algorithm(operation, name, also=self._names(operation))

    def names(self, operation: str) -> tuple[str, ...]:
        """Return all names that `algorithm` knows: selectors first, registered ones last.

        Raises
        ------
        InputError
            There is no such operation.
        """
        return (*catalogue.names(operation), *self._names(operation))

    def _names(self, operation: str) -> tuple[str, ...]:
        return tuple(name for op, name in self._collectives if op == operation)

    # All at once

    def modules(self) -> tuple[str, ...]:
        """Names of the modules that the functions are in; ``__main__`` for a script or notebook."""
        functions = (*self._actions.values(), *self._collectives.values())
        return tuple(dict.fromkeys(function.__module__ for function in functions))

    @contextmanager
    def restored(self) -> Iterator[Registry]:
        """Forget at the end of a ``with`` block what was registered or removed in it.

        Examples
        --------
        >>> with tisim.default_registry.restored():
        ...     @tisim.action("nap")
        ...     def nap(rank):
        ...         yield rank.env.timeout(1)
        >>> "nap" in tisim.default_registry.actions
        False
        """
        actions, collectives = dict(self._actions), dict(self._collectives)
        try:
            yield self
        finally:
            self._actions, self._collectives = actions, collectives


#: The registry of replays that are given none.
default_registry = Registry()


def ignoring_unsupported(registry: Registry | None = None) -> Registry:
    """A copy of a registry in which ``unsupported``, a line of recorded traces, does nothing.

    Parameters
    ----------
    registry
        The registry to copy; by default the default registry.
    """
    copy = Registry()
    source = default_registry if registry is None else registry
    copy._actions.update(source._actions)
    copy._collectives.update(source._collectives)
    copy._actions["unsupported"] = _do_nothing
    return copy


def _do_nothing(_rank: object, *_words: str) -> Generator[simpy.Event, object, None]:
    yield from ()


def action(name: str) -> Callable[[_A], _A]:
    """Register an action in the default registry; see `Registry.action`.

    Parameters
    ----------
    name
        The action's word in a trace.

    Raises
    ------
    InputError
        When the name cannot stand in a trace line, or is an action of tisim's own.

    Examples
    --------
    >>> @tisim.action("checkpoint")
    ... def checkpoint(rank, nbytes):
    ...     yield rank.env.transfer(rank.host, "storage", float(nbytes))
    """
    return default_registry.action(name)


def collective(operation: str, name: str) -> Callable[[_C], _C]:
    """Register an algorithm in the default registry; see `Registry.collective`.

    Parameters
    ----------
    operation
        Such as ``"allreduce"``.
    name
        The name that ``smpi/<operation>`` selects it by.

    Raises
    ------
    InputError
        There is no such operation, or tisim has an algorithm of that name itself.

    Examples
    --------
    >>> @tisim.collective("barrier", "silent")
    ... def silent(s):
    ...     "A barrier that waits for nobody."
    """
    return default_registry.collective(operation, name)
