"""The viewer: a server on this machine, and the page that it shows in a browser."""

from tisim.analysis.view.notebook import NotebookView
from tisim.analysis.view.server import serve

__all__ = ["NotebookView", "serve"]
