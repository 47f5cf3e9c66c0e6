"""``tisim extrapolate``: its output, and the provenance in the trace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tisim
from tests.support import GRAPHENE
from tests.unit.command_line import CommandLine
from tests.unit.extrapolation.test_data import SIZES, sorted_keys
from tests.unit.extrapolation.test_programs import generated, written
from tisim import Trace
from tisim.errors import InputError
from tisim.studies.uncertainty import replay_with_sets
from tisim.traces import pack
from tisim.traces.extrapolated import SECTION, Extrapolated
from tisim.traces.extrapolation import extrapolate
from tisim.traces.extrapolation.volumes import fit_volumes
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
        ((*rings, "--to", "64", "-o", str(tmp_path / "made")), "the suffix .tit: made.tit"),
        ((*rings[:2], "--to", "64", "-o", output), "3 numbers of ranks"),
        ((*rings, "no.tit", "--to", "64", "-o", output), "no.tit"),
        ((*rings, rings[1], "--to", "64", "-o", output), "one trace for each number"),
        ((*rings, "--to", "64", "-o", rings[0]), "is also an input trace; choose another name for"),
        ((*rings, "--to", "64", "-o", output, "--prefer", "no name"), "matches nothing"),
        ((*rings, "--to", str(1 << 30), "-o", output), "at most 16,777,216 ranks"),
        (
            (*rings, "--to", "64", "-o", output, "--check", rings[0]),
            "has 4 ranks, not 64",
        ),
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
    assert "64 ranks make different calls" in other.out
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
    # The same as floor(log2(P)) - 1 on 4, 9 and 16 ranks.
    def sums(_: int, ranks: int) -> list[str]:
        return ["barrier", f"allreduce {round(ranks**0.5) - 1} 0"]

    traces = [str(written(sums, ranks, tmp_path)) for ranks in (4, 9, 16)]
    command = ("extrapolate", *traces, "--to", "64", "-o", str(tmp_path / "made.tit"))
    refused = tisim(*command)
    assert refused.status == 2
    assert "1 P^(1/2) - 1 = 7 ('P^(1/2) + c')" in refused.err
    assert "1 P^(1/2) - 1 = 7" in tisim(*command, "--show", "--prefer", name).out


@pytest.fixture
def tisim_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(tmp_path, capsys)


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an extrapolated ring of 64 ranks from three noisy traces."""
    directory = tmp_path_factory.mktemp("noisy")
    parameters = {"iterations": 20, "noise": 0.1, "compute": 1e8}
    traces = [generated(directory, "ring", ranks, **parameters) for ranks in SIZES]
    made = directory / "made.tit"
    extrapolate(traces, 64, made)
    return made


def test_intervals_hold_each_size_left_out() -> None:
    fit = fit_volumes([(4, 90.0), (8, 110.0), (16, 100.0)], 64, "auto")
    assert fit.family == "constant"
    assert [round(term.volume) for term in fit.leave_one_out(64)] == [105, 95, 100]
    assert [term.error for term in fit.leave_one_out(64)] == pytest.approx(
        [-15 / 105, 15 / 95, 0.0]
    )
    exact = fit_volumes([(4, 100.0), (8, 50.0), (16, 25.0)], 64, "auto")
    assert {round(term.volume, 9) for term in exact.leave_one_out(64)} == {6.25}
    assert max(abs(term.error) for term in exact.leave_one_out(64)) < 1e-12


def test_the_file_keeps_volumes_with_intervals(noisy: Path) -> None:
    made = Trace.open(noisy).extrapolated
    assert made is not None
    assert made.sizes == SIZES
    assert len(made.volumes) == 1
    low, high = made.volumes[0].interval
    assert low < made.volumes[0].volume < high
    assert Extrapolated.decoded(made.encoded(), "x") == made
    again = noisy.parent / "again.tit"
    pack(noisy, again)
    assert Trace.open(again).extrapolated == made
    assert Trace.open(noisy.parent / "ring.4.tit").extrapolated is None


@pytest.mark.parametrize(
    "content",
    [b"", b"[]", b'{"sizes":[],"volumes":[],"approximate":{}}', b'{"sizes":[4]}', b"\xff"],
)
def test_a_damaged_section_is_one_message(content: bytes) -> None:
    with pytest.raises(InputError, match=f"its section {SECTION} is damaged"):
        Extrapolated.decoded(content, "x.tit")


def test_draws_are_seeded(noisy: Path) -> None:
    made = Trace.open(noisy).extrapolated
    assert made is not None
    assert made.factors(3) == made.factors(3) != made.factors(4)
    assert made.factors(3).keys() == {float(made.volumes[0].volume)}


def test_replays_draw_volumes(noisy: Path) -> None:
    plain = tisim.replay(noisy, platform=GRAPHENE)
    drawn = tisim.replay(noisy, platform=GRAPHENE, config={"tisim/volume-seed": "3"})
    made = Trace.open(noisy).extrapolated
    assert made is not None
    (factor,) = made.factors(3).values()
    assert drawn.compute[5] == pytest.approx(plain.compute[5] * factor, rel=1e-12)
    assert any("extrapolated from 4, 8 and 16 ranks" in warning for warning in plain.warnings)


def test_uncertainty_counts_volumes_in(noisy: Path, tisim_command: CommandLine) -> None:
    platform = noisy.parent / "p.xml"
    platform.write_text(GRAPHENE.read_text())
    outcome = tisim_command(
        *("replay", "--platform", str(platform), "--uncertainty", "5"),
        str(noisy),
    )
    assert outcome.status == 0
    assert "with 5 draws of volumes" in outcome.out
    recorded = noisy.parent / "ring.4.tit"
    exact = replay_with_sets(recorded, None, 4, platform=tisim.Platform.load(platform))
    assert len(exact.times) == 1  # all replays are equal


def test_summaries_name_what_is_approximate(tmp_path: Path, tisim_command: CommandLine) -> None:
    traces = [written(sorted_keys, ranks, tmp_path) for ranks in SIZES]
    made = tmp_path / "made.tit"
    extrapolate(traces, 32, made, approximate=["alltoallv"])
    says = "the numbers of alltoallv are data, approximate: distributions"
    report = tmp_path / "report.html"
    replayed = tisim_command(
        *("replay", "--platform", str(GRAPHENE), "--report", str(report), str(made))
    )
    assert replayed.status == 0
    assert says in replayed.err
    assert report.read_text().count(says) >= 2
    assert says in tisim_command("inspect", str(made)).out
    assert says in tisim_command("check", str(made)).out
    decoded = json.loads(tisim_command("check", "--json", "-", str(made)).out)
    assert says in decoded["extrapolated"]
