"""Arithmetic on the binary digits of ranks."""

from __future__ import annotations


def reversed_bits(number: int, size: int) -> int:
    """`number` with its ``log2(size)`` binary digits in reverse order (`size` a power of two)."""
    mirrored = 0
    while size > 1:
        mirrored = mirrored << 1 | number & 1
        number >>= 1
        size >>= 1
    return mirrored
