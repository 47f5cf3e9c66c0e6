"""An extrapolated trace says how it was made; its volumes are drawn from what fits leave open."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tisim
from tests.support import GRAPHENE
from tests.unit.command_line import CommandLine
from tests.unit.extrapolation.test_data import SIZES, sorted_keys
from tests.unit.extrapolation.test_generated_patterns import generated
from tests.unit.extrapolation.test_solvers import written
from tisim import Trace
from tisim.errors import InputError
from tisim.studies.uncertainty import replay_with_sets
from tisim.traces import pack
from tisim.traces.extrapolated import SECTION, Extrapolated
from tisim.traces.extrapolation import extrapolate
from tisim.traces.extrapolation.volumes import fit_volumes


@pytest.fixture
def tisim_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> CommandLine:
    return CommandLine(tmp_path, capsys)


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ring of 64 ranks from three noisy traces."""
    directory = tmp_path_factory.mktemp("noisy")
    parameters = {"iterations": 20, "noise": 0.1, "compute": 1e8}
    traces = [generated(directory, "ring", ranks, **parameters) for ranks in SIZES]
    made = directory / "made.tit"
    extrapolate(traces, 64, made)
    return made


def test_intervals_hold_each_size_left_out() -> None:
    fit = fit_volumes([(4, 90.0), (8, 110.0), (16, 100.0)], 64, "auto")
    assert fit.family == "constant"
    assert [round(one.volume) for one in fit.left_out(64)] == [105, 95, 100]
    assert [one.error for one in fit.left_out(64)] == pytest.approx([-15 / 105, 15 / 95, 0.0])
    exact = fit_volumes([(4, 100.0), (8, 50.0), (16, 25.0)], 64, "auto")
    assert {round(one.volume, 9) for one in exact.left_out(64)} == {6.25}
    assert max(abs(one.error) for one in exact.left_out(64)) < 1e-12


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
    assert len(exact.times) == 1  # nothing differs from replay to replay


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
    found = json.loads(tisim_command("check", "--json", "-", str(made)).out)
    assert says in found["extrapolated"]
