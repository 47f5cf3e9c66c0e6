"""The viewer as a folder of static files for any web server: prepared pictures and answers.

Pictures are tiles of a pyramid: level z divides the time of the run into 2^z parts with equally
many columns, for all ranks. Answers belong to windows: level w has windows of a 2^w-th of the
time, each of which overlaps the next by half. `page/prepared.js` reads them.
"""

from __future__ import annotations

import json
import os
import zlib
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tisim.analysis.timeline.run_file import RunFile
from tisim.analysis.viewer.answers import Answers
from tisim.analysis.viewer.server import page_files
from tisim.errors import InputError
from tisim.support.files import new_directory

if TYPE_CHECKING:
    Row = dict[str, object]

_COLUMNS = 1024
# Maximum number of lanes in a tile: ranks, or groups of 2, 4, 8, ... of them.
_MAX_LANES = 128
# The pyramid grows until a column of a lane has few states, or to this many levels or bytes.
_STATES_PER_COLUMN = 0.05
_MAX_LEVELS = 9
_MAX_BYTES = 24_000_000
# Window levels with all answers prepared, and with messages and the critical path.
_WINDOWS, _PICTURED_WINDOWS = 4, 7
_ARROW_COLUMNS, _ARROWS = 64, 400
_RANK_ROWS = 2048
# Maximum number of states with prepared causes: the longest waits, and the states in their chains.
_WAITS, _RECORDS = 300, 800

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'"
)
_SERVE = "This directory needs a web server: run python3 -m http.server in it."


def write_folder(run: RunFile, path: str | os.PathLike[str]) -> int:
    """Write a new folder that shows a run, and return its size in bytes.

    Parameters
    ----------
    run
        The run.
    path
        The folder, which must not exist, or must be empty.

    Raises
    ------
    InputError
        If the folder is not empty, or cannot be written.
    """
    with new_directory(path) as folder:
        files = page_files()
        _write(folder / "index.html", _page(files.pop("viewer.html").decode()))
        for name, content in files.items():
            _write(folder / "page" / name, content)
        for name, content in _prepared(run):
            _write(folder / "answers" / name, content)
        return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)


def _page(html: str) -> bytes:
    """Return the page with the location of its answers, and its message until the script runs."""
    policy = f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    for before, after in (
        ('<html lang="en">', '<html lang="en" data-prepared="answers">'),
        ('<meta charset="utf-8">', f'<meta charset="utf-8">\n{policy}'),
        ('<p id="message" role="alert" hidden></p>', f'<p id="message" role="alert">{_SERVE}</p>'),
    ):
        if before not in html:
            raise ValueError(f"the page lacks {before}")
        html = html.replace(before, after, 1)
    return html.encode()


def _prepared(run: RunFile) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of the prepared answers; deflated, except the index."""
    answers = Answers([run])

    def ask(name: str, **query: object) -> bytes:
        found = answers.answer(name, {key: str(value) for key, value in query.items()})
        assert found is not None
        return found

    size = 1
    while -(-run.ranks // size) > _MAX_LANES:
        size *= 2
    lanes = -(-run.ranks // size)
    run_info = json.loads(ask("run"))
    run_info["orders"] = run_info["orders"][:1]
    yield "run.z", zlib.compress(json.dumps(run_info).encode())
    yield "findings.z", zlib.compress(ask("findings"))
    levels, written = 0, 0
    while levels < _MAX_LEVELS and written < _MAX_BYTES and run.end > 0.0:
        parts = 1 << levels
        for part in range(parts):
            begin, end = run.end * part / parts, run.end * (part + 1) / parts
            query = {"begin": begin, "end": end, "columns": _COLUMNS, "lanes": lanes, "by": "key"}
            tile = zlib.compress(ask("tile", **query))
            written += len(tile)
            yield f"tile-{levels}-{part}.z", tile
        levels += 1
        if run.states.rows <= _STATES_PER_COLUMN * _COLUMNS * lanes * parts:
            break
    for level in range(_PICTURED_WINDOWS):
        for part in range((2 << level) - 1):
            window = _window(run, level, part)
            arrows = {"columns": _ARROW_COLUMNS, "lanes": lanes, "most": _ARROWS}
            texts = {"path": ask("path", **window), "messages": ask("messages", **window, **arrows)}
            if level < _WINDOWS:
                texts["statistics"] = ask("statistics", **window, lanes=_RANK_ROWS)
                for name in ("durations", "sites", "links"):
                    texts[name] = ask(name, **window)
            whole = {name: json.loads(answer) for name, answer in texts.items()}
            yield f"window-{level}-{part}.z", zlib.compress(json.dumps(whole).encode())
    yield "records.z", zlib.compress(json.dumps([*_records(answers)]).encode())
    index = {
        "levels": levels,
        "columns": _COLUMNS,
        "windows": _WINDOWS,
        "pictured": _PICTURED_WINDOWS,
    }
    yield "index.json", json.dumps(index).encode()


def _window(run: RunFile, level: int, part: int) -> dict[str, object]:
    """Return a window of a level; windows begin at each half of their length."""
    parts = 2 << level
    return {"begin": run.end * part / parts, "end": run.end * (part + 2) / parts}


def _records(answers: Answers) -> Iterator[Row]:
    """Yield the states of findings, the longest waits, and the states in their causal chains."""
    found = json.loads(answers.answer("findings", {}) or b"{}")["findings"]
    waits = json.loads(answers.answer("search", {"q": "wait > 0s", "most": str(_WAITS)}) or b"{}")
    wanted = deque(tuple(finding["point"]) for finding in found if finding["point"])
    wanted.extend((state["rank"], (state["start"] + state["end"]) / 2) for state in waits["states"])
    known: set[tuple[int, float]] = set()
    while wanted and len(known) < _RECORDS:
        rank, time = wanted.popleft()
        try:
            answer = answers.answer("record", {"rank": str(rank), "time": repr(float(time))})
        except InputError:
            continue  # the trace of the rank has ended by then
        record = json.loads(answer or b"{}")
        state = record["state"]
        if (state["rank"], state["start"]) in known:
            continue
        known.add((state["rank"], state["start"]))
        wanted.extend(
            (state["rank"], (state["start"] + state["end"]) / 2) for state in record["chain"]
        )
        yield record
