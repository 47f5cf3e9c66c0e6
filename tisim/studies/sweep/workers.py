"""Who carries out the scenarios of a sweep: this process, others, or a Dask cluster."""

from __future__ import annotations

import importlib.util
import os
import pickle
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from tisim.actions.registry import default_registry
from tisim.errors import InputError
from tisim.studies.sweep.pool import Task, run_here, run_in_processes
from tisim.studies.sweep.scenario import Inputs, Outcome

if TYPE_CHECKING:
    from distributed import Client

    from tisim.actions.registry import Registry

#: How many processes, or where a Dask scheduler is.
Workers: TypeAlias = "int | str | Client | None"


def check_workers(workers: Workers, registry: Registry | None) -> None:
    """Raise what is wrong with the workers, before anything is done.

    Parameters
    ----------
    workers
        As a user gives them.
    registry
        Whose functions they need; None: the default registry's.

    Raises
    ------
    InputError
        If there is no such kind of workers, or they cannot have the functions.
    """
    if workers is None:
        return
    if isinstance(workers, int):
        if workers < 1:
            raise InputError(f"there is at least 1 worker, not {workers}")
        problem = _why_only_here(registry) if workers > 1 else None
        if problem is not None:
            raise InputError(problem)
        return
    if isinstance(workers, str) and not workers.startswith("dask://"):
        raise InputError(
            f"workers is a number, or dask://host:port of a Dask scheduler, not {workers!r}"
        )
    if importlib.util.find_spec("distributed") is None:
        raise InputError(
            "Dask needs more packages: pip install 'tisim[dask]'; or give a number of workers"
        )


def run_tasks(
    inputs: Inputs, tasks: Sequence[Task], workers: Workers
) -> Generator[tuple[str, Outcome], None, None]:
    """Carry out tasks; yields the key and the outcome of each, as they come."""
    if workers is None or isinstance(workers, int):
        count = _count(workers, len(tasks), inputs.registry)
        outcomes = run_here(inputs, tasks) if count == 1 else run_in_processes(inputs, tasks, count)
    else:
        from tisim.studies.sweep.cluster import run_on_cluster

        outcomes = run_on_cluster(inputs, tasks, workers)
    return cast("Generator[tuple[str, Outcome], None, None]", outcomes)


def _why_only_here(registry: Registry | None) -> str | None:
    """Why other processes cannot have the functions of a registry; None if they can."""
    if "__main__" in (default_registry if registry is None else registry).modules():
        return (
            "worker processes cannot see the actions and algorithms that are defined in a "
            "script or notebook: put them into a module and import it, or use workers=1"
        )
    if registry is None:  # the modules that they import fill their default registry
        return None
    try:
        pickle.dumps(registry)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        return (
            f"worker processes cannot import a function of the registry ({error}): define it at "
            "the top level of a module, or use workers=1"
        )
    return None


def _count(workers: int | None, tasks: int, registry: Registry | None) -> int:
    if workers is None:
        workers = 1 if _why_only_here(registry) is not None else _processors()
    return min(tasks, workers)


def _processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
