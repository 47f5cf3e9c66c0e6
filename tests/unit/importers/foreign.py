"""Damaged files."""

from __future__ import annotations

from hypothesis import strategies as st


@st.composite
def mutations(draw: st.DrawFn, whole: bytes) -> bytes:
    """Draw a file that is truncated, or has some bytes changed, removed or added."""
    if draw(st.booleans()):
        return whole[: draw(st.integers(0, len(whole) - 1))]
    changed = bytearray(whole)
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(changed) - 1))
        kind = draw(st.integers(0, 2))
        if kind == 0:
            changed[place] = draw(st.integers(0, 255))
        elif kind == 1 and len(changed) > 1:
            del changed[place]
        else:
            changed[place:place] = draw(st.binary(min_size=1, max_size=8))
    return bytes(changed)
