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
#: How the data reach the disk; runs that leave data in the page cache are reported but not judged.
MODES = ("direct", "fsync", "cached")
# Time limit of one run, in seconds.
_TIME_LIMIT = 120.0


@dataclass(frozen=True)
class Checkpoints:
    """Output of each run.

    Attributes
    ----------
    ranks
        Number of ranks.
    rank_size, block
        MiB per rank in a checkpoint, and per write.
    count
        Number of checkpoints per run.
    directory
        Location of the files, in a folder for each mode: direct I/O drops the pages of a file from
        the page cache, so that later runs with an fsync would have to allocate them again.
    """

    ranks: int
    rank_size: int
    block: int
    count: int
    directory: Path

    @property
    def nbytes(self) -> int:
        """Bytes written by a run."""
        return self.ranks * self.rank_size * self.count << 20

    def files(self, mode: str) -> Path:
        """Return the folder of a mode, created if needed."""
        folder = self.directory / mode
        folder.mkdir(exist_ok=True)
        return folder

    def command(self, pattern: str, mode: str) -> list[str]:
        """Return the command of a run."""
        options = ["--allow-run-as-root", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1"]
        words = [pattern, mode, self.rank_size, self.block, self.count, self.files(mode)]
        program = str(_compiled())
        return ["mpirun", *options, "-n", str(self.ranks), program, *map(str, words)]

    def seconds(self, pattern: str, mode: str) -> float:
        """Return the time that a run reports for its checkpoints.

        Raises
        ------
        subprocess.SubprocessError
            If it fails.
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
            If the recorder cannot be built, or the program fails.
        """
        record(self.command(pattern, mode), trace, Settings(counter="time", io="posix"))
        return trace


def _compiled() -> Path:
    source = SourceCode("checkpoint", "checkpoint", {"checkpoint.c": _SOURCE.read_text()}, ("-O2",))
    return compiled(source, find_library("mpicc", "program"))
