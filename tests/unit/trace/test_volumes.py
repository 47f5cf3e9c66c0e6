"""Counters of computations, and how volumes are drawn, varied and compared."""

from __future__ import annotations

import json
import pickle
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tisim
from tests.support import GRAPHENE, RING, platform_file
from tests.tit_reader import TitTrace
from tests.unit.command_line import BACKBONE, CommandLine
from tisim.errors import InputError
from tisim.platform import new
from tisim.studies.uncertainty import replay_with_sets
from tisim.traces import Kind, Trace, inspect, pack, unpack
from tisim.traces.packed_program import with_section
from tisim.traces.spread import SECTION, VOLUMES, Spread, deviation_of, keep_spread, spreads
from tisim.traces.volumes import Volumes
from tisim.traces.writer import DrawnTraceWriter

TIME = "time, seconds of processor time times 1e+09"
REGISTER = "register, instructions of code compiled by tisim cc"
PLATFORM = (
    '<platform version="4.1"><cluster id="c" prefix="c-" suffix="" radical="0-1" speed="{}" '
    'bw="100MBps" lat="4us">{}</cluster></platform>'
)
PROPERTY = '<prop id="tisim/config/tisim/speeds" value="{}"/>'


def recorded(tisim: CommandLine, counter: str, *, packed: bool = False) -> str:
    text = f"# counter: {counter}\n0 init\n0 compute 2e9\n0 finalize\n" if counter else "0 init\n"
    tisim.write("t/rank-0.txt", text)
    name = str(tisim.directory / "t")
    if packed:
        pack(name, name + ".tit")
        return name + ".tit"
    return name


@pytest.mark.parametrize(
    ("counter", "unit", "per_second"),
    [
        (TIME, "ns", 1e9),
        ("time, seconds of processor time times 2.5e+09", "units of 1/2.5e+09 s", 2.5e9),
        ("perf, nanoseconds of the software event task-clock", "ns", 1e9),
        ("perf, instructions in user mode", "instructions", None),
        (REGISTER, "instructions", None),
        ("something else", "flops", None),
    ],
)
def test_units(counter: str, unit: str, per_second: float | None) -> None:
    found = Volumes.of_counter(counter)
    assert (found.unit, found.per_second) == (unit, per_second)


@pytest.mark.parametrize("packed", [False, True])
def test_checks_and_inspections_name_the_unit(tisim: CommandLine, packed: bool) -> None:
    trace = recorded(tisim, TIME, packed=packed)
    assert "2e+09 ns" in tisim("check", trace).out
    assert "flops" not in tisim("check", trace).out
    inspected = tisim("inspect", "--statistics", trace).out
    assert "2e+09 ns" in inspected
    assert "flops" not in inspected
    assert json.loads(tisim("inspect", "--json", "-", trace).out)["unit"] == "ns"


@pytest.mark.parametrize(
    ("counter", "speed", "prop", "options", "words"),
    [
        (TIME, "4Gf", "", (), "hosts compute 4 times as fast as the recording machine:"),
        (TIME, "1Gf", "", (), ""),
        (TIME, "4Gf", "", ("--speed", "4Gf"), ""),
        (TIME, "4Gf", "relative", (), ""),
        (TIME, "4Gf", "", ("--config", "tisim/speeds=relative"), ""),
        (TIME, "1Gf", "instructions", (), "the hosts' speeds are in instructions per second"),
        (REGISTER, "4Gf", "", (), ""),
        (REGISTER, "4Gf", "instructions", (), ""),
        (REGISTER, "4Gf", "relative", (), "and the hosts' speeds are relative"),
    ],
)
def test_the_first_line_says_what_is_not_known(
    tisim: CommandLine, counter: str, speed: str, prop: str, options: tuple[str, ...], words: str
) -> None:
    xml = PLATFORM.format(speed, PROPERTY.format(prop) if prop else "")
    platform = tisim.write("p.xml", xml)
    trace = recorded(tisim, counter)
    first = tisim.replay(*options, trace, platform=platform).out.splitlines()[0]
    assert words in first
    assert words or len(first.split()) == 4  # simulated time 2 s
    result = json.loads(tisim.replay(*options, "--json", "-", trace, platform=platform).out)
    assert result["volumes"]["counter"] == counter
    assert words in result["volumes"]["relation"]
    assert bool(words) == bool(result["volumes"]["relation"])


def test_results_of_other_traces_stay_as_they_were(tisim: CommandLine) -> None:
    platform = tisim.write("p.xml", PLATFORM.format("4Gf", ""))
    result = json.loads(tisim.replay("--json", "-", recorded(tisim, ""), platform=platform).out)
    assert "volumes" not in result


