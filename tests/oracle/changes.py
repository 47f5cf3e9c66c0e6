"""Random programs on platforms whose speeds, bandwidths and latencies change meanwhile.

Latencies are short, so that hardly a flow pays its latency when something changes: what SimGrid
does to such a flow depends on `network/optim` (docs/adr/0015-changes-and-failures.md).
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from tests.oracle.cases import LATENCY, Case
from tisim.support.quantities import parse_bandwidth

HEADER = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="w" routing="Full">
"""
CONFIGS: tuple[dict[str, str], ...] = (
    {},
    {"network/crosstraffic": "no"},
    {"network/model": "LV08"},
    {"network/model": "CM02"},
    {"network/TCP-gamma": "20"},
)


@dataclass(frozen=True)
class ChangingCase:
    """A program on a platform with profiles.

    Attributes
    ----------
    programs
        The actions of each rank.
    hosts
        The host of each rank.
    platform
        The text of the platform file.
    profiles
        The files that it names.
    config
        Options of SimGrid.
    """

    programs: tuple[tuple[str, ...], ...]
    hosts: tuple[str, ...]
    platform: str
    profiles: dict[str, str]
    config: dict[str, str]

    @classmethod
    def draw(cls, seed: int, kinds: tuple[str, ...]) -> ChangingCase:
        """The case of a seed; `kinds` among speed, bandwidth, latency change."""
        rng = random.Random(seed)
        count = rng.randint(2, 5)
        author = _Author(rng, kinds)
        platform = author.platform(count)
        ranks = rng.randint(2, 8)
        return cls(
            programs(rng, ranks),
            tuple(f"h{rng.randrange(count)}" for _ in range(ranks)),
            platform,
            author.profiles,
            dict(rng.choice(CONFIGS)),
        )

    def write(self, directory: Path) -> None:
        """Write platform.xml, hosts, profiles, and traces/rank-*.txt."""
        (directory / "platform.xml").write_text(self.platform)
        (directory / "hosts").write_text("\n".join(self.hosts) + "\n")
        for name, text in self.profiles.items():
            (directory / name).write_text(text)
        write_traces(directory / "traces", self.programs)


def write_traces(directory: Path, programs: tuple[tuple[str, ...], ...]) -> None:
    """Write rank-<r>.txt for every rank."""
    directory.mkdir()
    for rank, program in enumerate(programs):
        lines = ("init", *program, "finalize")
        text = "".join(f"{rank} {line}\n" for line in lines)
        (directory / f"rank-{rank}.txt").write_text(text)


