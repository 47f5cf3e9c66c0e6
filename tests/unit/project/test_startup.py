"""What a process imports before it works: each library costs every run its time."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.support import GRAPHENE, RING, ROOT

HEAVY = frozenset({"lxml", "matplotlib", "networkx", "numpy", "pandas", "scipy", "simpy"})


def loaded_by(statement: str) -> set[str]:
    """Top-level names of the modules in a fresh interpreter after `statement`."""
    code = f"{statement}\nimport sys\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_import_is_light() -> None:
    assert not loaded_by("import tisim") & HEAVY


def test_errors_are_light() -> None:
    assert not loaded_by("from tisim import InputError, SimulationError, TisimError") & HEAVY


def test_a_platform_with_its_models_is_light() -> None:
    path = GRAPHENE
    code = (
        "import tisim; from tisim.simulation.settings import Settings; "
        f"Settings(tisim.Platform.load({str(path)!r})).data"
    )
    assert not loaded_by(code) & HEAVY


REPLAY = f"""
import tisim.commands.cli
try: tisim.commands.cli.main(["replay", "--platform", {str(GRAPHENE)!r},
                     {str(RING)!r}])
except SystemExit: pass
"""


def test_a_replay_is_light() -> None:
    assert not loaded_by(REPLAY) & HEAVY


def test_a_replay_loads_little_of_tisim_itself() -> None:
    """Each module costs a replay of a few milliseconds a third of one."""
    code = f"{REPLAY}\nimport sys\nprint(*{{n for n in sys.modules if n.startswith('tisim')}})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.splitlines()[-1].split())
    wings = ("importers", "checking", "inspection", "packed", "record", "extrapolation")
    assert not {f"tisim.traces.{wing}" for wing in wings} & loaded
    assert len(loaded) < 90


@pytest.mark.parametrize("name", ["a.csv", "a.tir"])
def test_a_replay_with_a_timeline_is_light(name: str, tmp_path: Path) -> None:
    """Run files are Parquet and Arrow, but their libraries take as long to load as LU to replay."""
    code = REPLAY.replace('"replay",', f'"replay", "--timeline", {str(tmp_path / name)!r},')
    assert not loaded_by(code) & (HEAVY | {"pyarrow"})
    assert (tmp_path / name).exists()


def test_what_records_and_writes_platforms_is_light() -> None:
    """Writing XML with the standard library's helpers would load its client of HTTP."""
    code = "import tisim.analysis.timeline.run_file.writer, tisim.platform.description.writer"
    assert not loaded_by(code) & (HEAVY | {"http", "pyarrow"})


def test_a_replay_imports_what_the_demo_installs() -> None:
    """`make demo` installs no dependency but those that a replay imports."""
    line = re.search(r"^REPLAY_PACKAGES := (.*)$", (ROOT / "Makefile").read_text(), re.M)
    assert line
    packages = {re.split(r"[<>=]", word.strip('"'))[0] for word in line[1].split()}
    installed = packages_distributions().keys() - sys.stdlib_module_names
    public = {name for name in loaded_by(REPLAY) & installed if not name.startswith("_")}
    assert public - {"tisim"} == packages
