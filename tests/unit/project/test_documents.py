"""The documents are well-formed, and so are the subjects of commits."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support import ROOT

RECORDS = ROOT / "docs" / "adr"
COLUMNS = 100
#: Directories of the repository that contain files named in documents.
PLACES = (
    "benchmarks", "bindings", "cmake", "core", "docs", "examples", "platforms", "tests", "tisim",
    "traces",
)  # fmt: skip


def documents() -> list[Path]:
    """Return every Markdown file of the repository."""
    files = [*ROOT.glob("*.md")]
    for place in PLACES:
        files += (ROOT / place).rglob("*.md")
    return sorted(file for file in files if "_generated" not in file.parts)


def prose(text: str) -> list[tuple[int, str]]:
    """Return the numbered lines outside of code blocks, formulas and program output."""
    lines = []
    fence = ""
    for number, line in enumerate(text.splitlines(), 1):
        opening = re.match(r"\s*(```+|~~~+|\$\$$)", line)
        if line.startswith("<!-- written by") and not fence:
            fence = line.replace("from here", "to here")
        elif opening and not fence:
            fence = opening[1]
        elif fence and line.strip() == fence:
            fence = ""
        elif not fence:
            lines.append((number, line))
    return lines


@cache
def anchors(file: Path) -> set[str]:
    """Return the anchors of a file: its headings, in the spelling of code hosts and of Sphinx."""
    found: set[str] = set()
    for _, line in prose(file.read_text()):
        heading = re.match(r"#+ (.*)", line)
        if heading:
            title = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading[1])
            title = re.sub(r"[^\w\- ]", "", title.replace("`", "")).strip().lower()
            found.add(title.replace(" ", "-"))
    return found


def lines_of_prose() -> Iterator[tuple[Path, str, str]]:
    """Yield each line of all documents, with its file and its location for messages."""
    for file in documents():
        for number, line in prose(file.read_text()):
            yield file, f"{file.relative_to(ROOT)}:{number}", line


def test_prose_breaks_at_100_columns() -> None:
    """Tables, code blocks, pictures and lines with only a link may be longer."""
    exempt = ("|", "![", "[", "<!--", "    ")
    long = [
        place
        for _, place, line in lines_of_prose()
        if len(line) > COLUMNS and not line.startswith(exempt) and " " in line.strip("-* ")
    ]
    assert long == []


def test_links_lead_somewhere() -> None:
    broken = []
    for file, place, line in lines_of_prose():
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            goal = (file.parent / name).resolve() if name else file
            has_anchor = goal.suffix != ".md" or not anchor or anchor in anchors(goal)
            if not goal.exists() or not has_anchor:
                broken.append(f"{place}: {target}")
    assert broken == []


def named_paths(text: str) -> set[str]:
    """Return the paths of the repository that a document names as code."""
    paths = set()
    for code in re.findall(r"`([^`\n]+)`", text):
        word = code.rstrip("/")
        if word.startswith("tisim/") and "." not in word and code == word:
            continue  # a platform property, such as `tisim/disk`; folders are named `tisim/models/`
        if re.fullmatch(rf"({'|'.join(PLACES)})/[\w./*{{}},<>-]+", word):
            paths.add(word)
    return paths


def exists(path: str) -> bool:
    """Return True if a path exists; capitals, ``*`` and ``<name>`` match any name."""
    if (ROOT / path).exists():
        return True
    pattern = re.sub(r"<\w+>|\b[A-Z]{2,}\b", "*", path)
    return pattern != path.replace("*", "") and any(ROOT.glob(pattern))


def test_paths_that_documents_name_exist() -> None:
    missing = [
        (file.name, path)
        for file in documents()
        if file.parent == ROOT or file.is_relative_to(ROOT / "docs")
        for path in sorted(named_paths(file.read_text()))
        if not exists(path)
    ]
    assert missing == []


def records() -> list[Path]:
    return sorted(RECORDS.glob("[0-9]*.md"))


def test_decision_records_have_their_parts() -> None:
    parts = [rf"^## {part}" for part in ("Context", "Decision", "Consequences")]
    parts += [r"^- Date: \d{4}-\d\d-\d\d", r"^- Status: (proposed|accepted|superseded)"]
    for file in records():
        for part in (rf"\A# ADR {int(file.stem[:4])}: ", *parts):
            assert re.search(part, file.read_text(), re.M), (file.name, part)


def test_the_index_of_decision_records_is_complete() -> None:
    text = (RECORDS / "README.md").read_text()
    listed = re.findall(r"^\| \[(\d+)\]\((\S+)\) \| (.*?) \| (\S+) \| (\w+)", text, re.M)
    assert [name for _, name, *_ in listed] == [file.name for file in records()]
    for number, name, title, date, status in listed:
        record = (RECORDS / name).read_text()
        assert record.startswith(f"# ADR {number}: {title}\n")
        assert f"- Date: {date}" in record
        assert f"- Status: {status}" in record


def test_missing_numbers_of_decision_records_are_explained() -> None:
    explanation = (RECORDS / "README.md").read_text().partition("numbers are missing")[2]
    explained = {int(number) for number in re.findall(r"\b\d+\b", explanation)}
    for first, last in re.findall(r"(\d+) to (\d+)", explanation):
        explained |= set(range(int(first), int(last) + 1))
    present = {int(file.stem[:4]) for file in records()}
    assert set(range(1, max(present))) - present <= explained


def test_the_glossary_defines_each_term_once() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text()
    terms = re.findall(r"^### (.*)$", text, re.M)
    assert len(terms) >= 40
    assert len({term.lower() for term in terms}) == len(terms)
    sections = re.findall(r"^### .*\n\n(.*?)(?=\n#|\Z)", text, re.M | re.S)
    assert all(section.strip() for section in sections)


def test_documents_link_to_the_glossary() -> None:
    pages = sorted((ROOT / "docs").glob("*.md"))
    without = [page.name for page in pages if "glossary.md" not in page.read_text()]
    assert without in ([], ["glossary.md"])


def test_front_pages_state_the_errors_of_the_validation() -> None:
    validation = (ROOT / "docs" / "validation.md").read_text()
    for group in ("above 4 kB", "up to 4 kB, and barriers"):
        row = re.search(rf"^\| {group} \|(.*)\|$", validation, re.M)
        assert row is not None
        cases, _, mean, median, worst = (
            cell.strip().replace("%", " %") for cell in row[1].split("|")[:5]
        )
        for page in (ROOT / "README.md", ROOT / "docs" / "index.md"):
            text = page.read_text()
            missing = [figure for figure in (mean, median, worst) if figure not in text]
            assert not missing and re.search(rf"\b{cases}\b", text), f"{page}: {group}: {missing}"
    measured = re.search(
        r"(\d+) cases, median error ([\d.]+ %), mean [\d.]+ %, worst ([\d.]+ %)",
        " ".join(validation.partition("\n## Whole programs\n")[2].split()),
    )
    assert measured is not None
    for page in (ROOT / "README.md", ROOT / "docs" / "index.md"):
        row = re.search(r"whole programs.*", page.read_text(), re.I)
        assert row is not None
        assert all(figure in row[0] for figure in measured.groups()), f"{page}: whole programs"


HOOK = ROOT / ".githooks" / "commit-msg"
PROBLEM = runpy.run_path(str(HOOK))["problem"]
#: Number of commits checked; the rule is newer than the first ones.
COMMITS = 20


def git(*arguments: str) -> str:
    run = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return run.stdout.strip() if run.returncode == 0 else ""


def test_the_last_subjects_follow_the_rule() -> None:
    introduced = git("log", "--diff-filter=A", "--format=%H", "--", ".githooks/commit-msg")
    if not introduced:
        pytest.skip("there is no history of git here")
    subjects = git("log", f"-{COMMITS}", "--format=%s", f"{introduced.splitlines()[-1]}..HEAD")
    assert {s: PROBLEM(s) for s in subjects.splitlines() if PROBLEM(s)} == {}


@pytest.mark.parametrize(
    ("subject", "part"),
    [
        ("Merge the two passes over a component in the solver", None),
        ("Seed the campaign with the date", None),
        ("Process traces of one rank", None),
        ("Revert " + "x" * 80, None),
        ("Say " + "x" * 69, "73 characters"),
        ("Added a selector", "not imperative"),
        ("Adding a selector", "not imperative"),
        ("Adds a selector", "not imperative"),
        ("Add a selector.", "full stop"),
        ("solver: merge two passes", "capitalised verb"),
        ("Solver: merge two passes", "capitalised verb"),
    ],
)
def test_subjects_that_the_hook_refuses(subject: str, part: str | None) -> None:
    problem = PROBLEM(subject)
    assert problem is None if part is None else part in problem


def test_the_hook_reads_the_message_of_a_file(tmp_path: Path) -> None:
    message = tmp_path / "COMMIT_EDITMSG"
    for text, status in [
        ("Add a selector\n\nIt is MVAPICH's.\n# On branch main\n", 0),
        ("Add a selector\nIt is MVAPICH's.\n", 1),
        ("Added a selector\n", 1),
    ]:
        message.write_text(text)
        run = subprocess.run([sys.executable, HOOK, message], capture_output=True, text=True)
        assert run.returncode == status, run.stderr
