"""Packing traces again with less exact volumes, and the resulting sizes."""

from __future__ import annotations

import random
from collections import defaultdict
from pathlib import Path

import pytest

from tests.support import GRAPHENE, LU
from tests.tit_reader import (
    CODED,
    COPIED,
    MAGIC,
    REQUIRED,
    Section,
    crc32c,
    read_sections,
)
from tests.unit.command_line import CommandLine
from tests.unit.trace_library.test_trace_library import measured
from tisim import replay
from tisim.errors import InputError
from tisim.traces import Trace, check, pack, unpack
from tisim.traces.extrapolation.rounded import pack_rounded
from tisim.traces.generate import Ocean
from tisim.traces.packed_program import PackedTrace
from tisim.traces.writer import write_trace

LEVELS = {"1e-3": 1e-3, "1e-2": 1e-2, "5e-2": 5e-2}
RANKS = 4


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Three sites with different volumes, one of which often has none."""
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
    """Return the volumes before each call, by its word."""
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
    """A rank keeps its sum even if all its volumes are on one side of their bin's mean."""
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
    # The first barrier follows a different call than the other ones do.
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
        f"{packed} stores computation volumes to within 1e-2 of each"
    ]
    pack(text, packed, volumes="mean")
    assert "as the means of their call sites" in replay(packed, platform=GRAPHENE).warnings[0]


def test_unknown_levels_are_refused(text: Path) -> None:
    with pytest.raises(InputError, match="unknown precision of volumes '1e-4'; choose exact, 1e-3"):
        pack(text, text.parent / "x.tit", volumes="1e-4")


@pytest.mark.parametrize("shared", [True, False])
def test_volumes_that_repeat_themselves_take_no_column(tmp_path: Path, shared: bool) -> None:
    """Volumes that repeat in each iteration, as exact instruction counts do."""
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


def varint(number: int) -> bytes:
    coded = bytearray()
    while number >= 0x80:
        coded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*coded, number])


def container(sections: list[Section]) -> bytes:
    table = b""
    for section in sections:
        name = section.name.encode()
        table += varint(len(name)) + name + varint(section.version) + bytes([section.flags])
        table += varint(len(section.stored))
        if section.flags & (CODED | COPIED):
            table += varint(section.size)
        table += crc32c(section.stored).to_bytes(4, "little")
    head = MAGIC + (2).to_bytes(4, "little") + crc32c(table).to_bytes(4, "little")
    stored = b"".join(section.stored for section in sections)
    return head + varint(len(table)) + table + stored


def with_section(path: Path, flags: int) -> Path:
    data = b"of the future"
    sections = read_sections(path.read_bytes())
    sections.append(Section("energy", 3, flags, data, len(data), crc32c(data)))
    made = path.with_name("future.tit")
    made.write_bytes(container(sections))
    return made


