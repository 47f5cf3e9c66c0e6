"""The examples in the documents print the output that they show."""

from __future__ import annotations

import doctest
import itertools
import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import ROOT, campaign
from tests.unit.command_line import CommandLine

NAMES = (
    *("calibration", "inspect", "platforms", "results", "seeds", "sweeps", "timelines", "traces"),
    "tutorial",
)
#: Documents whose examples show only output, without messages about files written.
OUTPUT_ALONE = ("calibration", "sweeps")
HOWTOS = sorted((ROOT / "docs" / "howto").glob("*.md"))
SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def examples(file: Path) -> list[tuple[str, str]]:
    """Return the language and the text of each example, in order."""
    return re.findall(r"^```(console|python)\n(.*?)^```", file.read_text(), re.S | re.M)


def check_commands(block: str, tisim: CommandLine, output_alone: bool) -> None:
    """Run the commands of a block; files shown by ``cat`` are first written."""
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        line, expected = part.split("\n", 1)
        program, *arguments = shlex.split(line)
        if program == "pip":  # .ci/clean-install tests it
            continue
        if program == "cd":
            os.chdir(arguments[0])  # the test restores it
            continue
        if program == "cat":
            tisim.write(arguments[0], expected)
            continue
        if program == "head":
            assert subprocess.check_output([program, *arguments], text=True) == expected
            continue
        assert program == "tisim"
        run = tisim(*arguments)
        # The exit status of `tisim check` tells whether the trace is valid.
        status = 1 if ": not sound: " in expected else 0
        assert run.status == status, f"{line}\n{run.err}"
        printed = run.out if output_alone else run.out + run.err
        same = doctest.OutputChecker().check_output(expected, printed, SAME)
        assert same or expected == "...\n", f"{line}\n{printed}"


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the output of ``tisim examples``: no other file of the checkout is needed."""
    directory = tmp_path_factory.mktemp("samples") / "samples"
    command = [sys.executable, "-m", "tisim", "examples", directory]
    subprocess.run(command, check=True, timeout=60)
    return directory


DOCUMENTS = [ROOT / "docs" / f"{name}.md" for name in NAMES]
DOCUMENTS += [file for file in HOWTOS if examples(file)]


@pytest.mark.parametrize("file", DOCUMENTS, ids=lambda file: file.stem)
def test_the_examples(
    file: Path,
    samples: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    place = tmp_path / "here"
    if file.stem == "calibration":
        shutil.copytree(samples / "examples" / "calibration", place)
    else:
        place.mkdir()
        for sample in samples.iterdir():
            (place / sample.name).symlink_to(sample)
    monkeypatch.chdir(place)
    assert examples(file)
    names: dict[str, object] = {}
    for language, block in examples(file):
        if language == "console":
            check_commands(block, CommandLine(place, capsys), file.stem in OUTPUT_ALONE)
            continue
        if re.search(r"^class ", block, re.M):  # definitions used by later blocks
            exec(compile(block, file.name, "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(block, names, file.name, None, 0)
        failures: list[str] = []
        doctest.DocTestRunner(optionflags=SAME).run(test, out=failures.append, clear_globs=False)
        assert failures == []
        names = test.globs


def test_the_commands_of_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    commands = re.findall(r"^    make (\w+)", (ROOT / "README.md").read_text(), re.M)
    assert commands
    for command in commands:
        assert re.search(rf"^{command}:", makefile, re.M), command


@pytest.mark.skipif(not campaign(0, 1), reason="takes long; `make nightly` runs it")
def test_the_pictures_of_the_gallery_are_drawn_again(tmp_path: Path) -> None:
    script = ROOT / "docs" / "pictures" / "gallery.py"
    subprocess.run([sys.executable, script, tmp_path], check=True, timeout=300)
    text = (ROOT / "docs" / "gallery.md").read_text()
    for name in ("graphene.svg", "calibration.svg"):
        assert (tmp_path / name).read_text().startswith("<")
        assert f"(pictures/{name})" in text


def test_the_picture_of_many_machines_is_drawn_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "what-if.svg"
    monkeypatch.setattr(sys, "argv", ["what_if.py", str(output)])
    script = runpy.run_path(str(ROOT / "docs" / "pictures" / "what_if.py"))
    predictions = script["predictions"]()
    assert min(predictions, key=lambda name: predictions[name][-1]) == "latencies x times as short"
    for times in predictions.values():
        assert all(a > b for a, b in itertools.pairwise(times))
    script["main"]()
    assert output.read_text().startswith("<?xml")
    assert "(pictures/what-if.svg)" in (ROOT / "docs" / "gallery.md").read_text()
