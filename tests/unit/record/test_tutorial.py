"""The page that goes from a program to a prediction: its commands print what it says."""

from __future__ import annotations

import doctest
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.record.programs import ENVIRONMENT, ROOT, Mpi

PAGE = ROOT / "docs" / "howto" / "record_and_predict.md"
SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.mark.skipif(
    platform.machine() != "x86_64" or shutil.which("gcc") is None,
    reason="GCC on x86-64 is needed",
)
def test_the_whole_chain(one_mpi: Mpi, tmp_path: Path) -> None:
    for name in ("examples", "platforms"):
        (tmp_path / name).symlink_to(ROOT / name)
    commands = tmp_path / "bin"
    commands.mkdir()
    (commands / "tisim").write_text(f'#!/bin/sh\nexec {sys.executable} -m tisim "$@"\n')
    (commands / "mpirun").write_text(f'#!/bin/sh\nexec {one_mpi.run} "$@"\n')
    for file in commands.iterdir():
        file.chmod(0o755)
    variables = {
        **os.environ,
        **ENVIRONMENT,
        "PATH": f"{commands}:{os.environ['PATH']}",
        "TISIM_CC": one_mpi.cc,
        "MPICC": one_mpi.cc,
    }
    blocks = re.findall(r"^```shell-session\n\$ (.*?)\n(.*?)^```", PAGE.read_text(), re.S | re.M)
    assert len(blocks) == 6
    for command, expected in blocks:
        run = subprocess.run(
            command, shell=True, cwd=tmp_path, env=variables, capture_output=True, text=True
        )
        assert run.returncode == 0, f"{command}\n{run.stderr}"
        printed = run.stdout + run.stderr
        same = doctest.OutputChecker().check_output(expected, printed, SAME)
        assert same, f"{command}\n{printed}"
    report = (tmp_path / "wavefront.html").read_text()
    assert "allreduce" in report
    assert re.search(r"main \(wavefront\.c:\d+\)", report)
