"""Algorithms, including user-defined ones, are found by name, and mistakes are explained."""

from __future__ import annotations

import doctest
import pickle
import re
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
import simpy

import tisim
import tisim.kernel
from tests.support import GRAPHENE, RING, ROOT, write_ranks
from tisim.actions.collectives.catalogue import ALGORITHMS, SELECTORS
from tisim.actions.registry import Registry, default_registry
from tisim.actions.script import Endpoint, Script
from tisim.errors import InputError
from tisim.kernel import MpiRank

algorithm, names = default_registry.algorithm, default_registry.names
register = default_registry.collective

DOCUMENTATION = ROOT / "docs" / "collectives.md"


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
    of_simgrid = [name for name in SELECTORS if "-" not in name]
    assert all(algorithm("scan", s) is algorithm("scan", "default") for s in of_simgrid)


@pytest.mark.parametrize("operation", ALGORITHMS)
def test_the_selectors_of_libraries_know_every_operation(operation: str) -> None:
    for selector in ("openmpi-4.1", "openmpi-5.0"):
        assert algorithm(operation, selector).__module__.startswith("tisim.actions.selectors.open")


@pytest.mark.usefixtures("restored_registry")
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


@pytest.mark.usefixtures("restored_registry")
def test_registering_again_replaces() -> None:
    register("barrier", "mine")(lambda s: None)

    def second(s: Endpoint) -> None:
        """Do nothing either."""

    register("barrier", "mine")(second)
    assert algorithm("barrier", "mine") is second


@pytest.mark.parametrize("name", ["ompi", "binomial_tree", "automatic", "arrival_scatter"])
def test_a_built_in_name_cannot_be_taken(name: str) -> None:
    with pytest.raises(InputError, match=f"{name}"):
        register("bcast", name)(lambda s, count, size, root: None)


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
            title = algorithm(operation, name).__doc__
            assert title is not None
            row = (name, title.splitlines()[0].rstrip("."))
            assert row in rows[operation], f"docs/collectives.md, {operation}: {row}"


@pytest.mark.usefixtures("restored_registry")
def test_the_documentation_s_example_works() -> None:
    assert doctest.testfile(str(DOCUMENTATION), module_relative=False).failed == 0
    assert callable(algorithm("barrier", "star"))


def nap(rank: MpiRank) -> Generator[simpy.Event, object, None]:
    yield rank.env.timeout(5)


def silent(s: Endpoint) -> None:
    """Wait for nobody."""


def trace_of(directory: Path, *lines: str) -> Path:
    return write_ranks(directory, lines, lines)


def test_a_replay_takes_a_registry(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, "nap", "barrier")
    registry = Registry()
    registry.action("nap")(nap)
    registry.collective("barrier", "silent")(silent)
    config = {"smpi/barrier": "silent"}
    result = tisim.replay(trace, platform=GRAPHENE, config=config, registry=registry)
    assert result.finish.tolist() == [5.0, 5.0]
    with pytest.raises(InputError, match="barrier has no algorithm 'silent'"):
        tisim.replay(trace, platform=GRAPHENE, config=config)
    with pytest.raises(InputError, match="unknown action 'nap'"):
        tisim.replay(trace, platform=GRAPHENE)


def test_an_environment_takes_a_registry(tmp_path: Path) -> None:
    registry = Registry()
    registry.action("nap")(nap)
    env = tisim.kernel.Environment(tisim.Platform.load(GRAPHENE), registry=registry)
    over = env.replay(trace_of(tmp_path, "nap"))
    env.run(over)
    assert env.now == 5.0


@pytest.mark.usefixtures("restored_registry")
def test_registries_know_nothing_of_one_another() -> None:
    first, second = Registry(), Registry()
    first.action("nap")(nap)
    first.collective("barrier", "silent")(silent)
    for other in (second, default_registry):
        assert dict(other.actions) == dict(other.collectives) == {}
    assert "silent" in first.names("barrier")
    assert "silent" not in second.names("barrier")


def test_what_was_registered_can_be_removed() -> None:
    registry = Registry()
    registry.action("nap")(nap)
    registry.collective("barrier", "silent")(silent)
    registry.remove_action("nap")
    registry.remove_collective("barrier", "silent")
    assert dict(registry.actions) == dict(registry.collectives) == {}
    with pytest.raises(InputError, match="no action 'nap' is registered"):
        registry.remove_action("nap")
    with pytest.raises(InputError, match="no algorithm 'silent' of barrier is registered"):
        registry.remove_collective("barrier", "silent")


@pytest.mark.usefixtures("restored_registry")
def test_a_with_block_restores_a_registry() -> None:
    tisim.action("nap")(nap)
    with tisim.default_registry.restored():
        tisim.collective("barrier", "silent")(silent)
        default_registry.remove_action("nap")
    assert dict(default_registry.actions) == {"nap": nap}
    assert "silent" not in names("barrier")


@pytest.mark.parametrize("name", ["send", "Compute", "allreduce"])
def test_an_action_of_tisim_cannot_be_taken(name: str) -> None:
    with pytest.raises(InputError, match=f"the action '{name}' already exists"):
        Registry().action(name)


def test_a_registered_action_changes_no_replay_that_does_not_use_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = tisim.replay(RING, platform=GRAPHENE)
    registry = Registry()
    registry.action("nap")(nap)
    # A replay that executes no actions must not need SimPy.
    monkeypatch.setitem(sys.modules, "tisim.simulation.environment", None)
    with_action = tisim.replay(RING, platform=GRAPHENE, registry=registry)
    assert with_action.finish.tolist() == plain.finish.tolist()


def test_actions_after_much_else_have_the_times_of_an_environment(tmp_path: Path) -> None:
    registry = Registry()
    registry.action("nap")(nap)
    lines = "compute 1e9", "allreduce 1000 1e6", "nap", "barrier", "nap", "compute 1e8"
    trace = trace_of(tmp_path, *lines)
    result = tisim.replay(trace, platform=GRAPHENE, registry=registry)
    env = tisim.kernel.Environment(tisim.Platform.load(GRAPHENE), registry=registry)
    expected = env.run(env.replay(trace))
    assert isinstance(expected, tisim.Result)
    for column in ("finish", "compute", "other", "bytes_sent"):
        assert getattr(result, column).tolist() == getattr(expected, column).tolist()


def test_a_registry_of_functions_of_modules_can_be_pickled() -> None:
    registry = Registry()
    registry.action("nap")(nap)
    registry.collective("barrier", "silent")(silent)
    copy = pickle.loads(pickle.dumps(registry))
    assert dict(copy.actions) == {"nap": nap}
    assert copy.algorithm("barrier", "silent") is silent
    assert registry.modules() == (__name__,)
