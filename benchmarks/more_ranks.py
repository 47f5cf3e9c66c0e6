"""Cost of extrapolating recorded traces to more ranks, and of replaying the result.

usage: python -m benchmarks.more_ranks FOLDER --to 16384 [--loop 72=299] [--prefer GRID]
           [--platform FILE.xml] [--skip-steady 1e-6] [--hours 1]

FOLDER has packed traces of one program on several numbers of ranks, such as the traces of LU that
docs/benchmarks.md describes. With `--check RANKS` the trace on that number of ranks is not used for
the extrapolation, but compared with it line by line. Without a platform nothing is replayed.
"""

from __future__ import annotations

import argparse
import filecmp
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.process import TISIM, ProgramError, Run, run
from tisim.traces.packed_program import PackedTrace

_SHOWN = ("simulated time", "actions", "skipped", "simulation took")


def main(arguments: Sequence[str]) -> int:
    """Extrapolate, compare and replay; return 1 if a line differs or a replay exceeds its limit."""
    asked = _parser().parse_args(arguments)
    by_ranks = {PackedTrace(file).ranks: file for file in sorted(asked.folder.glob("*.tit"))}
    known = [file for ranks, file in sorted(by_ranks.items()) if ranks not in asked.check]
    options = [part for grid in asked.prefer for part in ("--prefer", grid)]
    loops = [part for loop in asked.loop for part in ("--iterations", loop)]
    status = 0
    with tempfile.TemporaryDirectory(prefix="tisim-more-ranks-") as directory:
        for ranks in asked.check:
            made = Path(directory) / f"{ranks}.tit"
            _say(f"extrapolate to {ranks:,}", _extrapolated(known, ranks, made, options))
            lines, is_same = _compared(by_ranks[ranks], made, Path(directory))
            print(f"{ranks:,} ranks: {lines:,} lines, {'all equal' if is_same else 'NOT equal'}")
            status |= not is_same
        made = Path(directory) / "made.tit"
        _say(f"extrapolate to {asked.to:,}", _extrapolated(known, asked.to, made, options + loops))
        if asked.platform is not None:
            skip = [] if asked.skip_steady is None else ["--skip-steady", asked.skip_steady]
            command = [*TISIM, "replay", "--platform", asked.platform, "--mapping", "block", *skip]
            try:
                replayed = run([*command, made], timeout=3600 * asked.hours)
            except ProgramError as error:
                print(error)
                return 1
            _say(f"replay {asked.to:,} ranks", replayed)
            print(*re.findall(rf"^(?:{'|'.join(_SHOWN)}) .*", replayed.output, re.M), sep="\n")
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.more_ranks")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--to", type=int, required=True)
    parser.add_argument("--check", type=int, action="append", default=[])
    parser.add_argument("--loop", action="append", default=[])
    parser.add_argument("--prefer", action="append", default=[])
    parser.add_argument("--platform", type=Path)
    parser.add_argument("--skip-steady")
    parser.add_argument("--hours", type=float, default=1.0)
    return parser


def _extrapolated(known: Sequence[Path], ranks: int, made: Path, options: Sequence[str]) -> Run:
    files = [str(file.resolve()) for file in known]
    return run([*TISIM, "extrapolate", *files, "--to", str(ranks), "-o", made, *options])


def _compared(recorded: Path, made: Path, directory: Path) -> tuple[int, bool]:
    """Return the number of lines of two traces, and whether all are equal."""
    expected, found = directory / "recorded", directory / "made"
    for trace, text in ((recorded, expected), (made, found)):
        run([*TISIM, "unpack", trace.resolve(), "-o", text])
    names = sorted(file.name for file in expected.iterdir())
    same_names = names == sorted(file.name for file in found.iterdir())
    _, other, missing = filecmp.cmpfiles(expected, found, names, shallow=False)
    lines = sum(file.read_bytes().count(b"\n") for file in expected.iterdir())
    return lines, same_names and not other and not missing


def _say(what: str, took: Run) -> None:
    print(f"{what}: {took.cpu_seconds:.1f} processor seconds, {took.peak_bytes / 1e6:,.0f} MB")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
