"""Platforms from the text of their elements."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tisim.platform import Platform

Load = Callable[[str], Platform]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Reads the platform of some elements."""

    def load_elements(text: str) -> Platform:
        path = tmp_path / "platform.xml"
        path.write_text(f'<platform version="4.1">{text}</platform>')
        return Platform.load(path)

    return load_elements
