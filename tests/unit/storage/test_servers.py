"""Closed-form times of file system accesses, and file statistics in results."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest
import simpy

import tisim
from tests.support import platform_file
from tests.unit.storage.conftest import BANDWIDTH, LATENCY, StorageReplay, machine
from tisim.analysis.result import Result
from tisim.commands.replay import print_summary
from tisim.errors import DiskFullError, SimulationError
from tisim.kernel import Environment

HEADER = 100.0
ONE = (
    "mount=/p,servers=c-15,read=2MBps,write=500kBps,stripe=1kB,header=100B,request=1MB,"
    "metadata-latency=5ms,metadata-rate=100"
)
EMPTY = LATENCY + HEADER / BANDWIDTH  # a message without data
CALL = 2 * EMPTY + 0.01 + 0.005  # of the metadata server, without contention


def moved(nbytes: float, disk: float) -> float:
    """Return the seconds of a request and its reply with data one way, for a disk in bytes/s."""
    return 2 * EMPTY + nbytes / BANDWIDTH + nbytes / disk


def test_one_client_and_one_server(store: StorageReplay) -> None:
    """Open, write, read and close each wait for their reply."""
    result = store(ONE, "open 3 /p/f wrc; write 3 1e5; pread 3 1e5 0; close 3; stat /p/f")
    expected = 3 * CALL + moved(1e5, 5e5) + moved(1e5, 2e6)
    assert result.simulated_time == pytest.approx(expected, rel=1e-12)
    assert result.io is not None
    assert result.io["seconds"] == [pytest.approx(expected, rel=1e-12)]


def test_a_metadata_storm(store: StorageReplay) -> None:
    """Clients that arrive together are served one after the other."""
    ranks = 8
    result = store(ONE.replace("100B", "0B"), *["stat /p/f"] * ranks)
    assert sorted(result.finish) == pytest.approx(
        [2 * LATENCY + (place + 1) * 0.01 + 0.005 for place in range(ranks)], rel=1e-12
    )


def test_requests_of_limited_size(store: StorageReplay) -> None:
    """With one request at a time, a call pays for each; with two, the disk is always busy."""
    line = ONE.replace("request=1MB", "request=25kB,window=1")
    call = "open 3 /p/f wc; write 3 1e5"
    result = store(line, call)
    assert result.simulated_time == pytest.approx(CALL + 4 * moved(25e3, 5e5), rel=1e-12)
    # The first two share link and disk. Each later one starts when a reply arrives.
    both = store(line.replace("window=1", "window=2"), call).simulated_time
    assert CALL + 1e5 / 5e5 < both < CALL + 4 * moved(25e3, 5e5)


STRIPED = (
    "mount=/p,servers=c-{8-15},read=2MBps,write=500kBps,stripe=1kB,count=4,header=0B,"
    "request=1MB,metadata=c-7"
)


def test_stripes_of_one_client_share_its_link(store: StorageReplay) -> None:
    """Four servers write at 2 MB/s; the client's link carries 1 MB/s."""
    result = store(STRIPED, "open 3 /p/f wc; write 3 4e5")
    expected = 2 * LATENCY + 2 * LATENCY + 4e5 / BANDWIDTH + 1e5 / 5e5
    assert result.simulated_time == pytest.approx(expected, rel=1e-12)


def test_as_many_clients_as_servers(store: StorageReplay) -> None:
    """Each writes a stripe of a shared file to its own server, as if alone."""
    line = STRIPED.replace("stripe=1kB", "stripe=100kB")
    alone = store(line, "open 3 /p/f wc; write 3 1e5").simulated_time
    assert alone == pytest.approx(2 * LATENCY + moved(1e5, 5e5) - 2 * HEADER / BANDWIDTH)
    ranks = [f"open 3 /p/f wc; pwrite 3 1e5 {rank * 100_000}" for rank in range(4)]
    assert store(line, *ranks).finish.tolist() == pytest.approx([alone] * 4, rel=1e-12)
    # Four more clients share the servers' links and disks with them.
    ranks = [f"open 3 /p/f wc; pwrite 3 1e5 {rank * 100_000}" for rank in range(7)]
    finish = store(line, *ranks).finish.tolist()
    slow = 4 * LATENCY + 2 * (1e5 / BANDWIDTH + 1e5 / 5e5)
    assert finish == pytest.approx([slow] * 3 + [alone] + [slow] * 3, rel=1e-12)


