"""`tisim.sweep`."""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tisim.actions.registry import default_registry
from tisim.config import Config
from tisim.errors import InputError
from tisim.platform import Platform
from tisim.platform.deployment import Deployment
from tisim.studies.sweep.plan import Plan, Request, make_plan
from tisim.studies.sweep.store import Store, Table, open_store
from tisim.studies.sweep.workers import Workers, check_workers, run_tasks
from tisim.support.extras import check_installed
from tisim.support.files import locked
from tisim.support.progress import ProgressBar
from tisim.traces import Trace

if TYPE_CHECKING:
    import pandas as pd

    from tisim.actions.registry import Registry

_Path = str | os.PathLike[str]


class SweepInterrupted(KeyboardInterrupt):
    """Ctrl-C while a sweep was running.

    Attributes
    ----------
    frame
        The finished scenarios, which are also in the output file, if any.
    """

    def __init__(self, message: str, frame: pd.DataFrame) -> None:
        super().__init__(message)
        self.frame = frame


def sweep(
    trace: Trace | _Path | Sequence[_Path] | None = None,
    *,
    platform: Platform | _Path | None = None,
    vary: Mapping[str, object] | Sequence[Mapping[str, object]] | None = None,
    sample: int | None = None,
    seed: int = 0,
    replicates: int = 1,
    baseline: Mapping[str, object] | None = None,
    deployment: Deployment | _Path | None = None,
    hosts: Sequence[str] | None = None,
    config: Config | Mapping[str, object] | None = None,
    ranks: int | None = None,
    modules: Sequence[str] = (),
    registry: Registry | None = None,
    workers: Workers = None,
    output: _Path | None = None,
    resume: bool = True,
    progress: bool = True,
) -> pd.DataFrame:
    """Replay a trace in many scenarios and compare their simulated times.

    Parameters
    ----------
    trace
        As for `tisim.replay`. May be omitted if ``"trace"`` is varied, whose first value is then
        used.
    platform
        As for `tisim.replay`. May be omitted if ``"platform"`` is varied, whose first value is then
        used.
    vary
        Values by axis, for all their combinations; or a list of points, each a mapping of axes to
        one value, for these only. An axis is

        - ``"speed"``, ``"cores"`` (hosts), ``"bandwidth"``, ``"latency"``, ``"sharing"`` (links),
          of all of them or, as in ``"bandwidth[switch-*]"``, of those whose names match; values
          are those of `Platform.scaled`: a factor such as ``"x2"``, or a value with its unit such
          as ``"10Gbps"``; cores are a number;
        - ``"speed_noise"``, ``"bandwidth_noise"``, with or without a pattern: the coefficient of
          variation (standard deviation / mean) of random factors, log-normal with mean 1, one
          for each host or link;
        - ``"compute_noise"``: the same for random factors of compute volumes, one for each
          computation of each rank (`Trace.with_noise`);
        - ``"platform"``: files or `Platform` objects;
        - ``"trace"``: arguments of `Trace.open`, or `Trace` objects;
        - ``"mapping"`` of ranks to hosts: ``"block"`` (as many ranks as a host has cores),
          ``"block:4"``, ``"cyclic"``, ``"cyclic:16"`` (the first 16 hosts),
          ``"random"``, ``"random:7"`` (with this seed), a host file, a deployment (.xml), a
          `Deployment`, or a list of hosts;
        - any option, such as ``"smpi/coll-selector"`` or ``"smpi/bcast"``.

        The values of an axis are a list, or a mapping whose keys are shown in place of the
        values, or, for samples, ``{"uniform": (low, high)}`` or ``{"log_uniform": (low, high)}``,
        such as ``{"log_uniform": ("x0.1", "x10")}`` for the bandwidth.
    sample
        Number of random points to draw in place of all combinations.
    seed
        Random seed of the sample, of random mappings and of noise.
    replicates
        Number of simulations of each point with different random numbers. The numbers of one
        replicate are the same in all scenarios.
    baseline
        Values of some axes to compare the scenarios to. By default, nothing is varied. Axes that
        are not varied have the value of the baseline in all scenarios.
    deployment, hosts, config, ranks
        As for `tisim.replay`. The rules of ``"mapping"`` use the hosts of `deployment` or `hosts`
        if given, else those of the platform.
    modules
        Modules that the workers import; those that contain your own actions and algorithms are
        known already.
    registry
        Your own actions and collective algorithms; by default the registry that `tisim.action` and
        `tisim.collective` fill. Worker processes import its functions by name, and a Dask cluster
        also receives those of a script or notebook.
    workers
        Number of processes; by default, the number of processors. 1: this process. Or the address
        of a Dask scheduler (``"dask://host:port"``) or a `dask.distributed.Client`.
    output
        A ``.csv`` or ``.parquet`` file to which each row is written as soon as it is finished. Rows
        that it already contains are not simulated again, if all their inputs are unchanged.
    resume
        Whether to resume with the rows of `output`; otherwise it is started anew.
    progress
        Whether to show a progress bar, on a terminal and if it takes long.

    Returns
    -------
    pandas.DataFrame
        One row per scenario, in the order of `vary` (the last axis varies fastest):

        - ``scenario``: the parameters in words; then a column for each axis (missing if the point
          does not set it), and ``replicate`` if there are several;
        - ``simulated_time`` (s); ``ratio``: relative to the baseline with the same trace;
        - ``compute_mean``, ``compute_max``, ``communication_mean``, ``communication_max``: seconds
          that ranks compute and communicate, mean and maximum over ranks;
        - ``ranks``, ``actions``, ``bytes_sent``, ``messages_sent``;
        - ``wall_time``: seconds that the scenario took; ``error``: why it failed; ``warnings``;
        - ``baseline_time`` (s); ``key``, ``baseline``: digests of the inputs of the scenario and of
          its baseline.

        Except for ``wall_time``, the frame does not depend on the number of workers.

    Raises
    ------
    InputError
        If an axis does not exist, an input shared by all scenarios cannot be used, or the output
        file is not of a sweep. Errors of single scenarios are in their rows.
    SweepInterrupted
        On Ctrl-C.

    Examples
    --------
    >>> frame = tisim.sweep(
    ...     "traces/ring.4",
    ...     platform="platforms/graphene.xml",
    ...     vary={"bandwidth": [1, 2], "latency": [1, 0.5]},
    ... )  # doctest: +SKIP
    """
    check_installed("pandas")
    check_workers(workers, registry)
    request = Request(
        trace=trace,
        platform=platform,
        vary=vary,
        sample=sample,
        seed=seed,
        replicates=replicates,
        baseline=baseline,
        deployment=deployment,
        hosts=hosts,
        config=config,
        ranks=ranks,
        modules=_imported(modules, registry),
        registry=registry,
    )
    store = None if output is None else open_store(output)
    return _run_missing(make_plan(request), workers, store, resume=resume, progress=progress)


