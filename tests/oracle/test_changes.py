"""Changes while ranks run, and the start and end of ranks: tisim and SimGrid, live."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

import tisim
from tests.oracle.cases import LATENCY, Case, run_simgrid
from tests.oracle.compare import RELATIVE, difference, replay_here
from tests.oracle.simgrid_exec import FIXED, OracleError, program, run_oracle
from tests.support import campaign, write_ranks
from tisim.support.quantities import parse_bandwidth

pytestmark = pytest.mark.oracle


@pytest.mark.parametrize("seed", range(campaign(6, 40)))
@pytest.mark.parametrize(
    "kinds", [("speed",), ("bandwidth",), ("latency",), ("speed", "bandwidth", "latency")], ids=len
)
def test_changes_under_way(kinds: tuple[str, ...], seed: int, tmp_path: Path) -> None:
    """Any program, on platforms of all kinds with their own hosts and links."""
    case = Case.draw(
        seed, families=("full", "floyd", "zones", "nested"), selectors=("default", "ompi")
    )
    case.write(tmp_path)
    plain = replay_here(case, tmp_path)
    changing, profiles = with_profiles(case, seed, kinds, max(plain))
    for name, text in profiles.items():
        (tmp_path / name).write_text(text)
    try:
        theirs = run_simgrid(changing, tmp_path)
    except OracleError as error:  # stopped by a weight that rounding makes negative
        pytest.skip(f"SimGrid cannot run it: {error}")
    worst, rank = difference(replay_here(changing, tmp_path), theirs)
    assert worst <= RELATIVE, f"rank {rank} of {changing.label}"


HEADER = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="w" routing="Full">
"""
#: Range of each quantity relative to the platform's value.
RANGES = {"speed": (0.2, 1.5), "bandwidth": (0.2, 2), "latency": (0.1, 5)}


@dataclass
class _Author:
    """Writes profiles of the quantities in `kinds`, with dates up to `end`."""

    rng: random.Random
    kinds: tuple[str, ...]
    end: float
    profiles: dict[str, str] = field(default_factory=dict)

    def files(self, bases: dict[str, float]) -> str:
        """Return attributes that name profiles of quantities around these values."""
        return "".join(self._file(kind, base) for kind, base in bases.items())

    def _file(self, kind: str, base: float) -> str:
        """Return an attribute that usually names a profile."""
        rng = self.rng
        if kind not in self.kinds or rng.random() < 0.3:
            return ""
        low, high = RANGES[kind]
        dates = sorted(rng.uniform(0, self.end) for _ in range(rng.randint(1, 4)))
        lines = [f"{date!r} {base * rng.uniform(low, high)!r}\n" for date in dates]
        if rng.random() < 0.25:
            lines.insert(0, f"PERIODICITY {dates[-1] + rng.uniform(self.end / 50, self.end)!r}\n")
        elif rng.random() < 0.33:
            lines.append(f"LOOPAFTER {rng.uniform(self.end / 50, self.end)!r}\n")
        name = f"profile-{len(self.profiles)}"
        self.profiles[name] = "".join(lines)
        return f' {kind}_file="{name}"'


def with_profiles(
    case: Case, seed: int, kinds: tuple[str, ...], end: float
) -> tuple[Case, dict[str, str]]:
    """Return a case of the campaign with short latencies and profiles, and the profiles' files.

    `kinds` among speed, bandwidth and latency change, up to the date `end` in seconds.
    """
    rng = random.Random(seed)
    author = _Author(rng, kinds, end)
    platform = LATENCY.sub(
        lambda match: f'{match[1]}="{rng.uniform(0.5, 1.5) * 1e-8!r}s"', case.platform
    )

    def add(bases: Callable[[str], dict[str, float]]) -> Callable[[re.Match[str]], str]:
        return lambda match: match[1] + author.files(bases(match[1])) + match[2]

    def of_link(text: str) -> dict[str, float]:
        bandwidth = re.search(r'bandwidth="([^"]+)"', text)
        return {
            "bandwidth": parse_bandwidth(bandwidth[1], "it") if bandwidth else 1,
            "latency": 1e-8,
        }

    platform = re.sub(r"(<host [^>]*?)(/?>)", add(lambda _: {"speed": 1.0}), platform)
    platform = re.sub(r"(<link [^>]*?)(/?>)", add(of_link), platform)
    return replace(case, platform=platform), author.profiles


