"""The replayed traces: provided, repeated, generated."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.process import ROOT, TISIM, run

#: Directory in which traces are kept between runs.
CACHE = ROOT / "build" / "benchmarks"


@dataclass(frozen=True)
class TraceSource:
    """A trace, and how to create it.

    Parameters
    ----------
    name
        Name in the tables.
    ranks
        The number of its ranks.
    make
        Writes it as text, one file per rank, into an existing empty directory.
    """

    name: str
    ranks: int
    make: Callable[[Path], None]

    def get(self) -> Path:
        """Return the directory with its files, which is created if needed."""
        target = CACHE / self.name
        if not target.is_dir():
            unfinished = CACHE / f".{self.name}.{os.getpid()}"
            unfinished.mkdir(parents=True)
            self.make(unfinished)
            unfinished.replace(target)
        return target

    @property
    def is_rewritten(self) -> bool:
        """Return whether SimGrid replays a modified trace: without receives from -333."""
        return any(b" -333" in file.read_bytes() for file in files_of(self.get()))

    def get_for_simgrid(self) -> Path:
        """Return an index of files for ``smpirun -replay``.

        SimGrid cannot replay the -333 that it writes for MPI_ANY_SOURCE; for its timing only, it is
        replaced by -555.
        """
        target = CACHE / f"{self.name}.simgrid"
        if not target.is_dir():
            unfinished = CACHE / f".{target.name}.{os.getpid()}"
            unfinished.mkdir(parents=True)
            source = self.get()
            for file in files_of(source):
                with file.open() as lines, (unfinished / file.name).open("w") as into:
                    into.writelines(line.replace(" -333", " -555") for line in lines)
            names = [f"{target / file.name}\n" for file in files_of(source)]
            (unfinished / "index").write_text("".join(names))
            unfinished.replace(target)
        return target / "index"


def files_of(directory: Path) -> list[Path]:
    """Return the files of a trace, in the order of their ranks."""
    return sorted(directory.iterdir(), key=lambda path: int(path.stem.rpartition("-")[2]))


def archived(name: str, archive: Path, ranks: int) -> TraceSource:
    """Return a trace from an archive."""

    def make(target: Path) -> None:
        with tarfile.open(archive) as tar:
            for member in tar:
                parts = Path(member.name).parts
                if member.isfile() and parts[-2:-1] in ((name,), ()):
                    file = tar.extractfile(member)
                    assert file is not None
                    (target / parts[-1]).write_bytes(file.read())

    return TraceSource(name, ranks, make)


def repeated(name: str, times: int, ranks: int) -> TraceSource:
    """Return a class S trace whose actions, except the first and the last, are repeated."""

    def make(target: Path) -> None:
        source = archived(name, ROOT / "traces" / "npb.S.tar.xz", ranks).get()
        for file in files_of(source):
            first, *body, last = file.read_text().splitlines(keepends=True)
            with (target / file.name).open("w") as into:
                into.write(first)
                for _ in range(times):
                    into.writelines(body)
                into.write(last)

    return TraceSource(f"{name}x{times}", ranks, make)


def generated(name: str, pattern: str, ranks: int, options: str) -> TraceSource:
    """Return a trace made by ``tisim generate``."""

    def make(target: Path) -> None:
        run([*TISIM, "generate", pattern, "--ranks", str(ranks), *options.split(), "-o", target])

    return TraceSource(name, ranks, make)


def nas(name: str, ranks: int, *stand_ins: TraceSource) -> Iterator[TraceSource]:
    """Yield a class A trace if its archive is in ``traces/``, else its substitutes."""
    archive = ROOT / "traces" / f"{name}.tar.xz"
    if archive.is_file():
        yield archived(name, archive, ranks)
    else:
        yield from stand_ins


def flat_cluster(hosts: int) -> Path:
    """Return a platform of hosts, each with its own link to a switch of unlimited capacity."""
    target = CACHE / f"flat-{hosts}.xml"
    CACHE.mkdir(parents=True, exist_ok=True)
    target.write_text(
        '<?xml version="1.0"?>\n'
        '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n'
        '<platform version="4.1">\n'
        f'  <cluster id="flat" prefix="node-" suffix="" radical="0-{hosts - 1}" speed="1Gf" '
        'bw="125MBps" lat="50us" sharing_policy="SPLITDUPLEX"/>\n'
        "</platform>\n"
    )
    return target


def new_platform(kind: str, hosts: int) -> Path:
    """Return a platform of ``tisim platform new`` with links of 100 Gb/s and 1 us."""
    target = CACHE / f"{kind}-{hosts}.xml"
    if not target.is_file():
        CACHE.mkdir(parents=True, exist_ok=True)
        hardware = ("--bandwidth", "100Gbps", "--latency", "1us", "--speed", "3.2Gf")
        run([*TISIM, "platform", "new", kind, "--nodes", str(hosts), *hardware, "-o", target])
    return target
