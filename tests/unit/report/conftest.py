"""Reports used by several tests, and their browser."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tisim
from tests.support import GRAPHENE, LU
from tests.unit.report import browser as chromium
from tisim.analysis.report import write_report


@pytest.fixture(scope="session")
def lu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of NAS LU on four ranks."""
    trace, platform = LU, GRAPHENE
    page = tmp_path_factory.mktemp("lu") / "lu.html"
    write_report(tisim.replay(trace, platform=platform, event_log=True), page)
    return page


@pytest.fixture(scope="session")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with chromium.browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened
