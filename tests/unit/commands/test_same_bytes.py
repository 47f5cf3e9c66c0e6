"""Output depends only on the inputs, not on where, when and how it is written."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd

from tests.unit.command_line import BACKBONE, RING

STUDY = """\
trace = "ring.4"
platform = "backbone.xml"
[vary]
bandwidth = ["x1", "x2"]
compute_noise = [0.1]
mapping = ["block", "random"]
"""
FORMATS = ("tir", "perfetto-trace", "csv", "trace", "prv", "parquet")
COMMANDS = (
    "pack ring.4 -o r.tit",
    "replay --platform backbone.xml --breakdown --json o.json --gantt o.svg --report o.html "
    + " ".join(f"--timeline o.{suffix}" for suffix in FORMATS)
    + " r.tit",
    "platform backbone.xml --draw p.svg --json p.json",
    "sweep study.toml --workers {workers} -o s.csv --report s.html",
    "check --json c.json r.tit",
    "inspect --json i.json r.tit",
    "generate sparse --ranks 16 -o g.tit",
    "compare o.json o.json --report a.html --json a.json",
)


# Run all commands in one process, which imports tisim once.
RUN = """\
import sys
from tisim.commands.cli import main
for command in sys.argv[1:]:
    try:
        main(command.split())
    except SystemExit as ended:
        if ended.code:
            raise
"""


def written(directory: Path, workers: int, **variables: str) -> dict[str, bytes]:
    directory.mkdir(parents=True)
    (directory / "study.toml").write_text(STUDY)
    shutil.copytree(RING, directory / "ring.4")
    shutil.copy(BACKBONE, directory)
    subprocess.run(
        [sys.executable, "-c", RUN, *(command.format(workers=workers) for command in COMMANDS)],
        cwd=directory,
        env={**os.environ, **variables},
        check=True,
        capture_output=True,
    )
    files = {str(path.relative_to(directory)): path for path in directory.rglob("*")}
    found = {name: path.read_bytes() for name, path in files.items() if path.is_file()}
    # Only the wall time of the simulation may differ.
    found["o.json"] = re.sub(rb'"wall_time": [^,]*', b"", found["o.json"])
    frame = pd.read_csv(files["s.csv"]).drop(columns="wall_time")
    found["s.csv"] = frame.to_csv().encode()
    return found


def test_workers_hashes_locale_time_zone_and_directory(tmp_path: Path) -> None:
    one = written(tmp_path / "a", 1, PYTHONHASHSEED="1", TZ="UTC", LC_ALL="C")
    other = written(
        tmp_path / "b b" / "\u00e9", 3, PYTHONHASHSEED="77", TZ="Asia/Tokyo", LC_ALL="C.UTF-8"
    )
    assert [name for name in one | other if one.get(name) != other.get(name)] == []
    assert len(one) > 20
