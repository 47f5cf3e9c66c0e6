"""Graphs of imports and includes of the project's files, and their cycles."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import networkx

from tests.support import ROOT

PACKAGE = ROOT / "tisim"

Graph = Mapping[str, Iterable[str]]


@cache
def parsed(source: str) -> ast.Module:
    return ast.parse(source)


def module_name(path: Path) -> str:
    """Return the dotted name of a file of the package: ``tisim.platform.xml``."""
    parts = ("tisim", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def python_files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def nodes_that_run(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes under `node` that run: not those under ``if TYPE_CHECKING``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            continue
        yield child
        yield from nodes_that_run(child)


def imported_names(source: str, path: Path, *, types: bool) -> Iterator[tuple[int, str]]:
    """Yield line and full name of all parts of tisim that a file imports, including late imports.

    With `types`, also imports for the type checker only.
    """
    package = ("tisim", *path.relative_to(PACKAGE).parts[:-1])
    tree = parsed(source)
    for node in ast.walk(tree) if types else nodes_that_run(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            names = [f"{module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from ((node.lineno, name) for name in names if name.startswith("tisim."))


def python_imports(*, types: bool) -> dict[str, set[str]]:
    """Return the modules that each module imports; with `types`, including imports for types only.

    Excludes the package's ``__init__``, which knows the home of each public name.
    """
    files = {module_name(path): path for path in python_files()}
    del files["tisim"]
    graph: dict[str, set[str]] = {name: set() for name in files}
    for module, path in files.items():
        for _, name in imported_names(path.read_text(), path, types=types):
            while name and name not in files:
                name = name.rpartition(".")[0]
            if name and name != module:
                graph[module].add(name)
    return graph


def native_includes(*folders: str) -> Iterator[tuple[Path, str]]:
    """Yield each C++ file under `folders`, with each header that it includes."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.[ch]pp")):
            for header in re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)', path.read_text(), re.M):
                yield path, header


def native_files() -> dict[str, set[str]]:
    """Return the project files that each C++ file of the core and the bindings includes.

    Tests next to a file may use everything: they are excluded.
    """
    graph: dict[str, set[str]] = {}
    for path, header in native_includes("core", "bindings"):
        if path.name.endswith((".test.cpp", ".fuzz.cpp")):
            continue
        own = str(path.relative_to(ROOT))
        for found in (ROOT / "core" / header, path.parent / header, ROOT / header):
            if found.is_file():
                graph.setdefault(own, set()).add(str(found.resolve().relative_to(ROOT)))
                break
    return graph


def folders_of(graph: Graph) -> dict[str, set[str]]:
    """Return the same graph between folders."""
    folders: dict[str, set[str]] = {}
    for file, others in graph.items():
        own = str(Path(file).parent)
        folders.setdefault(own, set()).update({str(Path(o).parent) for o in others} - {own})
    return folders


def grouped(graph: Graph, group_of: Callable[[str], str]) -> dict[str, set[str]]:
    """Return the graph between groups of nodes."""
    groups: dict[str, set[str]] = {}
    for node, others in graph.items():
        own = group_of(node)
        groups.setdefault(own, set()).update({group_of(other) for other in others} - {own})
    return groups


def circles(graph: Graph) -> set[tuple[str, ...]]:
    """Return the sets of nodes that all reach each other (cycles), each sorted."""
    components = networkx.strongly_connected_components(networkx.DiGraph(graph))
    return {tuple(sorted(members)) for members in components if len(members) > 1}