@pytest.mark.parametrize(
    ("counter", "options", "is_said"),
    [
        (REGISTER, (), True),
        (REGISTER, ("--speed", "2e9"), False),
        (REGISTER, ("--compute", "instructions"), False),
        (TIME, (), False),
    ],
)
def test_an_execution_asks_for_the_speed_of_instructions(
    tisim: CommandLine, counter: str, options: tuple[str, ...], is_said: bool
) -> None:
    outcome = tisim("execute", *options, "--mpicc", "no-compiler", recorded(tisim, counter))
    assert outcome.status == 2
    assert ("this machine with" in outcome.err) == is_said


CALLS = 400


def drawn(path: Path, seed: int) -> Path:
    writer = DrawnTraceWriter(3, seed=seed)
    work = writer.histogram([(1e6, 2e6, 30), (8e6, 9e6, 10)])
    small = writer.histogram([(100, 200, 1)])
    for rank in range(3):
        loop = (
            f"{rank} compute histogram={work}\n{rank} bcast 8\n"
            f"{rank} compute histogram={small}\n{rank} send {(rank + 1) % 3} 0 8\n"
            f"{rank} recv {(rank + 2) % 3} 0 8\n"
        )
        lines = f"{rank} init\n{rank} compute 77\n{rank} barrier\n" + CALLS * loop
        writer.write_rank(rank, [lines, f"{rank} compute histogram={small}\n{rank} finalize\n"])
    writer.finish(path)
    return path


def volumes(path: Path, tmp_path: Path) -> list[list[float]]:
    unpack(path, tmp_path)
    texts = [file.read_text() for file in sorted(tmp_path.iterdir())]
    return [
        [float(line.split()[2]) for line in text.splitlines() if " compute " in line]
        for text in texts
    ]


def test_volumes_are_those_of_the_histograms(tmp_path: Path) -> None:
    path = drawn(tmp_path / "drawn.tit", seed=7)
    found = volumes(path, tmp_path / "text")
    assert found[0] != found[1]
    for of_rank in found:
        assert len(of_rank) == 2 + 2 * CALLS
        assert of_rank[0] == 77
        work, small = of_rank[1:-1:2], of_rank[2::2]
        assert all(90 <= volume <= 260 for volume in small)
        assert all(9e5 <= volume <= 9.9e6 for volume in work)
        assert sum(work) / len(work) == pytest.approx(3.25e6, rel=0.2)
    assert path.stat().st_size < 2000


def test_all_readers_draw_the_same(tmp_path: Path) -> None:
    path = drawn(tmp_path / "drawn.tit", seed=7)
    found = volumes(path, tmp_path / "text")
    trace = Trace.open(path)
    for rank in range(3):
        batches = trace.operations(rank, batch=7)
        read = [
            float(row["amount"])
            for rows in batches
            for row in rows
            if row["kind"] == tisim.traces.Kind.COMPUTE
        ]
        assert read == found[rank]
        slow = TitTrace(path).lines(rank)
        assert [float(line.split()[2]) for line in slow if b" compute " in line] == read
    assert trace.actions == 3 * (5 + CALLS * 5)
    statistics = inspect(path, statistics=True)
    assert sum(site.volumes.sum for site in statistics.sites) == pytest.approx(
        sum(map(sum, found)), rel=1e-12
    )


def test_every_run_is_the_same_and_says_what_it_is_of(tmp_path: Path) -> None:
    first, other = (drawn(tmp_path / f"{seed}.tit", seed) for seed in (1, 2))
    results = [tisim.replay(path, platform=BACKBONE) for path in (first, first, other)]
    times = [result.simulated_time for result in results]
    assert times[0] == times[1] != times[2]
    assert Trace.open(first).precision == "histogram"
    assert any("volumes are drawn" in warning for warning in results[0].warnings)


def test_it_is_not_for_ones_own_traces(tmp_path: Path) -> None:
    path = drawn(tmp_path / "drawn.tit", seed=0)
    with pytest.raises(InputError, match="unknown precision of volumes 'histogram'"):
        pack(path, tmp_path / "out.tit", volumes="histogram")
    with pytest.raises(InputError, match="already stores volumes as histogram;"):
        pack(path, tmp_path / "out.tit", volumes="mean")


def test_what_is_no_histogram_is_refused() -> None:
    writer = DrawnTraceWriter(1)
    for bins in ([], [(1.0, 2.0, 0)], [(2.0, 1.0, 1)], [(5, 6, 1), (1, 2, 1)], [(-1, 2, 1)]):
        with pytest.raises(InputError, match="histogram of volumes"):
            writer.histogram(bins)
    with pytest.raises(InputError, match="there is no histogram of volumes 3"):
        writer.write_rank(0, ["0 compute histogram=3\n"])
    with pytest.raises(InputError, match="a seed must be"):
        DrawnTraceWriter(1, seed=-1)


