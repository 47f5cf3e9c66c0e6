"""The program that writes checkpoints: `examples/mpi/checkpoint.c`, run, and recorded."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tisim.support.mpi import SourceCode, compiled, find_library
from tisim.traces.record.recorder import record
from tisim.traces.record.settings import Settings

_SOURCE = Path(__file__).resolve().parents[2] / "examples" / "mpi" / "checkpoint.c"
PATTERNS = ("serial", "file-per-process", "shared")
#: How the data reach the disk; what is left in the page cache is reported and not judged.
MODES = ("direct", "fsync", "cached")
# Time limit of one run, in seconds.
_TIME_LIMIT = 120.0


@dataclass(frozen=True)
class Checkpoints:
    """What each run writes.

    Attributes
    ----------
    ranks
        How many there are.
    rank_size, block
        MiB of each rank in a checkpoint, and of a write.
    count
        How many checkpoints a run writes.
    directory
        Where the files are, in a folder for each mode: writing past the page cache drops the pages
        of a file, for which later runs with an fsync would have to take new ones.
    """

    ranks: int
    rank_size: int
    block: int
    count: int
    directory: Path

    @property
    def nbytes(self) -> int:
        """Bytes that a run writes."""
        return self.ranks * self.rank_size * self.count << 20

    def files(self, mode: str) -> Path:
        """The folder of a mode; it is made if there is none."""
        folder = self.directory / mode
        folder.mkdir(exist_ok=True)
        return folder

    def command(self, pattern: str, mode: str) -> list[str]:
        """What starts a run."""
        options = ["--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
        words = [pattern, mode, self.rank_size, self.block, self.count, self.files(mode)]
        program = str(_compiled())
        return ["mpirun", *options, "-n", str(self.ranks), program, *map(str, words)]

    def seconds(self, pattern: str, mode: str) -> float:
        """The time that a run says its checkpoints took.

        Raises
        ------
        subprocess.SubprocessError
            When it fails.
        """
        ran = subprocess.run(
            self.command(pattern, mode),
            stdout=subprocess.PIPE,
            timeout=_TIME_LIMIT,
            check=True,
            text=True,
        )
        return float(ran.stdout)

    def recorded(self, pattern: str, mode: str, trace: Path) -> Path:
        """Record a run.

        Raises
        ------
        InputError
            When the recorder cannot be made, or the program fails.
        """
        record(self.command(pattern, mode), trace, Settings(counter="time", io="posix"))
        return trace


def _compiled() -> Path:
    source = SourceCode("checkpoint", "checkpoint", {"checkpoint.c": _SOURCE.read_text()}, ("-O2",))
    return compiled(source, find_library("mpicc", "program"))
