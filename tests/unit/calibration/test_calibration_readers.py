"""Measurement files: every format, recognised by content, and errors of damaged files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tisim.errors import InputError
from tisim.studies.calibration import read_measurements

SKAMPI = """\
# SKaMPI Version 5.0.4
# begin result "Pingpong_Send_Recv"
count= 1        4     109.2       0.2       32     106.7     107.7
count= 2        8     120.0       0.3       32     107.6     107.0
# end result "Pingpong_Send_Recv"
begin result "MPI_Bcast"
nodes= 2        4       9.2       0.2       32
end result "MPI_Bcast"
"""
OSU_LATENCY = """\
# OSU MPI Latency Test v5.6.2
# Size          Latency (us)
0                       1.23
1                       1.25
4096                    4.00
"""
OSU_FULL = """\
# OSU MPI-CUDA Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)  Min Latency(us)  Max Latency(us)  Iterations
1                       1.25             1.20             1.60       10000
8                       1.30             1.20             1.70       10000
"""
OSU_BW = """\
# OSU MPI Bandwidth Test v5.6.2
# Size      Bandwidth (MB/s)
1                       2.50
1000000               100.00
"""
OSU_BIBW = OSU_BW.replace("MPI Bandwidth", "MPI Bi-Directional Bandwidth").replace("100.", "150.")
OSU_MBW = """\
# OSU MPI Multiple Bandwidth / Message Rate Test v5.6.2
# [ pairs: 4 ] [ window size: 64 ]
# Size                  MB/s        Messages/s
1000000               400.00            400.00
"""
IMB = """\
#    Intel(R) MPI Benchmarks 2019 Update 6, MPI-1 part
#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         0.25         0.00
         1024         1000         1.00      1024.00
#-----------------------------------------------------------------------------
# Benchmarking Sendrecv
# #processes = 2
#-----------------------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
         1024         1000         1.90         2.10         2.00      1024.00

#----------------------------------------------------------------
# Benchmarking Bcast
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
         1024         1000         1.90         2.10         2.00

