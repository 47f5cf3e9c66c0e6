"""The texts of volumes (docs/tit.md, "Volumes")."""

from __future__ import annotations

MILLION = 1_000_000
SHORT_END = MILLION + 10 * 900_000


def volume_text(code: int) -> str:
    """The volume of a code as it was written."""
    if code < MILLION:
        return str(code)
    if code < SHORT_END:
        exponent, mantissa = divmod(code - MILLION, 900_000)
        digits = str(mantissa + 100_000).rstrip("0")
        point = "." if len(digits) > 1 else ""
        return f"{digits[0]}{point}{digits[1:]}e+{exponent + 6:02d}"
    style = (code >> 50) - 1
    number = code & (1 << 50) - 1
    if style < 32:
        return _with_point(number, style)
    decimals, exponent = divmod(style - 32, 256)
    exponent -= 128
    return f"{_with_point(number, decimals)}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _with_point(number: int, decimals: int) -> str:
    text = str(number).rjust(decimals + 1, "0")
    return f"{text[:-decimals]}.{text[-decimals:]}" if decimals else text