def test_files_begin_on_servers_in_turn(store: StorageReplay) -> None:
    """With a stripe count of 4 on 8 servers, the first and the third file share servers."""
    line = STRIPED.replace("stripe=1kB", "stripe=100kB")
    ranks = [f"sleep {rank}e-6; open 3 /p/{rank} wc; write 3 1e5" for rank in range(3)]
    first, second, third = store(line, *ranks).finish.tolist()
    assert second - 1e-6 == pytest.approx(2 * LATENCY + moved(1e5, 5e5) - 2e-4, abs=1e-9)
    assert first > second + 0.2
    assert third > second + 0.2


def test_a_server_on_the_host_of_its_client(store: StorageReplay) -> None:
    """It is reached over the loopback, like a rank."""
    line = "type=nfs,mount=/p,servers=c-0,read=2MBps,write=500kBps,header=0B"
    near, far = store(line, "open 3 /p/f wc; write 3 5e5", "open 3 /p/g wc; write 3 5e5").finish
    assert near == pytest.approx(far, rel=1e-6)


def test_fsync_asks_the_servers_of_the_file(store: StorageReplay) -> None:
    result = store(STRIPED, "open 3 /p/f wc; fsync 3")
    assert result.simulated_time == pytest.approx(4 * LATENCY, rel=1e-12)


def test_a_full_file_system(store: StorageReplay) -> None:
    full = r"file system 'pfs' at /p is full at \S+ s: 0 of 99000 bytes are in use"
    with pytest.raises(DiskFullError, match=full):
        store(ONE + ",size=99kB", "open 3 /p/f wc; write 3 1e5")


def test_a_server_that_is_off(store: StorageReplay, machine_off: None) -> None:
    """Clients wait for it forever: the report names the file system and the server."""
    with pytest.raises(
        SimulationError,
        match=r"rank 0: write waits for the file system 'pfs': no reply of c-9$",
    ):
        store(STRIPED, "open 3 /p/f wc; write 3 4e5")


def test_what_servers_were_asked_for(
    store: StorageReplay, capsys: pytest.CaptureFixture[str]
) -> None:
    result = store(STRIPED, "open 3 /p/f wcr; write 3 2e5; pread 3 1e3 0; fsync 3")
    assert result.io is not None
    servers = result.io["file_systems"]["pfs"]
    assert servers["hosts"] == [*(f"c-{number}" for number in range(8, 16)), "c-7"]
    assert servers["requests"] == [3, 2, 2, 2, 0, 0, 0, 0, 1]
    assert servers["bytes_written"] == [50_000] * 4 + [0] * 5
    assert servers["bytes_read"] == [1000] + [0] * 8
    assert servers["seconds"][1] == pytest.approx(5e4 / 5e5, rel=1e-9)
    assert Result.from_json(result.to_json()) == result
    print_summary(result, "")
    text = capsys.readouterr().out
    assert "on pfs" in text
    assert "201 kB in 9 requests to 8 servers, most on c-8 (25.4 %); 1 metadata requests" in text


DISK = 5e5
CACHING = "mount=/p,servers=c-15,metadata=c-14,read=2MBps,write=500kBps,header=0B,request=1MB"
OPEN = 2 * LATENCY
BYTES = 1e5
WRITE = 2 * LATENCY + BYTES / BANDWIDTH + BYTES / DISK


def test_a_write_into_the_cache_of_its_host_takes_no_time(store: StorageReplay) -> None:
    line = CACHING + ",client-cache=100kB"
    call = "open 3 /p/f wc; write 3 1e5"
    assert store(line, call).simulated_time == pytest.approx(OPEN, rel=1e-12)
    # A close does not wait either; a flush does, and then contacts the server.
    assert store(line, call + "; close 3").simulated_time == pytest.approx(2 * OPEN, rel=1e-12)
    flushed = OPEN + WRITE + 2 * LATENCY
    assert store(line, call + "; fsync 3").simulated_time == pytest.approx(flushed, rel=1e-12)


