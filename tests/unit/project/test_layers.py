"""Imports follow the layers, without cycles; private names are unique in each joined unit."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import networkx
import pytest

import tisim
from tests.support import ROOT
from tests.unit.project import import_graph
from tests.unit.project.import_graph import PACKAGE

# From the top: a module may import from its own row or those below. A wing's name includes its
# own files and those of its folders that are not listed themselves.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"__main__"}),
    frozenset({"commands"}),
    frozenset({"studies.validation"}),
    frozenset({"studies.uncertainty", "analysis.viewer"}),
    frozenset({"studies", "analysis.compare", "traces.record"}),
    frozenset({"analysis.measured", "gpu", "traces.generate", "traces.extrapolation"}),
    frozenset({"simulation", "analysis"}),
    frozenset({"traces", "actions", "platform", "models"}),
    frozenset({"kernel"}),
    frozenset({"_core", "config"}),
    frozenset({"support"}),
    frozenset({"errors"}),
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
# The packages that use the compiled core directly.
USERS_OF_THE_CORE = (
    "actions",
    "traces",
    "kernel",
    "analysis.timeline",
    "gpu.step_run",
    "platform.core_zones",
    "simulation.goal",
    "simulation.replay",
)


def member_of(module: str) -> str:
    """Return a module's layer member: ``analysis.viewer`` for ``tisim.analysis.viewer.server``."""
    wing, _, rest = module.removeprefix("tisim.").partition(".")
    folder = f"{wing}.{rest.partition('.')[0]}"
    return folder if folder in LEVEL else wing


