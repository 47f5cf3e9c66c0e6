"""Folders and files stay small enough to be found and read."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("src", "core", "bindings", "cmake", "tests", "benchmarks", "examples", "docs")
MOST_FILES = 25
MOST_LINES = 400
# A numbered series that only grows.
SERIES = {"docs/adr"}


def files() -> list[Path]:
    """The sources and documents; not what builds and interpreters leave beside them."""
    return [
        path.relative_to(ROOT)
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*"))
        if path.is_file()
        and not {"__pycache__", "_generated"} & set(path.parts)
        and not path.name.startswith("_core.")
        and path.suffix != ".pyc"
    ]


def test_folders_have_few_files() -> None:
    counts = Counter(str(path.parent) for path in files())
    assert {f for f, n in counts.items() if n > MOST_FILES} - SERIES == set()


def test_sources_are_short() -> None:
    sources = (path for path in files() if path.suffix in {".py", ".cpp", ".hpp", ".c", ".h"})
    long = {str(p) for p in sources if len((ROOT / p).read_text().splitlines()) > MOST_LINES}
    assert long == set()
