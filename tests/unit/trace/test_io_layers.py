"""Lines with ``layer=``: a reader takes those of one layer."""

from __future__ import annotations

from pathlib import Path

import pytest

import tisim
from tisim.platform import new
from tisim.traces import check, pack

LINES = """\
0 open 0 shared wc layer=posix
0 file_open 1 shared wc layer=mpi
0 compute 1e9
0 pwrite 0 1000000 0 layer=posix
0 pwrite 0 1000000 5000000 layer=posix
0 file_iwrite_at 1 2000000 0 request=0 layer=mpi
0 isend 0 1 10 request=1
0 irecv 0 1 10 request=2
0 waitall requests=0,1,2 layer=mpi
0 waitall requests=1,2 layer=posix # beneath
0 file_close 1 layer=mpi
0 close 0 layer=posix
"""


def _times(trace: Path) -> tuple[float, float]:
    platform = new.cluster(
        1, bandwidth="1Gbps", latency="1us", speed="1Gf", disk="read=1MBps,write=1MBps"
    )
    upper, lower = (
        tisim.replay(trace, platform=platform, config=tisim.Config({"tisim/io-layer": layer}))
        for layer in ("mpi", "posix")
    )
    return upper.simulated_time, lower.simulated_time


def test_a_replay_takes_one_layer_of_text_and_of_packed_traces(tmp_path: Path) -> None:
    text = tmp_path / "both.txt"
    text.write_text(LINES)
    assert check(tisim.Trace.open(text)).sound
    packed = tmp_path / "both.tit"
    pack(text, packed)
    assert _times(text) == _times(packed)
    for alone, time in zip(("mpi", "posix"), _times(text), strict=True):
        lines = (line.partition(" # ")[0] for line in LINES.splitlines())
        apart = (line.partition(" layer=") for line in lines)
        only = "".join(f"{line}\n" for line, _, layer in apart if layer in ("", alone))
        (tmp_path / f"{alone}.txt").write_text(only)
        assert _times(tmp_path / f"{alone}.txt") == (time, time)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("open 0 a wc layer=hdf5", "the layer 'hdf5' is neither mpi nor posix"),
        ("open 0 a wc layer=", "the layer '' is neither mpi nor posix"),
        ("open a wc layer=posix", "handle"),  # what is not read is looked at, too
        ("send 0 1 10 layer=mpi", "type 'layer=mpi' is not a number"),
    ],
)
def test_wrong_layers_are_refused(line: str, message: str, tmp_path: Path) -> None:
    trace = tmp_path / "wrong.txt"
    trace.write_text(f"0 {line}\n")
    found = check(tisim.Trace.open(trace)).findings
    assert message in found[0].message
