"""Actions of the user's own, written in Python."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, TypeVar

from tisim.errors import InputError

_Action = TypeVar("_Action", bound=Callable[..., Generator[Any, Any, Any]])

_ACTIONS: dict[str, Callable[..., Generator[Any, Any, Any]]] = {}


def action(name: str) -> Callable[[_Action], _Action]:
    """Give traces an action of your own: ``3 checkpoint 1e9`` then runs your function.

    The function is a generator that takes the rank (`tisim.kernel.mpi.MpiRank`) and the line's
    further words, and yields activities: what `rank.env.execute`, `rank.env.transfer`, the rank's
    own calls and SimPy's events give.

    Parameters
    ----------
    name
        The action's word in a trace.

    Raises
    ------
    InputError
        When the name cannot stand in a trace line.

    Examples
    --------
    >>> @tisim.action("checkpoint")
    ... def checkpoint(rank, nbytes):
    ...     yield rank.env.transfer(rank.host, "storage", float(nbytes))
    """
    if not name or any(c.isspace() for c in name) or name.startswith("#"):
        raise InputError(f"an action's name is one word without blanks, not {name!r}")

    def register(function: _Action) -> _Action:
        _ACTIONS[name] = function
        return function

    return register


def registered() -> dict[str, Callable[..., Generator[Any, Any, Any]]]:
    """The user's actions by name."""
    return _ACTIONS
