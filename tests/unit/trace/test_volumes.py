"""What computations are counted in: checks and inspections name it, replays relate it to hosts."""

from __future__ import annotations

import json

import pytest

from tests.unit.command_line import CommandLine
from tisim.traces import pack
from tisim.traces.volumes import Volumes

TIME = "time, seconds of processor time times 1e+09"
REGISTER = "register, instructions of code compiled by tisim cc"
PLATFORM = (
    '<platform version="4.1"><cluster id="c" prefix="c-" suffix="" radical="0-1" speed="{}" '
    'bw="100MBps" lat="4us">{}</cluster></platform>'
)
PROPERTY = '<prop id="tisim/config/tisim/speeds" value="{}"/>'


def recorded(tisim: CommandLine, counter: str, *, packed: bool = False) -> str:
    text = f"# counter: {counter}\n0 init\n0 compute 2e9\n0 finalize\n" if counter else "0 init\n"
    tisim.write("t/rank-0.txt", text)
    name = str(tisim.directory / "t")
    if packed:
        pack(name, name + ".tit")
        return name + ".tit"
    return name


@pytest.mark.parametrize(
    ("counter", "unit", "per_second"),
    [
        (TIME, "ns", 1e9),
        ("time, seconds of processor time times 2.5e+09", "units of 1/2.5e+09 s", 2.5e9),
        ("perf, nanoseconds of the software event task-clock", "ns", 1e9),
        ("perf, instructions in user mode", "instructions", None),
        (REGISTER, "instructions", None),
        ("something else", "flops", None),
    ],
)
def test_units(counter: str, unit: str, per_second: float | None) -> None:
    found = Volumes.of_counter(counter)
    assert (found.unit, found.per_second) == (unit, per_second)


@pytest.mark.parametrize("packed", [False, True])
def test_checks_and_inspections_name_the_unit(tisim: CommandLine, packed: bool) -> None:
    trace = recorded(tisim, TIME, packed=packed)
    assert "2e+09 ns" in tisim("check", trace).out
    assert "flops" not in tisim("check", trace).out
    inspected = tisim("inspect", "--statistics", trace).out
    assert "2e+09 ns" in inspected
    assert "flops" not in inspected
    assert json.loads(tisim("inspect", "--json", "-", trace).out)["unit"] == "ns"


@pytest.mark.parametrize(
    ("counter", "speed", "prop", "options", "words"),
    [
        (TIME, "4Gf", "", (), "computes 4 times as fast as the machine of the recording"),
        (TIME, "1Gf", "", (), ""),
        (TIME, "4Gf", "", ("--speed", "4Gf"), ""),
        (TIME, "4Gf", "relative", (), ""),
        (TIME, "4Gf", "", ("--config", "tisim/speeds=relative"), ""),
        (TIME, "1Gf", "instructions", (), "the hosts' speeds are in instructions a second"),
        (REGISTER, "4Gf", "", (), ""),
        (REGISTER, "4Gf", "instructions", (), ""),
        (REGISTER, "4Gf", "relative", (), "and the hosts' speeds are relative"),
    ],
)
def test_the_first_line_says_what_is_not_known(
    tisim: CommandLine, counter: str, speed: str, prop: str, options: tuple[str, ...], words: str
) -> None:
    xml = PLATFORM.format(speed, PROPERTY.format(prop) if prop else "")
    platform = tisim.write("p.xml", xml)
    trace = recorded(tisim, counter)
    first = tisim.replay(*options, trace, platform=platform).out.splitlines()[0]
    assert words in first
    assert words or len(first.split()) == 4  # simulated time 2 s
    result = json.loads(tisim.replay(*options, "--json", "-", trace, platform=platform).out)
    assert result["volumes"]["counter"] == counter
    assert words in result["volumes"]["relation"]
    assert bool(words) == bool(result["volumes"]["relation"])


def test_results_of_other_traces_stay_as_they_were(tisim: CommandLine) -> None:
    platform = tisim.write("p.xml", PLATFORM.format("4Gf", ""))
    result = json.loads(tisim.replay("--json", "-", recorded(tisim, ""), platform=platform).out)
    assert "volumes" not in result


@pytest.mark.parametrize(
    ("counter", "options", "is_said"),
    [
        (REGISTER, (), True),
        (REGISTER, ("--speed", "2e9"), False),
        (REGISTER, ("--compute", "instructions"), False),
        (TIME, (), False),
    ],
)
def test_an_execution_asks_for_the_speed_of_instructions(
    tisim: CommandLine, counter: str, options: tuple[str, ...], is_said: bool
) -> None:
    outcome = tisim("execute", *options, "--mpicc", "no-compiler", recorded(tisim, counter))
    assert outcome.status == 2
    assert ("1e+09 are taken to be a second" in outcome.err) == is_said
