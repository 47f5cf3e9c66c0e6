"""Bad options and outputs: one clear message, and nothing left behind."""

from __future__ import annotations

import inspect

import click
import pytest

from tests.unit.command_line import BACKBONE, RING, CommandLine, refused
from tisim.commands import parameter_help
from tisim.commands.replay import replay_command
from tisim.simulation.replay import replay


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (
            "smpi/coll-selectr=ompi",
            r"unknown option 'smpi/coll-selectr'; did you mean smpi/coll-s.*",
        ),
        ("smpi/coll-selector", "an option is KEY=VALUE or KEY:VALUE, not 'smpi/coll-selector'"),
        ("smpi/coll-selector=foo", "option smpi/coll-selector: it is one of default, .*'foo'"),
        ("smpi/bcast=foo", "option smpi/bcast: bcast has no algorithm 'foo'; known names: .*"),
        ("network/crosstraffic=maybe", r"option network/crosstraffic: it is yes or no .*'maybe'"),
        ("network/crosstraffic:maybe", r"option network/crosstraffic: it is yes or no .*'maybe'"),
        ("smpi/os=0:1", "option smpi/os: a row of the table is boundary:seconds:seconds a byte.*"),
        ("tisim/null-source=x", "option tisim/null-source: it is one of any, proc-null, not 'x'"),
        ("precision/timing=-1", "option precision/timing: .*"),
    ],
)
def test_options(tisim: CommandLine, option: str, message: str) -> None:
    refused(tisim, tisim.replay("--config", option, RING), message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["replay", "--platfrm", "x"], "No such option '--platfrm'. Did you mean '--platform'?"),
        (["replay", RING], "Missing option '--platform'."),
        (["replay", "--platform", BACKBONE], "Missing argument 'TRACES...'."),
        (
            ["replay", "--ranks", "0", RING],
            "Invalid value for '--np' / '--ranks': 0 is not in the range x>=1.",
        ),
        (["repaly"], "No such command 'repaly'. Did you mean 'replay'?"),
    ],
)
def test_the_command_line_itself(tisim: CommandLine, arguments: list[str], message: str) -> None:
    outcome = tisim(*arguments)
    assert outcome.status == 2
    assert outcome.out == ""
    assert outcome.err.splitlines()[-1] == f"Error: {message}"
    assert outcome.err.splitlines()[1].startswith("Try 'tisim")


# Outputs of failed runs


def test_nothing_is_left_behind(tisim: CommandLine) -> None:
    """Of a bad input; of a replay that is stuck, JSON says why."""
    trace = tisim.trace("send 7 0 1", "compute 1")
    (tisim.directory / "out").mkdir()
    outcome = tisim.replay("--json", str(tisim.directory / "out" / "x.json"), trace)
    refused(tisim, outcome, ".*", status=2)


def test_a_result_that_cannot_be_written(tisim: CommandLine) -> None:
    refused(
        tisim,
        tisim.replay("--json", str(tisim.directory / "no" / "x.json"), RING),
        "DIR/no/x.json: cannot be written: No such file or directory",
    )
    refused(
        tisim,
        tisim.replay("--json", str(tisim.directory), RING),
        "DIR: is a directory; name a file to write",
    )


def test_a_result_is_checked_for_before_the_simulation(tisim: CommandLine) -> None:
    refused(
        tisim,
        tisim.replay("--json", str(tisim.directory / "no" / "x"), tisim.trace("recv 0 0 1")),
        "DIR/no/x: cannot be written: No such file or directory",
    )


PYTHON_ONLY = {
    "trace", "progress", "event_log", "timeline_part", "registry", "network_model",
    "host_model", "gpus",
}  # fmt: skip


def test_every_parameter_of_replay_is_an_option() -> None:
    """Texts, types and defaults are those of `tisim.replay`; the rest has no option of its own."""
    helps = {option.help for option in replay_command.params if isinstance(option, click.Option)}
    for name in inspect.signature(replay).parameters:
        text = parameter_help(replay, name)
        assert (text in helps or f"{text} Repeatable." in helps) == (name not in PYTHON_ONLY), name


@pytest.mark.parametrize("command", ["record", "execute", "benchmark"])
def test_commands_that_start_others_refuse_options_of_nobody(
    tisim: CommandLine, command: str
) -> None:
    said = tisim(command, "--foo", RING, "--", "no-such-program")
    assert (said.status, said.out) == (2, "")
    assert said.err.endswith("No such option '--foo'.\n")


def test_units_a_second_have_a_prefix(tisim: CommandLine) -> None:
    """What follows is refused only behind the speed."""
    for command, rest in (("record", ("-o", "x")), ("execute", (RING,))):
        start = (command, "--speed", "2.5Gf", *rest, "--", "no-such-program")
        refused(tisim, tisim(*start), "there is no command no-such-program.*")
        start = (command, "--speed", "0", *rest, "--", "no-such-program")
        refused(tisim, tisim(*start), "--speed must be above zero")
