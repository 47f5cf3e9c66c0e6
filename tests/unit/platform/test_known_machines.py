"""``tisim platform list``, and the platforms of the machines that it names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.command_line import RING, CommandLine
from tisim.platform.new.machines import MACHINES


def test_the_list_names_all_machines_with_their_sources(tisim: CommandLine) -> None:
    listed = tisim("platform", "list")
    assert listed.status == 0
    for name, machine in MACHINES.items():
        assert f"{name}\n    {machine.summary}\n    source: {machine.source}\n" in listed.out


@pytest.mark.parametrize("name", [name for name in MACHINES if name != "bluegene-l"])
def test_a_machine_is_written_with_its_source_and_replays(
    name: str, tisim: CommandLine, tmp_path: Path
) -> None:
    file = tmp_path / "machine.xml"
    assert tisim("platform", "new", "machine", name, "-o", str(file)).status == 0
    assert MACHINES[name].comment(name) in file.read_text()
    assert tisim.replay(RING, platform=str(file)).status == 0


def test_the_torus_has_the_nodes_of_its_description() -> None:
    assert sum(1 for _ in MACHINES["bluegene-l"].build().host_names()) == 65536


def test_an_unknown_machine_is_refused_with_a_similar_name(tisim: CommandLine) -> None:
    outcome = tisim("platform", "new", "machine", "groz", "-o", "x.xml")
    assert outcome.status == 2
    assert outcome.err == (
        "tisim: there are no numbers of a machine 'groz'; did you mean gros?; see 'tisim platform "
        "list'\n"
    )
