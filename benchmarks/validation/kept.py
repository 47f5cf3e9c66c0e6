"""Output of a validation: a study with the real times, for later predictions."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

from tisim.studies.validation import CaseResult


def write_study(results: Iterable[CaseResult], directory: Path) -> Path:
    """Write `study.toml` next to the traces and the platform, so that nothing is executed again.

    Parameters
    ----------
    results
        The cases with their real times.
    directory
        Directory of their platform and traces; other files are named relative to it.
    """
    lines = []
    for result in results:
        case = result.case
        values = {
            "name": case.name,
            "group": case.group,
            "trace": os.path.relpath(case.trace, directory),
            "platform": os.path.relpath(case.platform, directory),
            "hosts": [*case.hosts],
            "seeds": case.seeds,
            "uncertainty": case.uncertainty,
            "real": [*result.real],
        }
        lines.append("[[case]]")
        lines += [f"{key} = {json.dumps(value)}" for key, value in values.items()]
        lines.append("[case.config]")
        lines += [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in case.config.items()]
        lines.append("")
    path = directory / "study.toml"
    path.write_text("\n".join(lines))
    return path
