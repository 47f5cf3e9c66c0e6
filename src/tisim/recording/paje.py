"""Timelines in the format of Paje, as SimGrid writes them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tisim import _core
from tisim.recording.csv import WrittenFiles

if TYPE_CHECKING:
    from tisim.recording.scene import Scene


def paje_output(path: Path, scene: Scene) -> WrittenFiles:
    """The states and links that SimGrid 3.32 writes for a replay with ``-trace``."""
    return WrittenFiles([(path, _core.PajeWriter(scene.ranks))])