def test_a_write_waits_for_what_exceeds_the_cache(store: StorageReplay) -> None:
    """Of four sequential requests, the last two fit into the cache."""
    line = CACHING.replace("request=1MB", "request=25kB,window=1") + ",client-cache=50kB"
    one = 2 * LATENCY + 25e3 / BANDWIDTH + 25e3 / DISK
    result = store(line, "open 3 /p/f wc; write 3 1e5")
    assert result.simulated_time == pytest.approx(OPEN + 2 * one, rel=1e-12)


def test_a_second_write_waits_for_the_first(store: StorageReplay) -> None:
    """The second, of half the bytes, is on the disk first: half the link for 0.1 s, then the disk
    alone for 0.05 s and half of it for 0.1 s. The first still fills the cache."""
    result = store(CACHING + ",client-cache=100kB", "open 3 /p/f wc; write 3 1e5; write 3 5e4")
    assert result.simulated_time == pytest.approx(OPEN + 2 * LATENCY + 0.25, rel=1e-12)


def test_hosts_have_caches_of_their_own(store: StorageReplay) -> None:
    call = "open 3 /p/f wc; write 3 1e5"
    finish = store(CACHING + ",client-cache=100kB", call, call).finish.tolist()
    assert finish == pytest.approx([OPEN] * 2, rel=1e-12)


def test_nfs_writes_its_cache_before_a_close(store: StorageReplay) -> None:
    line = "type=nfs,mount=/p,servers=c-15,read=2MBps,write=500kBps,header=0B,client-cache=1MB"
    result = store(line, "open 3 /p/f wc; write 3 1e5; close 3")
    assert result.simulated_time == pytest.approx(2 * OPEN + WRITE, rel=1e-12)


def test_a_server_with_a_cache_replies_before_its_disk_is_done(store: StorageReplay) -> None:
    line = CACHING + ",server-cache=100kB"
    call = "open 3 /p/f wc; write 3 1e5"
    written = OPEN + 2 * LATENCY + BYTES / BANDWIDTH
    assert store(line, call).simulated_time == pytest.approx(written, rel=1e-12)
    on_disk = written - LATENCY + BYTES / DISK
    result = store(line, call + "; fsync 3")
    assert result.simulated_time == pytest.approx(on_disk + LATENCY, rel=1e-12)
    # A read shares the disk with data being written back, at most 2 MB/s together.
    result = store(line, "open 3 /p/f wcr; write 3 1e5; pread 3 1e5 0")
    read = 2 * LATENCY + BYTES / BANDWIDTH + BYTES / 1.5e6
    assert result.simulated_time == pytest.approx(written + read, rel=1e-12)


def test_a_full_cache_of_a_server(store: StorageReplay) -> None:
    """Four requests arrive and end together; the first fits, so the others wait for the ends."""
    line = CACHING.replace("request=1MB", "request=25kB,window=4") + ",server-cache=40kB"
    result = store(line, "open 3 /p/f wc; write 3 1e5")
    assert result.simulated_time == pytest.approx(OPEN + WRITE, rel=1e-12)


def test_a_burst_buffer(store: StorageReplay) -> None:
    """A cache that accepts data at its own rate, shared by requests."""
    line = CACHING + ",server-cache=1MB,server-cache-rate=4MBps"
    result = store(line, "open 3 /p/f wc; write 3 1e5")
    taken = OPEN + 2 * LATENCY + BYTES / BANDWIDTH + BYTES / 4e6
    assert result.simulated_time == pytest.approx(taken, rel=1e-12)


def test_a_flush_that_never_ends(store: StorageReplay, machine_off: None) -> None:
    with pytest.raises(
        SimulationError,
        match=r"fsync waits for the file system 'pfs': its servers lack data of this host's cache",
    ):
        store(CACHING + ",client-cache=1MB", "open 3 /p/f wc; write 3 1e6; fsync 3")


LINE = "mount=/p,servers=c-9,read=2MBps,write=500kBps,header=0B"


def test_servers_count_what_processes_do(tmp_path: Path) -> None:
    env = Environment(tisim.Platform.load(machine(tmp_path, 16, pfs=LINE)))
    trace = tmp_path / "trace.txt"
    trace.write_text("0 open 3 /p/f wc\n0 write 3 1e5\n0 sleep 10\n")
    results = []

    def run() -> Generator[simpy.Event, None, None]:
        yield env.write("c-1", "/p/other", 3e5) & env.read("c-2", "/p/f", 2e5)

    def job() -> Generator[simpy.Event, None, None]:
        results.append((yield env.replay(trace, ["c-0"])))

    env.process(run())
    env.process(job())
    env.run()
    (result,) = results
    servers = result.io["file_systems"]["pfs"]
    assert sum(servers["bytes_written"]) == 4e5
    assert sum(servers["bytes_read"]) == 2e5
    assert [(use["name"], use["writes"]["bytes"]) for use in result.io["files"]] == [("/p/f", 1e5)]


