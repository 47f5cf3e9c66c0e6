"""What many tests start from: files of the checkout, and traces of a few lines."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BACKBONE = ROOT / "platforms" / "backbone.xml"  # 1 Gflop/s, 1 Gb/s
GRAPHENE = ROOT / "platforms" / "graphene.xml"
RING = ROOT / "traces" / "ring.4"

#: What one rank does: its lines without the rank, or a text in which ``;`` parts them.
Program = str | Iterable[str]


def rank_text(rank: int, program: Program) -> str:
    """The lines of a rank."""
    lines = program.split(";") if isinstance(program, str) else program
    return "".join(f"{rank} {line.strip()}\n" for line in lines)


def write_trace(folder: Path, *programs: Program, name: str = "trace.txt") -> Path:
    """Write the programs of all ranks into one file of a folder; its path."""
    (folder / name).write_text("".join(map(rank_text, range(len(programs)), programs)))
    return folder / name


def write_ranks(folder: Path, *programs: Program) -> Path:
    """Write ``rank-0.txt`` and so on into a folder, made where it is missing; its path."""
    folder.mkdir(exist_ok=True)
    for rank, program in enumerate(programs):
        (folder / f"rank-{rank}.txt").write_text(rank_text(rank, program))
    return folder
