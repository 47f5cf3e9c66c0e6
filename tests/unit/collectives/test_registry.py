"""Algorithms are found by SimGrid's names, users' ones too, and mistakes are explained."""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path

import pytest

import tisim
from tisim.actions.collectives import registry
from tisim.actions.collectives.registry import ALGORITHMS, SELECTORS, algorithm, names, register
from tisim.actions.script import Endpoint, Script
from tisim.errors import InputError

DOCUMENTATION = Path(__file__).resolve().parents[3] / "docs" / "collectives.md"


@pytest.fixture
def own_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is gone after it."""
    monkeypatch.setattr(registry, "_registered", {})


@pytest.mark.parametrize("operation", ALGORITHMS)
def test_every_name_is_found(operation: str) -> None:
    for name in names(operation):
        assert callable(algorithm(operation, name)), name
        assert algorithm(operation, name).__doc__


def test_names_start_with_the_selectors() -> None:
    assert names("bcast")[: len(SELECTORS)] == SELECTORS
    assert "NTSB" in names("bcast")


def test_an_algorithm_has_its_name_in_lower_case() -> None:
    assert algorithm("bcast", "NTSB").__name__ == "ntsb"
    assert algorithm("alltoall", "2dmesh").__name__ == "mesh_2d"


def test_operations_with_one_algorithm_have_it_under_every_selector() -> None:
    assert all(algorithm("scan", s) is algorithm("scan", "default") for s in SELECTORS)


@pytest.mark.usefixtures("own_names")
def test_a_user_registers_an_algorithm() -> None:
    @tisim.collective("allreduce", "mine")
    def mine(s: Endpoint, count: int, size: int) -> None:
        s.send(0, count * size)

    assert algorithm("allreduce", "mine") is mine
    assert names("allreduce")[-1] == "mine"
    assert "mine" not in names("reduce")
    script = Script(1, 2)
    algorithm("allreduce", "mine")(script, 3, 8)
    assert script.sizes == [24]


@pytest.mark.usefixtures("own_names")
def test_registering_again_replaces() -> None:
    register("barrier", "mine", lambda s: None)

    def second(s: Endpoint) -> None:
        """Do nothing either."""

    register("barrier", "mine", second)
    assert algorithm("barrier", "mine") is second


@pytest.mark.parametrize("name", ["ompi", "binomial_tree", "automatic", "arrival_scatter"])
def test_a_built_in_name_cannot_be_taken(name: str) -> None:
    with pytest.raises(InputError, match=f"{name}.*exists already"):
        register("bcast", name, lambda s, count, size, root: None)


@pytest.mark.parametrize(
    ("operation", "name", "message"),
    [
        ("bcast", "binomal_tree", "bcast has no algorithm 'binomal_tree'; .*'binomial_tree'"),
        ("bcast", "ntsb", "did you mean 'NTSB'"),
        ("bcast", "zzz", "known names: default, ompi"),
        ("alreduce", "rdb", "no collective operation 'alreduce'; did you mean 'allreduce'"),
        ("bcast", "arrival_scatter", "probes for messages"),
        ("reduce", "automatic", "not available: it runs and times all the others"),
        ("gatherv", "ring", "known names"),
    ],
)
def test_what_does_not_exist(operation: str, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        algorithm(operation, name)


def test_names_of_an_unknown_operation() -> None:
    with pytest.raises(InputError, match="no collective operation 'broadcast'"):
        names("broadcast")


def documented() -> dict[str, list[tuple[str, str]]]:
    """The rows of each operation's table of algorithms in the documentation."""
    found: dict[str, list[tuple[str, str]]] = {}
    section = ""
    for line in DOCUMENTATION.read_text().splitlines():
        if line.startswith("#"):
            section = line.removeprefix("### ")
        elif row := re.fullmatch(r"\| `(\w+)` \| ([^|]+) \|", line):
            found.setdefault(section, []).append((row[1], row[2]))
    return found


def test_the_documentation_lists_all_algorithms() -> None:
    rows = documented()
    for operation in ALGORITHMS:
        for name in names(operation)[len(SELECTORS) :]:
            title = sys.modules[algorithm(operation, name).__module__].__doc__
            assert title is not None
            row = (name, title.splitlines()[0].rstrip("."))
            assert row in rows[operation], f"docs/collectives.md, {operation}: {row}"


@pytest.mark.usefixtures("own_names")
def test_the_documentation_s_example_works() -> None:
    assert doctest.testfile(str(DOCUMENTATION), module_relative=False).failed == 0
    assert callable(algorithm("barrier", "star"))
