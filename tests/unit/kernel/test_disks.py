"""Processes that read from disks and write to them."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

import tisim
from tisim.errors import InputError, ResourceOffError
from tisim.kernel import Environment

Process = Generator[Any, Any, Any]
PLATFORM = """
<platform version="4.1"><zone id="z" routing="Full">
  <host id="a" speed="1Gf"><disk id="d" read_bw="200" write_bw="80">
    <prop id="mount" value="/scratch"/></disk></host>
</zone>{}</platform>
"""
OFF = '<trace id="t" periodicity="-1">1 0</trace><trace_connect trace="t" element="a"/>'


def environment(tmp_path: Path, more: str = "") -> Environment:
    path = tmp_path / "platform.xml"
    path.write_text(PLATFORM.format(more))
    return Environment(tisim.Platform.load(path))


def test_reads_and_writes_share_a_disk(tmp_path: Path) -> None:
    env = environment(tmp_path)
    ends = []

    def reader() -> Process:
        yield env.read("a", "/scratch/in", 320)
        ends.append(("read", env.now))

    def writer() -> Process:
        yield env.write("a", "out", 80)
        ends.append(("written", env.now))

    env.process(reader())
    env.process(writer())
    env.run()
    assert ends == [("written", 1.0), ("read", 2.0)]


def test_a_computation_does_not_slow_a_disk_down(tmp_path: Path) -> None:
    env = environment(tmp_path)

    def job() -> Process:
        yield env.execute("a", 1e9) & env.read("a", "in", 200)
        return env.now

    process = env.process(job())
    env.run()
    assert process.value == 1.0


def test_a_read_fails_when_its_host_goes_off(tmp_path: Path) -> None:
    env = environment(tmp_path, OFF)

    def job() -> Process:
        for start in (0.0, 1.5):
            yield env.timeout(start)
            with pytest.raises(ResourceOffError, match=r"the read of /scratch/in on a failed at"):
                yield env.read("a", "/scratch/in", 400)
            yield env.timeout(0)
        return env.now

    process = env.process(job())
    env.run()
    assert process.value == 2.5


def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    env = environment(tmp_path)
    with pytest.raises(InputError, match="a write moves 0 or more bytes"):
        env.write("a", "out", -1)
    with pytest.raises(InputError, match="no disk of host 'a' holds '/home/x'"):
        env.read("a", "/home/x", 1)
