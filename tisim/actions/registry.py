"""User-defined actions and collective algorithms."""

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

    #: Executes a user-defined action: takes the rank (`tisim.kernel.MpiRank`) and the remaining
    #: words of the line, and yields events. The send type `Never` accepts generators with any send
    #: type.
    Action = Callable[..., Generator[simpy.Event, Never, object]]

_A = TypeVar("_A", bound="Action")
_C = TypeVar("_C", bound=Algorithm)


class Registry:
    """User-defined actions and collective algorithms for replays.

    `tisim.replay` and `tisim.kernel.Environment` take a registry; without one they use the default
    registry, which the decorators `tisim.action` and `tisim.collective` fill. Registries are
    independent of one another. A registry can be pickled if its functions can be imported by name.

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
        """Decorate a function to make it the action `name`: ``3 checkpoint 1e9`` then runs it.

        The function is a generator that takes the rank (`tisim.kernel.MpiRank`) and the line's
        remaining words, and yields events: those of `rank.env.execute`, `rank.env.transfer`, the
        rank's own calls and SimPy. Only replays of traces that contain the word are affected.

        Parameters
        ----------
        name
            The action's word in a trace. Registering a name again replaces it, so that a notebook
            cell can run twice.

        Raises
        ------
        InputError
            If the name is not valid in a trace line, or is a built-in action.
        """
        if not name or any(c.isspace() for c in name) or name.startswith("#"):
            raise InputError(f"an action's name must be one word without blanks, not {name!r}")
        if name.lower() in {known for known, _ in _core.known_actions()}:
            raise InputError(
                f"the action {name!r} already exists; register yours under another name"
            )

        def register(function: _A) -> _A:
            self._actions[name] = function
            return function

        return register

    def remove_action(self, name: str) -> None:
        """Remove an action: the inverse of `action`.

        Raises
        ------
        InputError
            If there is no such action.
        """
        if self._actions.pop(name, None) is None:
            raise InputError(f"no action {name!r} is registered")

    # Collectives

    def collective(self, operation: str, name: str) -> Callable[[_C], _C]:
        """Decorate a function to make it the algorithm `name` of `operation`.

        Parameters
        ----------
        operation
            Such as ``"allreduce"``; `tisim.actions.collectives.catalogue` lists the arguments of
            its algorithms.
        name
            Name by which ``smpi/<operation>`` selects it. Registering a name again replaces it.

        Raises
        ------
        InputError
            If there is no such operation, or the name is a built-in algorithm.
        """
        catalogue.check_free(operation, name)

        def register(function: _C) -> _C:
            self._collectives[operation, name] = function
            return function

        return register

    def remove_collective(self, operation: str, name: str) -> None:
        """Remove an algorithm: the inverse of `collective`.

        Raises
        ------
        InputError
            If there is no such algorithm.
        """
        if self._collectives.pop((operation, name), None) is None:
            raise InputError(f"no algorithm {name!r} of {operation} is registered")

    def algorithm(self, operation: str, name: str) -> Algorithm:
        """Return the algorithm or selector `name` of `operation`, registered or built in.

        Raises
        ------
        InputError
            If there is no such operation or algorithm; the message suggests the nearest names.
        """
        found = self._collectives.get((operation, name))
        return found or catalogue.algorithm(operation, name, also=self._names(operation))

    def names(self, operation: str) -> tuple[str, ...]:
        """Return all names that `algorithm` accepts: selectors first, registered ones last.

        Raises
        ------
        InputError
            If there is no such operation.
        """
        return (*catalogue.names(operation), *self._names(operation))

    def _names(self, operation: str) -> tuple[str, ...]:
        return tuple(name for op, name in self._collectives if op == operation)

    # Whole registries

    def modules(self) -> tuple[str, ...]:
        """Names of the modules that define the functions; ``__main__`` for a script or notebook."""
        functions = (*self._actions.values(), *self._collectives.values())
        return tuple(dict.fromkeys(function.__module__ for function in functions))

    @contextmanager
    def restored(self) -> Iterator[Registry]:
        """Restore the registry at the end of a ``with`` block.

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


#: The registry of replays that are not given one.
default_registry = Registry()


def ignoring_unsupported(registry: Registry | None = None) -> Registry:
    """Return a copy of a registry in which ``unsupported`` lines of recorded traces do nothing.

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
        If the name is not valid in a trace line, or is a built-in action.

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
        Name by which ``smpi/<operation>`` selects it.

    Raises
    ------
    InputError
        If there is no such operation, or the name is a built-in algorithm.

    Examples
    --------
    >>> @tisim.collective("barrier", "silent")
    ... def silent(s):
    ...     "A barrier that waits for nobody."
    """
    return default_registry.collective(operation, name)