def trace_of(directory: Path, name: str, *ranks: list[str]) -> Trace:
    """Return a trace whose ranks have these actions."""
    place = directory / name
    place.mkdir()
    for rank, actions in enumerate(ranks):
        lines = [f"{rank} {action}" for action in ("init", *actions, "finalize")]
        (place / f"rank-{rank}.txt").write_text("\n".join(lines) + "\n")
    return Trace.open(place)


def spread_of(*runs: list[list[str]]) -> Spread:
    with tempfile.TemporaryDirectory() as place:
        traces = [trace_of(Path(place), str(number), *run) for number, run in enumerate(runs)]
        (volumes,) = spreads(traces)
    assert volumes.counter == VOLUMES
    return volumes


def computing(*volumes: float) -> list[str]:
    return [action for volume in volumes for action in (f"compute {volume!r}", "barrier")]


def test_three_runs() -> None:
    spread = spread_of(
        [computing(100.0, 1000.0), computing(10.0, 1000.0)],
        [computing(110.0, 1000.0), computing(10.0, 1200.0)],
        [computing(100.0, 1000.0), computing(10.0, 1100.0)],
    )
    assert spread.sums == (2110.0, 2320.0, 2210.0)
    assert spread.median_run == 2
    assert spread.deviation == pytest.approx(105.04 / (6640 / 3), rel=1e-4)
    assert spread.max_min_ratio == pytest.approx(2320 / 2110)
    assert spread.computation_deviation == 0.0  # most computations are equal in all runs
    assert not spread.has_equal_counts


def test_a_computation_that_a_run_has_not() -> None:
    """A counter may have counted nothing; the calls still align the other computations."""
    spread = spread_of(
        [["compute 100", "barrier", "compute 50", "barrier"]],
        [["compute 100", "barrier", "barrier"]],
        [["compute 60", "compute 40", "barrier", "compute 50", "barrier"]],
    )
    assert spread.sums == (150.0, 100.0, 150.0)
    assert spread.computation_deviation == 0.0
    assert not spread.has_equal_counts


def test_calls_that_no_trace_can_express() -> None:
    spread = spread_of([["unsupported MPI_Put 3", "compute 5"]], [["compute 5"]])
    assert spread.sums == (5.0, 5.0)
    assert spread.computation_deviation is None  # one line more


@pytest.mark.parametrize("runs", [([[]], [[]]), ([["compute 5"]], [["compute 5"]])])
def test_runs_that_do_not_differ(runs: tuple[list[list[str]], ...]) -> None:
    spread = spread_of(*runs)
    assert spread.has_equal_counts
    assert (spread.deviation, spread.computation_deviation) == (0.0, 0.0)
    assert spread.max_min_ratio == 1.0


def test_different_numbers_of_ranks() -> None:
    spread = spread_of([["compute 5"], ["compute 6"]], [["compute 5"]])
    assert spread.sums == (11.0, 5.0)
    assert spread.computation_deviation is None


@settings(deadline=None)  # each example opens files
@given(
    st.lists(
        st.lists(st.floats(1.0, 1e9), min_size=3, max_size=3),
        min_size=2,
        max_size=4,
    ),
    st.sampled_from((0.25, 2.0, 1024.0)),
)
def test_neither_the_order_of_runs_nor_the_unit_matters(
    runs: list[list[float]], factor: float
) -> None:
    spread = spread_of(*([computing(*run)] for run in runs))
    other = spread_of(*([computing(*(factor * v for v in run))] for run in reversed(runs)))
    assert spread.computation_deviation is not None
    assert other.computation_deviation == pytest.approx(spread.computation_deviation, rel=1e-12)
    assert other.deviation == pytest.approx(spread.deviation, rel=1e-6, abs=1e-12)
    assert other.max_min_ratio == pytest.approx(spread.max_min_ratio, rel=1e-12)


def test_a_trace_keeps_its_spread(tmp_path: Path) -> None:
    text, packed = tmp_path / "one.txt", tmp_path / "one.tit"
    text.write_text("0 init\n0 compute 1e9\n0 finalize\n")
    pack(text, packed)
    assert deviation_of(Trace.open(packed)) is None
    keep_spread(packed, Spread(VOLUMES, (1.0, 1.1, 1.2), None, False))
    trace = Trace.open(packed)
    assert deviation_of(trace) == pytest.approx(0.1 / 1.1)
    # Replays for an interval scale the computations by this deviation.
    platform = new.cluster(1, bandwidth="1GBps", latency="1us", speed="1Gf")
    interval = replay_with_sets(trace, None, 40, platform=platform, progress=False)
    assert len(interval.times) == 40
    assert np.std(np.log(interval.times)) == pytest.approx(0.1 / 1.1, rel=0.3)
    assert interval.text().endswith("programs validated on other platforms")
    damaged = tmp_path / "damaged.tit"
    pack(text, damaged)
    damaged.write_bytes(with_section(damaged, SECTION, b"{}"))
    with pytest.raises(InputError, match="its section spread is damaged"):
        deviation_of(Trace.open(damaged))


