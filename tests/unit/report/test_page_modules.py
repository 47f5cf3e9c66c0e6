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


def test_other_forms_of_modules_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "page_file", {"main.js": "export default 1;\n"}.__getitem__)
    with pytest.raises(ValueError, match=r"main\.js: 'export default 1;' is not a form that pages"):
        page_script("main.js")
