"""Messages in order, seen from Python: options, reports, failures, processes, event logs."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

import tisim
from tests.support import write_trace
from tisim.errors import InputError, SimulationError
from tisim.kernel import Environment, MpiRank

_PLATFORM = Path(__file__).with_name("testbed.xml")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("network/ordering", "random"),
        ("smpi/rendezvous", "push"),
        ("smpi/fragment-size", "0"),
        ("smpi/pipeline-depth", "0"),
        ("tisim/jitter-size", "1"),
    ],
)
def test_a_wrong_value_is_refused(option: str, value: str, tmp_path: Path) -> None:
    trace = write_trace(tmp_path, ("compute 1",))
    with pytest.raises(InputError, match=option):
        tisim.replay(trace, platform=_PLATFORM, config={option: value})


_PAIR = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="w" routing="Full">
<host id="a" speed="1Gf"/><host id="b" speed="1Gf"/>
<link id="ab" bandwidth="1MBps" latency="1ms" {link}/>
<route src="a" dst="b"><link_ctn id="ab"/></route>
</zone></platform>
"""
_FIFO = {"network/ordering": "fifo", "network/model": "CM02", "network/crosstraffic": "no"}


def _replay(folder: Path, profile: str, link: str, *programs: tuple[str, ...]) -> tisim.Result:
    (folder / "profile").write_text(profile)
    (folder / "platform.xml").write_text(_PAIR.format(link=link))
    return tisim.replay(
        write_trace(folder, *programs), platform=folder / "platform.xml", config=_FIFO
    )


_MANY = tuple(f"send 1 {tag} 60000 6" for tag in range(3))
_RECEIVES = tuple(f"recv 0 {tag} 60000 6" for tag in range(3))


def test_a_report_tells_how_many_messages_are_before_one(tmp_path: Path) -> None:
    receive = ("recv 0 2 60000 6", "recv 0 0 60000 6", "recv 0 1 60000 6")
    with pytest.raises(SimulationError, match=r"its body is queued behind 2 others"):
        _replay(tmp_path, "0.05 0\n", 'bandwidth_file="profile"', _MANY, receive)


def test_a_report_tells_of_a_body_under_way(tmp_path: Path) -> None:
    with pytest.raises(SimulationError, match=r"its body is under way"):
        _replay(tmp_path, "0.05 0\n", 'bandwidth_file="profile"', _MANY, _RECEIVES)


def test_a_request_that_waits_for_a_receive_is_in_no_queue(tmp_path: Path) -> None:
    with pytest.raises(SimulationError, match=r"100000 bytes with tag 0\n"):
        _replay(tmp_path, "", "", ("send 1 0 100000 6",), ("recv 0 1 10 6",))


def test_messages_that_are_queued_are_lost_with_their_link(tmp_path: Path) -> None:
    # The second and third message are queued when the link goes off; it is on again later.
    with pytest.raises(SimulationError, match=r"link"):
        _replay(tmp_path, "0.05 0\n0.06 1\n", 'state_file="profile"', _MANY, _RECEIVES)


def test_messages_after_a_failure_arrive(tmp_path: Path) -> None:
    result = _replay(
        tmp_path,
        "0.05 0\n0.06 1\n",
        'state_file="profile"',
        (*_MANY, "sleep 1", "send 1 9 60000 6"),
        ("sleep 1.5", "recv 0 9 60000 6"),
    )
    assert result.simulated_time == pytest.approx(1.5)


def test_a_handshake_that_loses_its_request_never_ends(tmp_path: Path) -> None:
    with pytest.raises(SimulationError, match=r"link"):
        _replay(
            tmp_path,
            "0.0005 0\n0.06 1\n",
            'state_file="profile"',
            ("send 1 0 100000 6",),
            ("recv 0 0 100000 6",),
        )


def test_bandwidth_that_changes_is_that_of_the_messages_that_move_then(tmp_path: Path) -> None:
    result = _replay(tmp_path, "0.061 2e6\n", 'bandwidth_file="profile"', _MANY, _RECEIVES)
    assert result.simulated_time == pytest.approx(0.001 + 0.06 + 2 * 0.03, rel=1e-3)


def test_processes_exchange_messages_in_order(tmp_path: Path) -> None:
    (tmp_path / "platform.xml").write_text(_PAIR.format(link=""))
    env = Environment(tisim.Platform.load(tmp_path / "platform.xml"), _FIFO)

    def sender(mpi: MpiRank) -> Generator[Any, Any, float]:
        request = yield mpi.isend(1, 200_000, tag=0)
        yield env.timeout(1.0)  # outside MPI: nobody reads the answer
        yield mpi.wait(request)
        return env.now

    def receiver(mpi: MpiRank) -> Generator[Any, Any, float]:
        yield mpi.recv(0, 200_000, tag=0)
        return env.now

    first, second = env.mpi(["a", "b"])
    processes = [env.process(sender(first)), env.process(receiver(second))]
    env.run()
    assert [process.value for process in processes] == pytest.approx([1.001, 1.201], rel=1e-3)


def test_short_messages_share_a_timeline_one_after_the_other(tmp_path: Path) -> None:
    trace = write_trace(
        tmp_path,
        ("send 1 0 50000 6", "send 1 0 50000 6"),
        ("recv 0 0 50000 6", "recv 0 0 50000 6"),
    )
    result = tisim.replay(trace, platform=_PLATFORM, event_log=True)
    messages = result.messages.sort_values("started")
    first, second = messages.itertuples()
    assert second.started >= first.arrived - 1e-9
