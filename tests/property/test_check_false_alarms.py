"""`tisim check` reports no error in a trace that replays to its end."""

from __future__ import annotations

import random
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import pytest

import tisim
from tests.golden.small_cases import CASES, SmallCase
from tests.oracle.cases import Case
from tests.oracle.programs.call_programs import draw_calls
from tests.oracle.programs.numbered import NumberedAuthor
from tisim.traces import check
from tisim.traces.generate import PATTERNS

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared" / "traces"
GRIDS = ("halo2d", "halo3d")


def errors_of(trace: str | Path) -> list[str]:
    return [str(finding) for finding in check(trace).findings if finding.severity == "error"]


def traces_in(archive: Path) -> list[str]:
    """One name for each directory of an archive that holds files."""
    with tarfile.open(archive) as opened:
        parents = {Path(member.name).parent for member in opened if member.isfile()}
    return [f"{archive}::{parent}" for parent in sorted(parents)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_golden_cases(case: SmallCase, tmp_path: Path) -> None:
    trace, _ = case.write(tmp_path)
    assert errors_of(trace) == []


@pytest.mark.parametrize("folder", [ROOT / "traces", SHARED], ids=["traces", "shared"])
def test_traces_of_real_programs(folder: Path) -> None:
    archives = sorted(folder.glob("*.tar.xz"))
    if not archives:
        pytest.skip(f"there are no traces in {folder}")
    for trace in (name for archive in archives for name in traces_in(archive)):
        assert errors_of(trace) == [], trace


def test_the_ring() -> None:
    assert errors_of(ROOT / "traces" / "ring.4") == []


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8, 12, 27])
@pytest.mark.parametrize("name", PATTERNS)
def test_generated_traces(name: str, ranks: int, tmp_path: Path) -> None:
    variants: list[dict[str, Any]] = [{}]
    if name in GRIDS:
        variants = [{"periodic": False}, {"periodic": True}]
    for number, variant in enumerate(variants):
        trace = tmp_path / f"{number}.tit"
        PATTERNS[name](ranks=ranks, iterations=2, allreduce=8, **variant).write(trace)
        assert errors_of(trace) == [], variant


def draw_numbered(seed: int) -> Case:
    return Case.draw(seed, author=NumberedAuthor)


@pytest.mark.parametrize(
    "draw", [Case.draw, draw_numbered, draw_calls], ids=["messages", "numbers", "calls"]
)
def test_random_programs_that_replay_to_the_end(draw: Any) -> None:
    first = random.SystemRandom().randrange(10**9)
    for seed in [*range(40), *range(first, first + 40)]:
        case = draw(seed)
        with tempfile.TemporaryDirectory() as directory:
            case.write(Path(directory))
            assert errors_of(Path(directory) / "traces") == [], case.label
            if seed % 4 == 0:
                tisim.replay(
                    Path(directory) / "traces",
                    platform=Path(directory) / "platform.xml",
                    hosts=case.hosts,
                    config=case.config,
                )
