"""``tisim extrapolate`` says what it did, or why it could not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine
from tests.unit.extrapolation.test_solvers import written
from tisim.traces.generate import Ring


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
        ((*rings, rings[1], "--to", "64", "-o", output), "one trace of each number"),
        ((*rings, "--to", "64", "-o", rings[0]), "is one of the traces"),
        ((*rings, "--to", "64", "-o", output, "--prefer", "no name"), "chooses nothing"),
        ((*rings, "--to", str(1 << 30), "-o", output), "up to 16,777,216 ranks"),
        ((*rings, "--to", "64", "-o", output, "--check", rings[0]), "has 4 ranks, not 64"),
    ):
        outcome = tisim("extrapolate", *arguments)
        assert outcome.status == 2
        assert says in outcome.err
        assert outcome.err.count("\n") == 1
    assert not Path(output).exists()


def test_traces_may_have_any_form(tisim: CommandLine, rings: list[str], tmp_path: Path) -> None:
    assert tisim("unpack", rings[1], "-o", str(tmp_path / "text.8")).status == 0
    output = str(tmp_path / "made.tit")
    traces = (rings[0], str(tmp_path / "text.8"), rings[2])
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


@pytest.mark.parametrize("length", [8, 100])
def test_a_damaged_trace_is_named(
    tisim: CommandLine, rings: list[str], tmp_path: Path, length: int
) -> None:
    damaged = Path(rings[1])
    damaged.write_bytes(damaged.read_bytes()[:length])
    outcome = tisim("extrapolate", *rings, "--to", "64", "-o", str(tmp_path / "made.tit"))
    assert outcome.status == 2
    assert f"{damaged}: is damaged" in outcome.err


@pytest.mark.parametrize("name", ["P^(1/2) + c", "P^(1/2)", "1 P^(1/2) - 1"])
def test_a_function_is_preferred_by_the_names_that_the_message_has(
    tisim: CommandLine, tmp_path: Path, name: str
) -> None:
    # On 4, 9 and 16 ranks floor(log2(P)) - 1 is the same.
    def sums(_: int, ranks: int) -> list[str]:
        return ["barrier", f"allreduce {round(ranks**0.5) - 1} 0"]

    traces = [str(written(sums, ranks, tmp_path)) for ranks in (4, 9, 16)]
    command = ("extrapolate", *traces, "--to", "64", "-o", str(tmp_path / "made.tit"))
    refused = tisim(*command)
    assert refused.status == 2
    assert "1 P^(1/2) - 1 = 7 ('P^(1/2) + c')" in refused.err
    assert "1 P^(1/2) - 1 = 7" in tisim(*command, "--show", "--prefer", name).out
