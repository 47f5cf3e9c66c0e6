"""Fixtures for all tests: the checkout's data, and skips if SimGrid is not installed."""

from __future__ import annotations

import os
import signal
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import tisim
from tests.oracle import simgrid_exec
from tests.support import campaign

ROOT = Path(__file__).resolve().parents[1]

# CI draws the same cases each time, so that failures are due to the change under test;
# `make nightly` draws others.
settings.register_profile("same cases", derandomize=bool(campaign(1, 0)))
settings.load_profile("same cases")


def pytest_configure() -> None:
    """Let programs started by tests receive Ctrl-C, even if the shell made pytest ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests marked `oracle`, with the reason, if SimGrid is not installed."""
    reason = simgrid_exec.missing()
    if reason is not None:
        for item in items:
            if item.get_closest_marker("oracle"):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(autouse=True)
def unchanged_registry() -> Iterator[None]:
    """Fail a test that leaves the default registry changed, which affects later tests."""
    registry = tisim.default_registry
    before = dict(registry.actions), dict(registry.collectives)
    with registry.restored():
        yield
        after, left = (dict(registry.actions), dict(registry.collectives)), repr(registry)
    if after != before:
        pytest.fail(f"the test leaves the default registry changed: {registry!r} became {left}")


@pytest.fixture
def restored_registry(unchanged_registry: None) -> Iterator[None]:
    """Undo changes to the default registry after the test."""
    with tisim.default_registry.restored():
        yield


@pytest.fixture(scope="session", autouse=True)
def compiled_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Share the recorders compiled for MPI libraries among all processes of a test run."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.getbasetemp().parent / "recorders")


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def nas_traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the class S traces unpacked, one directory per run."""
    target = tmp_path_factory.mktemp("npb.S")
    # Python 3.11.3 and older lack the filter, later versions warn without it.
    safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(ROOT / "traces" / "npb.S.tar.xz") as archive:
        archive.extractall(target, **safely)
    return target
