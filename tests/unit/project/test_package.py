"""The public names of the package, and its errors."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest

import tisim
from tests.unit.project.import_graph import ROOT
from tisim.errors import InputError, SimulationError, TisimError


def test_every_public_name_resolves() -> None:
    for name in tisim.__all__:
        assert not isinstance(getattr(tisim, name), ModuleType)
    assert dir(tisim) == sorted(tisim.__all__)


def test_the_version_is_that_of_the_project() -> None:
    """It comes from the tags of the repository, when the package is built."""
    assert tisim.__version__ == metadata.version("tisim")
    assert re.match(r"\d+\.\d+", tisim.__version__)


def test_a_replay_loads_no_library_that_it_can_do_without() -> None:
    needless = {"csv", "email", "lzma", "random", "shutil", "tempfile", "pandas", "scipy", "rich"}
    code = f"import sys, tisim; tisim.replay; print(*{needless!r} & sys.modules.keys())"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'repaly'"):
        _ = tisim.repaly


def test_an_input_error_begins_with_its_place() -> None:
    assert str(InputError("no such host", file="a.xml", line=3)) == "a.xml:3: no such host"
    assert str(InputError("no such host", file="a.xml")) == "a.xml: no such host"
    assert str(InputError("no such host")) == "no such host"
    assert issubclass(InputError, TisimError)
    assert issubclass(SimulationError, TisimError)


def test_an_input_error_crosses_processes() -> None:
    error = pickle.loads(pickle.dumps(InputError("no such host", file="a.xml", line=3)))
    assert (error.message, error.file, error.line) == ("no such host", "a.xml", 3)


def in_a_checkout(statement: str, *installed: Path) -> subprocess.CompletedProcess[str]:
    """Run a statement with the sources of the checkout first and without this installation."""
    paths = [str(ROOT), *map(str, installed)]
    code = (
        "import sys\nsys.meta_path[:] = sys.meta_path[-3:]\n"
        f"sys.path[:] = {paths!r} + [p for p in sys.path if 'site-packages' not in p]\n"
    )
    command = [sys.executable, "-I", "-c", code + statement]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_checkout_uses_the_core_of_an_installation(tmp_path: Path) -> None:
    installed = tmp_path / "tisim"
    installed.mkdir()
    (installed / "__init__.py").write_text("")
    (installed / "_core.py").write_text("VERIFIES = 'installed'")
    run = in_a_checkout("import tisim; print(tisim._core.VERIFIES, tisim.__file__)", tmp_path)
    assert (run.stdout, run.stderr) == (f"installed {ROOT}/tisim/__init__.py\n", "")


def test_a_missing_core_is_one_sentence() -> None:
    run = in_a_checkout("import tisim; tisim._core.Simulation()")
    last = run.stderr.splitlines()[-1]
    assert last == (
        "tisim.errors.MissingCoreError: the compiled core of tisim is missing; run `make build` "
        "in a checkout; elsewhere install a C++20 compiler, then `pip install --force-reinstall "
        "--no-deps --no-cache-dir tisim`"
    )


def test_the_build_uses_options_that_old_versions_of_pip_know() -> None:
    """Debian 12 makes virtual environments with pip 23.0, which has no ``-C``."""
    assert not re.search(r"\s-C\w", (ROOT / "Makefile").read_text())
