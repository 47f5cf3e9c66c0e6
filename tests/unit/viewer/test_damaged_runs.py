"""Damaged run files, with checksums that are right, get one message for each question."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.campaign import campaign
from tests.torture.mutations import mutate
from tests.unit.viewer.viewer import needs_viewer
from tisim.analysis.timeline.run_file import RunFile
from tisim.analysis.viewer.answers import Answers
from tisim.errors import InputError

QUERY = {
    **{"columns": "50", "lanes": "4", "rank": "1", "time": "0.0003", "most": "100"},
    **{"q": "rank = 1 and state = transfer", "begin": "0", "by": "state"},
}


@needs_viewer
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of numbers that are none
def test_every_question_is_answered_or_refused(run_file: Path, tmp_path: Path) -> None:
    sound, damaged = run_file.read_bytes(), tmp_path / "damaged.tir"
    refused = 0
    for seed in range(campaign(100, 2000)):
        damaged.write_bytes(mutate("run.tir", sound, Random(seed)))
        try:
            answers = Answers([RunFile(damaged)])
        except InputError:
            refused += 1
            continue
        for question in ("run", "tile", "statistics", "record", "state", "messages", "links"):
            try:
                answers.answer(question, QUERY)
            except InputError:
                refused += 1
    assert refused > 20


def test_what_run_json_may_not_say(run_file: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not a run file, or damaged"):
        changed = run_file.read_bytes().replace(b'"hosts"', b'"HOSTS"')
        (tmp_path / "changed.tir").write_bytes(changed)
        RunFile(tmp_path / "changed.tir")
