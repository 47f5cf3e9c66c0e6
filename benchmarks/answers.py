"""Check that replays give the times of the reference, before anything is timed."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.process import ROOT, TISIM, run

# As in tests/golden.
_RELATIVE = 1e-6
_ABSOLUTE = 1e-9  # seconds


class WrongAnswerError(Exception):
    """A replay whose ranks do not end at the reference's times."""


def check_answers(quick: bool, progress: Callable[[float], None]) -> int:
    """Replay the cases of ``tests/golden/reference.json``; return their number.

    Parameters
    ----------
    quick
        Only the cases with the default selector.
    progress
        Called with the finished fraction, from 0 to 1.

    Raises
    ------
    WrongAnswerError
        If a rank ends at another time.
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
