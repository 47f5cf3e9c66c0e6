"""Caches of hosts and servers that hold what is written, against times in closed form."""

from __future__ import annotations

import pytest

from tests.unit.storage.conftest import BANDWIDTH, LATENCY, StorageReplay
from tisim.errors import SimulationError

DISK = 5e5
ONE = "mount=/p,servers=c-15,metadata=c-14,read=2MBps,write=500kBps,header=0B,request=1MB"
OPEN = 2 * LATENCY
BYTES = 1e5
WRITE = 2 * LATENCY + BYTES / BANDWIDTH + BYTES / DISK


def test_a_write_into_the_cache_of_its_host_takes_no_time(store: StorageReplay) -> None:
    line = ONE + ",client-cache=100kB"
    call = "open 3 /p/f wc; write 3 1e5"
    assert store(line, call).simulated_time == pytest.approx(OPEN, rel=1e-12)
    # Neither does a close wait; a flush does, and then asks the server.
    assert store(line, call + "; close 3").simulated_time == pytest.approx(2 * OPEN, rel=1e-12)
    flushed = OPEN + WRITE + 2 * LATENCY
    assert store(line, call + "; fsync 3").simulated_time == pytest.approx(flushed, rel=1e-12)


def test_a_write_waits_for_what_exceeds_the_cache(store: StorageReplay) -> None:
    """Of four requests, one after the other, the last two fit into the cache."""
    line = ONE.replace("request=1MB", "request=25kB,window=1") + ",client-cache=50kB"
    one = 2 * LATENCY + 25e3 / BANDWIDTH + 25e3 / DISK
    result = store(line, "open 3 /p/f wc; write 3 1e5")
    assert result.simulated_time == pytest.approx(OPEN + 2 * one, rel=1e-12)


def test_a_second_write_waits_for_the_first(store: StorageReplay) -> None:
    """The second, of half the bytes, is on the disk first: half the link for 0.1 s, then the disk
    alone for 0.05 s and half of it for 0.1 s. The first still fills the cache."""
    result = store(ONE + ",client-cache=100kB", "open 3 /p/f wc; write 3 1e5; write 3 5e4")
    assert result.simulated_time == pytest.approx(OPEN + 2 * LATENCY + 0.25, rel=1e-12)


def test_hosts_have_caches_of_their_own(store: StorageReplay) -> None:
    call = "open 3 /p/f wc; write 3 1e5"
    finish = store(ONE + ",client-cache=100kB", call, call).finish.tolist()
    assert finish == pytest.approx([OPEN] * 2, rel=1e-12)


def test_nfs_writes_its_cache_before_a_close(store: StorageReplay) -> None:
    line = "type=nfs,mount=/p,servers=c-15,read=2MBps,write=500kBps,header=0B,client-cache=1MB"
    result = store(line, "open 3 /p/f wc; write 3 1e5; close 3")
    assert result.simulated_time == pytest.approx(2 * OPEN + WRITE, rel=1e-12)


def test_a_server_with_a_cache_replies_before_its_disk_is_done(store: StorageReplay) -> None:
    line = ONE + ",server-cache=100kB"
    call = "open 3 /p/f wc; write 3 1e5"
    written = OPEN + 2 * LATENCY + BYTES / BANDWIDTH
    assert store(line, call).simulated_time == pytest.approx(written, rel=1e-12)
    on_disk = written - LATENCY + BYTES / DISK
    result = store(line, call + "; fsync 3")
    assert result.simulated_time == pytest.approx(on_disk + LATENCY, rel=1e-12)
    # A read shares the disk with what is on its way there, at most 2 MB/s together.
    result = store(line, "open 3 /p/f wcr; write 3 1e5; pread 3 1e5 0")
    read = 2 * LATENCY + BYTES / BANDWIDTH + BYTES / 1.5e6
    assert result.simulated_time == pytest.approx(written + read, rel=1e-12)


def test_a_full_cache_of_a_server(store: StorageReplay) -> None:
    """Four requests arrive and end together; the first fits, so the others wait for their ends."""
    line = ONE.replace("request=1MB", "request=25kB,window=4") + ",server-cache=40kB"
    result = store(line, "open 3 /p/f wc; write 3 1e5")
    assert result.simulated_time == pytest.approx(OPEN + WRITE, rel=1e-12)


def test_a_burst_buffer(store: StorageReplay) -> None:
    """A cache that takes data at a rate of its own, which requests share."""
    line = ONE + ",server-cache=1MB,server-cache-rate=4MBps"
    result = store(line, "open 3 /p/f wc; write 3 1e5")
    taken = OPEN + 2 * LATENCY + BYTES / BANDWIDTH + BYTES / 4e6
    assert result.simulated_time == pytest.approx(taken, rel=1e-12)


def test_a_flush_that_never_ends(store: StorageReplay, machine_off: None) -> None:
    with pytest.raises(
        SimulationError,
        match=r"fsync waits for the file system 'pfs': its servers lack data of this host's cache",
    ):
        store(ONE + ",client-cache=1MB", "open 3 /p/f wc; write 3 1e6; fsync 3")
