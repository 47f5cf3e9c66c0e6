"""Traces that are packed with less exact volumes."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path

import pytest

from tisim import replay
from tisim.errors import InputError
from tisim.traces import Trace, pack, unpack

LEVELS = {"1e-3": 1e-3, "1e-2": 1e-2, "5e-2": 5e-2}
RANKS = 4
GRAPHENE = Path(__file__).parents[3] / "platforms" / "graphene.xml"


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Three sites with volumes of their own, one of which is often without any."""
    source = random.Random(7)
    directory = tmp_path / "text"
    directory.mkdir()
    for rank in range(RANKS):
        lines = ["init"]
        for _ in range(200):
            lines += [f"compute {source.lognormvariate(10, 1):.0f}", "barrier"]
            lines += [f"compute {source.gauss(2e6, 1e5):g}", "allreduce 8 0"]
            if source.random() < 0.3:
                lines.append(f"compute {source.random():.6f}")
            lines.append("bcast 8 0")
        lines.append("finalize")
        (directory / f"rank-{rank}.txt").write_text("".join(f"{rank} {line}\n" for line in lines))
    return directory


def volumes_by_call(directory: Path) -> dict[str, list[float]]:
    """The volumes before each call, by its word."""
    found = defaultdict(list)
    for path in sorted(directory.iterdir()):
        volume = 0.0
        for line in path.read_text().splitlines():
            _, word, *rest = line.split()
            if word == "compute":
                volume = float(rest[0])
            else:
                found[word].append(volume)
                volume = 0.0
    return found


def repacked(text: Path, level: str) -> Path:
    pack(text, text.parent / "x.tit", volumes=level)
    unpack(text.parent / "x.tit", text.parent / level)
    return text.parent / level


@pytest.mark.parametrize("level", LEVELS)
def test_each_volume_keeps_to_its_level_and_the_sums_stay(text: Path, level: str) -> None:
    before, after = volumes_by_call(text), volumes_by_call(repacked(text, level))
    assert before.keys() == after.keys()
    for word, volumes in before.items():
        assert sum(after[word]) == pytest.approx(sum(volumes), rel=1e-9)
        assert after[word] == pytest.approx(volumes, rel=LEVELS[level], abs=0)
        assert len({*after[word]}) < max(2, len({*volumes}))


@pytest.mark.parametrize("level", LEVELS)
def test_ranks_that_compute_less_than_others_still_do(level: str, tmp_path: Path) -> None:
    """Volumes of a rank that are all on one side of their bin's mean are not all rounded alike."""
    source = random.Random(11)
    text = tmp_path / "text"
    text.mkdir()
    own = {}
    for rank in range(16):
        usual = 1e6 * (1 + source.uniform(-2, 2) * LEVELS[level])
        noise = LEVELS[level] / 50
        volumes = [round(usual * (1 + source.gauss(0, noise))) for _ in range(1000)]
        own[rank] = sum(volumes)
        lines = "".join(f"{rank} compute {volume}\n{rank} allreduce 8 0\n" for volume in volumes)
        (text / f"rank-{rank}.txt").write_text(f"{rank} init\n{lines}{rank} finalize\n")
    folder = repacked(text, level)
    for rank, exact in own.items():
        lines = (folder / f"rank-{rank}.txt").read_text().splitlines()
        kept = sum(float(line.split()[2]) for line in lines if " compute " in line)
        assert kept == pytest.approx(exact, rel=LEVELS[level] / 25)


def test_the_mean_keeps_the_sums(text: Path) -> None:
    before, after = volumes_by_call(text), volumes_by_call(repacked(text, "mean"))
    for word, volumes in before.items():
        assert sum(after[word]) == pytest.approx(sum(volumes), rel=1e-9)
    # The first barrier follows another call than the others.
    assert [len({*after[word]}) for word in ("barrier", "allreduce", "bcast")] == [2, 1, 1]


def test_all_but_the_volumes_is_exact(text: Path) -> None:
    def others(directory: Path) -> list[list[str]]:
        return [
            [line for line in path.read_text().splitlines() if " compute " not in line]
            for path in sorted(directory.iterdir())
        ]

    for level in (*LEVELS, "mean"):
        assert others(repacked(text, level)) == others(text)
        assert Trace.open(text.parent / "x.tit").precision == level


def test_sizes_shrink_and_times_hardly_change(text: Path) -> None:
    sizes = []
    exact = replay(text, platform=GRAPHENE).simulated_time
    for level in ("exact", "1e-2", "mean"):
        pack(text, text.parent / "x.tit", volumes=level)
        sizes.append((text.parent / "x.tit").stat().st_size)
        time = replay(text.parent / "x.tit", platform=GRAPHENE).simulated_time
        assert time == pytest.approx(exact, rel=5e-2 if level == "mean" else 1e-3)
    assert sizes[0] > 1.5 * sizes[1] > 3 * sizes[2]


def test_the_file_and_a_replay_say_the_level(text: Path) -> None:
    packed = text.parent / "x.tit"
    pack(text, packed)
    assert Trace.open(packed).precision == Trace.open(text).precision == "exact"
    assert replay(packed, platform=GRAPHENE).warnings == []
    pack(text, packed, volumes="1e-2")
    assert Trace.open(packed).precision == "1e-2"
    assert replay(packed, platform=GRAPHENE).warnings == [
        f"{packed} keeps the volumes of computations to 1e-2 of each"
    ]
    pack(text, packed, volumes="mean")
    assert "as the means of their sites" in replay(packed, platform=GRAPHENE).warnings[0]


def test_unknown_levels_are_refused(text: Path) -> None:
    with pytest.raises(InputError, match="volumes cannot be kept as '1e-4'; choose exact, 1e-3"):
        pack(text, text.parent / "x.tit", volumes="1e-4")


@pytest.mark.parametrize("shared", [True, False])
def test_volumes_that_repeat_themselves_take_no_column(tmp_path: Path, shared: bool) -> None:
    """What a rank computes in each iteration, as exact counts of instructions are."""
    source = random.Random(3)
    directory = tmp_path / "text"
    directory.mkdir()
    sizes = {}
    for iterations in (10, 1000):
        for rank in range(16):
            draw = random.Random(5) if shared else source
            steps = [f"compute {draw.randrange(10**4, 10**6)}\n{rank} barrier" for _ in range(20)]
            last = [f"compute {rank}", "finalize"]
            lines = ["init", *steps * iterations, *last]
            text = "".join(f"{rank} {line}\n" for line in lines)
            (directory / f"rank-{rank}.txt").write_text(text)
        pack(directory, tmp_path / "x.tit")
        sizes[iterations] = (tmp_path / "x.tit").stat().st_size
    assert sizes[1000] <= sizes[10] + 16
