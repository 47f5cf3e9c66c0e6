"""``tisim extrapolate`` says what it did, or why it could not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine
from tisim.formats import pack
from tisim.generate import Ring


@pytest.fixture
def tisim(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(tmp_path, capsys)


@pytest.fixture
def rings(tmp_path: Path) -> list[str]:
    paths = [tmp_path / f"{ranks}.tit" for ranks in (4, 8, 16)]
    for ranks, path in zip((4, 8, 16), paths, strict=True):
        Ring(ranks=ranks).write(path)
    return [str(path) for path in paths]


def test_the_trace_is_written_and_can_be_replayed(
    tisim: CommandLine, rings: list[str], tmp_path: Path
) -> None:
    output = str(tmp_path / "made.tit")
    outcome = tisim("extrapolate", *rings, "--to", "64", "--show", "-o", output)
    assert outcome.status == 0
    assert "(rank + 1) mod P (confirmed by 2)" in outcome.out
    assert "64 ranks in 1 class of ranks" in outcome.out
    assert tisim("check", output).status == 0


def test_a_wrong_call_ends_with_one_message(
    tisim: CommandLine, rings: list[str], tmp_path: Path
) -> None:
    output = str(tmp_path / "made.tit")
    for arguments, says in (
        ((*rings, "--to", "64", "-o", str(tmp_path / "made")), "call it made.tit"),
        ((*rings[:2], "--to", "64", "-o", output), "3 numbers of ranks"),
        ((*rings, "no.tit", "--to", "64", "-o", output), "no.tit"),
    ):
        outcome = tisim("extrapolate", *arguments)
        assert outcome.status == 2
        assert says in outcome.err
        assert outcome.err.count("\n") == 1
    assert not Path(output).exists()


def test_traces_may_have_any_form(tisim: CommandLine, rings: list[str], tmp_path: Path) -> None:
    text, old = str(tmp_path / "text"), str(tmp_path / "old.tit")
    assert tisim("unpack", rings[0], "-o", text).status == 0
    pack(text, old, version=1)
    assert tisim("unpack", rings[1], "-o", str(tmp_path / "text.8")).status == 0
    output = str(tmp_path / "made.tit")
    traces = (old, str(tmp_path / "text.8"), rings[2])
    assert tisim("extrapolate", *traces, "--to", "64", "-o", output).status == 0


def test_a_recorded_trace_of_that_size_is_compared(
    tisim: CommandLine, rings: list[str], tmp_path: Path
) -> None:
    output, right, wrong = (str(tmp_path / name) for name in ("made.tit", "64.tit", "w.tit"))
    Ring(ranks=64).write(right)
    Ring(ranks=64, nbytes=7).write(wrong)
    command = ("extrapolate", *rings, "--to", "64", "-o", output, "--check")
    same = tisim(*command, right)
    assert same.status == 0
    assert "calls are equal" in same.out
    other = tisim(*command, wrong)
    assert other.status == 1
    assert "64 ranks make other calls" in other.out
    assert tisim(*command, rings[0]).status == 2


@pytest.mark.parametrize("wrong", ["5", "=5", "5=", "5=0", "5=many"])
def test_iterations_that_say_no_loop_or_no_number_are_refused(
    tisim: CommandLine, rings: list[str], tmp_path: Path, wrong: str
) -> None:
    output = str(tmp_path / "made.tit")
    outcome = tisim("extrapolate", *rings, "--to", "64", "-o", output, "--iterations", wrong)
    assert outcome.status == 2
    assert "--show names the loops" in outcome.err
