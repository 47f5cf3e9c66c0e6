"""The colours of states, in all pictures and pages.

Hues after Okabe and Ito's palette for colour-blind readers (Color Universal Design, 2008). Each
state has its own lightness, so that they also differ in greyscale.
"""

from __future__ import annotations

#: Colour of each state, by its name (`tisim.analysis.timeline.columns.STATES`).
COLOURS = {
    "compute": "#A5D6A0",
    "sleep": "#F4EFC0",
    "custom": "#0A0A0A",
    "overhead": "#F3A71F",
    "polling": "#BDE3F7",
    "I/O": "#140060",
    "transfer": "#0170A9",
    "late sender": "#D25B00",
    "late receiver": "#013470",
    "wait at barrier": "#88338F",
    "wait at N x N": "#8E1213",
    "late broadcast": "#07A47E",
    "early reduce": "#E484B9",
    "early scan": "#3F0D4F",
}

#: Meanings of states, for legends.
MEANINGS = {
    "compute": "computing",
    "sleep": "sleeping",
    "custom": "in a custom action",
    "overhead": "CPU overhead of sending and receiving",
    "polling": "testing and probing for messages",
    "I/O": "reading from a disk or writing to it",
    "transfer": "waiting for a message in flight",
    "late sender": "waiting for a message whose sender is late",
    "late receiver": "waiting to send to a late receiver",
    "wait at barrier": "waiting for the last rank to enter a barrier",
    "wait at N x N": "waiting for the last rank to enter an all-to-all, allreduce or similar",
    "late broadcast": "waiting for the root of a broadcast or scatter, or for a forwarding rank",
    "early reduce": "waiting, as the root of a reduce or gather, for the other ranks",
    "early scan": "waiting for lower ranks, in a scan",
}


def rgb(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue of a colour such as ``#0170A9``, 0 to 255."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)
