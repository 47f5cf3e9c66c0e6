"""The notebooks run from top to bottom; as files they hold no output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.unit.sweep.samples import ROOT

NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
SECONDS = 300  # for a cell, on a busy machine


@pytest.mark.filterwarnings("default")  # of Jupyter's own
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_runs(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = pytest.importorskip("nbformat", reason="needs the extra tisim[notebook]")
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient")
    pytest.importorskip("ipykernel", reason="needs the extra tisim[notebook]")
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
    notebook = nbformat.read(file, as_version=4)
    client = nbclient.NotebookClient(
        notebook,
        timeout=SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(file.parent)}},
    )
    client.execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    pictures = [one for one in outputs if "image/png" in one.get("data", {})]
    told = [one["text"] for one in outputs if one.output_type == "stream" and one.name == "stderr"]
    assert pictures
    assert told == []


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_is_stored_without_output(file: Path) -> None:
    for cell in json.loads(file.read_text())["cells"]:
        assert not cell.get("outputs")
        assert not cell.get("execution_count")


def test_there_are_notebooks() -> None:
    assert [file.stem for file in NOTEBOOKS] == [
        "calibration",
        "first_replay",
        "what_if_on_graphene",
    ]