def _imported(modules: Sequence[str], registry: Registry | None) -> tuple[str, ...]:
    """Import the modules; return them and those of registered functions."""
    for name in modules:
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name.partition(".")[0] and error.name != name:
                raise
            raise InputError(f"no module {name!r} to import") from None
    registered = (default_registry if registry is None else registry).modules()
    names = (name for name in (*modules, *registered) if name != "__main__")
    return tuple(dict.fromkeys(names))


def _begin(store: Store, table: Table, *, resume: bool) -> None:
    """Take the results of an earlier sweep, and prepare the file for more."""
    rows = store.load()
    try:
        useless = table.take(rows) if resume else 0
    except ValueError as error:
        raise InputError(
            f"contains a value that no sweep wrote ({error}); remove the file, or use another one",
            file=store.path,
        ) from None
    if useless:
        store.keep_copy()
    store.begin(table.columns, table.rows())


def _run_missing(
    plan: Plan, workers: Workers, store: Store | None, *, resume: bool, progress: bool
) -> pd.DataFrame:
    """Return the frame of a plan; its rows are written to the output file as they finish."""
    table = Table(plan)
    with contextlib.nullcontext() if store is None else locked(store.path):
        if store is not None:
            _begin(store, table, resume=resume)
        try:
            _simulate(plan, table, store, workers, progress=progress)
        except KeyboardInterrupt:
            done, total = len(table.rows()), len(plan.scenarios)
            raise SweepInterrupted(f"{done} of {total} scenarios are done", table.frame()) from None
        finally:
            if store is not None:
                store.finish(table.rows())
    return table.frame()


def _simulate(
    plan: Plan, table: Table, store: Store | None, workers: Workers, *, progress: bool
) -> None:
    """Simulate the scenarios that the table lacks."""
    jobs = {**plan.baselines, **{scenario.key: scenario.job for scenario in plan.scenarios}}
    tasks = [(key, jobs[key]) for key in table.missing]
    if not tasks:
        return
    failed = 0
    bar = ProgressBar("scenarios", wanted=progress)
    with bar, contextlib.closing(run_tasks(plan.inputs, tasks, workers)) as outcomes:
        for done, (key, outcome) in enumerate(outcomes, start=1):
            for row in table.add(key, outcome):
                if store is not None:
                    store.add(row)
            failed += outcome.get("error") is not None
            note = f"{done}/{len(tasks)}" + (f", {failed} failed" if failed else "")
            bar.show(done / len(tasks), note)
