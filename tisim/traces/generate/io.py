"""Checkpoints: what ranks compute is written to files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

from tisim.traces.generate.pattern import Pattern, Program

#: Who writes what where; IOR has the last three.
Access = Literal["serial", "file-per-process", "shared", "strided"]
ACCESSES: Final[tuple[Access, ...]] = get_args(Access)

_HANDLE = 3
# A name of one file a rank. The percent sign is doubled: lines are templates.
_OF_A_RANK = ".%%05d"


@dataclass(frozen=True, kw_only=True)
class Io(Pattern):
    """Every rank computes and writes its data to files, as IOR does.

    Parameters
    ----------
    access
        ``serial``: rank 0 gathers the data of all and writes them. ``file-per-process``: each rank
        writes a file of its own. ``shared``: all write to one file, each rank its data in one
        piece. ``strided``: the same, block by block in turn.
    written
        Bytes of each rank in one iteration.
    block
        Bytes of one call. `written` is a multiple of it.
    file
        Name of the file; ``file-per-process`` adds the rank.
    read_back
        Whether the ranks then read what they have written.
    fsync
        Whether they call fsync after the writes.
    """

    access: Access = "shared"
    written: int = 1 << 20
    block: int = 256 << 10
    file: str = "data"
    read_back: bool = False
    fsync: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check("access", self.access in ACCESSES, f"one of {', '.join(ACCESSES)}")
        self._check("block", self.block >= 1, "at least 1")
        whole = self.written >= 0 and self.written % self.block == 0
        self._check("written", whole, f"a multiple of the block, {self.block}")
        plain = bool(self.file) and not set(self.file) & set(" \t\n#%")
        self._check("file", plain, "a name without blanks, # and %")

    def iteration(self, rank: int) -> Program:
        if self.access != "serial":
            return [1.0, *self._accesses(rank)]
        gather = f"gather {self.written} {self.written} 0"
        return [1.0, gather, *(self._accesses(rank) if rank == 0 else [])]

    def _accesses(self, rank: int) -> list[str]:
        """Open the file, write, perhaps read, and close it."""
        shares = self.access in ("shared", "strided")
        name = self.file + (_OF_A_RANK if self.access == "file-per-process" else "")
        # A rank may open a shared file when others have written already.
        flags = ("rw" if self.read_back else "w") + ("c" if shares else "ct")
        lines = [f"open {_HANDLE} {name} {flags}", *self._moves("write", rank)]
        if self.fsync:
            lines.append(f"fsync {_HANDLE}")
        if self.read_back:
            lines += self._moves("read", rank, again=True)
        return [*lines, f"close {_HANDLE}"]

    def _moves(self, call: str, rank: int, *, again: bool = False) -> list[str]:
        """All blocks of a rank, from its first one on."""
        first = {"shared": rank * self.written, "strided": rank * self.block}.get(self.access, 0)
        blocks = self.written // self.block * (self.ranks if self.access == "serial" else 1)
        start = [f"lseek {_HANDLE} {first}"] if first or again else []
        move = f"{call} {_HANDLE} {self.block}"
        if self.access != "strided" or self.ranks == 1:
            return start + [move] * blocks
        skip = f"lseek {_HANDLE} {(self.ranks - 1) * self.block} cur"
        return start + ([move, skip] * blocks)[:-1]