class _Author:
    def __init__(
        self, rng: random.Random, kinds: tuple[str, ...], end: float | None = None
    ) -> None:
        self.profiles: dict[str, str] = {}
        self._rng = rng
        self._kinds = kinds
        self._end = end  # None: one of three

    def files(self, bases: dict[str, float]) -> str:
        """Attributes that name profiles of quantities around these."""
        return "".join(self._file(kind, base) for kind, base in bases.items())

    def platform(self, hosts: int) -> str:
        """Hosts with links of their own on a common one."""
        rng = self._rng
        policy = rng.choice(["SHARED", "SHARED", "FATPIPE", "SPLITDUPLEX"])
        split = policy == "SPLITDUPLEX"
        up, down = (' direction="UP"', ' direction="DOWN"') if split else ("", "")
        text = [HEADER]
        for host in range(hosts):
            cores = rng.choice([1, 2])
            speed = self._file("speed", 1.0)
            text.append(f'<host id="h{host}" speed="1Gf" core="{cores}"{speed}/>\n')
        for host in range(hosts):
            text.append(self._link(f"l{host}", "SPLITDUPLEX" if split else "SHARED"))
        text.append(self._link("common", "SHARED" if split else policy))
        text += (
            f'<route src="h{a}" dst="h{b}"><link_ctn id="l{a}"{up}/><link_ctn id="common"/>'
            f'<link_ctn id="l{b}"{down}/></route>\n'
            for a in range(hosts)
            for b in range(a + 1, hosts)
        )
        return "".join([*text, "</zone></platform>\n"])

    def _link(self, name: str, policy: str) -> str:
        bandwidth = self._rng.choice([5e7, 1e8, 2e8])
        latency = self._rng.choice([1e-7, 2e-7, 5e-7])
        files = self._file("bandwidth", bandwidth) + self._file("latency", latency)
        return (
            f'<link id="{name}" bandwidth="{bandwidth}Bps" latency="{latency}s"'
            f' sharing_policy="{policy}"{files}/>\n'
        )

    def _file(self, kind: str, base: float) -> str:
        """An attribute that names a profile, most often."""
        rng = self._rng
        if kind not in self._kinds or rng.random() < 0.3:
            return ""
        low, high = {"speed": (0.2, 1.5), "bandwidth": (0.2, 2), "latency": (0.1, 5)}[kind]
        end = rng.choice([0.05, 0.2, 0.6]) if self._end is None else self._end
        dates = sorted(rng.uniform(0, end) for _ in range(rng.randint(1, 4)))
        lines = [f"{date!r} {base * rng.uniform(low, high)!r}\n" for date in dates]
        if rng.random() < 0.25:
            lines.insert(0, f"PERIODICITY {dates[-1] + rng.uniform(end / 50, end)!r}\n")
        elif rng.random() < 0.33:
            lines.append(f"LOOPAFTER {rng.uniform(end / 50, end)!r}\n")
        name = f"profile-{len(self.profiles)}"
        self.profiles[name] = "".join(lines)
        return f' {kind}_file="{name}"'


def with_profiles(case: Case, seed: int, end: float) -> tuple[Case, dict[str, str]]:
    """A case of the campaign with short latencies, and profiles of its hosts and links.

    Parameters
    ----------
    case
        The case.
    seed
        Decides what changes, and how.
    end
        The profiles change things up to this date, in seconds.

    Returns
    -------
    Case, dict
        The case, and the files that its platform names; none where it has clusters only.
    """
    rng = random.Random(seed)
    author = _Author(rng, ("speed", "bandwidth", "latency"), end)
    platform = LATENCY.sub(
        lambda match: f'{match[1]}="{rng.uniform(0.5, 1.5) * 1e-8!r}s"', case.platform
    )

    def add(kinds: Callable[[str], dict[str, float]]) -> Callable[[re.Match[str]], str]:
        return lambda match: match[1] + author.files(kinds(match[1])) + match[2]

    def of_link(text: str) -> dict[str, float]:
        bandwidth = re.search(r'bandwidth="([^"]+)"', text)
        return {
            "bandwidth": parse_bandwidth(bandwidth[1], "it") if bandwidth else 1,
            "latency": 1e-8,
        }

    platform = re.sub(r"(<host [^>]*?)(/?>)", add(lambda _: {"speed": 1.0}), platform)
    platform = re.sub(r"(<link [^>]*?)(/?>)", add(of_link), platform)
    return replace(case, platform=platform), author.profiles


def programs(rng: random.Random, ranks: int) -> tuple[tuple[str, ...], ...]:
    """Computations, and messages that overlap with the changes."""
    lines: list[list[str]] = [[] for _ in range(ranks)]
    for step in range(rng.randint(2, 6)):
        for program in lines:
            program.append(f"compute {rng.uniform(1e6, 2e8)!r}")
        kind = rng.random()
        if kind < 0.7:
            order = rng.sample(range(ranks), ranks)
            for a, b in zip(order, order[1:] + order[:1], strict=True):
                size = rng.choice([70_000, 500_000, 2_000_000, 10_000_000]) + rng.randint(0, 1000)
                lines[a].append(f"isend {b} {step} {size} 6")
                lines[b].append(f"irecv {a} {step} {size} 6")
        call = "waitall" if kind < 0.7 else "allreduce 400000 1000 6"
        for program in lines:
            program.append(call if kind < 0.85 else "alltoall 200000 200000 6 6")
    return tuple(tuple(program) for program in lines)