def test_a_fat_pipe_becomes_narrower_under_its_flows(tmp_path: Path) -> None:
    """Their bounds remain those of the wider pipe, which therefore limits both (ADR 3)."""
    (tmp_path / "platform.xml").write_text(
        HEADER + "".join(f'<host id="{name}" speed="1Gf"/>' for name in "abcd") + "\n"
        '<link id="pipe" bandwidth="100MBps" latency="19ns" sharing_policy="FATPIPE"'
        ' bandwidth_file="narrower"/><link id="far" bandwidth="10GBps" latency="500ns"/>\n'
        '<route src="a" dst="b"><link_ctn id="pipe"/></route>\n'
        '<route src="c" dst="d"><link_ctn id="pipe"/><link_ctn id="far"/></route>'
        "</zone></platform>\n"
    )
    (tmp_path / "narrower").write_text("0.004 30e6\n")
    (tmp_path / "hosts").write_text("a\nb\nc\nd\n")
    programs = ["send 1 1 1e6", "recv 0 1 1e6", "send 3 1 1e6", "recv 2 1 1e6"]
    traces = write_ranks(tmp_path / "traces", *programs)
    platform, config = tmp_path / "platform.xml", {"network/weight-S": "1"}
    theirs = run_oracle(platform, tmp_path / "hosts", traces, ["network/weight-S:1"])
    ours = tisim.replay(traces, platform=platform, hosts=[*"abcd"], config=config)
    assert list(ours.finish) == pytest.approx(theirs, rel=RELATIVE)


HOSTS = ["a", "b", "c"]
PLATFORM = f"""{HEADER}<host id="a" speed="1Gf"/><host id="b" speed="2Gf"/>
<host id="c" speed="3Gf"/><link id="l" bandwidth="100MBps" latency="10us"/>
<route src="a" dst="b"><link_ctn id="l"/></route>
<route src="a" dst="c"><link_ctn id="l"/></route>
<route src="b" dst="c"><link_ctn id="l"/></route></zone></platform>"""
COLLECTIVES = (
    "bcast 1000 1",
    "allreduce 5000 1e5",
    "scan 100 1e4",
    "gather 100000 100000 2",
    "alltoall 100 100",
    "reduce 100 1e6",
)


def write(directory: Path, programs: Sequence[Sequence[str]]) -> tuple[Path, Path, Path]:
    """Write the files of a case: platform, hosts and traces."""
    (directory / "platform.xml").write_text(PLATFORM)
    (directory / "hosts").write_text("\n".join(HOSTS) + "\n")
    write_ranks(directory / "traces", *(("init", *own, "finalize") for own in programs))
    return directory / "platform.xml", directory / "hosts", directory / "traces"


@pytest.mark.parametrize(
    "option",
    [
        "smpi/barrier-collectives:yes",
        "smpi/barrier-finalization:yes",
        "smpi/init:0.25",
        "smpi/simulate-computation:no",
    ],
)
def test_an_option(option: str, tmp_path: Path) -> None:
    programs = [
        [line for call in COLLECTIVES for line in (f"compute {(rank + 1) * 1e7}", call)]
        for rank in range(3)
    ]
    platform, hosts, traces = write(tmp_path, programs)
    key, value = option.split(":")
    plain = tisim.replay(traces, platform=platform, hosts=HOSTS)
    ours = tisim.replay(traces, platform=platform, hosts=HOSTS, config={key: value})
    assert list(ours.finish) != list(plain.finish)
    if key == "smpi/simulate-computation":
        for rank in range(3):  # the oracle's computations are calls: omit them
            file = traces / f"rank-{rank}.txt"
            lines = file.read_text().splitlines(keepends=True)
            file.write_text("".join(line for line in lines if "compute" not in line))
    theirs = run_oracle(platform, hosts, traces, [option] if "init" not in option else [])
    if key == "smpi/init":  # part of MPI_Init in an execution: all ranks start and end later
        theirs = [end + float(value) for end in theirs]
    assert list(ours.finish) == pytest.approx(theirs, rel=RELATIVE)


