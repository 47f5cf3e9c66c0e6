"""Profiles of speeds, bandwidths and latencies, and hosts and links that fail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import tisim
from tests.support import load_platform, platform_file, write_ranks
from tisim import _core
from tisim.errors import ResourceOffError
from tisim.kernel import Environment
from tisim.platform import profiles

MODEL = {
    "network/model": "CM02",  # no factors, no weights
    "network/crosstraffic": "no",
    "smpi/send-is-detached-thresh": "0",
}
PLATFORM = """<zone id="w" routing="Full">
<host id="a" speed="1Gf"/><host id="b" speed="1Gf" core="2" {host}/>
<link id="l" bandwidth="1MBps" latency="1ms" {link}/>
<route src="a" dst="b"><link_ctn id="l"/></route>
{after}</zone>"""
ENVELOPE = 16  # bytes
SPEED = 'speed_file="profile"'
BANDWIDTH = 'bandwidth_file="profile"'
LATENCY = 'latency_file="profile"'
SEND, RECEIVE = f"send 1 0 {1_000_000 - ENVELOPE} 6", f"recv 0 0 {1_000_000 - ENVELOPE} 6"


def replay_changing(
    folder: Path, first: str, second: str, profile: str = "", **attributes: str
) -> tisim.Result:
    """Replay programs on a and b; lines are separated by semicolons."""
    (folder / "profile").write_text(profile.replace(";", "\n") + "\n")
    text = PLATFORM.format(**{"host": "", "link": "", "after": ""} | attributes)
    return tisim.replay(
        write_ranks(folder / "traces", first, second),
        platform=platform_file(folder, text),
        hosts=["a", "b"],
        config=MODEL,
    )


def test_the_numbers_of_quantities_are_those_of_the_core() -> None:
    names = ("SPEED", "BANDWIDTH", "LATENCY", "STATE")
    for name in names:
        assert getattr(_core.Quantity, name).value == getattr(profiles, name)


@pytest.mark.parametrize(
    ("profile", "end"),
    [
        # 0.5 s at full speed, 1 s at a quarter, the rest at full speed.
        pytest.param("0.5 0.25;1.5 1", 1.75, id="during a computation"),
        pytest.param("PERIODICITY 1;0 0.5;0.5 1", 1.5, id="it starts again"),
        pytest.param("LOOPAFTER 0.5;0 0.5;0.5 1", 1.5, id="it starts again after its last date"),
        pytest.param("0 0.5", 2.0, id="a date of zero is the beginning"),
        pytest.param("PERIODICITY 2;0 1", 1.0, id="it does not keep a replay going"),
        pytest.param("0.5 0;7 1", 7.5, id="zero waits for better times"),
    ],
)
def test_speeds_change(profile: str, end: float, tmp_path: Path) -> None:
    result = replay_changing(tmp_path, "compute 1e9", "compute 1e9", profile, host=SPEED)
    assert list(result.finish) == pytest.approx([1.0, end])
    assert result.warnings == []


def test_trace_connect(tmp_path: Path) -> None:
    after = """<trace id="t" periodicity="0">0.5 0.5</trace>
    <trace_connect kind="SPEED" trace="t" element="b"/>"""
    result = replay_changing(tmp_path, "compute 1e9", "compute 1e9", after=after)
    assert list(result.finish) == pytest.approx([1.0, 1.5])


@pytest.mark.parametrize(
    ("profile", "link", "messages", "end"),
    [
        pytest.param("0.501 2.5e5", BANDWIDTH, 1, 0.001 + 0.5 + 2.0, id="narrower, under way"),
        # The first flow keeps its initial bound, as in SimGrid.
        pytest.param("0.501 4e6", BANDWIDTH, 2, 0.002 + 1.0 + 0.25, id="wider, for later flows"),
        pytest.param("0.501 0;3 1e6", BANDWIDTH, 1, 3.5, id="zero stops a flow"),
        # SimGrid skips the remaining latency, or never ends the flow
        # (docs/adr/0015-changes-and-failures.md).
        pytest.param("0.0005 1e6", BANDWIDTH, 1, 1.001, id="bandwidth, during the latency"),
        pytest.param("0.0005 0.5", LATENCY, 1, 1.001, id="latency, during the latency"),
        pytest.param("0.5 0.2", LATENCY, 2, 1.001 + 0.2 + 1.0, id="latency, for later flows"),
    ],
)
def test_links_change(profile: str, link: str, messages: int, end: float, tmp_path: Path) -> None:
    programs = (";".join([line] * messages) for line in (SEND, RECEIVE))
    assert replay_changing(tmp_path, *programs, profile, link=link).finish[1] == pytest.approx(end)


@pytest.mark.parametrize(
    ("programs", "profile", "attributes", "message"),
    [
        (
            *(("compute 1", "compute 1e9"), "PERIODICITY 1;0.5 0", {"host": SPEED}),
            "its host, which has no speed",
        ),
        ((SEND, RECEIVE), "0.501 0", {"link": BANDWIDTH}, "on a link without bandwidth"),
    ],
)
def test_zero_for_ever_is_a_deadlock(
    programs: tuple[str, str],
    profile: str,
    attributes: dict[str, str],
    message: str,
    tmp_path: Path,
) -> None:
    with pytest.raises(tisim.SimulationError, match=message):
        replay_changing(tmp_path, *programs, profile, **attributes)


def test_the_clock_of_simpy_sees_the_same(tmp_path: Path) -> None:
    (tmp_path / "profile").write_text("0.5 0.25\n1.5 1\n")
    env = Environment(load_platform(tmp_path, PLATFORM.format(host=SPEED, link="", after="")))
    env.run(env.execute("b", 1e9))
    assert env.now == pytest.approx(1.75)


FAILING_PLATFORM = """<zone id="w" routing="Full">
<host id="a" speed="1Gf"/><host id="b" speed="1Gf" {host}/><host id="c" speed="1Gf"/>
<link id="ab" bandwidth="100MBps" latency="10us" {link}/>
<link id="ac" bandwidth="100MBps" latency="10us"/><link id="bc" bandwidth="100MBps" latency="10us"/>
<route src="a" dst="b"><link_ctn id="ab"/></route>
<route src="a" dst="c"><link_ctn id="ac"/></route>
<route src="b" dst="c"><link_ctn id="bc"/></route>
</zone>"""
STATE = 'state_file="profile"'
Replay = Callable[..., tisim.Result]


@pytest.fixture
def replay(tmp_path: Path) -> Replay:
    """Replay programs on a, b and c; lines are separated by semicolons."""

    def run(
        *programs: str, profile: str = "0 1", host: str = "", link: str = "", actors: str = ""
    ) -> tisim.Result:
        (tmp_path / "profile").write_text(profile.replace(";", "\n") + "\n")
        return tisim.replay(
            write_ranks(tmp_path / "traces", *programs),
            platform=platform_file(tmp_path, FAILING_PLATFORM.format(host=host, link=link)),
            hosts=None if actors else list("abc")[: len(programs)],
            deployment=platform_file(tmp_path, actors, "deployment.xml") if actors else None,
            event_log=bool(actors),
        )

    return run


def report(replay: Replay, *programs: str, **arguments: str) -> str:
    """Return the text of the error that ends a replay."""
    with pytest.raises(tisim.SimulationError) as error:
        replay(*programs, **arguments)
    return str(error.value)


LONG = ("recv 1 0 1e7 6", "send 0 0 1e7 6")


@pytest.mark.parametrize(
    ("programs", "off", "messages"),
    [
        pytest.param(
            ("compute 1e7", "compute 1e8"),
            "host",
            [
                "1 rank died before the end of the trace; the others have finished",
                "rank-1.txt:1: rank 1 died at 0.005 s in compute: host b is off",
            ],
            id="a rank dies with its host",
        ),
        pytest.param(
            ("recv 1 0 8 6", "compute 1e8;send 0 0 8 6"),
            "host",
            [
                "deadlock at 0.005 s",
                "rank 1 died at 0.005 s in compute: host b is off",
                "rank 0: recv waits for a message from rank 1 with tag 0",
            ],
            id="whoever waits for the dead is reported",
        ),
        pytest.param(
            LONG,
            "host",
            ["message from rank 1 with tag 0, lost at 0.005 s: rank 1 is dead"],
            id="a transfer dies with the host of its sender",
        ),
        pytest.param(
            ("compute 1e7;recv 1 0 8 6", "send 0 0 8 6;compute 1e8"),
            "host",
            ["lost at 0.01 s: rank 1 is dead"],
            id="a detached message dies with its sender",
        ),
        pytest.param(
            ("barrier", "compute 1e8;barrier", "barrier"),
            "host",
            ["rank 0: barrier waits for the other ranks; rank 1 never calls it"],
            id="a collective misses the dead",
        ),
        pytest.param(
            LONG,
            "link",
            ["rank 0: recv waits for", *["lost at 0.005 s: link ab is off"] * 2],
            id="a transfer dies with a link",
        ),
    ],
)
def test_what_dies_at_5_ms(
    programs: tuple[str, ...], off: str, messages: list[str], replay: Replay
) -> None:
    text = report(replay, *programs, profile="0.005 0", **{off: STATE})
    assert text.startswith(("deadlock at", "1 rank died before"))
    for message in messages:
        assert text.count(message) >= messages.count(message)


def test_a_transfer_cannot_start_over_a_link_that_is_off(replay: Replay) -> None:
    programs = ("compute 1e7;recv 1 0 1e7 6", "compute 1e7;send 0 0 1e7 6")
    assert "lost at 0.01 s: link ab is off" in report(
        replay, *programs, profile="0.005 0", link=STATE
    )
    result = replay(*programs, profile="0.005 0;0.008 1", link=STATE)
    assert result.simulated_time == pytest.approx(replay(*programs).simulated_time)


def test_a_host_that_was_off_computes_again(tmp_path: Path) -> None:
    (tmp_path / "profile").write_text("1 0\n2 1\n")
    env = Environment(load_platform(tmp_path, FAILING_PLATFORM.format(host=STATE, link="")))
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
        env = Environment(load_platform(tmp_path, FAILING_PLATFORM.format(host=host, link=link)))
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
