"""Speeds, bandwidths and latencies that follow profiles while a replay runs."""

from __future__ import annotations

from pathlib import Path

import pytest

import tisim
from tisim import _core
from tisim.kernel import Environment
from tisim.platform import profiles

MODEL = {
    "network/model": "CM02",  # no factors, no weights
    "network/crosstraffic": "no",
    "smpi/send-is-detached-thresh": "0",
}
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="w" routing="Full">
<host id="a" speed="1Gf"/><host id="b" speed="1Gf" core="2" {host}/>
<link id="l" bandwidth="1MBps" latency="1ms" {link}/>
<route src="a" dst="b"><link_ctn id="l"/></route>
{after}</zone></platform>
"""
ENVELOPE = 16  # bytes


class Setting:
    """Writes small platforms and replays on them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        (directory / "traces").mkdir()

    def replay(self, *programs: str, profile: str, **attributes: str) -> tisim.Result:
        """Programs on a, b, a, ...; lines are separated by semicolons."""
        (self._directory / "profile").write_text(profile.replace(";", "\n") + "\n")
        text = PLATFORM.format(**{"host": "", "link": "", "after": ""} | attributes)
        (self._directory / "platform.xml").write_text(text)
        for rank, program in enumerate(programs):
            lines = [f"{rank} {line.strip()}\n" for line in program.split(";")]
            (self._directory / "traces" / f"rank-{rank}.txt").write_text("".join(lines))
        return tisim.replay(
            self._directory / "traces",
            platform=self._directory / "platform.xml",
            hosts=["a", "b"],
            config=MODEL,
        )


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    return Setting(tmp_path)


SPEED = 'speed_file="profile"'
BANDWIDTH = 'bandwidth_file="profile"'
LATENCY = 'latency_file="profile"'
SEND, RECEIVE = f"send 1 0 {1_000_000 - ENVELOPE} 6", f"recv 0 0 {1_000_000 - ENVELOPE} 6"


def test_the_numbers_of_quantities_are_those_of_the_core() -> None:
    names = ("SPEED", "BANDWIDTH", "LATENCY", "STATE")
    for name in names:
        assert getattr(_core.Quantity, name).value == getattr(profiles, name)


def test_a_speed_changes_during_a_computation(setting: Setting) -> None:
    result = setting.replay("compute 1e9", "compute 1e9", profile="0.5 0.25;1.5 1", host=SPEED)
    # 0.5 s whole, 1 s at a quarter, the rest whole.
    assert list(result.finish) == pytest.approx([1.0, 1.75])
    assert result.warnings == []


def test_a_profile_starts_again(setting: Setting) -> None:
    every = setting.replay(
        "compute 1", "compute 1e9", profile="PERIODICITY 1;0 0.5;0.5 1", host=SPEED
    )
    assert every.finish[1] == pytest.approx(1.5)
    after = setting.replay(
        "compute 1", "compute 1e9", profile="LOOPAFTER 0.5;0 0.5;0.5 1", host=SPEED
    )
    assert after.finish[1] == pytest.approx(1.5)


def test_a_date_of_zero_is_the_beginning(setting: Setting) -> None:
    result = setting.replay("compute 1", "compute 1e9", profile="0 0.5", host=SPEED)
    assert result.finish[1] == pytest.approx(2.0)


def test_trace_connect(setting: Setting) -> None:
    after = """<trace id="t" periodicity="0">0.5 0.5</trace>
    <trace_connect kind="SPEED" trace="t" element="b"/>"""
    result = setting.replay("compute 1e9", "compute 1e9", profile="", after=after)
    assert list(result.finish) == pytest.approx([1.0, 1.5])


def test_a_profile_does_not_keep_a_replay_going(setting: Setting) -> None:
    result = setting.replay("compute 1e9", "compute 1e9", profile="PERIODICITY 2;0 1", host=SPEED)
    assert result.simulated_time == pytest.approx(1.0)


def test_a_speed_of_zero_waits_for_better_times(setting: Setting) -> None:
    result = setting.replay("compute 1", "compute 1e9", profile="0.5 0;7 1", host=SPEED)
    assert result.finish[1] == pytest.approx(7.5)


def test_a_speed_of_zero_for_ever_is_a_deadlock(setting: Setting) -> None:
    with pytest.raises(tisim.SimulationError, match="its host, which has no speed"):
        setting.replay("compute 1", "compute 1e9", profile="PERIODICITY 1;0.5 0", host=SPEED)


def test_a_narrower_link_slows_a_flow_under_way(setting: Setting) -> None:
    result = setting.replay(SEND, RECEIVE, profile="0.501 2.5e5", link=BANDWIDTH)
    assert result.finish[1] == pytest.approx(0.001 + 0.5 + 2.0)


def test_a_wider_link_helps_the_flows_that_start_later(setting: Setting) -> None:
    result = setting.replay(
        f"{SEND};{SEND}", f"{RECEIVE};{RECEIVE}", profile="0.501 4e6", link=BANDWIDTH
    )
    # The first keeps the bound that it started with, as in SimGrid.
    assert result.finish[1] == pytest.approx(0.001 + 1.0 + 0.001 + 0.25)


def test_a_bandwidth_of_zero_stops_a_flow(setting: Setting) -> None:
    result = setting.replay(SEND, RECEIVE, profile="0.501 0;3 1e6", link=BANDWIDTH)
    assert result.finish[1] == pytest.approx(3.5)
    with pytest.raises(tisim.SimulationError, match="on a link without bandwidth"):
        setting.replay(SEND, RECEIVE, profile="0.501 0", link=BANDWIDTH)


@pytest.mark.parametrize("link", [BANDWIDTH, LATENCY])
def test_a_flow_goes_on_paying_its_latency(setting: Setting, link: str) -> None:
    """SimGrid forgives the rest, or never ends the flow (docs/adr/0015-changes-and-failures.md)."""
    value = "1e6" if link == BANDWIDTH else "0.5"
    result = setting.replay(SEND, RECEIVE, profile=f"0.0005 {value}", link=link)
    assert result.finish[1] == pytest.approx(1.001)


def test_a_latency_counts_for_what_starts_later(setting: Setting) -> None:
    result = setting.replay(
        f"{SEND};{SEND}", f"{RECEIVE};{RECEIVE}", profile="0.5 0.2", link=LATENCY
    )
    assert result.finish[1] == pytest.approx(1.001 + 0.2 + 1.0)


def test_the_clock_of_simpy_sees_the_same(tmp_path: Path) -> None:
    (tmp_path / "profile").write_text("0.5 0.25\n1.5 1\n")
    text = PLATFORM.format(host=SPEED, link="", after="")
    (tmp_path / "platform.xml").write_text(text)
    env = Environment(tisim.Platform.load(tmp_path / "platform.xml"))
    env.run(env.execute("b", 1e9))
    assert env.now == pytest.approx(1.75)
