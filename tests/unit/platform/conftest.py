"""Platforms loaded from the text of their elements."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support import load_platform
from tisim.platform import Platform

Load = Callable[[str], Platform]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Load the platform of some elements."""

    def load_elements(text: str) -> Platform:
        return load_platform(tmp_path, text)

    return load_elements
