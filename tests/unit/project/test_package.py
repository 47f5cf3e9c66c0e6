"""The package: its public names, errors and types, and the modules imported at startup."""

from __future__ import annotations

import ast
import pickle
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from importlib.metadata import packages_distributions
from pathlib import Path
from types import ModuleType

import pytest

import tisim
from tests.support import GRAPHENE, RING, ROOT
from tests.unit.project import import_graph
from tests.unit.project.import_graph import PACKAGE
from tests.unit.project.public_names import DOCUMENTED, STABLE, STORED, public_names
from tisim.analysis.result_json import COLUMNS, RankRow
from tisim.errors import InputError, SimulationError, TisimError


@pytest.mark.parametrize("template", ["function", "optional", "pair", "tuple"])
def test_bindings_convert_what_they_return(template: str) -> None:
    """Without its header, a source that is compiled alone, as in releases, gives an error."""
    for source in (ROOT / "bindings").glob("*.cpp"):
        text = source.read_text()
        if f"std::{template}<" in text:
            assert f"#include <nanobind/stl/{template}.h>" in text, source.name


def test_every_public_name_resolves() -> None:
    for name in tisim.__all__:
        assert not isinstance(getattr(tisim, name), ModuleType)
    assert dir(tisim) == sorted(tisim.__all__)


def test_the_version_is_that_of_the_project() -> None:
    """It is derived from the repository's tags when the package is built."""
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
    """Run a statement with the checkout's sources first and without this installation."""
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
    """Debian 12 creates virtual environments with pip 23.0, which lacks ``-C``."""
    assert not re.search(r"\s-C\w", (ROOT / "Makefile").read_text())


# Maximum number of uses of `Any` per file. New entries need a library without a better type; the
# numbers may only decrease.
LEFT: dict[str, int] = {}


def uses_of_any(source: str) -> int:
    """Count the uses of `Any` as a type in a source, in quotes or not, except imports."""
    count = 0
    for node in ast.walk(import_graph.parsed(source)):
        match node:
            case ast.Name(id="Any") | ast.Attribute(attr="Any"):
                count += 1
            case ast.Constant(value=str(text)) if "Any" in text:
                try:
                    quoted = ast.unparse(ast.parse(text, mode="eval"))
                except (SyntaxError, ValueError):
                    continue  # prose
                count += uses_of_any(quoted) if quoted != repr(text) else 0
    return count


def test_uses_of_any_are_found() -> None:
    source = '''
from typing import Any
import typing
def f(x: Any, y: "dict[str, Any]") -> typing.Any:
    """Any sentence."""
    return cast("Any", AnyOther("Any other"))
'''
    assert uses_of_any(source) == 4


def test_types_are_precise() -> None:
    found = {}
    for path in import_graph.python_files():
        if count := uses_of_any(path.read_text(encoding="utf-8")):
            found[str(path.relative_to(PACKAGE))] = count
    assert found == LEFT


def test_rows_of_results_have_the_columns() -> None:
    assert tuple(RankRow.__annotations__) == COLUMNS


def test_no_public_name_or_parameter_is_lost() -> None:
    """docs/stability.md describes how to remove a name or change a default.

    Afterwards, ``python -m tests.unit.project.public_names`` stores the names again.
    """
    assert sorted(set(STORED.read_text().splitlines()) - set(public_names())) == []


def test_what_is_public_is_said_to_be() -> None:
    """Modules with an ``__all__`` are in one of the two lists, and docs/stability.md has both."""
    modules = (ROOT / "tisim").rglob("*.py")
    public = [path for path in modules if "\n__all__ = " in path.read_text()]
    names = {".".join(path.relative_to(ROOT).parent.parts) for path in public}
    assert {path.name for path in public} == {"__init__.py"}
    assert names == {*STABLE, *DOCUMENTED}
    rows = (ROOT / "docs" / "stability.md").read_text().splitlines()
    for packages, beginning in ((STABLE, "| Python: "), (DOCUMENTED, "| Python, which may change")):
        (row,) = [line for line in rows if line.startswith(beginning)]
        assert re.findall(r"`(tisim[\w.]*)`", row) == [*packages]


def test_messages_about_missing_packages_name_an_extra() -> None:
    """The message about a missing package names the extra of pyproject.toml that provides it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for path in (ROOT / "tisim").rglob("*.py"):
        for asked in re.findall(r"pip install ['\"]?(\w[^\s'\",]*)", path.read_text()):
            extra = asked.removeprefix("tisim[").rstrip("]")
            assert extra in {*project["optional-dependencies"], "{extra}"}, f"{path}: {asked}"


HEAVY = frozenset({"lxml", "matplotlib", "networkx", "numpy", "pandas", "scipy", "simpy"})


def loaded_by(statement: str) -> set[str]:
    """Return the top-level names of modules in a fresh interpreter after `statement`."""
    code = f"{statement}\nimport sys\nprint(*{{name.split('.')[0] for name in sys.modules}})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


REPLAY = f"""
import tisim.commands.cli
try: tisim.commands.cli.main(["replay", "--platform", {str(GRAPHENE)!r},
                     {str(RING)!r}])
except SystemExit: pass
"""


@pytest.mark.parametrize(
    "code",
    [
        pytest.param("import tisim", id="the package"),
        pytest.param("from tisim import InputError, SimulationError, TisimError", id="errors"),
        pytest.param(
            "import tisim; from tisim.simulation.settings import Settings; "
            f"Settings(tisim.Platform.load({str(GRAPHENE)!r})).data",
            id="a platform with its models",
        ),
        pytest.param("import tisim.commands.calibrate", id="a calibration"),
        pytest.param(REPLAY, id="a replay"),
    ],
)
def test_what_is_light(code: str) -> None:
    assert not loaded_by(code) & HEAVY


def test_a_replay_loads_little_of_tisim_itself() -> None:
    """Each module adds a third of a millisecond to a replay of a few milliseconds."""
    code = f"{REPLAY}\nimport sys\nprint(*{{n for n in sys.modules if n.startswith('tisim')}})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.splitlines()[-1].split())
    wings = ("importers", "checking", "inspection", "packed", "record", "extrapolation")
    assert not {f"tisim.traces.{wing}" for wing in wings} & loaded
    assert len(loaded) < 90


@pytest.mark.parametrize("name", ["a.csv", "a.tir"])
def test_a_replay_with_a_timeline_is_light(name: str, tmp_path: Path) -> None:
    """Run files are Parquet and Arrow, but their libraries load as slowly as LU replays."""
    code = REPLAY.replace('"replay",', f'"replay", "--timeline", {str(tmp_path / name)!r},')
    assert not loaded_by(code) & (HEAVY | {"pyarrow"})
    assert (tmp_path / name).exists()


def test_what_records_and_writes_platforms_is_light() -> None:
    """Writing XML with the standard library's helpers would load its HTTP client."""
    code = "import tisim.analysis.timeline.run_file.writer, tisim.platform.description.writer"
    assert not loaded_by(code) & (HEAVY | {"http", "pyarrow"})


def test_a_replay_imports_what_the_demo_installs() -> None:
    """`make demo` installs only the dependencies that a replay imports."""
    line = re.search(r"^REPLAY_PACKAGES := (.*)$", (ROOT / "Makefile").read_text(), re.M)
    assert line
    packages = {re.split(r"[<>=]", word.strip('"'))[0] for word in line[1].split()}
    installed = packages_distributions().keys() - sys.stdlib_module_names
    public = {name for name in loaded_by(REPLAY) & installed if not name.startswith("_")}
    assert public - {"tisim"} == packages
