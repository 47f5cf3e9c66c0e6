"""What results say of files, and calls of MPI-IO on file systems, in closed form."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.storage.conftest import BANDWIDTH, StorageReplay
from tests.unit.storage.test_servers import CALL, ONE, moved
from tisim.analysis.result import Result
from tisim.errors import SimulationError

SCRATCH = "mount=/p,servers=c-14 c-15,read=2MBps,write=500kBps,stripe=10kB,count=2"


def test_habits_of_a_name_on_all_ranks(store: StorageReplay) -> None:
    """Files that differ by the rank alone are one row; a handle's calls follow each other."""
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
        # Nothing moves while the rank computes.
        assert not ((rows["begin"] > 1) & (rows["end"] < 3)).any()
        width = (rows["end"] - rows["begin"]).to_numpy()
        assert (rows["bytes"] / width).to_numpy() == pytest.approx(rows["bandwidth"].to_numpy())
    servers = table[table["of"] == "server"].groupby("name")["bytes"].sum()
    assert servers.to_dict() == pytest.approx({"c-14": 1.5e5, "c-15": 1.5e5})


def test_bytes_on_disks_of_hosts(tmp_path: Path) -> None:
    from tisim import replay

    platform = tmp_path / "p.xml"
    platform.write_text(
        '<platform version="4.1"><zone id="z" routing="Full"><host id="a" speed="1Gf">'
        '<disk id="d" read_bw="2MBps" write_bw="1MBps"/></host></zone></platform>'
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
    """Of two servers one has three times the bytes: all wait for it."""
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


def test_a_server_that_is_off(store: StorageReplay, machine_off: None) -> None:
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
        "tisim/collective-io-driver": "generic",  # one round, instead of one for each stripe
    }

    def seconds(part: int) -> float:
        ranks = [
            f"file_open 0 /p/f wc; file_write_at_all 0 {part} {part * rank}" for rank in range(2)
        ]
        return float(store(ONE, *ranks, config=config).simulated_time)

    # Messages to the aggregator and requests of the server depend on the size of a part. Both ranks
    # that write by themselves share its link and disk, and one of them may be ahead.
    longer = seconds(200_000) - seconds(100_000)
    expected = 1e5 * (sent / BANDWIDTH + written / BANDWIDTH + written / 5e5)
    tolerance = 1e-9 if nodes else 0.2
    assert longer == pytest.approx(expected, rel=tolerance)
