"""Every command reports the files that it wrote, without disturbing machine-readable output."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from tests.unit.command_line import BACKBONE, RING, CommandLine
from tisim.commands import Branching
from tisim.commands.cli import tisim as tisim_command


def written(outcome_err: str) -> list[str]:
    """Return the files that a command reports as written; assert that it prints nothing else."""
    lines = outcome_err.splitlines()
    assert all(line.startswith("tisim: wrote ") for line in lines), lines
    return [line.removeprefix("tisim: wrote ") for line in lines]


def test_replay(tisim: CommandLine) -> None:
    def path(name: str) -> str:
        return str(tisim.directory / name)

    outcome = tisim.replay(
        *("--json", path("run.json"), "--report", path("run.html")),
        *("--gantt", path("a.svg"), "--gantt", path("b.png")),
        *("--timeline", path("run.csv"), "--timeline", path("run.prv")),
        *("--timeline", path("run.timed.csv"), RING),
    )
    assert outcome.status == 0
    names = ["run.csv", "run.messages.csv", "run.prv", "run.pcf", "run.row", "run.timed.csv"]
    names += ["a.svg", "b.png", "run.html", "run.json"]
    assert written(outcome.err) == [path(name) for name in names]
    assert sorted(names) == sorted(file.name for file in tisim.directory.iterdir())
    assert (tisim.directory / "b.png").read_bytes().startswith(b"\x89PNG")


def test_json_on_standard_output_stays_json(tisim: CommandLine) -> None:
    drawing = str(tisim.directory / "a.svg")
    outcome = tisim.replay("--json", "-", "--gantt", drawing, RING)
    assert json.loads(outcome.out)["actions"] > 0
    assert written(outcome.err) == [drawing]


def test_pipes_and_devices_are_not_mentioned(tisim: CommandLine) -> None:
    outcome = tisim.replay("--json", "/dev/null", RING)
    assert (outcome.status, outcome.err) == (0, "")


def test_commands_that_write_one_file(tisim: CommandLine) -> None:
    def said(*arguments: str) -> list[str]:
        outcome = tisim(*arguments)
        assert outcome.status == 0, outcome.err
        return [str(Path(file).relative_to(tisim.directory)) for file in written(outcome.err)]

    def path(name: str) -> str:
        return str(tisim.directory / name)

    assert said("generate", "ring", "--ranks", "2", "-o", path("ring.tit")) == ["ring.tit"]
    assert said("generate", "ring", "--ranks", "2", "-o", path("ring")) == ["ring"]
    assert said("pack", path("ring"), "-o", path("packed.tit")) == ["packed.tit"]
    assert said("unpack", path("packed.tit"), "-o", path("again")) == ["again"]
    assert said("check", "--json", path("check.json"), path("ring")) == ["check.json"]
    arguments = ("--draw", path("g.svg"), "--json", path("g.json"))
    assert said("platform", BACKBONE, *arguments) == ["g.svg", "g.json"]
    for name in ("a.json", "b.json"):
        assert said("replay", "--platform", BACKBONE, "--json", path(name), RING) == [name]
    arguments = (path("a.json"), path("b.json"))
    assert said("compare", *arguments, "--json", path("c.json")) == ["c.json"]


@pytest.mark.parametrize(
    "arguments",
    [
        ("pack", RING, "-o"),
        ("generate", "halo3d", "--ranks", "8", "-o"),
        ("generate", "llm", "--model", "gpt3-175b", "--tp", "8", "--pp", "8", "-o"),
        ("record", "-o"),
    ],
    ids=["pack", "generate", "llm", "record"],
)
def test_a_trace_replaces_nothing_but_a_trace(
    arguments: tuple[str, ...], tisim: CommandLine
) -> None:
    own = tisim.directory / "own.tit"
    own.write_text("notes\n")
    refused = tisim(*arguments, str(own))
    assert refused.status == 2
    assert (
        "own.tit: already exists and is not a tisim trace; choose another file name"
    ) in refused.err
    assert own.read_text() == "notes\n"


def test_a_trace_replaces_a_trace(tisim: CommandLine) -> None:
    for _ in range(2):
        assert tisim("pack", "-o", str(tisim.directory / "ring.tit"), RING).status == 0


def test_sweep_names_its_file_and_the_copy_of_an_older_one(tisim: CommandLine) -> None:
    study = tisim.directory / "study.toml"
    target = str(tisim.directory / "out.csv")

    def sweep(latencies: str) -> list[str]:
        study.write_text(
            f'trace = "{RING}"\nplatform = "{BACKBONE}"\nworkers = 1\n'
            f"[vary]\nlatency = {latencies}\n"
        )
        outcome = tisim("sweep", str(study), "--output", target)
        assert outcome.status == 0, outcome.err
        return written(outcome.err)

    assert sweep("['x1', 'x2']") == [target]
    assert sweep("['x1', 'x2', 'x3']") == [target]
    assert sweep("['x4']") == [f"{target}.bak", target]


def commands(command: click.Command, *names: str) -> list[tuple[str, ...]]:
    """Return the names of a command and its subcommands."""
    below = dict(command.further) if isinstance(command, Branching) else {}
    if isinstance(command, click.Group):
        context = click.Context(command)
        below |= {
            name: command.get_command(context, name) for name in command.list_commands(context)
        }
    return [names, *(each for name, one in below.items() for each in commands(one, *names, name))]


@pytest.mark.parametrize("names", commands(tisim_command), ids=" ".join)
def test_every_help_has_examples(names: tuple[str, ...], tisim: CommandLine) -> None:
    outcome = tisim(*names, "--help")
    assert outcome.status == 0
    assert "Examples:\n" in outcome.out
