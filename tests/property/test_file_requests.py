"""Requests to file systems are sequences of transfers and disk accesses.

The same reads and writes are executed twice: by the file system, and by processes that transfer to
the host of a server, use its disk, and transfer back. Other tests compare both primitives with
SimGrid; this one extends the comparison to their sequence, on the default network model.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tisim
from tisim.kernel import Environment

Process = Generator[Any, Any, Any]
HEADER, STRIPE, SERVERS = 300, 4096, 3


def platform() -> tisim.Platform:
    line = (
        f"mount=/p,servers=c-{{5-7}},disk=d,stripe={STRIPE}B,count={SERVERS},header={HEADER}B,"
        "request=1GiB"
    )
    builder = tisim.PlatformBuilder("servers")
    with builder.zone("z", properties={"tisim/file-system/p": line}):
        builder.cluster(
            "c",
            8,
            speed="1Gf",
            bandwidth="125MBps",
            latency="30us",
            properties={"tisim/disk": "read=90MBps,write=50MBps,mount=/d,id=d"},
        )
    return builder.build()


PLATFORM = platform()
accesses = st.lists(
    st.tuples(
        st.integers(0, 7),  # client
        st.booleans(),  # writes
        st.integers(0, 20_000),  # offset
        st.integers(1, 3_000_000),  # bytes
        st.integers(0, 40),  # begin, in ms
    ),
    min_size=1,
    max_size=8,
)
Access = tuple[int, bool, int, int, int]


def parts(offset: int, nbytes: int) -> dict[int, int]:
    """Return the bytes on each server, stripe by stripe."""
    found: dict[int, int] = {}
    while nbytes:
        part = min(nbytes, STRIPE - offset % STRIPE)
        server = offset // STRIPE % SERVERS
        found[server] = found.get(server, 0) + part
        offset, nbytes = offset + part, nbytes - part
    return found


def by_file_system(asked: list[Access]) -> list[float]:
    env, ends = Environment(PLATFORM), [0.0] * len(asked)

    def job(number: int, access: Access) -> Process:
        client, writes, offset, nbytes, begin = access
        yield env.timeout(begin * 1e-3)
        move = env.write if writes else env.read
        yield move(f"c-{client}", "/p/f", nbytes, offset)
        ends[number] = env.now

    for number, access in enumerate(asked):
        env.process(job(number, access))
    env.run()
    return ends


def by_processes(asked: list[Access]) -> list[float]:
    env, ends = Environment(PLATFORM), [0.0] * len(asked)

    def request(client: str, server: str, writes: bool, nbytes: int) -> Process:
        yield env.transfer(client, server, HEADER + (nbytes if writes else 0))
        yield (env.write if writes else env.read)(server, "/d/f", nbytes)
        yield env.transfer(server, client, HEADER + (0 if writes else nbytes))

    def job(number: int, access: Access) -> Process:
        client, writes, offset, nbytes, begin = access
        yield env.timeout(begin * 1e-3)
        yield env.all_of(
            [
                env.process(request(f"c-{client}", f"c-{5 + server}", writes, part))
                for server, part in parts(offset, nbytes).items()
            ]
        )
        ends[number] = env.now

    for number, access in enumerate(asked):
        env.process(job(number, access))
    env.run()
    return ends


@settings(max_examples=60, deadline=None)
@given(accesses)
def test_a_request_is_a_transfer_an_access_and_a_transfer(asked: list[Access]) -> None:
    assert by_file_system(asked) == pytest.approx(by_processes(asked), rel=1e-9)
