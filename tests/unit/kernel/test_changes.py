"""Profiles of speeds, bandwidths and latencies, and hosts and links that fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import tisim
from tests.support import write_ranks
from tisim import _core
from tisim.errors import ResourceOffError
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

    def replay(self, *programs: str, profile: str, **attributes: str) -> tisim.Result:
        """Programs on a, b, a, ...; lines are separated by semicolons."""
        (self._directory / "profile").write_text(profile.replace(";", "\n") + "\n")
        text = PLATFORM.format(**{"host": "", "link": "", "after": ""} | attributes)
        (self._directory / "platform.xml").write_text(text)
        return tisim.replay(
            write_ranks(self._directory / "traces", *programs),
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


FAILING_PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="w" routing="Full">
<host id="a" speed="1Gf"/><host id="b" speed="1Gf" {host}/><host id="c" speed="1Gf"/>
<link id="ab" bandwidth="100MBps" latency="10us" {link}/>
<link id="ac" bandwidth="100MBps" latency="10us"/><link id="bc" bandwidth="100MBps" latency="10us"/>
<route src="a" dst="b"><link_ctn id="ab"/></route>
<route src="a" dst="c"><link_ctn id="ac"/></route>
<route src="b" dst="c"><link_ctn id="bc"/></route>
</zone></platform>
"""
STATE = 'state_file="profile"'
Replay = Callable[..., tisim.Result]


@pytest.fixture
def replay(tmp_path: Path) -> Replay:
    """Replays programs on a, b and c; lines are separated by semicolons."""

    def run(
        *programs: str, profile: str = "0 1", host: str = "", link: str = "", actors: str = ""
    ) -> tisim.Result:
        (tmp_path / "profile").write_text(profile.replace(";", "\n") + "\n")
        (tmp_path / "platform.xml").write_text(FAILING_PLATFORM.format(host=host, link=link))
        hosts = None if actors else list("abc")[: len(programs)]
        deployment = tmp_path / "deployment.xml" if actors else None
        if deployment:
            deployment.write_text(f'<platform version="4.1">{actors}</platform>')
        return tisim.replay(
            write_ranks(tmp_path / "traces", *programs),
            platform=tmp_path / "platform.xml",
            hosts=hosts,
            deployment=deployment,
            event_log=bool(actors),
        )

    return run


def report(replay: Replay, *programs: str, **arguments: str) -> str:
    """The text of the error that a replay ends with."""
    with pytest.raises(tisim.SimulationError) as error:
        replay(*programs, **arguments)
    return str(error.value)


def test_a_rank_dies_with_its_host(replay: Replay) -> None:
    text = report(replay, "compute 1e7", "compute 1e8", profile="0.005 0", host=STATE)
    assert text.startswith("1 rank died before the end of the trace; the others have finished")
    assert "rank-1.txt:1: rank 1 died at 0.005 s in compute: host b is off" in text


def test_whoever_waits_for_the_dead_is_reported(replay: Replay) -> None:
    text = report(replay, "recv 1 0 8 6", "compute 1e8;send 0 0 8 6", profile="0.005 0", host=STATE)
    assert text.startswith("deadlock at 0.005 s")
    assert "rank 1 died at 0.005 s in compute: host b is off" in text
    assert "rank 0: recv waits for a message from rank 1 with tag 0" in text


def test_a_transfer_dies_with_the_host_of_its_sender(replay: Replay) -> None:
    text = report(replay, "recv 1 0 1e7 6", "send 0 0 1e7 6", profile="0.005 0", host=STATE)
    assert "message from rank 1 with tag 0, lost at 0.005 s: rank 1 is dead" in text


def test_a_detached_message_dies_with_its_sender(replay: Replay) -> None:
    text = report(
        replay,
        "compute 1e7;recv 1 0 8 6",
        "send 0 0 8 6;compute 1e8",
        profile="0.005 0",
        host=STATE,
    )
    assert "lost at 0.01 s: rank 1 is dead" in text


def test_a_collective_misses_the_dead(replay: Replay) -> None:
    text = report(
        replay, "barrier", "compute 1e8;barrier", "barrier", profile="0.005 0", host=STATE
    )
    assert "rank 0: barrier waits for the other ranks; rank 1 never calls it" in text