@pytest.fixture(scope="module")
def lu(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("packed") / "lu.tit"
    pack(LU, path)
    return path


@pytest.mark.parametrize("volumes", ["exact", "1e-2", "mean"])
def test_it_is_as_if_the_text_was_packed(volumes: str, lu: Path, tmp_path: Path) -> None:
    pack(lu, tmp_path / "again.tit", volumes=volumes)
    pack(LU, tmp_path / "text.tit", volumes=volumes)
    assert (tmp_path / "again.tit").read_bytes() == (tmp_path / "text.tit").read_bytes()


@pytest.mark.parametrize("volumes", ["exact", "5e-2"])
def test_unknown_optional_sections_are_kept(volumes: str, lu: Path, tmp_path: Path) -> None:
    pack(with_section(lu, 0), tmp_path / "again.tit", volumes=volumes)
    kept = read_sections((tmp_path / "again.tit").read_bytes())[-1]
    assert (kept.name, kept.version, kept.flags, kept.stored) == ("energy", 3, 0, b"of the future")
    assert Trace.open(tmp_path / "again.tit").precision == volumes


def test_unknown_required_sections_are_refused_by_name(lu: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r'its section "energy" of version 3; get a newer tisim'):
        pack(with_section(lu, REQUIRED), tmp_path / "again.tit")
    assert not (tmp_path / "again.tit").exists()


def test_attributes_are_kept(tmp_path: Path) -> None:
    path = measured(tmp_path)
    pack(path, tmp_path / "mean.tit", volumes="5e-2")
    before, after = Trace.open(path), Trace.open(tmp_path / "mean.tit")
    assert after.attributes == before.attributes
    for rank in range(before.ranks):
        assert list(after.attributes_of(rank)) == list(before.attributes_of(rank))


def test_lines_in_one_file_stay_in_their_order(tmp_path: Path) -> None:
    text = "".join(f"{i % 3} compute {i}\n{i % 3} barrier\n" for i in range(300))
    (tmp_path / "all.txt").write_text(text)
    pack(tmp_path / "all.txt", tmp_path / "one.tit")
    pack(tmp_path / "one.tit", tmp_path / "two.tit", volumes="1e-3")
    unpack(tmp_path / "two.tit", tmp_path / "text")
    assert (tmp_path / "text" / "all.txt").read_text().count("\n") == 600


def test_what_cannot_be_is_refused(lu: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tit"
    pack(lu, tmp_path / "mean.tit", volumes="mean")
    with pytest.raises(
        InputError, match="already stores volumes as mean; pack a trace with exact volumes"
    ):
        pack(tmp_path / "mean.tit", out, volumes="1e-2")
    with pytest.raises(InputError, match="is packed in the other dialect"):
        pack(lu, out, dialect="legacy")


def test_the_command_says_what_it_did(
    lu: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tisim = CommandLine(tmp_path, capsys)
    outcome = tisim("pack", str(lu), "--volumes", "mean", "-o", str(tmp_path / "mean.tit"))
    assert outcome.status == 0
    assert outcome.out.endswith("% of the original)\n")


def particles(target: Path, ranks: int, steps: int) -> Path:
    """Write a trace of particles that move to both neighbours in a ring, then to any rank."""
    drawn = random.Random(5)
    moved = [
        [[drawn.randrange(1000, 20000) for _ in range(2)] for _ in range(ranks)]
        for _ in range(steps)
    ]
    far = [[[drawn.randrange(900) for _ in range(ranks)] for _ in range(ranks)] for _ in moved]
    with write_trace(target, ranks) as trace:
        for rank in range(ranks):
            up, down = (rank + 1) % ranks, (rank - 1) % ranks
            lines = ["init"]
            for now, all_ways in zip(moved, far, strict=True):
                received = [counts[rank] for counts in all_ways]
                lines += [
                    "compute 1000000",
                    f"irecv {down} 0 {now[down][0]}",
                    f"irecv {up} 1 {now[up][1]}",
                    f"isend {up} 0 {now[rank][0]}",
                    f"isend {down} 1 {now[rank][1]}",
                    "waitall",
                    f"alltoallv {sum(all_ways[rank])} {' '.join(map(str, all_ways[rank]))} "
                    f"{sum(received)} {' '.join(map(str, received))}",
                ]
            trace.write_rank(rank, [f"{rank} {line}\n" for line in [*lines, "finalize"]])
    return target


def test_means_take_the_same_space_at_any_length_and_hardly_change_times(tmp_path: Path) -> None:
    sizes = []
    for steps in (10, 60):
        exact = particles(tmp_path / f"{steps}.tit", 8, steps)
        typical = tmp_path / "typical.tit"
        pack_rounded(exact, typical, sizes="mean", volumes="mean")
        sizes.append(typical.stat().st_size)
        assert check(Trace.open(typical)).findings == check(Trace.open(exact)).findings == ()
        time = replay(exact, platform=GRAPHENE).simulated_time
        assert replay(typical, platform=GRAPHENE).simulated_time == pytest.approx(time, rel=0.12)
    assert sizes[1] < sizes[0] + 10
    assert (tmp_path / "60.tit").stat().st_size > 20 * sizes[1]


def test_a_level_bounds_each_size(tmp_path: Path) -> None:
    exact = particles(tmp_path / "exact.tit", 4, 30)
    pack_rounded(exact, tmp_path / "rounded.tit", sizes="5e-2")
    before, after = (
        [line.split() for rank in range(4) for line in PackedTrace(path).lines(rank)]
        for path in (exact, tmp_path / "rounded.tit")
    )
    after = [words for words in after if words[0] != b"#"]
    assert before != after
    for old, new in zip(before, after, strict=True):
        assert old[:2] == new[:2]
        if old[1] == b"irecv":
            assert int(new[4]) == pytest.approx(int(old[4]), rel=0.051)


def test_the_command_says_what_it_cannot(tisim: CommandLine) -> None:
    legacy = str(tisim.write("legacy.txt", "0 init\n0 compute 5\n0 finalize\n"))
    target = str(tisim.directory / "x.tit")
    run = tisim("pack", "--sizes", "mean", "--dialect", "legacy", legacy, "-o", target)
    assert run.status == 2
    assert "--sizes supports only traces of the modern dialect" in run.err


def test_means_of_iterations_let_no_trace_grow_with_them(tmp_path: Path) -> None:
    """Ocean model whose solver takes 20 to 40 iterations per step; replay times within 12 %."""
    sizes, times = [], []
    for steps in (10, 40):
        exact, typical = tmp_path / f"{steps}.tit", tmp_path / f"{steps}-mean.tit"
        Ocean(ranks=8, iterations=steps, noise=0.2, imbalance=0.2).write(exact)
        pack_rounded(exact, typical, sizes="mean", volumes="mean", iterations="mean")
        assert check(Trace.open(typical)).sound
        sizes.append(typical.stat().st_size)
        times.append(
            [replay(trace, platform=GRAPHENE).simulated_time for trace in (exact, typical)]
        )
    assert sizes[1] - sizes[0] <= 4
    assert all(found == pytest.approx(expected, rel=0.12) for expected, found in times)
    again = tmp_path / "again.tit"
    pack_rounded(exact, again, sizes="mean", volumes="mean", iterations="mean")
    assert again.read_bytes() == typical.read_bytes()


def _loops(counts: list[int]) -> str:
    solve = ["allreduce 8 1", "bcast 8"]
    program = [line for count in counts for line in ("barrier", *solve * count)]
    return "".join(f"{rank} {line}\n" for line in program for rank in (0, 1))


def test_iterations_are_rounded_by_loop(tmp_path: Path) -> None:
    source, packed = tmp_path / "trace.txt", tmp_path / "trace.tit"
    source.write_text(_loops([100, 10, 30, 102, 98, 20]))
    for level, expected in (("mean", [60] * 6), ("5e-2", [100, 10, 30, 100, 100, 20])):
        pack_rounded(source, packed, iterations=level)
        lines = [line.decode() for line in PackedTrace(packed).lines(0)]
        assert lines[1:] == _loops(expected).splitlines()[::2]


def test_iterations_that_fit_no_longer_to_each_other_are_refused(tmp_path: Path) -> None:
    """Rank 0 sends in two loops what rank 1 receives in one: 4 + 11 messages would become 8 + 8."""
    source = tmp_path / "trace.txt"
    sends = [*["0 send 1 0 8"] * 4, "0 barrier", *["0 send 1 0 8"] * 11]
    source.write_text("\n".join([*sends, "1 barrier", *["1 recv 0 0 8"] * 15, ""]))
    with pytest.raises(InputError, match="would no longer match:"):
        pack_rounded(source, tmp_path / "packed.tit", iterations="mean")
