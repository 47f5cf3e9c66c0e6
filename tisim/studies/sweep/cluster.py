"""Execute the scenarios of a sweep on a Dask cluster.

Each worker process of the cluster receives the inputs once, by a plugin that also reaches workers
that join later; a task is a few hundred bytes. Dask restarts tasks whose worker is lost.
"""

from __future__ import annotations

import pickle
import uuid
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from distributed import CancelledError, Client, Future, KilledWorker, as_completed
from distributed.diagnostics.plugin import WorkerPlugin

from tisim.errors import InputError, TisimError
from tisim.studies.sweep.scenario import Inputs, Job, Outcome, Task
from tisim.studies.sweep.worker import Worker

if TYPE_CHECKING:
    import distributed

# Workers of the sweeps that this process of a cluster takes part in.
_WORKERS: dict[str, Worker] = {}
_SCHEME = "dask://"
# Timeout of the connection to the scheduler in seconds.
_SECONDS_TO_CONNECT = 30.0


class _InputsPlugin(WorkerPlugin):  # type: ignore[misc]  # untyped
    """Provides a worker process of the cluster with the inputs of a sweep."""

    def __init__(self, name: str, inputs: Inputs) -> None:
        self.name = name
        self.inputs = inputs

    def setup(self, worker: distributed.Worker) -> None:
        _WORKERS[self.name] = Worker(self.inputs)

    def teardown(self, worker: distributed.Worker) -> None:
        _WORKERS.pop(self.name, None)


def _run_job(name: str, job: Job) -> Outcome:
    return _WORKERS[name].run(job)


def run_on_cluster(
    inputs: Inputs, tasks: Sequence[Task], workers: str | Client
) -> Iterator[tuple[str, Outcome]]:
    """Execute tasks on a Dask cluster.

    `workers` is a client, or ``dask://host:port`` of a scheduler. The files of traces must exist
    there under the same names. Yields key and outcome of each task as they finish. Raises
    `TisimError` if the scheduler does not answer.
    """
    if isinstance(workers, Client):
        yield from _run(inputs, tasks, workers)
        return
    address = workers.removeprefix(_SCHEME)
    try:
        client = Client(f"tcp://{address}", timeout=_SECONDS_TO_CONNECT)
    except (OSError, ValueError) as error:
        raise TisimError(f"no Dask scheduler responds at {address}: {error}") from None
    with client:
        yield from _run(inputs, tasks, client)


def _run(inputs: Inputs, tasks: Sequence[Task], client: Client) -> Iterator[tuple[str, Outcome]]:
    name = f"tisim-{uuid.uuid4().hex}"
    try:
        client.register_plugin(_InputsPlugin(name, inputs), name=name)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise InputError(
            f"a function of the registry cannot be sent to the cluster ({error}); define it at the "
            "top level of a module, which the workers can import"
        ) from None
    except (ImportError, TisimError) as error:
        raise TisimError(f"the workers of the cluster cannot start: {error}") from None
    futures: dict[Future, str] = {}
    try:
        for key, job in tasks:
            # Even pure tasks are not shared between sweeps, which may have different inputs.
            futures[client.submit(_run_job, name, job, key=f"{name}-{key}")] = key
        for future in as_completed(list(futures)):
            try:
                outcome: Outcome = future.result()
            except KilledWorker as error:
                outcome = {"error": f"WorkerDied: {error}", "wall_time": None}
            except (CancelledError, OSError) as error:
                raise TisimError(f"the connection to the Dask cluster was lost: {error}") from None
            yield futures.pop(future), outcome
    finally:
        client.cancel(list(futures))
        client.unregister_worker_plugin(name)