def test_a_transfer_dies_with_a_link(replay: Replay) -> None:
    text = report(replay, "recv 1 0 1e7 6", "send 0 0 1e7 6", profile="0.005 0", link=STATE)
    assert "rank 0: recv waits for" in text
    assert text.count("lost at 0.005 s: link ab is off") == 2


def test_a_transfer_cannot_start_over_a_link_that_is_off(replay: Replay) -> None:
    programs = ("compute 1e7;recv 1 0 1e7 6", "compute 1e7;send 0 0 1e7 6")
    assert "lost at 0.01 s: link ab is off" in report(
        replay, *programs, profile="0.005 0", link=STATE
    )
    result = replay(*programs, profile="0.005 0;0.008 1", link=STATE)
    assert result.simulated_time == pytest.approx(replay(*programs).simulated_time)


def test_a_host_that_was_off_computes_again(tmp_path: Path) -> None:
    (tmp_path / "profile").write_text("1 0\n2 1\n")
    (tmp_path / "platform.xml").write_text(FAILING_PLATFORM.format(host=STATE, link=""))
    env = Environment(tisim.Platform.load(tmp_path / "platform.xml"))
    seen = []

    def process(env: Environment):  # type: ignore[no-untyped-def]
        for _ in range(3):
            try:
                yield env.execute("b", 0.8e9)
                seen.append(env.now)
            except ResourceOffError as error:
                seen.append(str(error))
                yield env.timeout(1)

    env.run(env.process(process(env)))
    assert seen[0] == pytest.approx(0.8)
    assert seen[1] == "the computation on b failed at 1 s: a host or link that it uses is off"
    assert seen[2] == pytest.approx(2.8)


def test_a_transfer_of_a_process_fails_with_its_link_or_host(tmp_path: Path) -> None:
    (tmp_path / "profile").write_text("0.5 0\n")
    for host, link in ((STATE, ""), ("", STATE)):
        (tmp_path / "platform.xml").write_text(FAILING_PLATFORM.format(host=host, link=link))
        env = Environment(tisim.Platform.load(tmp_path / "platform.xml"))
        with pytest.raises(ResourceOffError, match=r"from a to b failed at 0\.5 s"):
            env.run(env.transfer("a", "b", 1e9))
        with pytest.raises(ResourceOffError):
            env.run(env.transfer("b", "a", 1.0))
        env.run(env.transfer("a", "c", 1e3))


LATE = '<actor host="a" function="0"/><actor host="b" function="1" start_time="0.5" {}/>'


def test_a_rank_starts_late(replay: Replay) -> None:
    result = replay("compute 1e9;recv 1 0 8 6", "compute 1e9;send 0 0 8 6", actors=LATE.format(""))
    assert result.finish[1] == pytest.approx(1.5)
    assert result.finish[0] > 1.5
    assert result.warnings == []


def test_a_rank_is_killed(replay: Replay) -> None:
    result = replay("compute 1e9", "compute 1e9", actors=LATE.format('kill_time="0.7"'))
    assert list(result.finish) == pytest.approx([1.0, 0.7])
    assert result.compute[1] == pytest.approx(0.2)
    (warning,) = result.warnings
    assert warning.endswith("rank-1.txt:1: rank 1 died at 0.7 s in compute: its kill_time")
    assert result.breakdown.by_rank.loc[1, "compute"] == pytest.approx(0.2)


def test_a_rank_that_would_be_killed_before_it_starts_lives(replay: Replay) -> None:
    result = replay("compute 1e9", "compute 1e9", actors=LATE.format('kill_time="0.4"'))
    assert result.finish[1] == pytest.approx(1.5)


def test_a_rank_that_waits_for_ever_is_killed(replay: Replay) -> None:
    result = replay("compute 1e9", "recv 0 0 8 6", actors=LATE.format('kill_time="3"'))
    assert list(result.finish) == pytest.approx([1.0, 3.0])


def test_a_rank_starts_on_a_host_that_comes_back(replay: Replay) -> None:
    programs = ("compute 1e9", "compute 1e9")
    result = replay(*programs, actors=LATE.format(""), host=STATE, profile="0.1 0;0.4 1")
    assert result.finish[1] == pytest.approx(1.5)
    text = report(replay, *programs, actors=LATE.format(""), host=STATE, profile="0.1 0;0.6 1")
    assert "rank 1 died at 0.5 s before its first action: host b is off" in text
