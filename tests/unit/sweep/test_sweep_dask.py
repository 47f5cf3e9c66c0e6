"""Sweeps on a real Dask cluster of several local processes, one of which is killed."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import tisim
from tests.support import GRAPHENE, LU, campaign
from tests.unit.sweep.conftest import same, write_trace
from tisim.errors import InputError, TisimError
from tisim.studies.sweep.store import Table

distributed = pytest.importorskip("distributed", reason="needs the extra tisim[dask]")

# The cluster's own threads and sockets briefly outlive it.
pytestmark = pytest.mark.filterwarnings("default")

SPEC: dict[str, Any] = {
    "platform": GRAPHENE,
    "vary": {
        "latency": [f"x{1 + n / 20}" for n in range(12)],
        "smpi/coll-selector": ["ompi", "mpch"],
    },
}


@pytest.fixture(scope="module")
def expected() -> pd.DataFrame:
    """The same without Dask."""
    return tisim.sweep(LU, **SPEC, workers=1)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """Three processes of one thread each."""
    with (
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_a_client_gives_the_same_frame(client: Any, expected: pd.DataFrame) -> None:
    assert same(tisim.sweep(LU, **SPEC, workers=client), expected)


def test_an_address_gives_the_same_frame(
    client: Any, expected: pd.DataFrame, tmp_path: Path
) -> None:
    address = client.scheduler_info()["address"].removeprefix("tcp://")
    file = tmp_path / "rows.csv"
    frame = tisim.sweep(LU, **SPEC, workers=f"dask://{address}", output=file)
    assert same(frame, expected)
    assert list(pd.read_csv(file)["key"]) == list(expected["key"])


def test_nothing_is_lost_with_a_worker_that_is_killed_half_way(
    client: Any, expected: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    processes = client.run(os.getpid)
    victim = next(iter(processes.values()))
    done: list[str] = []
    original = Table.add

    def add(table: Table, key: str, outcome: dict[str, Any]) -> list[dict[str, Any]]:
        done.append(key)
        if len(done) == len(expected) // 2:
            os.kill(victim, signal.SIGKILL)
        return original(table, key, outcome)

    monkeypatch.setattr(Table, "add", add)
    assert same(tisim.sweep(LU, **SPEC, workers=client), expected)
    assert len(set(done)) == len(done) == len(expected) + 1
    client.wait_for_workers(3)
    assert victim not in client.run(os.getpid).values()


def test_a_cluster_takes_the_functions_of_a_registry(client: Any, tmp_path: Path) -> None:
    def nap(rank: Any, seconds: str) -> Generator[Any, Any, None]:
        yield rank.env.timeout(float(seconds))

    registry = tisim.Registry()
    registry.action("nap")(nap)
    trace = write_trace(tmp_path, "0 nap 0.5\n")
    vary = {"latency": ["x1", "x2", "x3"]}
    frame = tisim.sweep(trace, platform=GRAPHENE, vary=vary, workers=client, registry=registry)
    assert list(frame["simulated_time"]) == [0.5] * 3


def test_a_function_that_cannot_be_sent_to_a_cluster(client: Any, tmp_path: Path) -> None:
    lock = threading.Lock()

    def nap(rank: Any, seconds: str) -> Generator[Any, Any, None]:
        with lock:
            yield rank.env.timeout(float(seconds))

    registry = tisim.Registry()
    registry.action("nap")(nap)
    trace = write_trace(tmp_path, "0 nap 0.5\n")
    with pytest.raises(InputError, match=r"cannot be sent to the cluster .*lock.* top level"):
        tisim.sweep(trace, platform=GRAPHENE, workers=client, registry=registry)


def test_a_scheduler_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    from tisim.studies.sweep import cluster

    monkeypatch.setattr(cluster, "_SECONDS_TO_CONNECT", 0.2)
    with pytest.raises(TisimError, match=r"no Dask scheduler responds at 127\.0\.0\.1:9"):
        tisim.sweep(LU, **SPEC, workers="dask://127.0.0.1:9")


@pytest.mark.skipif(not campaign(0, 1), reason="takes long; `make nightly` runs it")
def test_a_cluster_of_processes_whose_workers_are_killed(
    expected: pd.DataFrame, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A scheduler and two workers, started as by users; both workers are killed in turn."""
    file = tmp_path / "scheduler.json"
    roles = {
        "scheduler": ["--host", "127.0.0.1", "--port", "0", "--no-dashboard"],
        "worker": ["--nworkers", "2", "--nthreads", "1", "--host", "127.0.0.1", "--no-dashboard"],
    }
    with contextlib.ExitStack() as stack:
        for role, options in roles.items():
            words = [sys.executable, "-m", f"distributed.cli.dask_{role}", *options]
            process = subprocess.Popen(
                [*words, "--scheduler-file", str(file)],
                cwd=tmp_path,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            stack.callback(process.wait, 60)
            stack.callback(process.terminate)
        client = stack.enter_context(distributed.Client(scheduler_file=str(file), timeout=60))
        client.wait_for_workers(2, timeout=60)
        killed: list[int] = []
        rows: list[str] = []
        original = Table.add

        def add(table: Table, key: str, outcome: dict[str, Any]) -> list[dict[str, Any]]:
            rows.append(key)
            if len(rows) in (4, 12):
                killed.append(next(iter(client.run(os.getpid).values())))
                os.kill(killed[-1], signal.SIGKILL)
            return original(table, key, outcome)

        monkeypatch.setattr(Table, "add", add)
        address = client.scheduler.address.replace("tcp://", "dask://")
        assert same(tisim.sweep(LU, **SPEC, workers=address, output=tmp_path / "r.csv"), expected)
        assert len(killed) == 2
