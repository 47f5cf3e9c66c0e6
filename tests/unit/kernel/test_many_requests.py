"""Requests are found by their keys whatever their number: above a few through an index."""

from __future__ import annotations

from pathlib import Path

import pytest

import tisim

ROOT = Path(__file__).resolve().parents[3]
PLATFORM = ROOT / "platforms" / "backbone.xml"

#: Sizes of messages with one key; each wait is followed by a computation, so that its end shows.
SIZES = (200_000, 100, 3_000_000, 70_000, 5)
NOBODY = -666


def ends(tmp_path: Path, first: list[str], second: list[str]) -> list[float]:
    for rank, lines in enumerate((first, second)):
        (tmp_path / f"r{rank}.txt").write_text("".join(f"{rank} {line}\n" for line in lines))
    return tisim.replay(tmp_path, platform=PLATFORM).finish.tolist()


def program(between: int, *, tags: list[int], reverse: bool = False) -> tuple[list[str], list[str]]:
    """`between` requests to nobody are pending while the others are looked for."""
    sends = [f"send 1 {tag} {size} 6" for tag, size in zip(tags, SIZES, strict=True)]
    receives = [f"irecv {NOBODY} 99 1 6"] * between
    receives += [f"irecv 0 {tag} {size} 6" for tag, size in zip(tags, SIZES, strict=True)]
    order = tags[::-1] if reverse else tags
    for tag in order:
        receives += [f"wait 0 1 {tag}", "compute 1e7"]
    return sends, receives


@pytest.mark.parametrize("between", [1, 15, 16, 17, 18, 300])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("tags", [[0, 1, 2, 3, 4], [7, 7, 7, 7, 7], [7, 1, 7, 1, 7]])
def test_the_oldest_of_a_key_is_found(
    tmp_path: Path, between: int, reverse: bool, tags: list[int]
) -> None:
    alone = ends(tmp_path, *program(0, tags=tags, reverse=reverse))
    assert ends(tmp_path, *program(between, tags=tags, reverse=reverse)) == alone


def test_a_key_that_nobody_has_is_waited_for_by_nobody(tmp_path: Path) -> None:
    sends, receives = program(300, tags=[0, 1, 2, 3, 4])
    extra = [line for line in receives for line in (line, "wait 0 1 55")]
    assert ends(tmp_path, sends, extra) == ends(tmp_path, sends, receives)


def test_a_started_receive_without_its_source_ends_the_index(tmp_path: Path) -> None:
    """SimGrid's tracer loses the source of a persistent receive; any source names it."""
    sends, receives = program(300, tags=[0, 1, 2, 3, 4])
    persistent = ["recv_init -555 50 100 6", "start -555 1 50"]
    alone = ends(tmp_path, ["send 1 50 100 6"], [*persistent, "wait 0 1 50", "compute 1e6"])
    assert alone[1] > 0
    both = ends(
        tmp_path,
        [*sends, "send 1 50 100 6"],
        [*receives, *receives[:300], *persistent, "wait 0 1 50", "compute 1e6"],
    )
    assert both[1] > ends(tmp_path, sends, receives)[1]
