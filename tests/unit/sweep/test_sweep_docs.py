"""The examples of docs/sweeps.md run and print what it says."""

from __future__ import annotations

import doctest
import json
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.campaign import campaign
from tests.support import ROOT
from tisim.commands.cli import tisim

TEXT = (ROOT / "docs" / "sweeps.md").read_text()
CONSOLE = re.findall(r"```console\n(.*?)```", TEXT, re.S)
PYTHON = re.findall(r"```python\n(.*?)```", TEXT, re.S)


@pytest.fixture(autouse=True)
def examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory that looks like the root."""
    for name in ("traces", "platforms", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)


def commands(block: str) -> list[tuple[list[str], str]]:
    """The commands of a block with the output that stands behind each."""
    parts = re.split(r"^\$ ", block, flags=re.M)[1:]
    return [(shlex.split(part.split("\n", 1)[0])[1:], part.split("\n", 1)[1]) for part in parts]


@pytest.mark.parametrize("block", CONSOLE, ids=lambda block: block.split("\n")[0][2:50])
def test_a_console_example(block: str) -> None:
    for arguments, expected in commands(block):
        result = CliRunner().invoke(tisim, arguments)
        assert result.exit_code == 0, result.output
        if expected:
            same = doctest.OutputChecker().check_output(
                expected, result.stdout, doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
            )
            assert same, result.output


@pytest.mark.parametrize("block", PYTHON)
def test_a_python_example(block: str) -> None:
    names: dict[str, object] = {}
    exec("import tisim", names)
    test = doctest.DocTestParser().get_doctest(block, names, "docs/sweeps.md", None, 0)
    failures: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test, out=failures.append)
    assert failures == []


def test_every_column_is_explained() -> None:
    from tisim.studies.sweep.scenario import OUTCOMES

    for name in (*OUTCOMES, "ratio", "baseline_time", "key"):
        assert f"`{name}`" in TEXT


def test_there_are_examples() -> None:
    assert len(CONSOLE) == 2
    assert len(PYTHON) == 4


NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
SECONDS = 300  # for a cell, on a busy machine


# `make docs` executes all of them, and fails where a cell does.
@pytest.mark.filterwarnings("default")  # of Jupyter's own
@pytest.mark.parametrize(
    "file", NOTEBOOKS[campaign(1, 0) : campaign(2, 4)], ids=lambda file: file.stem
)
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
        "training_layouts",
        "what_if_on_graphene",
    ]
