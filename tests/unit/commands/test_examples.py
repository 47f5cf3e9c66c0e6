"""``tisim examples`` writes what the documentation works with."""

from __future__ import annotations

from pathlib import Path

from tests.unit.command_line import CommandLine


def test_the_samples_are_written_and_replay(tisim: CommandLine, tmp_path: Path) -> None:
    directory = tmp_path / "first-steps"
    assert tisim("examples", str(directory)).status == 0
    for name in ("examples/mpi/wavefront.c", "examples/notebooks/first_replay.ipynb"):
        assert (directory / name).is_file()
    platform = str(directory / "platforms/graphene.xml")
    outcome = tisim.replay(str(directory / "traces/npb.S.tar.xz/lu.S.4"), platform=platform)
    assert outcome.out.startswith("simulated time    0.0793505 s\n")


def test_a_directory_with_files_is_left_alone(tisim: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "mine"
    file.write_text("mine")
    outcome = tisim("examples", str(tmp_path))
    assert outcome.status == 2
    assert "is not an empty directory; name another" in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
