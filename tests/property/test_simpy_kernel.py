"""The readable kernel and the compiled core end every rank at the same time."""

from __future__ import annotations

from pathlib import Path

import pytest

import tisim
from tests.campaign import campaign
from tests.golden.small_cases import CASES, SmallCase
from tests.oracle.cases import Case
from tests.oracle.platforms.families import FAMILIES
from tests.oracle.programs.call_programs import CallAuthor, GivingUpAuthor, draw_calls
from tests.oracle.programs.configs import SELECTORS

PROGRAMS = campaign(500, 2000)
TOGETHER = 20  # programs of one test

RELATIVE = 1e-9
ABSOLUTE = 1e-12  # seconds
# Larger ones take the kernel seconds.
MOST_LINES = 400


def compare(trace: Path, platform: Path, hosts: list[str], config: dict[str, str]) -> None:
    """Replay with both, and compare everything that a result says of the ranks."""

    def outcome(kernel: str) -> tisim.Result | str:
        try:
            return tisim.replay(trace, platform=platform, hosts=hosts, config=config, kernel=kernel)
        except tisim.SimulationError as error:
            return str(error).partition("\n")[0]

    core, simpy = outcome("core"), outcome("simpy")
    if isinstance(core, str) or isinstance(simpy, str):
        assert core == simpy
        return
    for name in ("finish", "compute", "other"):
        expected = pytest.approx(getattr(core, name), rel=RELATIVE, abs=ABSOLUTE)
        assert getattr(simpy, name) == expected, name
    for name in ("rank_actions", "bytes_sent", "messages_sent"):
        assert getattr(simpy, name).tolist() == getattr(core, name).tolist(), name


def drawn(seed: int) -> Case:
    """A random case: half of them with calls beyond SimGrid's traces."""
    selectors = SELECTORS if seed % 2 else ("default",)
    if seed % 4 < 2:
        return Case.draw(seed, selectors=selectors)
    author = CallAuthor if seed % 4 == 2 else GivingUpAuthor
    return draw_calls(seed, families=tuple(FAMILIES), selectors=selectors, author=author)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_golden_case_ends_as_in_the_core(case: SmallCase, tmp_path: Path) -> None:
    compare(*case.write(tmp_path), case.hosts, case.config)


@pytest.mark.parametrize("first", range(0, PROGRAMS, TOGETHER))
def test_random_programs_end_as_in_the_core(first: int, tmp_path: Path) -> None:
    for seed in range(first, min(first + TOGETHER, PROGRAMS)):
        case = drawn(seed)
        if len(case.program.lines) > MOST_LINES:
            continue
        case.write(tmp_path / str(seed))
        directory = tmp_path / str(seed)
        try:
            compare(directory / "traces", directory / "platform.xml", list(case.hosts), case.config)
        except AssertionError as error:
            raise AssertionError(f"{case.label}: {error}") from None
