"""Real programs through record, check, inspect, replay, report and execute.

usage: python -m benchmarks.applications FOLDER [NAME...]

FOLDER has the sources of programs, one folder each, named as in applications.toml: LULESH, CoMD and
so on. They are built there, with the compilers of this checkout; hpcc, LAMMPS (lmp) and mpi4py are
found on the PATH. Missing programs are skipped with a message. All output is written into FOLDER.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.process import ROOT, TISIM, ProgramError, run

_TABLE = Path(__file__).with_suffix(".toml")
_LAUNCH = ("mpirun", "--oversubscribe")
# Relative tolerance of the table's number of actions: beyond it, program or recorder differ.
_DEVIATION = 0.1
_HEAD = "| program | ranks | actions | trace | calls that decide | simulated |"
_RULE = "|---|--:|--:|--:|--:|--:|"


def main(arguments: Sequence[str]) -> int:
    """Run the programs through all commands; return 1 if one fails."""
    if not arguments or not Path(arguments[0]).is_dir():
        names = ", ".join(tomllib.loads(_TABLE.read_text()))
        print(
            "tisim: name a folder with the sources of real programs, one folder each: 'make "
            f"applications APPLICATIONS=DIR'. benchmarks/applications.toml has {names}.",
            file=sys.stderr,
        )
        return 2
    folder = Path(arguments[0]).resolve()
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    rows, failed = [], False
    for name, of in programs(folder, arguments[1:]):
        try:
            rows.append(_row(name, of, folder))
        except ProgramError as error:
            failed = True
            print(f"{name}: {error}", flush=True)
    print(_HEAD, _RULE, *rows, sep="\n")
    return failed


def programs(folder: Path, names: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the programs of the table, or those of `names`, in `folder` or on the PATH."""
    for name, of in tomllib.loads(_TABLE.read_text()).items():
        if names and name not in names:
            continue
        program = of["run"].partition(" ")[0]
        sources = folder / of.get("sources", name)
        if sources.is_dir() if "build" in of else shutil.which(program):
            yield name, of
        else:
            print(f"{name}: left out, there is no {sources if 'build' in of else program}")


def _row(name: str, of: dict[str, object], folder: Path) -> str:
    """Build a program and run all commands; return its row of the table."""
    place = folder / str(of.get("sources", name)) / str(of.get("within", ""))
    place.mkdir(exist_ok=True)
    shell = ("sh", "-e", "-c", 'cd "$0" && eval "$1"', place)
    if build := of.get("build"):
        run([*shell, str(build)], timeout=1800)
    files = of.get("files", {})
    assert isinstance(files, dict)
    for file, text in files.items():
        (place / file).write_text(text.removeprefix("\n"))
    trace, ranks = folder / f"{name}.tit", str(of["ranks"])
    tisim = " ".join(TISIM)
    started = f"{' '.join(_LAUNCH)} -n {ranks} {of['run']}"
    # In the program's directory, Python does not find this checkout first.
    path = {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    record = f"{tisim} record --counter time --call-sites -o {trace} -- {started}"
    run([*shell, record], environment=path)
    checked = run([*TISIM, "check", trace]).output
    inspected = json.loads(run([*TISIM, "inspect", trace, "--json", "-"]).output)
    report = ("--report", folder / f"{name}.html")
    platform = ("--platform", ROOT / "platforms" / "graphene.xml")
    replayed = run([*TISIM, "replay", *platform, "--mapping", "block", *report, trace]).output
    run([*TISIM, "execute", trace, "--repeat", "1", "--", *_LAUNCH])
    decide = re.search(r"(\d+) calls? of .* decides?", checked)
    simulated = re.search(r"^simulated time +(.*)", replayed, re.M)
    actions = int(inspected["actions"])
    expected = of.get("actions", actions)
    assert isinstance(expected, int)
    assert simulated is not None
    if abs(actions - expected) > _DEVIATION * expected:
        raise ProgramError(f"its trace has {actions:,} actions, not some {expected:,}")
    size = f"{trace.stat().st_size / 1000:.1f} kB"
    decided = f"{int(decide[1]):,}" if decide else "0"
    return f"| {name} | {ranks} | {actions:,} | {size} | {decided} | {simulated[1]} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
