"""Pages of one file have the modules that the viewer's server sends one by one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tisim.analysis.report import page
from tisim.analysis.report.page import page_modules, page_script
from tisim.analysis.viewer.server import page_files


def test_the_viewer_sends_what_the_report_contains() -> None:
    shared = page_modules("report.js").keys() & page_modules("viewer.js").keys()
    assert {"gestures.js", "canvas.js", "tile.js", "format.js"} <= shared
    script, sent = page_script("report.js"), page_files()
    for name in shared:
        assert sent[name].decode() == page.page_file(name)
        assert script.count(f'modules["{name}"] = (() => {{') == 1


def test_modules_come_after_those_that_they_import() -> None:
    script = page_script("report.js")
    places = [
        script.index(f'modules["{name}"] = ') for name in ("format.js", "gantt.js", "report.js")
    ]
    assert places == sorted(places)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_imports_have_other_names_where_they_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "main.js": 'import {\n  one as first,\n  two,\n} from "./other.js";\n\nconst one = 10;\n'
        "console.log(first() + one + two);\n",
        "other.js": "export function one() { return 1; }\n\nexport const two = 2;\n",
    }
    monkeypatch.setattr(page, "page_file", files.__getitem__)
    (tmp_path / "script.js").write_text(page_script("main.js"))
    run = subprocess.run(
        ["node", tmp_path / "script.js"], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout == "13\n"


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_tiles_are_painted_from_below_and_have_bars(tmp_path: Path) -> None:
    cells = "column: [0, 0, 1, 2, 3], lane: [0, 0, 0, 0, 0], key: [0, 1, 1, 1, 0]"
    (tmp_path / "script.js").write_text(
        page_script("tile.js")
        + "globalThis.ImageData = class {\n  constructor(width, height) {\n"
        + "    this.data = new Uint8ClampedArray(4 * width * height);\n  }\n};\n"
        + 'const { barsOf, cellsAt, paint } = modules["tile.js"];\n'
        + f"const tile = {{ columns: 4, lanes: 1, cells: 5, {cells},\n"
        + "  share: [128, 127, 255, 255, 255], seen: [0, 0, 0, 0, 0] };\n"
        + "const rows = new Uint32Array(paint(tile, 4, [7, 8], 0).data.buffer);\n"
        + "console.log(JSON.stringify([rows[0], rows[4], rows[8], rows[12]]));\n"
        + "console.log(JSON.stringify(barsOf(tile, 2)), JSON.stringify(cellsAt(tile, 0, 0)));\n"
    )
    run = subprocess.run(
        ["node", tmp_path / "script.js"], capture_output=True, text=True, check=True, timeout=60
    )
    painted, rest = run.stdout.split("\n", 1)
    assert painted == "[8,8,7,7]"  # the first class below
    assert rest == '[{"lane":0,"key":1,"from":1,"to":3}] {"from":0,"to":2}\n'


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_names_of_gpus_come_before_those_of_their_streams(tmp_path: Path) -> None:
    (tmp_path / "script.js").write_text(
        page_script("format.js")
        + 'const { namedLanes } = modules["format.js"];\n'
        + "const hosts = [0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2];\n"
        + "const named = (first, apart) => namedLanes(first, 10, apart, (at) => hosts[at]);\n"
        + "console.log(JSON.stringify([named(0, 1), named(0, 2), named(0, 3.5), named(5, 2)]"
        + ".map((lanes) => lanes.sort((a, b) => a - b))));\n"
    )
    run = subprocess.run(
        ["node", tmp_path / "script.js"], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout == "[[0,1,2,3,4,5,6,7,8,9,10],[0,2,4,7,9],[0,4,8],[5,7,9]]\n"


def test_other_forms_of_modules_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "page_file", {"main.js": "export default 1;\n"}.__getitem__)
    with pytest.raises(ValueError, match=r"main\.js: 'export default 1;' is not a form that pages"):
        page_script("main.js")
