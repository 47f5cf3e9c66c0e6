"""Calls of MPI-IO on file systems: requests, and two-phase I/O, against times in closed form."""

from __future__ import annotations

import pytest

from tests.unit.storage.conftest import BANDWIDTH, StorageReplay
from tests.unit.storage.test_servers import CALL, ONE, moved
from tisim.errors import SimulationError


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