# All processes entering MPI_Finalize
"""
ROWS = """\
MPI_Send,1000,32.477584,2.0e-03
MPI_Recv,1000,32.477584,4.0e-03
MPI_Recv,1000,33.0,1.0e-04
MPI_Isend,1000,34.0,5.0e-06
MPI_Iprobe,1,43.1,3.0e-07
MPI_Test,1,43.2,2.0e-07
MPI_Wtime,0,44.0,4.0e-01
"""
OWN = """\
# any comment
operation,bytes,pairs,directions,seconds,host,peer
pingpong,10,1,1,0.0002,a,b
send,10,1,1,0.00001,a,b
transfer,1000,2,2,0.004,a,b
"""


def frame(tmp_path: Path, *texts: str):
    files = []
    for number, text in enumerate(texts):
        files.append(tmp_path / f"file-{number}")
        files[-1].write_text(text)
    return read_measurements(files)


def rows(tmp_path: Path, *texts: str) -> list[tuple[object, ...]]:
    columns = ["operation", "bytes", "seconds", "pairs", "directions"]
    found = frame(tmp_path, *texts).frame[columns]
    return [
        (operation, nbytes, pytest.approx(seconds), pairs, directions)
        for operation, nbytes, seconds, pairs, directions in found.itertuples(index=False)
    ]


def test_files_of_windows_begin_with_a_mark(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_bytes(b"\xef\xbb\xbf" + ROWS.replace("\n", "\r\n").encode())
    assert len(read_measurements([file]).frame) == 6


def test_skampi_times_are_round_trips_in_microseconds(tmp_path: Path) -> None:
    assert rows(tmp_path, SKAMPI) == [
        ("pingpong", 4, 54.6e-6, 1, 1),
        ("pingpong", 8, 60e-6, 1, 1),
    ]
    assert "MPI_Bcast" in frame(tmp_path, SKAMPI).remarks[0]


def test_skampi_rows_below_the_end_of_their_block_count(tmp_path: Path) -> None:
    lines = SKAMPI.splitlines()[:5]
    moved = [lines[0], lines[1], lines[4], lines[2], lines[3], ""]
    assert len(rows(tmp_path, "\n".join(moved))) == 2


@pytest.mark.parametrize("name", ["Pingpong_Isend_Recv", "Pingpong_Ssend_Recv", "MPI_Bcast"])
def test_skampi_uses_ping_pongs_of_send_and_recv_alone(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=f"no ping-pong.*{name} \\(2 rows\\)"):
        frame(tmp_path, "\n".join(SKAMPI.splitlines()[:5]).replace("Pingpong_Send_Recv", name))


def test_osu_latencies_are_one_way_in_microseconds(tmp_path: Path) -> None:
    assert rows(tmp_path, OSU_LATENCY)[2] == ("pingpong", 4096, 4e-6, 1, 1)
    assert rows(tmp_path, OSU_FULL)[1] == ("pingpong", 8, 1.3e-6, 1, 1)


def test_osu_bandwidths_are_transfers_and_streams(tmp_path: Path) -> None:
    assert rows(tmp_path, OSU_BW)[2] == ("transfer", 1_000_000, 0.01, 1, 1)
    assert rows(tmp_path, OSU_BW)[3] == ("stream", 1_000_000, 0.64 / 63, 1, 1)
    assert rows(tmp_path, OSU_BIBW)[1] == ("transfer", 1_000_000, 2 / 150, 1, 2)
    assert rows(tmp_path, OSU_MBW) == [("transfer", 1_000_000, 0.01, 4, 1)]


def test_imb_sections(tmp_path: Path) -> None:
    assert rows(tmp_path, IMB) == [
        ("pingpong", 0, 0.25e-6, 1, 1),
        ("pingpong", 1024, 1e-6, 1, 1),
        ("transfer", 1024, 2e-6, 1, 2),
    ]
    assert "Bcast of IMB is not used" in frame(tmp_path, IMB).remarks[0]


def test_rows_of_platform_calibration(tmp_path: Path) -> None:
    assert rows(tmp_path, ROWS) == [
        ("send", 1000, 2e-3, 1, 1),
        ("pingpong", 1000, 3e-3, 1, 1),
        ("recv", 1000, 1e-4, 1, 1),
        ("isend", 1000, 5e-6, 1, 1),
        ("iprobe", 1, 3e-7, 1, 1),
        ("test", 1, 2e-7, 1, 1),
    ]
    assert "1 rows of MPI_Wtime are not used" in frame(tmp_path, ROWS).remarks[0]


def test_own_format(tmp_path: Path) -> None:
    assert rows(tmp_path, OWN) == [
        ("pingpong", 10, 1e-4, 1, 1),
        ("send", 10, 1e-5, 1, 1),
        ("transfer", 1000, 4e-3, 2, 2),
    ]


def test_several_files_at_once(tmp_path: Path) -> None:
    assert len(rows(tmp_path, SKAMPI, OSU_LATENCY, IMB, ROWS, OWN)) == 2 + 3 + 3 + 6 + 3


def test_measurements_inside_a_host_are_left_out_where_there_are_others(tmp_path: Path) -> None:
    mixed = OWN + "pingpong,10,1,1,0.000001,a,a\n"
    assert rows(tmp_path, mixed) == rows(tmp_path, OWN)
    assert "intra-node measurements mixed in: 1 of 4" in frame(tmp_path, mixed).remarks[0]
    alone = frame(tmp_path, OWN.replace("a,b", "a,a"))
    assert len(alone.frame) == 3
    assert "both processes were on one host" in alone.remarks[0]


def test_times_of_zero_are_left_out(tmp_path: Path) -> None:
    assert rows(tmp_path, OWN + "send,10,1,1,0,a,b\n") == rows(tmp_path, OWN)


CUT = "a truncated or damaged line"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "the file is empty"),
        ("  \n\n", None, "the file is empty"),
        ("<platform/>\n", None, "unknown format of measurements.*begins with '<platform/>'"),
        ("a,b,c\n1,2,3\n", None, "unknown format of measurements"),
        ("\0\0\0", None, "a binary file instead of"),
        # SKaMPI
        (SKAMPI.replace("120.0       0.3       32     107.6     107.0", "120.0"), 4, CUT),
        (SKAMPI.replace("     107.6     107.0\n", "     107.6\n"), 4, CUT),
        (SKAMPI.replace("120.0", "-120.0"), 4, "negative"),
        (SKAMPI.replace("120.0", "12o"), 4, "was expected here, not '12o'"),
        ("".join(SKAMPI.splitlines(True)[:4]), 2, "has no end: the file is truncated;"),
        # OSU
        (OSU_LATENCY.replace("                    4.00", ""), 5, CUT),
        (OSU_FULL.replace("       10000\n8", "       10000\n8").rstrip()[:-6], 5, CUT),
        (OSU_LATENCY.replace("4.00", "-4.00"), 5, "negative"),
        (OSU_LATENCY.replace("4.00", "nan"), 5, "must be finite"),
        (OSU_LATENCY.split("\n", 1)[1], 2, "rows without a title"),
        (OSU_LATENCY.replace("MPI Latency", "MPI_Put Latency"), 1, "is not one of osu_latency"),
        (OSU_LATENCY.replace("MPI Latency", "MPI Multi Latency"), 1, "is not one of osu_latency"),
        ("\n".join(OSU_LATENCY.splitlines()[:2]), None, "no measurement below the title"),
        # IMB
        (IMB.replace("         1.00      1024.00", "         1.00"), 8, CUT),
        (IMB.replace(" 1.00 ", "-1.00 "), 8, "negative"),
        (
            "\n".join(IMB.splitlines()[:6]),
            None,
            "this file has no row of PingPong, PingPing or Sendrecv",
        ),
        ("\n".join(IMB.splitlines()[15:19]), None, "only of Bcast"),
        # platform-calibration
        (ROWS.replace("33.0,1.0e-04", "33.0"), 3, CUT),
        (ROWS.replace("1.0e-04", "1.0e"), 3, "was expected here"),
        (ROWS.replace("1.0e-04", "-1.0e-04"), 3, "negative"),
        (ROWS[:-6], 7, CUT),
        (ROWS.replace("MPI_Isend,1000", "MPI_Isend,10.5"), 4, "whole number of bytes"),
        # tisim
        (OWN.rstrip()[:-4], 5, CUT),
        (OWN.replace(",a,b", ",a,node-1").rstrip()[:-1], 5, CUT),
        ("operation,bytes,seconds\nsend,1,1.25e-05\nsend,2,1.50e-0", 3, CUT),
        (OWN.replace("0.004", "-0.004"), 5, "negative"),
        (OWN.replace("transfer", "transmit"), 5, "unknown operation 'transmit'"),
        (OWN.replace("1000,2,2", "1000,2,3"), 5, "directions 1 or 2"),
        (OWN.replace("seconds", "time"), 2, "no column 'seconds'"),
        (OWN.replace("peer", "pear"), 2, "unknown column 'pear'"),
        (OWN.splitlines()[1], 1, "a header without measurements"),
    ],
)
def test_a_damaged_file_is_named_with_its_line(
    tmp_path: Path, text: str, line: int | None, message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        frame(tmp_path, text)
    assert caught.value.file == str(tmp_path / "file-0")
    assert caught.value.line == line


def test_a_last_line_without_an_end_may_be_whole(tmp_path: Path) -> None:
    assert rows(tmp_path, OWN.rstrip()) == rows(tmp_path, OWN)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere: cannot read the measurements: No such file"):
        read_measurements([tmp_path / "nowhere"])


def test_a_single_size(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a single size, 10 bytes, of pingpong was measured"):
        frame(tmp_path, OWN).curve("pingpong")
    with pytest.raises(InputError, match="no size of isend was measured"):
        frame(tmp_path, OWN).curve("isend")


def test_a_curve_is_the_median_at_each_size(tmp_path: Path) -> None:
    rows = "".join(
        f"send,{size},1,1,{size * time}e-6,a,b\n" for size in (9, 2) for time in (1, 2, 9)
    )
    curve = frame(tmp_path, "\n".join(OWN.splitlines()[:2]) + "\n" + rows).curve("send")
    assert curve.nbytes.tolist() == [2, 9]
    assert curve.seconds.tolist() == pytest.approx([4e-6, 18e-6])
    assert curve.counts.tolist() == [3, 3]
    assert curve.weights.tolist() == [1, 1]
    assert curve.part(curve.nbytes < 9).nbytes.tolist() == [2]
