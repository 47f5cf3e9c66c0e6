"""Checks that replays give the times of the reference, before anything is timed."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.process import ROOT, TISIM, run

# As tests/golden has it.
_RELATIVE = 1e-6
_ABSOLUTE = 1e-9  # seconds


class WrongAnswerError(Exception):
    """A replay that does not end when the reference says."""


def check_answers(quick: bool, progress: Callable[[float], None]) -> int:
    """Replay the cases of ``tests/golden/reference.json``; how many there were.

    Parameters
    ----------
    quick
        Only those of the default selector.
    progress
        Is told which part is done, from 0 to 1.

    Raises
    ------
    WrongAnswerError
        When a rank ends at another time.
    """
    cases = json.loads((ROOT / "tests" / "golden" / "reference.json").read_text())["cases"]
    chosen = [case for case in cases if not (quick and case["cfg"])]
    for number, case in enumerate(chosen):
        _check(case)
        progress((number + 1) / len(chosen))
    return len(chosen)


def _check(case: dict[str, Any]) -> None:
    machine, name = case["platform"], case["trace"]
    archive = ROOT / "traces" / f"{name}.tar.xz"
    trace = archive if archive.is_file() else ROOT / "traces" / "npb.S.tar.xz" / name
    with tempfile.TemporaryDirectory() as directory:
        result = Path(directory) / "result.json"
        platform = ROOT / "platforms" / machine
        command = [*TISIM, "replay", "--platform", f"{platform}.xml"]
        command += ["--hosts", f"{platform}.hosts", "--np", str(case["ranks"])]
        for option in case["cfg"]:
            command += ["--config", option]
        run([*command, "--json", result, trace])
        ranks = json.loads(result.read_text())["ranks"]
    relative = max(_RELATIVE, 10 * case["sensitivity"])
    for rank, expected in zip(ranks, case["ends"], strict=True):
        if abs(rank["finish"] - expected) > max(relative * expected, _ABSOLUTE):
            raise WrongAnswerError(
                f"{name} on {machine} {' '.join(case['cfg'])}: rank {rank['rank']} ends at "
                f"{rank['finish']!r} s, not at {expected!r} s"
            )
