"""What all tests share: the data of the checkout, and whether SimGrid is there."""

from __future__ import annotations

import signal
import tarfile
from pathlib import Path

import pytest

from tests.oracle import simgrid_exec

ROOT = Path(__file__).resolve().parents[1]


def pytest_configure() -> None:
    """Let programs that tests start see Ctrl-C, also where the shell started pytest without it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests marked `oracle`, with the reason, where SimGrid is not installed."""
    reason = simgrid_exec.missing()
    if reason is not None:
        for item in items:
            if item.get_closest_marker("oracle"):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def nas_traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the class S traces unpacked, one directory a run."""
    target = tmp_path_factory.mktemp("npb.S")
    # Python 3.11.3 and older do not know the filter, later ones warn when there is none.
    safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    with tarfile.open(ROOT / "traces" / "npb.S.tar.xz") as archive:
        archive.extractall(target, **safely)
    return target
