"""A file of named sections (docs/tit.md, "The file")."""

from __future__ import annotations

from dataclasses import dataclass

from .byte_coder import expand_bytes
from .copy_coder import expand_copies
from .numbers import ByteReader, DamagedError, crc32c, varint_bytes

MAGIC = b"\x89TIT\r\n\x1a\n"
REQUIRED, CODED, COPIED = 1, 2, 4
WAYS = (0, CODED, COPIED)


@dataclass(frozen=True)
class Section:
    """A section as it is stored."""

    name: str
    version: int
    flags: int
    stored: bytes
    size: int
    checksum: int

    def content(self) -> bytes:
        if crc32c(self.stored) != self.checksum:
            raise DamagedError(f"its section {self.name} is not what was written")
        if self.flags & CODED:
            return expand_bytes(self.stored, self.size)
        return expand_copies(self.stored, self.size) if self.flags & COPIED else self.stored


def read_sections(data: bytes) -> list[Section]:
    """The sections of a file, in order."""
    reader = ByteReader(data)
    if reader.take(len(MAGIC)) != MAGIC:
        raise DamagedError("it does not begin as a packed trace")
    version = reader.fixed32()
    if version != 2:
        raise DamagedError(f"it is of version {version}, not 2")
    checksum = reader.fixed32()
    table = reader.text()
    if crc32c(table) != checksum:
        raise DamagedError("its table of sections is not what was written")
    entries = ByteReader(table)
    sections = []
    while not entries.at_end():
        name = entries.text().decode()
        number = entries.varint()
        flags = entries.byte()
        if flags & ~REQUIRED not in WAYS:
            raise DamagedError("a section is coded in no known way")
        stored = entries.varint()
        size = entries.varint() if flags & (CODED | COPIED) else stored
        sections.append(Section(name, number, flags, reader.take(stored), size, entries.fixed32()))
    if not reader.at_end():
        raise DamagedError("it is longer than its sections")
    return sections


def with_section(data: bytes, name: str, content: bytes) -> bytes:
    """The file with an optional section of version 1 more, at its end."""
    sections = [*read_sections(data), Section(name, 1, 0, content, len(content), crc32c(content))]
    table = b"".join(_entry(section) for section in sections)
    head = MAGIC + _fixed32(2) + _fixed32(crc32c(table)) + varint_bytes(len(table))
    return b"".join([head, table, *(section.stored for section in sections)])


def _entry(section: Section) -> bytes:
    name = section.name.encode()
    size = varint_bytes(section.size) if section.flags & (CODED | COPIED) else b""
    return b"".join(
        (
            varint_bytes(len(name)) + name,
            varint_bytes(section.version) + bytes([section.flags]),
            varint_bytes(len(section.stored)) + size,
            _fixed32(section.checksum),
        )
    )


def _fixed32(number: int) -> bytes:
    return number.to_bytes(4, "little")
