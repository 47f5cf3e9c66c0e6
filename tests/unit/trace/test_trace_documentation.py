"""docs/traces.md says what the reader reads."""

from __future__ import annotations

import re
from pathlib import Path

from tisim import _core


def rows(root: Path, column: int = 0) -> dict[str, str]:
    """Action -> what the table of actions says about its arguments (column 1: what it does)."""
    text = (root / "docs" / "traces.md").read_text()
    table = text.partition("| action | arguments |")[2].partition("\n\n")[0]
    described = {}
    for line in table.splitlines()[2:]:
        names, *columns = line.split("|")[1:-1]
        for name in re.findall(r"`(\w+)`", names):
            described[name] = columns[column].strip()
    return described


def test_every_action_is_documented_with_its_arguments(root: Path) -> None:
    known = dict(_core.known_actions())
    described = {name: text.strip("`") for name, text in rows(root).items()}
    kinds = {kind.name.lower() for kind in _core.Kind}
    collectives = {name for name in known if name[0] == "i" and name[1:] in known} - kinds
    assert collectives == {f"i{name}" for name in known if f"i{name}" in collectives}
    for name, usage in known.items():
        if name in collectives:
            assert usage == known[name[1:]]
        elif usage:
            assert described[name] == usage, name
        else:
            assert described[name] == "anything"
    assert set(described) == set(known) - collectives


def test_every_action_is_documented_with_its_effect(root: Path) -> None:
    effects = _core.action_effects()
    for name, described in rows(root, 1).items():
        assert described == effects[name], name


def test_widths_of_types(root: Path) -> None:
    text = (root / "docs" / "traces.md").read_text()
    _, *types = next(line for line in text.splitlines() if line.startswith("| type |")).split("|")[
        1:-1
    ]
    _, *widths = next(line for line in text.splitlines() if line.startswith("| bytes |")).split(
        "|"
    )[1:-1]
    for cell, width in zip(types, widths, strict=True):
        first, *last = [int(number) for number in re.findall(r"\d+", cell)]
        ids = range(first, (last[0] if last else first) + 1)
        bytes_of = [int(number) for number in re.findall(r"\d+", width)]
        expected = bytes_of * (len(ids) // len(bytes_of))
        assert [_core.type_width(number) for number in ids] == expected
    assert _core.type_width(-1) == 0
    assert _core.type_width(60) is None
