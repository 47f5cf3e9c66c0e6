"""The viewer: a local server, and the page that it shows in a browser."""

from __future__ import annotations

from tisim.analysis.viewer.notebook import NotebookView
from tisim.analysis.viewer.server import serve

__all__ = ["NotebookView", "serve"]
