"""Cases in which SimGrid violates MPI's rules or contradicts itself, and tisim's behaviour.

Each test proves a decision in docs/adr.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

import tisim
from tests.oracle.platforms.families import HEAD
from tests.oracle.simgrid_exec import OracleError, run_oracle
from tests.support import write_ranks

pytestmark = pytest.mark.oracle

CLUSTER = (
    '<cluster id="c" prefix="h" suffix="" radical="0-15" speed="1Gf" bw="1GBps" lat="10us"/>\n'
)
#: Two pairs of hosts on one fat pipe, one of them with additional latency.
FAT_PIPE = """<zone id="world" routing="Full">
<host id="near1" speed="1Gf"/><host id="near2" speed="1Gf"/>
<host id="far1" speed="1Gf"/><host id="far2" speed="1Gf"/>
<link id="pipe" bandwidth="100MBps" latency="{latency}" sharing_policy="FATPIPE"/>
<link id="wide" bandwidth="10GBps" latency="500us"/>
<route src="near1" dst="near2"><link_ctn id="pipe"/></route>
<route src="far1" dst="far2"><link_ctn id="pipe"/><link_ctn id="wide"/></route>
</zone>
"""


class Run:
    """A program on a platform, for both simulators.

    Parameters
    ----------
    directory
        Directory of its files.
    programs
        The actions of each rank.
    hosts
        The host of each rank.
    platform
        Elements of the platform.
    """

    def __init__(
        self,
        directory: Path,
        programs: Sequence[Sequence[str]],
        hosts: Sequence[str] = tuple(f"h{i}" for i in range(16)),
        platform: str = CLUSTER,
    ) -> None:
        self.directory = directory
        self.hosts = list(hosts[: len(programs)])
        (directory / "traces").mkdir(parents=True)
        xml = f'{HEAD}<platform version="4.1">\n{platform}</platform>\n'
        (directory / "platform.xml").write_text(xml)
        (directory / "hosts").write_text("".join(f"{host}\n" for host in self.hosts))
        write_ranks(directory / "traces", *(("init", *own, "finalize") for own in programs))

    def simgrid(self, config: Mapping[str, str]) -> list[float]:
        """Return the time at which each rank ends in SimGrid."""
        return run_oracle(
            self.directory / "platform.xml",
            self.directory / "hosts",
            self.directory / "traces",
            [f"{key}:{value}" for key, value in config.items()],
        )

    def tisim(self, config: Mapping[str, str]) -> list[float]:
        """Return the time at which each rank ends in tisim."""
        result = tisim.replay(
            self.directory / "traces",
            platform=self.directory / "platform.xml",
            hosts=self.hosts,
            config=dict(config),
        )
        return [float(end) for end in result.finish]


# -- docs/adr/0003-exact-shares.md -----------------------------------------------------------------


def ends_of_the_far_pair(directory: Path, config: Mapping[str, str]) -> list[float]:
    """Return when a transfer over the fat pipe ends, for ten latencies of the pipe."""
    programs = [["send 1 1 1000000"], ["recv 0 1 1000000"]]
    programs += [["send 3 1 1000000"], ["recv 2 1 1000000"]]
    far = []
    for microseconds in range(10, 20):
        platform = FAT_PIPE.format(latency=f"{microseconds}us")
        hosts = ["near1", "near2", "far1", "far2"]
        run = Run(directory / str(microseconds), programs, hosts, platform)
        theirs = run.simgrid(config)
        assert run.tisim(config) == pytest.approx(theirs, rel=1e-12)
        far.append(theirs[2])
    return far


def test_the_last_bit_of_a_latency_decides_on_a_fat_pipe(tmp_path: Path) -> None:
    far = ends_of_the_far_pair(tmp_path, {"network/crosstraffic": "0"})
    assert min(far) < 0.0167
    assert max(far) > 0.0205


def test_without_gamma_a_full_fat_pipe_holds_back_all_flows(tmp_path: Path) -> None:
    config = {"network/crosstraffic": "0", "network/TCP-gamma": "0"}
    assert min(ends_of_the_far_pair(tmp_path, config)) > 0.0205


# -- docs/adr/0011-two-mailboxes.md -------------------------------------------------------------

SMALL, LARGE = "10", "100000"
RECEIVES = [f"irecv 0 1 {SMALL}", f"irecv 0 1 {LARGE}"]
EAGER = {"smpi/async-small-thresh": "1000"}


def test_a_large_message_after_a_small_one_is_never_received(tmp_path: Path) -> None:
    sender = ["sleep 0.001", f"send 1 1 {SMALL}", f"send 1 1 {LARGE}"]
    run = Run(tmp_path, [sender, [*RECEIVES, "waitall"]])
    with pytest.raises(OracleError, match="Deadlock"):
        run.simgrid(EAGER)
    assert run.tisim(EAGER) == pytest.approx(run.simgrid({}), rel=1e-6)


def test_a_message_is_cut_because_another_took_its_buffer(tmp_path: Path) -> None:
    sender = ["sleep 0.001", f"send 1 1 {SMALL}", "send 1 1 100"]
    run = Run(tmp_path, [sender, [*RECEIVES, "waitall"]])
    with pytest.raises(OracleError, match="MPI_ERR_TRUNCATE"):
        run.simgrid(EAGER)
    assert run.tisim(EAGER) == pytest.approx(run.simgrid({}), rel=1e-6)


def test_a_receive_waits_for_the_second_message(tmp_path: Path) -> None:
    sender = ["sleep 0.001", f"send 1 1 {SMALL}", "compute 1e7", f"send 1 1 {SMALL}"]
    run = Run(tmp_path, [sender, [*RECEIVES, "wait 0 1 1", "compute 1e7"]])
    by_mpi = run.simgrid({})[1]
    assert by_mpi == pytest.approx(0.01104, rel=1e-3)
    assert run.simgrid(EAGER)[1] == pytest.approx(by_mpi + 0.01, rel=1e-3)
    assert run.tisim(EAGER)[1] == pytest.approx(by_mpi, rel=1e-6)


# -- docs/adr/0012-one-instant.md ---------------------------------------------------------------


def failed_tests(ranks: int, before: Sequence[str] = ()) -> list[list[str]]:
    """Return ranks that test twice at the same instant: the second duration shows who was first."""
    programs = []
    for rank in range(ranks):
        actions = [f"irecv {ranks} 6 8", *before, *[f"test {ranks} {rank} 6"] * 2]
        programs.append([*actions, f"compute {10_000_000 + 10_000 * rank}"])
    sends = [f"isend {rank} 6 8" for rank in range(ranks)]
    return [*programs, ["sleep 0.0005", *sends]]


@pytest.mark.parametrize(
    "hosts",
    [
        ["h0", "h1", "h2", "h3", "h4"],
        ["h0", "h0", "h0", "h0", "h1"],
        ["h0", "h0", "h2", "h2", "h1"],
    ],
)
@pytest.mark.parametrize("before", [[], ["compute 1000"], ["sleep 1e-6"]])
def test_who_is_first_at_one_instant(hosts: list[str], before: list[str], tmp_path: Path) -> None:
    run = Run(tmp_path, failed_tests(4, before), hosts)
    theirs = run.simgrid({})
    assert len({round(end, 9) for end in theirs[:4]}) == 4
    assert run.tisim({}) == pytest.approx(theirs, rel=1e-12)


# -- docs/adr/0003-exact-shares.md --------------------------------------------------------------


@pytest.mark.parametrize("trace", ["mg.S.16", "cg.S.16"])
def test_lazy_shares_are_stale(trace: str, root: Path, nas_traces: Path) -> None:
    platform, hosts = root / "platforms" / "graphene.xml", root / "platforms" / "graphene.hosts"
    full = run_oracle(platform, hosts, nas_traces / trace)
    lazy = run_oracle(platform, hosts, nas_traces / trace, ["network/optim:Lazy"])
    ours = tisim.replay(
        nas_traces / trace, platform=platform, hosts=hosts.read_text().split()
    ).finish.tolist()
    assert ours == pytest.approx(full, rel=1e-9)
    assert lazy != pytest.approx(full, rel=1e-6)


# -- docs/adr/0014-calls-simgrid-cannot-do.md ------------------------------------------------------


def test_an_empty_message_has_overheads(tmp_path: Path) -> None:
    """SimGrid 4.1 with plain tables gives the times of 3.32 with tables that begin with zeros."""
    row = "8.93009e-06:7.654382e-10;1420:1.396843e-05:2.974094e-10"
    plain = {f"smpi/{name}": f"0:{row}" for name in ("os", "ois", "or")}
    as_4 = dict.fromkeys(plain, f"0:0:0;0.5:{row}")
    empty = Run(tmp_path / "empty", [["barrier", "send 1 0 0 6"], ["barrier", "recv 0 0 0 6"]])
    byte = Run(tmp_path / "byte", [["send 1 0 1 6"], ["recv 0 0 1 6"]])
    for run in (empty, byte):
        for config in (plain, as_4):
            assert run.tisim(config) == pytest.approx(run.simgrid(config), rel=1e-9)
    assert max(empty.tisim(as_4)) < max(empty.tisim(plain)) - 4 * 8.93e-6
    assert byte.tisim(as_4) == byte.tisim(plain)


# -- docs/adr/0014-calls-simgrid-cannot-do.md ---------------------------------------------------


@pytest.mark.parametrize("selector", ["mvapich2", "impi"])
def test_two_reductions_at_once_change_each_other(tmp_path: Path, selector: str) -> None:
    hosts = [f"h{rank // 2}" for rank in range(16)]
    config = {"smpi/coll-selector": selector}
    calls = ["reduce 50000 0 0 6", "reduce 1000000 0 0 6"]
    at_once = Run(tmp_path / "at_once", [calls] * 16, hosts)
    apart = Run(tmp_path / "apart", [[calls[0], "barrier", calls[1]]] * 16, hosts)
    assert apart.tisim(config) == pytest.approx(apart.simgrid(config), rel=1e-9)
    assert at_once.tisim(config) != pytest.approx(at_once.simgrid(config), rel=1e-3)
