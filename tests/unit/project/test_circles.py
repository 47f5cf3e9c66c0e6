"""No circle of imports or includes, neither of files nor of folders.

The rooms of the core are listed once, here, from the bottom to the top.
"""

from __future__ import annotations

import networkx
import pytest

from tests.unit.project import import_graph
from tests.unit.project.test_layers import member_of

# The rooms of the core, from the bottom: a file includes only from its own room and from those
# before it.
ROOMS = (
    "core/support",
    "core/clock",
    "core/platform/zones",
    "core/platform",
    "core/resource",
    "core/solver",
    "core/network",
    "core/graph",
    "core/host",
    "core/trace/otf2",
    "core/trace/tit/codec",
    "core/trace/tit/grammar",
    "core/trace/tit/vector",
    "core/trace/tit/column",
    "core/trace/tit/file",
    "core/trace/tit/writer",
    "core/trace/tit/recorder",
    "core/trace/vocabulary",
    "core/trace/requests",
    "core/trace/habits",
    "core/trace",
    "core/trace/grammar",
    "core/trace/text",
    "core/trace/packed",
    "core/trace/archive",
    "core/trace/walk",
    "core/trace/script",
    "core/trace/inspect",
    "core/trace/check",
    "core/event_log",
    "core/transfer",
    "core/io/storage",
    "core/mpi",
    "core/io/file",
    "core/simulation",
    "core/goal",
    "core/timeline",
    "core/timeline/spans",
    "core/timeline/formats",
    "core/timeline/run_file",
    "bindings",
    "bindings/spans",
)


def test_no_module_imports_itself_in_a_circle() -> None:
    """What only a type checker imports counts too."""
    assert import_graph.circles(import_graph.python_imports(types=True)) == set()


def test_no_package_imports_itself_in_a_circle() -> None:
    packages = import_graph.grouped(import_graph.python_imports(types=False), member_of)
    assert import_graph.circles(packages) == set()


def test_no_header_includes_itself_in_a_circle() -> None:
    assert import_graph.circles(import_graph.native_files()) == set()


def test_rooms_of_the_core_go_one_way() -> None:
    level = {room: number for number, room in enumerate(ROOMS)}
    folders = import_graph.folders_of(import_graph.native_files())
    unlisted = {*folders, *(room for rooms in folders.values() for room in rooms)} - {*ROOMS}
    assert unlisted == set(), "a new room needs a place in ROOMS"
    upward = {
        (room, other)
        for room, others in folders.items()
        for other in others
        if level[other] > level[room]
    }
    assert upward == set()


@pytest.mark.parametrize(
    ("graph", "found"),
    [
        ({"a": ["b"], "b": ["c"], "c": []}, set()),
        ({"a": ["b"], "b": ["a", "c"], "c": ["d"], "d": ["c"]}, {("a", "b"), ("c", "d")}),
        ({"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": ["a"]}, {("a", "b", "c", "d")}),
    ],
)
def test_a_circle_is_found(graph: dict[str, list[str]], found: set[tuple[str, ...]]) -> None:
    assert import_graph.circles(graph) == found


def test_late_imports_count() -> None:
    path = import_graph.PACKAGE / "kernel" / "report.py"
    source = "def f():\n    from ..simulation.replay import replay\n"
    assert list(import_graph.imported_names(source, path, types=False)) == [
        (2, "tisim.simulation.replay.replay")
    ]


# The simulator reads operations and knows nothing of the formats that they are stored in.
SIMULATOR = tuple(f"{room}/" for room in ROOMS if not room.startswith(("core/trace", "bindings")))
# Parts of traces that the simulator may see, directly or through other headers.
IN_SIGHT = (
    "core/trace/archive/trace_set.hpp",
    "core/trace/error.hpp",
    "core/trace/habits/",
    "core/trace/reader.hpp",
    "core/trace/requests/",
    "core/trace/vocabulary/",
    "core/trace/volume_adjustments.hpp",
)


def test_the_simulator_sees_nothing_of_the_formats_of_traces() -> None:
    graph = networkx.DiGraph(import_graph.native_files())
    users = [path for path in graph if path.startswith(SIMULATOR)]
    assert len(users) > 100
    wrong = {
        (path, header)
        for path in users
        for header in networkx.descendants(graph, path)
        if header.startswith("core/trace/") and not header.startswith(IN_SIGHT)
    }
    assert wrong == set()
