"""Facts about an executable file: its libraries and linkage."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from tisim.errors import InputError

_INTERPRETER = 3  # PT_INTERP
_DYNAMIC = 2  # PT_DYNAMIC
_LOADED = 1  # PT_LOAD
_NEEDED, _STRINGS = 1, 5  # DT_NEEDED, DT_STRTAB


@dataclass(frozen=True)
class Executable:
    """A program or library in the ELF format."""

    #: The names of the libraries that it requires directly.
    libraries: tuple[str, ...]
    #: True if no dynamic linker loads it, so that no library can be preloaded.
    is_static: bool


def read_executable(path: Path) -> Executable | None:
    """Read a file; None if it is not a 64-bit little-endian ELF file. Raises InputError when the
    file is damaged.
    """
    with path.open("rb") as file:
        if file.read(6) != b"\x7fELF\x02\x01":
            return None
        file.seek(0)
        image = file.read()
    try:
        return _read(image)
    except (struct.error, IndexError, ValueError):
        raise InputError("the executable file is damaged", file=path) from None


def _read(image: bytes) -> Executable:
    (kind,) = struct.unpack_from("<H", image, 16)
    (table,) = struct.unpack_from("<Q", image, 32)
    size, count = struct.unpack_from("<HH", image, 54)
    segments = []
    for number in range(count):
        at = table + number * size
        (what,) = struct.unpack_from("<I", image, at)
        offset, address, _, length = struct.unpack_from("<QQQQ", image, at + 8)
        segments.append((what, offset, address, length))
    kinds = {what for what, *_ in segments}
    libraries: tuple[str, ...] = ()
    for what, offset, _, length in segments:
        if what == _DYNAMIC:
            libraries = _libraries(image, segments, offset, length)
    executable = kind == 2 or _INTERPRETER in kinds
    return Executable(libraries, executable and _INTERPRETER not in kinds)


def _libraries(
    image: bytes, segments: list[tuple[int, int, int, int]], offset: int, length: int
) -> tuple[str, ...]:
    entries = list(struct.iter_unpack("<QQ", image[offset : offset + length - length % 16]))
    strings = next(value for tag, value in entries if tag == _STRINGS)
    start = next(
        file_offset + strings - address
        for what, file_offset, address, size in segments
        if what == _LOADED and address <= strings < address + size
    )
    names = []
    for tag, value in entries:
        if tag == _NEEDED:
            end = image.index(b"\0", start + value)
            names.append(image[start + value : end].decode(errors="replace"))
    return tuple(names)
