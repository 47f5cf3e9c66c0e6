"""Imports go one way, the core knows nothing of Python, and `import tisim` is light."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "src" / "tisim"

# From the top: a module may import what stands in its own row or below.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"cli", "__main__"}),
    frozenset({"commands"}),
    frozenset({"sweep", "compare", "viz", "calibration", "generate"}),
    frozenset({"environment", "jobs", "replay", "result", "result_json", "recording", "timeline"}),
    frozenset({"formats", "actions", "platform", "models"}),
    frozenset({"kernel"}),
    frozenset({"_core", "config"}),
    frozenset({"deprecation", "files", "progress", "quantities", "tables"}),
    frozenset({"errors"}),
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
# The packages that use the compiled core themselves.
USERS_OF_THE_CORE = frozenset({"actions", "formats", "kernel", "timeline", "replay"})
HEAVY = frozenset({"lxml", "matplotlib", "networkx", "numpy", "pandas", "scipy", "simpy"})


def python_files() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if path != PACKAGE / "__init__.py")


def layer_of(path: Path) -> str:
    """The name of the layer's member that a file of the package belongs to."""
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def runtime_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes under `node` that run: not those under ``if TYPE_CHECKING``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            continue
        yield child
        yield from runtime_nodes(child)


def imported_layers(source: str, path: Path) -> Iterator[tuple[int, str]]:
    """Line and layer member of each import of a part of tisim."""
    package = ("tisim", *path.relative_to(PACKAGE).parts[:-1])
    for node in runtime_nodes(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            names = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "tisim" and len(parts) > 1:
                yield node.lineno, parts[1]


def violations(source: str, path: Path) -> list[str]:
    own = layer_of(path)
    if own not in LEVEL:
        return [f"{path}: {own} stands in no layer"]
    found = []
    for line, other in imported_layers(source, path):
        if other not in LEVEL:
            continue  # `from tisim import replay`: a public name, loaded by the package itself
        if LEVEL[other] < LEVEL[own]:
            found.append(f"{path}:{line}: {own} imports {other}, which stands above it")
        if other == "_core" and own not in USERS_OF_THE_CORE:
            found.append(f"{path}:{line}: {own} imports _core")
    return found


@pytest.mark.parametrize("path", python_files(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_one_way(path: Path) -> None:
    assert violations(path.read_text(), path) == []


@pytest.mark.parametrize(
    ("where", "source"),
    [
        ("kernel/environment.py", "from tisim.platform import Platform"),
        ("kernel/environment.py", "def f():\n    import tisim.replay"),
        ("platform/xml.py", "from ..replay import replay"),
        ("models/settings.py", "from tisim import _core"),
        ("rogue.py", ""),
    ],
)
def test_a_violation_is_seen(where: str, source: str) -> None:
    assert violations(source, PACKAGE / where)


def test_type_checking_imports_are_free() -> None:
    source = "if TYPE_CHECKING:\n    from tisim.platform import Platform"
    assert violations(source, PACKAGE / "kernel/environment.py") == []


def native_includes(folder: str) -> Iterator[tuple[Path, str]]:
    for path in sorted((ROOT / folder).rglob("*.[ch]pp")):
        for header in re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)', path.read_text(), re.M):
            yield path, header


def test_the_core_includes_nothing_of_python() -> None:
    wrong = [
        (path.name, header)
        for path, header in native_includes("core")
        if header == "Python.h" or header.startswith(("nanobind", "pybind11", "bindings"))
    ]
    assert wrong == []


def test_the_bindings_use_nanobind_only() -> None:
    wrong = [
        (path.name, header) for path, header in native_includes("bindings") if header == "Python.h"
    ]
    assert wrong == []
    assert any(header.startswith("nanobind/") for _, header in native_includes("bindings"))


def loaded_by(statement: str) -> set[str]:
    """Top-level names of the modules in a fresh interpreter after `statement`."""
    code = f"{statement}\nimport sys\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_import_is_light() -> None:
    assert not loaded_by("import tisim") & HEAVY


def test_errors_are_light() -> None:
    assert not loaded_by("from tisim import InputError, SimulationError, TisimError") & HEAVY


def test_a_platform_with_its_models_is_light() -> None:
    path = ROOT / "platforms" / "graphene.xml"
    code = f"import tisim; tisim.Platform.load({str(path)!r}).settings({{}}).data"
    assert not loaded_by(code) & HEAVY


def test_a_replay_is_light() -> None:
    platform, trace = (str(ROOT / name) for name in ("platforms/graphene.xml", "traces/ring.4"))
    arguments = ["replay", "--platform", platform, trace]
    code = f"import tisim.cli\ntry: tisim.cli.main({arguments!r})\nexcept SystemExit: pass"
    assert not loaded_by(code) & HEAVY
