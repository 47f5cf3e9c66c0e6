"""Graph files: text or packed (``.tit``).

A packed file contains only a graph, or a graph and the trace whose ranks launch its blocks.
"""

from __future__ import annotations

from pathlib import Path

from tisim import _core
from tisim.errors import InputError
from tisim.support.files import write_file
from tisim.support.reading import read_text
from tisim.traces.packed import is_packed
from tisim.traces.sources import Part
from tisim.traces.writer import PACKED_SUFFIX

# The graph's section in a packed file.
_SECTION = "graph"


def read_graph_text(path: str | Path) -> str:
    """Return the text of a graph file. Raises `InputError` if it is damaged or has no graph."""
    if not is_packed(path):
        return read_text(path, "this graph")
    text = packed_graph(path)
    if text is None:
        raise InputError("is a packed trace without a graph of GPUs", file=path)
    return text


def packed_graph(path: str | Path) -> str | None:
    """Return the text of the graph in a packed file; None if it has none. Raises `InputError` when
    the file is damaged.
    """
    content = _core.graph_in(Part(str(path), str(path)).for_core())
    try:
        return None if content is None else content.decode()
    except UnicodeDecodeError:
        raise InputError("its graph is not text in UTF-8", file=path) from None


def write_graph(path: str | Path, text: str) -> None:
    """Write the text of a graph to a file, packed if its name ends in ``.tit``."""
    packs = Path(path).suffix == PACKED_SUFFIX
    write_file(path, _core.pack_graph(text.encode()) if packs else text)


def add_graph(trace: str | Path, text: str) -> None:
    """Write the text of a graph into a packed trace that has none."""
    from tisim.traces.packed_program import with_section

    if packed_graph(trace) is not None:
        raise InputError("already contains a graph; pack its text with another one", file=trace)
    write_file(trace, with_section(trace, _SECTION, text.encode()))
