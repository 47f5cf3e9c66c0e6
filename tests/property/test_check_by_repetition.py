"""`check` finds the same whether it reads all repetitions of a loop or one of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.campaign import campaign
from tests.property.looping_programs import looping_program, write
from tisim import _core
from tisim.traces import Trace, pack
from tisim.traces.generate import PATTERNS


def compare(trace: Path) -> bool:
    """Whether there is anything but notes in what is found."""
    core = Trace.open(trace).core
    by_repetition = _core.check(core)
    assert by_repetition == _core.check(core, by_action=True)
    return by_repetition["errors"] + by_repetition["warnings"] > 0


@pytest.mark.parametrize("first", range(0, campaign(150, 400), 50))
def test_the_same_is_found(first: int, tmp_path: Path) -> None:
    wrong = 0
    for seed in range(first, first + 50):
        packed = tmp_path / f"{seed}.tit"
        pack(write(looping_program(seed), tmp_path / str(seed)), packed)
        wrong += compare(packed)
    assert 10 < wrong < 45


@pytest.mark.parametrize("name", PATTERNS)
def test_generated_traces(name: str, tmp_path: Path) -> None:
    PATTERNS[name](ranks=8, iterations=40, allreduce=8).write(tmp_path / "trace.tit")
    assert not compare(tmp_path / "trace.tit")


@pytest.mark.parametrize("name", ["cg.S.16", "mg.S.16", "lu.S.4", "is.S.16"])
def test_real_traces(name: str, nas_traces: Path, tmp_path: Path) -> None:
    pack(nas_traces / name, tmp_path / "trace.tit")
    compare(tmp_path / "trace.tit")
