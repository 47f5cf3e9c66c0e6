"""The public names of the package, and its errors."""

from __future__ import annotations

import importlib
import pickle
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import tisim
from tisim.errors import InputError, SimulationError, TisimError


def test_every_public_name_resolves() -> None:
    for name in tisim.__all__:
        assert not isinstance(getattr(tisim, name), ModuleType)
        assert name in dir(tisim)


def test_the_version_is_that_of_the_project() -> None:
    with (Path(__file__).parents[3] / "pyproject.toml").open("rb") as file:
        assert tisim.__version__ == tomllib.load(file)["project"]["version"]


def test_replay_stays_the_function_when_its_module_is_imported() -> None:
    module = importlib.import_module("tisim.replay")
    assert isinstance(module, ModuleType)
    assert tisim.replay is module.replay


def test_a_replay_loads_no_library_that_it_can_do_without() -> None:
    needless = {"csv", "email", "lzma", "random", "shutil", "tempfile", "pandas", "scipy", "rich"}
    code = f"import sys, tisim.replay; tisim.__version__; print(*{needless!r} & sys.modules.keys())"
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


def test_the_checkout_holds_no_importable_sources() -> None:
    """With tisim installed, `import tisim` in a checkout finds what is installed."""
    root = Path(__file__).parents[3]
    code = "from importlib.machinery import PathFinder; print(PathFinder.find_spec('tisim', ['']))"
    run = subprocess.run(
        [sys.executable, "-I", "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    assert run.stdout == "None\n"
    assert (root / "src" / "tisim" / "__init__.py").is_file()


def test_the_build_uses_options_that_old_versions_of_pip_know() -> None:
    """Debian 12 makes virtual environments with pip 23.0, which has no ``-C``."""
    assert not re.search(r"\s-C\w", (Path(__file__).parents[3] / "Makefile").read_text())