FOUR_HOSTS = '<cluster id="c" prefix="h" suffix="" radical="0-3" speed="1Gf" bw="1GBps" lat="1us"/>'
TRACE = """0 compute 1e9
0 allreduce 1 5e8
0 compute 0
0 sleep 1
1 compute 1e9
1 allreduce 1 5e8
1 compute 2e9
"""


@pytest.fixture
def trace(tmp_path: Path) -> tisim.Trace:
    platform_file(tmp_path, FOUR_HOSTS)
    (tmp_path / "trace.txt").write_text(TRACE)
    return tisim.Trace.open(tmp_path / "trace.txt")


def noisy_volumes(trace: tisim.Trace, batch: int = 100) -> list[float]:
    """Return the compute volumes of all ranks."""
    return [
        float(amount)
        for rank in range(trace.ranks)
        for rows in trace.operations(rank, batch=batch)
        for amount in rows[rows["kind"] == Kind.COMPUTE]["amount"]
    ]


def test_volumes_vary_and_nothing_else(trace: tisim.Trace) -> None:
    noisy = trace.with_noise(0.1, seed=7)
    assert noisy_volumes(trace) == [1e9, 5e8, 0, 1e9, 5e8, 2e9]
    factors = np.array(noisy_volumes(noisy)) / [1e9, 5e8, 1, 1e9, 5e8, 2e9]
    assert factors[2] == 0
    assert len(set(factors)) == 6
    assert np.all((factors[[0, 1, 3, 4, 5]] > 0.5) & (factors[[0, 1, 3, 4, 5]] < 2))
    assert (noisy.noise, trace.noise) == ((0.1, 7), (0.0, 0))
    assert noisy_volumes(noisy.with_noise(0)) == noisy_volumes(trace)
    assert noisy_volumes(noisy.with_noise(0.2, seed=7)) == noisy_volumes(
        trace.with_noise(0.2, seed=7)
    )


def test_the_same_however_the_trace_is_read(trace: tisim.Trace, tmp_path: Path) -> None:
    noisy = trace.with_noise(0.1, seed=7)
    assert noisy_volumes(noisy, batch=1) == noisy_volumes(noisy)
    assert noisy_volumes(pickle.loads(pickle.dumps(noisy))) == noisy_volumes(noisy)
    pack(trace.source, tmp_path / "packed.tit")
    packed = tisim.Trace.open(tmp_path / "packed.tit").with_noise(0.1, seed=7)
    assert noisy_volumes(packed) == noisy_volumes(noisy)


def test_a_replay_computes_what_the_noise_says(trace: tisim.Trace, tmp_path: Path) -> None:
    noisy = trace.with_noise(0.3, seed=1)
    platform = tisim.Platform.load(tmp_path / "platform.xml")
    expected = np.array(noisy_volumes(noisy)).reshape(2, 3).sum(axis=1) / 1e9
    result = tisim.replay(noisy, platform=platform)
    assert result.compute.tolist() == pytest.approx(expected.tolist(), rel=1e-9)
    again = tisim.replay(trace.with_noise(0.3, seed=1), platform=platform)
    assert again.finish.tolist() == result.finish.tolist()
    other = tisim.replay(trace.with_noise(0.3, seed=2), platform=platform)
    assert other.simulated_time != result.simulated_time


def test_without_noise_nothing_changes() -> None:
    trace = tisim.Trace.open(RING)
    platform = tisim.Platform.load(GRAPHENE)
    plain = tisim.replay(trace, platform=platform)
    assert tisim.replay(trace.with_noise(0, seed=9), platform=platform).finish.tolist() == (
        plain.finish.tolist()
    )


@pytest.mark.parametrize("compute", [-0.1, float("nan"), float("inf"), "0.1", True, None])
def test_impossible_variations(trace: tisim.Trace, compute: object) -> None:
    with pytest.raises(InputError, match="compute noise"):
        trace.with_noise(compute)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_impossible_seeds(trace: tisim.Trace, seed: int) -> None:
    with pytest.raises(InputError, match="a seed must be a whole number from 0"):
        trace.with_noise(0.1, seed=seed)