def imported_members(source: str, path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and layer member of each import of a part of tisim.

    A public name, as in ``from tisim import replay``, counts as the module that defines it.
    """
    for line, name in import_graph.imported_names(source, path, types=False):
        yield line, member_of(tisim._HOME_OF.get(name.split(".")[1], name))


def violations(source: str, path: Path) -> list[str]:
    module = import_graph.module_name(path)
    own = member_of(module)
    if own not in LEVEL:
        return [f"{path}: {own} stands in no layer"]
    found = []
    for line, other in imported_members(source, path):
        if other not in LEVEL:
            continue  # `from tisim import __version__`
        if LEVEL[other] < LEVEL[own]:
            found.append(f"{path}:{line}: {own} imports {other}, which stands above it")
        if other == "_core" and not module.removeprefix("tisim.").startswith(USERS_OF_THE_CORE):
            found.append(f"{path}:{line}: {own} imports _core")
    return found


def test_imports_go_one_way() -> None:
    files = [path for path in import_graph.python_files() if path != PACKAGE / "__init__.py"]
    assert [found for path in files for found in violations(path.read_text(), path)] == []


@pytest.mark.parametrize(
    ("where", "source"),
    [
        ("kernel/environment.py", "from tisim.platform import Platform"),
        ("kernel/environment.py", "def f():\n    import tisim.simulation.replay"),
        ("platform/xml.py", "from ..simulation import replay"),
        ("models/kernel.py", "from tisim import _core"),
        ("traces/trace.py", "def f():\n    from tisim import replay"),
        ("rogue.py", ""),
    ],
)
def test_a_violation_is_seen(where: str, source: str) -> None:
    assert violations(source, PACKAGE / where)


def test_type_checking_imports_are_free() -> None:
    source = "if TYPE_CHECKING:\n    from tisim.platform import Platform"
    assert violations(source, PACKAGE / "kernel/environment.py") == []


def test_the_core_includes_nothing_of_python() -> None:
    wrong = [
        (path.name, header)
        for path, header in import_graph.native_includes("core")
        if header == "Python.h" or header.startswith(("nanobind", "pybind11", "bindings"))
    ]
    assert wrong == []


def test_the_bindings_use_nanobind_only() -> None:
    wrong = [
        (path.name, header)
        for path, header in import_graph.native_includes("bindings")
        if header == "Python.h"
    ]
    assert wrong == []
    assert any(
        header.startswith("nanobind/") for _, header in import_graph.native_includes("bindings")
    )


def test_the_package_has_few_wings_and_the_architecture_names_them() -> None:
    entries = [
        path for path in PACKAGE.iterdir() if not path.name.startswith(("__pycache__", "_core"))
    ]
    assert len(entries) <= 16
    top = (ROOT / "ARCHITECTURE.md").read_text().partition("## The border")[0]
    wings = {path.name for path in entries if path.is_dir()}
    rooms = {path.name for path in (ROOT / "core").iterdir() if path.is_dir()}
    assert {name for name in wings | rooms if not re.search(rf"\b{name}\b", top)} == set()


# Directories of the core, from the bottom: a file includes only from its own directory and from
# the preceding ones.
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
    "core/trace/access",
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
    """Imports for the type checker count, too."""
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


# The simulator reads operations and does not depend on their storage formats.
SIMULATOR = tuple(f"{room}/" for room in ROOMS if not room.startswith(("core/trace", "bindings")))
# Parts of traces that the simulator may include, directly or indirectly.
IN_SIGHT = (
    "core/trace/archive/trace_set.hpp",
    "core/trace/error.hpp",
    "core/trace/access/",
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


def declared(head: str) -> set[str]:
    """Return the name that a declaration, up to its body or semicolon, introduces."""
    head = re.sub(r"\s+", " ", head).strip()
    head = re.sub(r"^template ?<.*?> ?(?=class|struct|[a-z])", "", head)
    if not head or re.match(r"static_assert|friend|using (?!\w+ ?=)|TEST\(", head):
        return set()
    for pattern in (r"(?:class|struct|enum class|enum|union) (\w+)", r"using (\w+) ?="):
        if match := re.match(pattern, head):
            return {match[1]}
    head = head.split("=")[0]
    if match := re.search(r"(\w+) ?\(", head):  # functions may be overloaded: include their types
        return set() if f"::{match[1]}" in head else {re.sub(r"\b\w+(?=[,)])", "", head)}
    match = re.search(r"(\w+)(?:\[[^\]]*\])* ?$", head)
    return {match[1]} if match else set()


def private_names(source: str) -> set[str]:
    """Return the names declared directly in the anonymous namespaces of a file."""
    source = re.sub(r"//[^\n]*|/\*.*?\*/|^\s*#[^\n]*", "", source, flags=re.S | re.M)
    source = re.sub(r'"(\\.|[^"\\\n])*"|\'(\\.|[^\'\\\n])*\'', "0", source)
    names: set[str] = set()
    scopes: list[str] = []
    for text, end in re.findall(r"([^{};]*)([{};])", source):
        head = text.strip()
        at_top = "anonymous" in scopes and "body" not in scopes
        if end == "{":
            space = re.match(r"(?:inline )?namespace\b ?([\w:]*)", head)
            scopes.append(("named" if space[1] else "anonymous") if space else "body")
        if at_top and end in "{;":
            names |= declared(head)
        if end == "}" and scopes:
            scopes.pop()
    return names


def translation_unit(path: Path) -> str:
    """Return the unit to which the build assigns a source, as in CMakeLists.txt."""
    folders = path.relative_to(ROOT).parts[:-1]
    if folders[0] == "core":
        folders = folders[1:3] if folders[1:3] == ("trace", "tit") else folders[1:2]
    test = path.name.endswith(".test.cpp") or folders[0] == "tests"
    return "/".join(folders) + (" (tests)" if test else "")


def translation_units() -> dict[str, list[Path]]:
    """Return the sources of each unit."""
    units = defaultdict(list)
    for place in ("core", "bindings", "tests/core"):
        for path in sorted((ROOT / place).rglob("*.cpp")):
            if not path.name.endswith(".fuzz.cpp"):
                units[translation_unit(path)].append(path)
    return units


UNITS = translation_units()


@pytest.mark.parametrize("unit", UNITS)
def test_private_names_of_a_translation_unit_differ(unit: str) -> None:
    files = defaultdict(list)
    for path in UNITS[unit]:
        for name in private_names(path.read_text()):
            files[name].append(path.name)
    assert {name: paths for name, paths in files.items() if len(paths) > 1} == {}


def test_private_names_are_found() -> None:
    source = """
    namespace tisim {
    namespace {
    constexpr int kMost = 4;  // not kLeast = 3;
    struct Pair { int first; };
    bool even(int n) { int half = n / 2; return 2 * half == n; }
    }  // namespace
    int twice(int n) { return 2 * n; }
    }
    """
    assert private_names(source) == {"kMost", "Pair", "bool even(int )"}