SCRATCH = "mount=/p,servers=c-14 c-15,read=2MBps,write=500kBps,stripe=10kB,count=2"


def test_habits_of_a_name_on_all_ranks(store: StorageReplay) -> None:
    """Files that differ only by rank are one row; a handle's calls are sequential."""
    line = "open 3 /p/f.%d wrc; write 3 1e4; write 3 1e4; pwrite 3 500 5; pread 3 2e4 0; close 3"
    result = store(SCRATCH, line, line)
    table = result.file_tables.files.set_index("way")
    assert list(table["files"]) == ["/p/f.%d"] * 2
    assert list(table["file_system"]) == ["pfs", "pfs"]
    writes, reads = table.loc["writes"], table.loc["reads"]
    assert (writes["opens"], writes["calls"], writes["bytes"]) == (2, 6, 41_000)
    assert (writes["sequential"], writes["consecutive"], writes["aligned"]) == (2, 2, 4)
    assert writes["sizes"] == [0, 2, 0, 4, 0, 0, 0, 0, 0, 0]
    assert (reads["calls"], reads["bytes"], reads["aligned"]) == (2, 40_000, 2)


def test_bytes_over_time_are_those_that_moved(store: StorageReplay) -> None:
    result = store(SCRATCH, "open 3 /p/f wc; write 3 1e5; compute 3e9; write 3 2e5")
    table = result.file_tables.bandwidth
    assert set(table["way"]) == {"written"}
    for of, name in (("file system", "pfs"), ("files", "/p/f")):
        rows = table[(table["of"] == of) & (table["name"] == name)]
        assert rows["bytes"].sum() == pytest.approx(3e5)
        # No data moves while the rank computes.
        assert not ((rows["begin"] > 1) & (rows["end"] < 3)).any()
        width = (rows["end"] - rows["begin"]).to_numpy()
        assert (rows["bytes"] / width).to_numpy() == pytest.approx(rows["bandwidth"].to_numpy())
    servers = table[table["of"] == "server"].groupby("name")["bytes"].sum()
    assert servers.to_dict() == pytest.approx({"c-14": 1.5e5, "c-15": 1.5e5})


def test_bytes_on_disks_of_hosts(tmp_path: Path) -> None:
    from tisim import replay

    platform = platform_file(
        tmp_path,
        '<zone id="z" routing="Full"><host id="a" speed="1Gf">'
        '<disk id="d" read_bw="2MBps" write_bw="1MBps"/></host></zone>',
    )
    trace = tmp_path / "t.txt"
    trace.write_text("0 open 3 data wrc\n0 write 3 2000000\n0 pread 3 1000000 0\n")
    result = replay(trace, platform=platform, hosts=["a"])
    assert result.simulated_time == pytest.approx(2.5)
    table = result.file_tables.bandwidth
    total = table[table["of"] == "file system"]
    assert set(total["name"]) == {"disks of hosts"}
    assert total.groupby("way")["bytes"].sum().to_dict() == pytest.approx(
        {"read": 1e6, "written": 2e6}
    )
    assert total["bandwidth"].max() == pytest.approx(2e6)
    assert result.file_tables.waits.empty and result.file_tables.servers.empty


def test_ranks_wait_for_the_server_that_replies_last(store: StorageReplay) -> None:
    """One of two servers has three times the bytes: all ranks wait for it."""
    result = store(SCRATCH, "open 3 /p/f wc; pwrite 3 20000 0", "open 3 /p/f w; pwrite 3 10000 0")
    servers = result.file_tables.servers.set_index("server")
    waits = result.file_tables.waits
    assert list(servers["is_metadata"]) == [False, False, True]
    assert waits["seconds"].sum() == pytest.approx(servers["waited"].sum())
    last = waits[waits["rank"] == 1].set_index("server")["seconds"]
    assert 0 in last.index and 1 not in last.index
    assert waits["seconds"].is_monotonic_decreasing
    assert result.io is not None
    assert servers["waited"].sum() == pytest.approx(sum(result.io["seconds"]))


