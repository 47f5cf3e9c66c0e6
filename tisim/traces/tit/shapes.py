"""Lines and names without their numbers (docs/tit.md, "Shapes")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .volumes import volume_text

NUMBER, VOLUME, NO_RANK, STEP, SILENT, PADDED, LITERAL = range(1, 8)
HOLES = (NUMBER, VOLUME, STEP, PADDED)


@dataclass(frozen=True)
class Shape:
    """Parts in their order: plain bytes, or (mark of a hole, width)."""

    parts: tuple[bytes | tuple[int, int], ...]
    has_rank: bool
    is_silent: bool
    rank_holes: int = 0

    @property
    def holes(self) -> list[int]:
        """The marks of the holes."""
        return [part[0] for part in self.parts if not isinstance(part, bytes)]

    def line(self, numbers: Sequence[int]) -> bytes:
        """The text with these numbers."""
        out = b""
        values = iter(numbers)
        for part in self.parts:
            if isinstance(part, bytes):
                out += part
                continue
            mark, width = part
            value = next(values)
            if mark == VOLUME:
                out += volume_text(value).encode()
            elif mark != STEP:
                out += str(value).rjust(width, "0").encode()
        return out


def shape_of(text: bytes, rank_holes: int = 0) -> Shape:
    """The shape of a text with marks."""
    parts: list[bytes | tuple[int, int]] = []
    plain = b""
    at = 0
    while at < len(text):
        mark = text[at]
        at += 1
        if mark > LITERAL:
            plain += bytes([mark])
        elif mark == LITERAL:
            plain += text[at : at + 1]
            at += 1
        elif mark in HOLES:
            parts += [plain, (mark, text[at] if mark == PADDED else 0)]
            plain = b""
            at += mark == PADDED
    parts.append(plain)
    return Shape(tuple(parts), text[:1] != bytes([NO_RANK]), text == bytes([SILENT]), rank_holes)
