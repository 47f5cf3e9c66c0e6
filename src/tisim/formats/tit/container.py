"""A file of named sections (docs/tit.md, "The file")."""

from __future__ import annotations

from dataclasses import dataclass

from .byte_coder import expand_bytes
from .numbers import ByteReader, DamagedError, crc32c

MAGIC = b"\x89TIT\r\n\x1a\n"
REQUIRED, CODED = 1, 2


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
        return expand_bytes(self.stored, self.size) if self.flags & CODED else self.stored


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
        stored = entries.varint()
        size = entries.varint() if flags & CODED else stored
        sections.append(Section(name, number, flags, reader.take(stored), size, entries.fixed32()))
    if not reader.at_end():
        raise DamagedError("it is longer than its sections")
    return sections
