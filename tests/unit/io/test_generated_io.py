"""Generated traces that write files."""

from __future__ import annotations

from pathlib import Path

import pytest

import tisim
from tisim.errors import InputError
from tisim.platform.deployment import Deployment
from tisim.traces.generate.patterns import ACCESSES, Access, Io

PLATFORM = """
<platform version="4.1"><zone id="z" routing="Full">
  <host id="a" speed="1Gf"><disk id="d" read_bw="400" write_bw="100"/></host>
</zone></platform>
"""


def text(pattern: Io, rank: int) -> list[str]:
    lines = "".join(pattern.pieces(rank)).splitlines()
    return [line.partition(" ")[2] for line in lines if "compute" not in line][1:-1]


def test_the_lines_of_each_pattern() -> None:
    def of(access: Access, rank: int) -> list[str]:
        return text(Io(ranks=3, iterations=1, access=access, written=20, block=10), rank)

    write = ["write 3 10"]
    assert of("serial", 0) == ["gather 20 20 0", "open 3 data wct", *write * 6, "close 3"]
    assert of("serial", 1) == ["gather 20 20 0"]
    assert of("file-per-process", 2) == ["open 3 data.%05d wct", *write * 2, "close 3"]
    assert of("shared", 2) == ["open 3 data wc", "lseek 3 40", *write * 2, "close 3"]
    assert of("strided", 1) == [
        "open 3 data wc", "lseek 3 10", *write, "lseek 3 20 cur", *write, "close 3"
    ]  # fmt: skip


@pytest.mark.parametrize("access", ACCESSES)
@pytest.mark.parametrize("name", ["trace", "trace.tit"])
def test_every_pattern_writes_and_reads_all_bytes(
    tmp_path: Path, access: Access, name: str
) -> None:
    """A block at a wrong place would leave the file too short for the reads behind it."""
    platform = tmp_path / "platform.xml"
    platform.write_text(PLATFORM)
    pattern = Io(
        ranks=4, iterations=2, compute=0, access=access, written=60, block=20, read_back=True,
        fsync=True,
    )  # fmt: skip
    pattern.write(tmp_path / name)
    hosts = Deployment.cyclic(["a"], 4)
    result = tisim.replay(tmp_path / name, platform=platform, deployment=hosts)
    assert result.io is not None
    assert sum(result.io["bytes_written"]) == sum(result.io["bytes_read"]) == 4 * 2 * 60
    # While some read, others may still write: at most 400 bytes/s, at least 100.
    assert 960 / 400 < result.simulated_time <= 480 / 100 + 480 / 400 + 1e-3


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="written must be a multiple of the block, 7, not 1"):
        Io(ranks=1, written=10, block=7)
    with pytest.raises(InputError, match=r"access must be one of serial, .*, not random"):
        Io(ranks=1, access="random")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="file must be a name without blanks"):
        Io(ranks=1, file="a b")


def test_the_size_of_a_trace_hardly_depends_on_its_ranks(tmp_path: Path) -> None:
    sizes = []
    for ranks in (1000, 100_000):
        path = tmp_path / f"{ranks}.tit"
        Io(ranks=ranks, access="file-per-process").write(path)
        sizes.append(path.stat().st_size)
    assert sizes[1] <= sizes[0] + 16
