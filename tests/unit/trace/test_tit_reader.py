"""The reader that was written from docs/tit.md alone, beside the core's."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.tit_reader import DamagedError, TitTrace, alias_slots, crc32c, volume_text
from tisim.traces import Trace, pack


def neighbours(ranks: int) -> list[str]:
    """A halo exchange whose peers are regular, with volumes of every spelling."""
    volumes = ["1000", "2.5e+06", "1e+07", "1234567", "0.125", "956140.000000", "3e-05", "1e999x"]
    texts = []
    for rank in range(ranks):
        lines = ["init", "comment # 5"]
        for step in range(40):
            lines += [
                f"irecv {(rank + 1) % ranks} 0 {100 * rank}",
                f"isend {rank ^ 1} 0 64 6",
                f"compute {volumes[(step * rank) % len(volumes)]}",
                "waitall",
            ]
        texts.append("".join(f"{rank} {line}\n" for line in [*lines, "finalize"]))
    return texts


def noisy(ranks: int) -> list[str]:
    """Random volumes and sizes, so that both stand in columns."""
    source = random.Random(1)
    texts = []
    for rank in range(ranks):
        lines = []
        for _ in range(300):
            lines.append(f"compute {source.randrange(10**9)}")
            if source.random() < 0.5:
                lines.append(f"compute {source.gauss(1e5, 1e3):g}")
            lines.append(f"bcast {source.randrange(2**62)} 0 {source.choice([6, 7])}")
        texts.append("".join(f"{rank} {line}\n" for line in lines) + f"{rank} compute 7")
    return texts


def proportional(ranks: int) -> list[str]:
    """Volumes of a rank that all grow by its factor, so that one vector is enough for them."""
    source = random.Random(2)
    sizes = [source.randrange(200_000, 300_000) for _ in range(3 * ranks)]
    return [
        "".join(
            f"{rank} compute {volume}\n{rank} barrier\n" * 20
            for volume in (size, 2 * size, size // 3, 7 * size // 12 + 57)
        )
        for rank, size in enumerate(sizes)
    ]


def odd(ranks: int) -> list[str]:
    """Lines that are hardly lines."""
    return [
        f"# \x01\x07 {rank}\n\n  {rank}  init\r\n{rank} a=1,2 b\t-0 007\nend"
        for rank in range(ranks)
    ]


@pytest.mark.parametrize("make", [neighbours, noisy, proportional, odd])
def test_every_byte_comes_back(tmp_path: Path, make: Callable[[int], list[str]]) -> None:
    texts = {f"rank-{rank:02d}.txt": text.encode() for rank, text in enumerate(make(6))}
    (tmp_path / "text").mkdir()
    for name, text in texts.items():
        (tmp_path / "text" / name).write_bytes(text)
    pack(tmp_path / "text", tmp_path / "x.tit")
    assert dict(TitTrace(tmp_path / "x.tit").files()) == texts


@pytest.mark.parametrize("name", ["lu.S.4", "mg.S.16", "is.S.16", "lu.S.4.simgrid"])
def test_real_traces_come_back(nas_traces: Path, tmp_path: Path, name: str) -> None:
    pack(nas_traces / name, tmp_path / "x.tit")
    trace = TitTrace(tmp_path / "x.tit")
    directory = nas_traces / name
    texts = {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }
    assert dict(trace.files()) == texts
    assert trace.ranks == Trace.open(tmp_path / "x.tit").ranks


def test_one_file_of_all_ranks_comes_back(tmp_path: Path) -> None:
    text = b"# all\n0 init\n1 init\n\n1 send 0 0 5\n0 recv 1 0 5\r\n#end\n1 finalize"
    (tmp_path / "all.txt").write_bytes(text)
    pack(tmp_path / "all.txt", tmp_path / "x.tit")
    assert list(TitTrace(tmp_path / "x.tit").files()) == [("all.txt", text)]


def test_damage_is_found(nas_traces: Path, tmp_path: Path) -> None:
    packed = tmp_path / "x.tit"
    pack(nas_traces / "lu.S.4", packed)
    whole = packed.read_bytes()
    for place in range(0, len(whole), 97):
        packed.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(DamagedError):
            list(TitTrace(packed).files())


def test_parts_have_the_numbers_of_the_description() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert [
        volume_text(code) for code in (999_999, 1_000_000, 1_000_001, (1 << 50) + 1_000_000)
    ] == [
        "999999",
        "1e+06",
        "1.00001e+06",
        "1000000",
    ]
    assert volume_text((3 << 50) + 5) == "0.05"
    assert volume_text((33 + 256 + 125 << 50) + 12) == "1.2e-03"
    slots = alias_slots([1024, 2048, 1024])
    assert sorted(slots) == [(0, n) for n in range(1024)] + [(1, n) for n in range(2048)] + [
        (2, n) for n in range(1024)
    ]
