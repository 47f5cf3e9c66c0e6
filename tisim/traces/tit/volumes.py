"""The texts of volumes (docs/tit.md, "Volumes")."""

from __future__ import annotations

MILLION = 1_000_000
SHORT_END = MILLION + 10 * 900_000
FIRST_LONG = 4_129 << 50
LONG_EXPONENTS = FIRST_LONG + 21 * 10**17


def volume_text(code: int) -> str:
    """The volume of a code as it was written."""
    if code < MILLION:
        return str(code)
    if code < SHORT_END:
        exponent, mantissa = divmod(code - MILLION, 900_000)
        digits = str(mantissa + 100_000).rstrip("0")
        point = "." if len(digits) > 1 else ""
        return f"{digits[0]}{point}{digits[1:]}e+{exponent + 6:02d}"
    if code >= FIRST_LONG:
        return _long_text(code)
    style = (code >> 50) - 1
    number = code & (1 << 50) - 1
    if style < 32:
        return _with_point(number, style)
    decimals, exponent = divmod(style - 32, 256)
    exponent -= 128
    return f"{_with_point(number, decimals)}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def _long_text(code: int) -> str:
    if code < LONG_EXPONENTS:
        decimals, number = divmod(code - FIRST_LONG, 10**17)
        return _with_point(number, decimals)
    exponent, mantissa = divmod(code - LONG_EXPONENTS, 99 * 10**15)
    if mantissa < 9 * 10**16:
        return f"{_with_point(mantissa + 10**16, 16)}e+{exponent:02d}"
    return f"{_with_point(mantissa - 89 * 10**15, 15)}e+{exponent:02d}"


def _with_point(number: int, decimals: int) -> str:
    text = str(number).rjust(decimals + 1, "0")
    return f"{text[:-decimals]}.{text[-decimals:]}" if decimals else text
