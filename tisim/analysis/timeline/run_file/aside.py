"""Work that is done beside other work."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, Self, TypeVar

_Result = TypeVar("_Result")


class Aside(Generic[_Result]):
    """Carries out a function on a thread of its own, at the latest until the context is left.

    The executors of the standard library take longer to load than the sums of a small run.

    Parameters
    ----------
    work
        The function.
    """

    def __init__(self, work: Callable[[], _Result]) -> None:
        self._work = work
        self._results: list[_Result] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="tisim sums", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._thread.join()

    def result(self) -> _Result:
        """What the function returns; raises what it raised."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._results[0]

    def _run(self) -> None:
        try:
            self._results.append(self._work())
        except BaseException as error:
            self._error = error
