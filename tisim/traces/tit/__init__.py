"""A second, slow reader of packed traces of version 2, written from docs/tit.md alone.

It shows that the description is enough to read a file, and the tests compare it with the core's
reader. Replays use the core's, which is some hundred times as fast.
"""

from __future__ import annotations

from .trace import TitTrace

__all__ = ["TitTrace"]
