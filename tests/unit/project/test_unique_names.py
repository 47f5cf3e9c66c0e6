"""Sources that the build joins in one translation unit have different private names."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests.support import ROOT


def declared(head: str) -> set[str]:
    """The name that a declaration, up to its body or semicolon, introduces."""
    head = re.sub(r"\s+", " ", head).strip()
    head = re.sub(r"^template ?<.*?> ?(?=class|struct|[a-z])", "", head)
    if not head or re.match(r"static_assert|friend|using (?!\w+ ?=)|TEST\(", head):
        return set()
    for pattern in (r"(?:class|struct|enum class|enum|union) (\w+)", r"using (\w+) ?="):
        if found := re.match(pattern, head):
            return {found[1]}
    head = head.split("=")[0]
    if found := re.search(r"(\w+) ?\(", head):  # a function may be overloaded: its types too
        return set() if f"::{found[1]}" in head else {re.sub(r"\b\w+(?=[,)])", "", head)}
    found = re.search(r"(\w+)(?:\[[^\]]*\])* ?$", head)
    return {found[1]} if found else set()


def private_names(source: str) -> set[str]:
    """The names declared right inside the anonymous namespaces of a file."""
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
    """The unit that the build puts a source into, as CMakeLists.txt has it."""
    folders = path.relative_to(ROOT).parts[:-1]
    if folders[0] == "core":
        folders = folders[1:3] if folders[1:3] == ("trace", "tit") else folders[1:2]
    test = path.name.endswith(".test.cpp") or folders[0] == "tests"
    return "/".join(folders) + (" (tests)" if test else "")


def translation_units() -> dict[str, list[Path]]:
    """The sources of each unit."""
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
