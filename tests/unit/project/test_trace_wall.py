"""The simulator reads operations and knows nothing of the formats that they are stored in."""

from __future__ import annotations

from tests.unit.project import import_graph

SIMULATOR = tuple(
    f"core/{folder}/"
    for folder in (
        "clock",
        "event_log",
        "host",
        "io",
        "mpi",
        "network",
        "platform",
        "resource",
        "simulation",
        "solver",
        "support",
        "timeline",
        "transfer",
    )
)
# What the simulator may see of traces, directly or through other headers.
IN_SIGHT = (
    "core/trace/archive/trace_set.hpp",
    "core/trace/error.hpp",
    "core/trace/habits/",
    "core/trace/reader.hpp",
    "core/trace/vocabulary/",
    "core/trace/volume_adjustments.hpp",
)


def closure(graph: dict[str, set[str]], start: str) -> set[str]:
    """Everything that a file includes, directly or not."""
    found: set[str] = set()
    waiting = [start]
    while waiting:
        new = graph.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


def test_the_simulator_sees_nothing_of_the_formats_of_traces() -> None:
    graph = import_graph.native_files()
    users = [path for path in graph if path.startswith(SIMULATOR)]
    assert len(users) > 100
    wrong = {
        (path, header)
        for path in users
        for header in closure(graph, path)
        if header.startswith("core/trace/") and not header.startswith(IN_SIGHT)
    }
    assert wrong == set()


def test_what_is_included_through_others_counts() -> None:
    graph = {"a": {"b"}, "b": {"c", "a"}, "c": {"d"}}
    assert closure(graph, "a") == {"a", "b", "c", "d"}
