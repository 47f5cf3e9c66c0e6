"""Generated traces: their contents, and the command that generates them."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine
from tisim import replay
from tisim.commands.generate import _EXAMPLES, generate_command
from tisim.errors import InputError
from tisim.traces import Trace, unpack
from tisim.traces.generate import (
    PATTERNS,
    Halo2D,
    Halo3D,
    Io,
    Ocean,
    Pattern,
    Refined,
    Ring,
    RingAllreduce,
    Sparse,
    Transpose,
    TreeAllreduce,
    Wavefront,
)
from tisim.traces.generate.pattern import process_grid

CASES: tuple[Pattern, ...] = (
    Ring(ranks=5, imbalance=0.3),
    Halo2D(ranks=12, grid=(4, 3), nbytes=(100, 200), allreduce=8, allreduce_every=4),
    Halo3D(ranks=24, periodic=True, noise=0.5),
    Wavefront(ranks=6, planes=3, allreduce=40),
    Transpose(ranks=4),
    RingAllreduce(ranks=5, nbytes=1001, buckets=2),
    TreeAllreduce(ranks=6, nbytes=1000),
    Sparse(ranks=9, degree=3, nbytes=(10, 5000)),
    Refined(ranks=8, refined=0.5, checkpoint_every=3, noise=0.1),
    Io(ranks=3, access="strided", written=40, block=10, read_back=True, noise=0.2),
)


def text(pattern: Pattern) -> list[list[str]]:
    """Return the lines of every rank, without their rank."""
    ranks = ["".join(pattern.pieces(rank)).splitlines() for rank in range(pattern.ranks)]
    assert all(line.startswith(f"{rank} ") for rank, lines in enumerate(ranks) for line in lines)
    return [[line.partition(" ")[2] for line in lines] for lines in ranks]


def volumes(lines: list[str]) -> list[int]:
    return [int(line.split()[1]) for line in lines if line.startswith("compute")]


def sent(lines: list[str]) -> list[int]:
    return [int(line.split()[3]) for line in lines if line.startswith(("send ", "isend "))]


def tree(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.mark.parametrize("pattern", CASES, ids=lambda p: type(p).__name__)
def test_packed_or_not_the_text_is_the_same(pattern: Pattern, tmp_path: Path) -> None:
    pattern.write(tmp_path / "text")
    pattern.write(tmp_path / "x.tit")
    unpack(tmp_path / "x.tit", tmp_path / "again")
    assert tree(tmp_path / "text") == tree(tmp_path / "again")
    assert len(tree(tmp_path / "text")) == pattern.ranks
    packed = Trace.open(tmp_path / "x.tit")
    assert packed.actions == sum(map(len, text(pattern)))
    assert Trace.open(tmp_path / "text").dialect == packed.dialect == "modern"


def test_a_halo() -> None:
    lines = text(Halo2D(ranks=12, grid=(4, 3), nbytes=(100, 200), iterations=1))
    assert lines[0] == [
        "init",
        "irecv 1 0 100",
        "irecv 4 2 200",
        "isend 1 1 100",
        "isend 4 3 200",
        "waitall",
        "compute 1000000",
        "finalize",
    ]
    assert sorted(lines[5][1:9]) == sorted(
        [
            *("irecv 4 1 100", "irecv 6 0 100", "irecv 1 3 200", "irecv 9 2 200"),
            *("isend 4 0 100", "isend 6 1 100", "isend 1 2 200", "isend 9 3 200"),
        ]
    )


def test_a_periodic_halo_has_neighbours_everywhere() -> None:
    inner = Counter(len(sent(lines)) for lines in text(Halo3D(ranks=60, iterations=1)))
    assert inner == {3: 8, 4: 4 * (3 + 2 + 1), 5: 2 * (6 + 3 + 2), 6: 6}
    periodic = text(Halo3D(ranks=60, periodic=True, iterations=1))
    assert {len(sent(lines)) for lines in periodic} == {6}
    # Two ranks are neighbours on both sides; a single rank has no neighbours.
    assert [len(sent(lines)) for lines in text(Halo2D(ranks=2, periodic=True, iterations=1))] == [
        2,
        2,
    ]
    assert text(Halo3D(ranks=1, periodic=True, iterations=2))[0][1:3] == ["compute 1000000"] * 2


def test_a_wavefront_goes_from_corner_to_corner() -> None:
    lines = text(Wavefront(ranks=4, grid=(2, 2), planes=2, iterations=1, compute=4e6, nbytes=7))
    there = ["compute 1000000", "send 1 0 7", "send 2 0 7"]
    back = ["recv 1 0 7", "recv 2 0 7", "compute 1000000"]
    assert lines[0] == ["init", *there * 2, *back * 2, "finalize"]
    there = ["recv 2 0 7", "recv 1 0 7", "compute 1000000"]
    back = ["compute 1000000", "send 2 0 7", "send 1 0 7"]
    assert lines[3] == ["init", *there * 2, *back * 2, "finalize"]


def test_a_ring_allreduce_sends_twice_what_there_is() -> None:
    pattern = RingAllreduce(ranks=5, nbytes=1000, iterations=1, compute=3e6)
    for lines in text(pattern):
        assert len(sent(lines)) == 8
        assert sum(sent(lines)) == 2 * 4 * 200
        assert volumes(lines) == [1000000, 2000000, 50, 50, 50, 50]
    for lines in text(RingAllreduce(ranks=5, nbytes=1003, iterations=1)):
        assert sum(sent(lines)) in range(2 * 803 - 2, 2 * 803 + 2)


def test_a_tree_allreduce_sends_up_and_down() -> None:
    lines = text(TreeAllreduce(ranks=6, nbytes=40, iterations=1, buckets=2, compute=6e6))
    assert [len(sent(rank)) for rank in lines] == [2 * n for n in (3, 1, 2, 1, 2, 1)]
    assert lines[4][1:9] == [
        "compute 2000000",
        "compute 2000000",
        "recv 5 0 20",
        "compute 5",
        "send 0 0 20",
        "recv 0 0 20",
        "send 5 0 20",
        "compute 2000000",
    ]


def test_sparse_partners_differ() -> None:
    pattern = Sparse(ranks=50, degree=7, nbytes=(10, 1000), iterations=1)
    for rank, lines in enumerate(text(pattern)):
        targets = [int(line.split()[1]) for line in lines if line.startswith("isend")]
        assert len({*targets} - {rank}) == 7
        assert all(10 <= size <= 1000 for size in sent(lines))
    assert all(len(sent(lines)) == 3 for lines in text(Sparse(ranks=4, degree=9, iterations=1)))
    assert text(Sparse(ranks=1, iterations=1))[0] == ["init", "compute 1000000", "finalize"]


def test_ranks_of_an_ocean_differ_in_whom_they_swap_with() -> None:
    programs = text(Ocean(ranks=30, iterations=3, fewest=2, most=9, nbytes=10))
    peers = [{line.split()[1] for line in lines if line.startswith("isend")} for lines in programs]
    assert len({len(of_rank) for of_rank in peers}) >= 3
    for rank, of_rank in enumerate(peers):
        assert all(str(rank) in peers[int(peer)] for peer in of_rank)
    sums = {sum(line.startswith("allreduce") for line in lines) for lines in programs}
    assert len(sums) == 1 and 6 <= sums.pop() <= 27


def test_blocks_of_a_refined_box_share_faces_and_a_file() -> None:
    """Faces are exchanged in both directions; a checkpoint is written without gaps or overlaps."""
    pattern = Refined(ranks=27, iterations=4, refined=0.3, nbytes=10, checkpoint_every=2)
    programs = text(pattern)
    swapped = Counter(
        (rank, int(line.split()[1]), line.split()[3])
        for rank, lines in enumerate(programs)
        for line in lines
        if line.startswith("isend")
    )
    assert all(swapped[peer, rank, size] == 4 for rank, peer, size in swapped)
    assert len({int(size) for _, _, size in swapped}) > 2
    last = [lines[lines.index("file_open 3 checkpoint_0002 wc") :] for lines in programs]
    written = sorted(
        (int(line.split()[3]), int(line.split()[2]))
        for lines in last
        for line in lines
        if line.startswith("file_write_at")
    )
    ends = [at + size for at, size in written]
    assert [at for at, _ in written] == [0, *ends[:-1]]
    assert ends[-1] == 4096 + 10 * (27 + 7 * 8) * (32 << 10)


def test_a_box_without_refinement_is_a_grid_of_blocks() -> None:
    swaps = [
        {line.split()[1] for line in lines if line.startswith("isend")}
        for lines in text(Refined(ranks=24))
    ]
    assert swaps == [
        {line.split()[1] for line in lines if line.startswith("isend")}
        for lines in text(Halo3D(ranks=24))
    ]


@pytest.mark.parametrize("refined", [0.0, 0.2])
def test_a_refined_box_grows_little_with_iterations_and_ranks(
    refined: float, tmp_path: Path
) -> None:
    """Without refinement, 8 more checkpoints take 50 bytes, and more ranks take none."""
    sizes = {}
    for ranks, iterations in ((64, 20), (64, 100), (256, 20)):
        file = tmp_path / f"{ranks}.{iterations}.tit"
        box = Refined(ranks=ranks, iterations=iterations, refined=refined, checkpoint_every=10)
        box.write(file)
        sizes[ranks, iterations] = file.stat().st_size
    assert sizes[64, 100] - sizes[64, 20] < 100
    assert sizes[256, 20] - sizes[64, 20] < (25 * 192 if refined else 60)


def test_an_allreduce_every_so_often() -> None:
    pattern = Ring(ranks=2, iterations=7, allreduce=80, allreduce_every=3)
    lines = [line.split()[0] for line in text(pattern)[0]]
    block = ["compute", "irecv", "isend", "waitall"]
    assert lines == ["init", *(block * 3 + ["allreduce"]) * 2, *block, "finalize"]
    assert text(pattern)[1].count("allreduce 80 10") == 2
    rarely = Ring(ranks=2, iterations=50_000, allreduce=80, allreduce_every=20_000)
    assert [text(rarely)[0].index("allreduce 80 10"), len(text(rarely)[0])] == [80_001, 200_004]


def test_imbalance_belongs_to_a_rank_and_noise_to_a_computation() -> None:
    of_ranks = [set(volumes(lines)) for lines in text(Ring(ranks=40, imbalance=0.2))]
    assert all(len(volume) == 1 for volume in of_ranks)
    flat = [volume for volumes in of_ranks for volume in volumes]
    assert len({*flat}) == 40
    assert all(800_000 <= volume <= 1_200_000 for volume in flat)
    assert max(flat) - min(flat) > 300_000
    noisy = volumes(text(Ring(ranks=40, noise=0.2, iterations=50))[7])
    assert len({*noisy}) == 50
    assert all(800_000 <= volume <= 1_200_000 for volume in noisy)


def test_the_seed_decides() -> None:
    def made(seed: int) -> list[list[str]]:
        return text(Sparse(ranks=6, imbalance=0.5, noise=0.1, nbytes=(1, 1000), seed=seed))

    assert made(3) == made(3)
    assert made(3) != made(4)


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_a_long_trace_is_made_in_pieces(noise: float) -> None:
    sizes = [len(piece) for piece in Ring(ranks=4, iterations=200_000, noise=noise).pieces(0)]
    assert sum(sizes) > 10_000_000
    assert max(sizes) <= 2 << 20


def test_progress_grows_to_one(tmp_path: Path) -> None:
    told: list[float] = []
    Ring(ranks=3, iterations=20_000, allreduce=8, allreduce_every=10_000, noise=0.1).write(
        tmp_path / "x.tit", told.append
    )
    assert told == sorted(told)
    assert len(told) > 3
    assert told[-1] == pytest.approx(1.0)


def test_the_size_of_a_packed_trace_does_not_depend_on_iterations(tmp_path: Path) -> None:
    def size(iterations: int, ranks: int) -> int:
        Halo3D(ranks=ranks, iterations=iterations, allreduce=8).write(tmp_path / "x.tit")
        return (tmp_path / "x.tit").stat().st_size

    assert abs(size(1000, 64) - size(10, 64)) <= 16
    assert size(10, 4096) < 1000


@pytest.mark.parametrize("pattern", [Halo3D, TreeAllreduce, Wavefront])
def test_imbalance_takes_at_most_five_bytes_a_rank(
    pattern: type[Halo3D | TreeAllreduce | Wavefront], tmp_path: Path
) -> None:
    def size(iterations: int, imbalance: float) -> int:
        pattern(ranks=4096, iterations=iterations, imbalance=imbalance).write(tmp_path / "x.tit")
        return (tmp_path / "x.tit").stat().st_size

    balanced = size(10, 0.0)
    assert balanced <= 1000
    assert size(10, 0.2) - balanced <= 5 * 4096
    assert abs(size(1000, 0.2) - size(10, 0.2)) <= 16


@pytest.mark.parametrize(
    ("ranks", "dimensions", "sides"),
    [
        *((12, 2, (4, 3)), (16, 2, (4, 4)), (24, 3, (4, 3, 2)), (7, 3, (7, 1, 1)), (1, 2, (1, 1))),
        *((1_000_000, 3, (100, 100, 100)), (1000, 1, (1000,))),
    ],
)
def test_process_grids(ranks: int, dimensions: int, sides: tuple[int, ...]) -> None:
    assert process_grid(ranks, dimensions) == sides


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Ring(ranks=0), "ranks must be at least 1, not 0"),
        (lambda: Ring(ranks=2, imbalance=1.5), "imbalance must be between 0 and 1, not 1.5"),
        (lambda: Ring(ranks=2, nbytes=-1), "nbytes must be at least 0, not -1"),
        (lambda: Ring(ranks=2, allreduce_every=0), "allreduce_every must be at least 1"),
        (lambda: Wavefront(ranks=2, planes=0), "planes must be at least 1, not 0"),
        (
            lambda: Sparse(ranks=2, nbytes=(5, 2)),
            "nbytes must be a size, or the minimum and maximum",
        ),
        (lambda: Halo2D(ranks=2, nbytes=(5, 2, 1)), "nbytes must be one number or 2, one per dim"),
        (lambda: Halo2D(ranks=7, grid=(2, 3)), "the grid 2x3 has 6 places for 7 ranks; 7x1 would"),
        (
            lambda: Halo3D(ranks=6, grid=(2, 3)),
            "a grid of 3 dimensions must be written 3x2x1, not 2x3",
        ),
    ],
)
def test_what_cannot_be(make: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()  # type: ignore[operator]


def test_the_command_writes_a_trace(tisim: CommandLine) -> None:
    target = str(tisim.directory / "halo")
    arguments = ("halo3d", "--ranks", "8", "--bytes", "1KiB,8,9", "--compute", "2Mf", "-o", target)
    assert tisim("generate", *arguments, "--iterations", "3", "--periodic").status == 0
    expected = Halo3D(ranks=8, nbytes=(1024, 8, 9), compute=2e6, iterations=3, periodic=True)
    lines = (Path(target) / "rank-5.txt").read_text()
    assert lines == "".join(expected.pieces(5))
    again = tisim("generate", *arguments)
    assert again.status == 2
    assert again.err.count("\n") == 1
    assert f"{target}: already exists and is not empty" in again.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("halo2d", "--ranks", "6", "--grid", "2x4"), "the grid 2x4 has 8 places for 6 ranks"),
        (("halo2d", "--ranks", "6", "--grid", "2 by 3"), "a grid such as 4x3x2, not '2 by"),
        (("ring", "--ranks", "6", "--bytes", "7parsecs"), "unknown unit 'parsecs' in the --bytes"),
        (("ring", "--np", "0"), "--ranks must be at least 1, not 0"),
        (("halo3d", "--np", "6", "--bytes", "8,9"), "--bytes must be one number or 3, one per dim"),
        (("ring",), "Missing option '--ranks'"),
        (("rings", "--ranks", "6"), "No such command 'rings'"),
    ],
)
def test_what_the_command_refuses(
    tisim: CommandLine, arguments: tuple[str, ...], message: str
) -> None:
    outcome = tisim("generate", *arguments, "-o", str(tisim.directory / "x"))
    assert outcome.status == 2
    assert message in outcome.err
    assert "Traceback" not in outcome.err
    assert not (tisim.directory / "x").exists()


@pytest.mark.parametrize("name", PATTERNS)
def test_the_examples_in_the_help_are_right(tisim: CommandLine, name: str) -> None:
    shown = tisim("generate", name, "--help").out
    for example in _EXAMPLES[name]:
        assert example in shown
        context = generate_command.commands[name].make_context(name, shlex.split(example))
        PATTERNS[name](**{k: v for k, v in context.params.items() if k != "output"})


@pytest.mark.parametrize("name", PATTERNS)
def test_the_defaults_of_the_options_are_those_of_the_pattern(name: str) -> None:
    words = ["--ranks", "24", "-o", "x"]
    parameters = generate_command.commands[name].make_context(name, words).params
    assert parameters.pop("output") == "x"
    assert PATTERNS[name](**parameters) == PATTERNS[name](ranks=24)


@pytest.mark.parametrize("made", [Ring, Halo2D, Halo3D, Sparse, RingAllreduce])
def test_requests_have_numbers_when_asked(made: type[Pattern], root: Path, tmp_path: Path) -> None:
    plain, numbered = made(ranks=6, iterations=2), made(ranks=6, iterations=2, requests=True)
    for lines, others in zip(text(numbered), text(plain), strict=True):
        pending: set[str] = set()
        for line, other in zip(lines, others, strict=True):
            key, _, numbers = line.partition(" request")
            named = set(numbers.rpartition("=")[2].split(",")) if numbers else set()
            if line.startswith("wait"):
                assert named <= pending and key == other.split()[0]
                pending -= named
            else:
                assert key == other and bool(named) == line.startswith(("isend", "irecv"))
                assert not named & pending
                pending |= named
        assert not pending
    finish = []
    for name, pattern in (("plain", plain), ("numbered.tit", numbered)):
        pattern.write(tmp_path / name)
        result = replay(tmp_path / name, platform=root / "platforms" / "graphene.xml")
        finish.append(result.finish.tolist())
    assert finish[0] == finish[1]
