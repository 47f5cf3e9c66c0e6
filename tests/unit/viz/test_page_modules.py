"""Pages of one file have the modules that the viewer's server sends one by one."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tisim.analysis.view.server import page_files
from tisim.analysis.viz import modules
from tisim.analysis.viz.modules import page_script, shared_files


def test_the_viewer_sends_what_the_report_contains() -> None:
    script, sent = page_script("main.js"), page_files()
    for name, text in shared_files().items():
        if name.endswith(".js"):
            assert sent[name].decode() == text
    for name in ("window.js", "gestures.js", "canvas.js", "tile.js", "cells.js", "format.js"):
        assert script.count(f'modules["{name}"] = (() => {{') == 1


def test_modules_come_after_those_that_they_import() -> None:
    script = page_script("main.js")
    places = [
        script.index(f'modules["{name}"] = ') for name in ("format.js", "gantt.js", "main.js")
    ]
    assert places == sorted(places)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_imports_have_other_names_where_they_say_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "main.js": 'import { one as first, two } from "./other.js";\n\nconst one = 10;\n'
        "console.log(first() + one + two);\n",
        "other.js": "export function one() { return 1; }\n\nexport const two = 2;\n",
    }
    monkeypatch.setattr(modules, "shared_files", lambda: files)
    (tmp_path / "script.js").write_text(page_script("main.js"))
    run = subprocess.run(
        ["node", tmp_path / "script.js"], capture_output=True, text=True, check=True, timeout=60
    )
    assert run.stdout == "13\n"


def test_other_forms_of_modules_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modules, "shared_files", lambda: {"main.js": "export default 1;\n"})
    with pytest.raises(ValueError, match=r"main\.js: 'export default 1;' is no import or export"):
        page_script("main.js")
