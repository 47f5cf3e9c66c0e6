"""Numbers and texts as bytes, and the checksum of blocks."""

from __future__ import annotations

from ...errors import InputError

WORD = (1 << 64) - 1


class DamagedError(InputError):
    """The bytes of a packed trace are not what was written."""


def signed(number: int) -> int:
    """A number modulo 2^64 as one from -2^63 to 2^63 - 1."""
    number &= WORD
    return number - (1 << 64) if number >> 63 else number


def unzigzag(code: int) -> int:
    """The number of either sign that a code stands for: 0, -1, 1, -2 and so on."""
    return code >> 1 if code & 1 == 0 else -(code >> 1) - 1


def varint_bytes(number: int) -> bytes:
    """A number that is not negative as a varint."""
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    data.append(number)
    return bytes(data)


class ByteReader:
    """Takes numbers and texts off the front of some bytes."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def at_end(self) -> bool:
        return self.at == len(self.data)

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise DamagedError("the bytes end too early")
        self.at += size
        return self.data[self.at - size : self.at]

    def byte(self) -> int:
        return self.take(1)[0]

    def fixed32(self) -> int:
        return int.from_bytes(self.take(4), "little")

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        if value > WORD or (byte == 0 and shift > 7):
            raise DamagedError("a number is not written as it should be")
        return value

    def zigzag(self) -> int:
        return unzigzag(self.varint())

    def text(self) -> bytes:
        return self.take(self.varint())


def _table() -> list[int]:
    table = []
    for byte in range(256):
        checksum = byte
        for _ in range(8):
            checksum = checksum >> 1 ^ (0x82F63B78 if checksum & 1 else 0)
        table.append(checksum)
    return table


_CHECKSUMS = _table()


def crc32c(data: bytes) -> int:
    """CRC-32C (Castagnoli)."""
    checksum = 0xFFFFFFFF
    for byte in data:
        checksum = checksum >> 8 ^ _CHECKSUMS[(checksum ^ byte) & 0xFF]
    return checksum ^ 0xFFFFFFFF