def test_speedups_by_place(tmp_path: Path) -> None:
    """Only SimGrid's replay reads locations; it prints six digits."""
    lines = (
        *("compute 1e8", "location /d/x.c 10", "compute 1e8", "barrier"),
        *("location /d/x.c 20", "compute 1e8", "barrier", "location y.f 7", "compute 1e8"),
        *("reduce 100 1e8 0 6", "compute 1e8", "location x.c 10", "compute 1e8"),
    )
    platform, hosts, traces = write(tmp_path, [lines] * 3)
    adjustments = tmp_path / "adjustments.csv"
    adjustments.write_text('"start:stop","ratio"\n"x.c:10:x.c:20",2\n"x.c:20:y.f:7",0.25\n')
    index = tmp_path / "index"
    index.write_text("".join(f"{traces}/rank-{rank}.txt\n" for rank in range(3)))
    option = "smpi/comp-adjustment-file"
    command = ["smpirun", "-np", "3", "-platform", str(platform), "-hostfile", str(hosts)]
    command += ["-no-privatize", f"--cfg={option}:{adjustments}", "-replay", str(index)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    match = re.search(r"Simulation time ([\d.]+)", run.stdout + run.stderr)
    assert match
    ours = tisim.replay(traces, platform=platform, hosts=HOSTS, config={option: str(adjustments)})
    assert ours.simulated_time == pytest.approx(float(match[1]), abs=6e-7)
    assert ours.simulated_time > tisim.replay(traces, platform=platform, hosts=HOSTS).simulated_time


DEPLOYMENT = """<platform version="4.1"><actor host="a" function="0"/>
<actor host="b" function="1" {}/><actor host="c" function="2"/></platform>"""


def test_a_rank_starts_late(tmp_path: Path) -> None:
    programs = [
        ["compute 1e9", "recv 1 0 100000 6", "barrier"],
        ["compute 1e8", "send 0 0 100000 6", "barrier"],
        ["compute 1e7", "barrier"],
    ]
    platform, hosts, traces = write(tmp_path, programs)
    deployment = tmp_path / "deployment.xml"
    deployment.write_text(DEPLOYMENT.format('start_time="1.25"'))
    ours = tisim.replay(traces, platform=platform, deployment=deployment)
    late = traces / "rank-1.txt"
    late.write_text(late.read_text().replace("1 init\n", "1 init\n1 sleep 1.25\n"))
    theirs = run_oracle(platform, hosts, traces)
    assert list(ours.finish) == pytest.approx(theirs, rel=RELATIVE)


def test_a_rank_is_killed(tmp_path: Path) -> None:
    """A rank that computes next to another one is killed, which leaves the host to the other."""
    platform, _, traces = write(
        tmp_path, [["compute 1e9", "send 2 0 1e6 6"], ["compute 1e9"], ["recv 0 0 1e6 6"]]
    )
    (tmp_path / "hosts").write_text("a\na\nc\n")
    deployment = tmp_path / "deployment.xml"
    deployment.write_text(DEPLOYMENT.format('kill_time="0.5"').replace('"b"', '"a"'))
    ours = tisim.replay(traces, platform=platform, deployment=deployment)
    command = ["smpirun", "-np", "3", "-no-privatize", "-platform", str(platform)]
    command += ["-hostfile", str(tmp_path / "hosts"), *FIXED, str(program()), str(traces)]
    run = subprocess.run([*command, "kill=1:0.5"], capture_output=True, text=True, timeout=60)
    ends = dict(re.findall(r"rank (\d+) finish ([-+\d.e]+)", run.stdout))
    assert sorted(ends) == ["0", "2"]
    assert [float(ours.finish[0]), float(ours.finish[2])] == pytest.approx(
        [float(ends["0"]), float(ends["2"])], rel=RELATIVE
    )
    assert ours.finish[1] == pytest.approx(0.5)
    assert ours.warnings[0].endswith("rank 1 died at 0.5 s in compute: its kill_time")
