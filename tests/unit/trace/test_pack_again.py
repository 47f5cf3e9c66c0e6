"""Packed traces that are packed again: volumes less exactly, all else kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tit_reader import (
    CODED,
    COPIED,
    MAGIC,
    REQUIRED,
    Section,
    crc32c,
    read_sections,
)
from tests.unit.command_line import ROOT, CommandLine
from tests.unit.trace_library.test_attributes import measured
from tisim.errors import InputError
from tisim.traces import Trace, pack, unpack

LU = ROOT / "traces" / "npb.S.tar.xz" / "lu.S.4"


def varint(number: int) -> bytes:
    coded = bytearray()
    while number >= 0x80:
        coded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*coded, number])


def container(sections: list[Section]) -> bytes:
    table = b""
    for section in sections:
        name = section.name.encode()
        table += varint(len(name)) + name + varint(section.version) + bytes([section.flags])
        table += varint(len(section.stored))
        if section.flags & (CODED | COPIED):
            table += varint(section.size)
        table += crc32c(section.stored).to_bytes(4, "little")
    head = MAGIC + (2).to_bytes(4, "little") + crc32c(table).to_bytes(4, "little")
    stored = b"".join(section.stored for section in sections)
    return head + varint(len(table)) + table + stored


def with_section(path: Path, flags: int) -> Path:
    data = b"of the future"
    sections = read_sections(path.read_bytes())
    sections.append(Section("energy", 3, flags, data, len(data), crc32c(data)))
    made = path.with_name("future.tit")
    made.write_bytes(container(sections))
    return made


@pytest.fixture(scope="module")
def lu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("packed") / "lu.tit"
    pack(LU, path)
    return path


@pytest.mark.parametrize("volumes", ["exact", "1e-2", "mean"])
def test_it_is_as_if_the_text_was_packed(volumes: str, lu: Path, tmp_path: Path) -> None:
    pack(lu, tmp_path / "again.tit", volumes=volumes)
    pack(LU, tmp_path / "text.tit", volumes=volumes)
    assert (tmp_path / "again.tit").read_bytes() == (tmp_path / "text.tit").read_bytes()


@pytest.mark.parametrize("volumes", ["exact", "5e-2"])
def test_unknown_optional_sections_are_kept(volumes: str, lu: Path, tmp_path: Path) -> None:
    pack(with_section(lu, 0), tmp_path / "again.tit", volumes=volumes)
    kept = read_sections((tmp_path / "again.tit").read_bytes())[-1]
    assert (kept.name, kept.version, kept.flags, kept.stored) == ("energy", 3, 0, b"of the future")
    assert Trace.open(tmp_path / "again.tit").precision == volumes


def test_unknown_required_sections_are_refused_by_name(lu: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'its section "energy" of version 3; get a newer tisim'):
        pack(with_section(lu, REQUIRED), tmp_path / "again.tit")
    assert not (tmp_path / "again.tit").exists()


def test_attributes_are_kept(tmp_path: Path) -> None:
    path = measured(tmp_path)
    pack(path, tmp_path / "mean.tit", volumes="5e-2")
    before, after = Trace.open(path), Trace.open(tmp_path / "mean.tit")
    assert after.attributes == before.attributes
    for rank in range(before.ranks):
        assert list(after.attributes_of(rank)) == list(before.attributes_of(rank))


def test_lines_in_one_file_stay_in_their_order(tmp_path: Path) -> None:
    text = "".join(f"{i % 3} compute {i}\n{i % 3} barrier\n" for i in range(300))
    (tmp_path / "all.txt").write_text(text)
    pack(tmp_path / "all.txt", tmp_path / "one.tit")
    pack(tmp_path / "one.tit", tmp_path / "two.tit", volumes="1e-3")
    unpack(tmp_path / "two.tit", tmp_path / "text")
    assert (tmp_path / "text" / "all.txt").read_text().count("\n") == 600


def test_what_cannot_be_is_refused(lu: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tit"
    pack(lu, tmp_path / "mean.tit", volumes="mean")
    with pytest.raises(InputError, match="keeps volumes as mean already; pack the trace that has"):
        pack(tmp_path / "mean.tit", out, volumes="1e-2")
    with pytest.raises(InputError, match="is packed in the other dialect"):
        pack(lu, out, dialect="legacy")


def test_the_command_says_what_it_did(
    lu: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tisim = CommandLine(tmp_path, capsys)
    outcome = tisim("pack", str(lu), "--volumes", "mean", "-o", str(tmp_path / "mean.tit"))
    assert outcome.status == 0
    assert outcome.out.endswith("% of what it was)\n")