def test_servers_that_reply_at_one_instant_share_the_wait(store: StorageReplay) -> None:
    result = store(SCRATCH, "open 3 /p/f wc; write 3 20000")
    waited = result.file_tables.servers["waited"]
    assert waited[0] == pytest.approx(waited[1])
    assert waited[0] > 0


def test_a_cache_of_the_host_is_waited_for_through_its_server(store: StorageReplay) -> None:
    result = store(SCRATCH + ",client-cache=10kB", "open 3 /p/f wc; write 3 50000; fsync 3")
    assert result.io is not None
    assert result.file_tables.servers["waited"].sum() == pytest.approx(sum(result.io["seconds"]))


def test_results_in_json_keep_what_was_done_with_files(store: StorageReplay) -> None:
    result = store(SCRATCH, "open 3 /p/f wc; write 3 20000")
    again = Result.from_json(result.to_json())
    assert again.io == result.io
    assert again.file_tables.bandwidth.equals(result.file_tables.bandwidth)


def test_results_without_files_have_empty_tables(store: StorageReplay) -> None:
    result = store(SCRATCH, "compute 1e9")
    assert result.io is None
    tables = result.file_tables
    assert all(table.empty for table in (tables.files, tables.servers, tables.bandwidth))
    assert tables.waits.empty


def test_a_rank_computes_while_it_writes(store: StorageReplay) -> None:
    taken = moved(1e5, 5e5)
    begin = "open 3 /p/f wrc; file_iwrite_at 3 100000 0 request=0"
    result = store(ONE, f"{begin}; compute 1e7; wait request=0; compute 1e8")
    assert result.simulated_time == pytest.approx(CALL + taken + 0.1, rel=1e-12)
    result = store(ONE, f"{begin}; compute 1e9; waitall requests=0")
    assert result.simulated_time == pytest.approx(CALL + 1, rel=1e-12)
    assert result.io is not None
    assert result.io["bytes_written"] == [100000]


def test_two_reads_under_way_share_network_and_disk(store: StorageReplay) -> None:
    alone = store(ONE, "open 3 /p/f r; file_iread_at 3 100000 0; waitall")
    both = store(ONE, "open 3 /p/f r; file_iread_at 3 100000 0; file_iread_at 3 100000 0; waitall")
    longer = both.simulated_time - alone.simulated_time
    assert longer == pytest.approx(1e5 / BANDWIDTH + 1e5 / 2e6, rel=0.01)


def test_a_wait_for_a_server_that_is_off(store: StorageReplay, machine_off: None) -> None:
    with pytest.raises(
        SimulationError,
        match=r"rank 0: wait waits for 400000 bytes of a file, whose server does not reply$",
    ):
        store(ONE, "open 3 /p/f wc; file_iwrite 3 400000 request=0; wait request=0")


@pytest.mark.parametrize(
    ("way", "nodes", "sent", "written"),
    [
        ("independent", 0, 0.0, 2.0),
        ("romio", 1, 1.0, 2.0),  # rank 0 receives the part of rank 1, then writes both
        ("ompio", 1, 1.0, 2.0),
    ],
)
def test_two_phases_one_after_the_other(
    store: StorageReplay, way: str, nodes: int, sent: float, written: float
) -> None:
    config = {
        "tisim/collective-io": way,
        "tisim/cb-nodes": str(nodes),
        "tisim/cb-write": "enable",
        "tisim/collective-io-driver": "generic",  # one round instead of one per stripe
    }

    def seconds(part: int) -> float:
        ranks = [
            f"file_open 0 /p/f wc; file_write_at_all 0 {part} {part * rank}" for rank in range(2)
        ]
        return float(store(ONE, *ranks, config=config).simulated_time)

    # Messages to the aggregator and requests of the server depend on the part's size. Both ranks
    # that write directly share its link and disk, and one of them may be ahead.
    longer = seconds(200_000) - seconds(100_000)
    expected = 1e5 * (sent / BANDWIDTH + written / BANDWIDTH + written / 5e5)
    tolerance = 1e-9 if nodes else 0.2
    assert longer == pytest.approx(expected, rel=tolerance)
