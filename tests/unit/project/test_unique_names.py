"""The quick build compiles the files of a room together: their private names must differ."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


def declared(head: str) -> set[str]:
    """The name that a declaration, up to its body or semicolon, introduces."""
    head = re.sub(r"\s+", " ", head).strip()
    head = re.sub(r"^template ?<.*?> ?(?=class|struct|[a-z])", "", head)
    if not head or head.startswith(("static_assert", "friend", "using namespace")):
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


#: A library of its own.
TIT = ROOT / "core" / "trace" / "tit"


@pytest.mark.parametrize(
    "room", [*sorted(p for p in (ROOT / "core").iterdir() if p.is_dir()), TIT, ROOT / "bindings"]
)
def test_private_names_of_a_room_differ(room: Path) -> None:
    files = defaultdict(list)
    for path in sorted(room.rglob("*.cpp")):
        if TIT in path.parents and room != TIT:
            continue
        if not path.name.endswith((".test.cpp", ".fuzz.cpp")):
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
