"""Imports go one way between layers, and the core knows nothing of Python."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tisim
from tests.unit.project import import_graph
from tests.unit.project.import_graph import PACKAGE, ROOT

# From the top: a module may import from its own row or those below. A wing's name stands for its
# own files and for those of its folders that are not listed themselves.
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
# The packages that use the compiled core themselves.
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
    """A module's member of a layer: ``analysis.viewer`` for ``tisim.analysis.viewer.server``."""
    wing, _, rest = module.removeprefix("tisim.").partition(".")
    folder = f"{wing}.{rest.partition('.')[0]}"
    return folder if folder in LEVEL else wing


def imported_members(source: str, path: Path) -> Iterator[tuple[int, str]]:
    """Line and layer member of each import of a part of tisim.

    A public name, as in ``from tisim import replay``, counts as the module that it lives in.
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
        ("models/world.py", "from tisim import _core"),
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
