"""No circle of imports or includes, neither of files nor of folders.

The known ones are listed, and the list only shrinks.
"""

from __future__ import annotations

import pytest

from tests.unit.project import import_graph

# What only a type checker imports counts too.
KNOWN_MODULES: set[tuple[str, ...]] = {
    ("tisim.kernel.custom", "tisim.kernel.environment", "tisim.kernel.mpi"),
    (
        "tisim.models.settings",
        "tisim.platform.compiled",
        "tisim.platform.platform",
        "tisim.platform.scaling",
    ),
    ("tisim.platform.builder", "tisim.platform.clusters", "tisim.platform.events"),
}
KNOWN_PACKAGES: set[tuple[str, ...]] = {("models", "platform")}
KNOWN_INCLUDES: set[tuple[str, ...]] = set()

# The rooms of the core, from the bottom: a file includes only from its own room and from those
# before it.
ROOMS = (
    "core/support",
    "core/platform",
    "core/resource",
    "core/solver",
    "core/network",
    "core/trace/vocabulary",
    "core/trace",
    "core/trace/storage",
    "core/trace/grammar",
    "core/trace/volumes",
    "core/trace/text",
    "core/trace/packed",
    "core/trace/archive",
    "core/trace/check",
    "core/host",
    "core/mpi",
    "core/simulation",
    "core/timeline",
    "core/timeline/formats",
    "bindings",
)
# Includes from a room that comes later, still to be removed.
KNOWN_UPWARD = {
    ("core/host", "core/simulation"),
    ("core/mpi", "core/simulation"),
}


def unknown(found: set[tuple[str, ...]], known: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """The circles that are not known, nor part of a known one."""
    return {circle for circle in found if not any({*circle} <= {*other} for other in known)}


def test_no_module_imports_itself_in_a_circle() -> None:
    found = import_graph.circles(import_graph.python_imports())
    assert unknown(found, KNOWN_MODULES) == set()


def test_no_package_imports_itself_in_a_circle() -> None:
    packages = import_graph.packages_of(import_graph.python_imports())
    assert unknown(import_graph.circles(packages), KNOWN_PACKAGES) == set()


def test_no_header_includes_itself_in_a_circle() -> None:
    found = import_graph.circles(import_graph.native_files())
    assert unknown(found, KNOWN_INCLUDES) == set()


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
    assert upward - KNOWN_UPWARD == set()


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
    source = "def f():\n    from ..replay import replay\n"
    assert list(import_graph.imported_names(source, path, types=False)) == [
        (2, "tisim.replay.replay")
    ]
