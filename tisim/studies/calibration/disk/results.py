"""Reads files of fio and IOR, which are told apart by what they say."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tisim.errors import InputError
from tisim.studies.calibration.disk.fio import fio_runs
from tisim.studies.calibration.disk.ior import ior_runs, ior_text_runs, is_ior_text
from tisim.studies.calibration.disk.runs import DiskRun, FailedRunError, as_mapping


def read_results(path: str | os.PathLike[str]) -> list[DiskRun]:
    """The runs in a file: JSON of fio, JSON of IOR, or what IOR prints.

    Raises
    ------
    InputError
        If the file is something else, or a run has failed.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read it: {error.strerror}", file=path) from None
    except UnicodeDecodeError:
        text = ""
    try:
        runs = _runs(text)
    except FailedRunError as error:
        raise InputError(str(error), file=path) from None
    except (ValueError, TypeError, KeyError):
        runs = []
    if not runs:
        raise InputError(
            "has no results of fio or IOR; write them with: fio --output-format=json "
            "--output=FILE ..., or ior -e -O summaryFormat=JSON -O summaryFile=FILE ..., or keep "
            "what ior prints",
            file=path,
        )
    return runs


def _runs(text: str) -> list[DiskRun]:
    if is_ior_text(text):
        return ior_text_runs(text)
    # fio may write warnings above the JSON.
    found = as_mapping(json.loads(text[max(text.find("{"), 0) :]))
    return fio_runs(found) if "jobs" in found else ior_runs(found)
