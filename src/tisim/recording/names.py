"""The words by which kinds of actions are called."""

from __future__ import annotations

from tisim import _core


def kind_names() -> list[str]:
    """By the number of a kind; empty: there is none."""
    names: list[str] = _core.kind_names()
    return names
