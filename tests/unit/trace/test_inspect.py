"""Results of `tisim inspect`, compared with `tisim check` and the lines of the text."""

from __future__ import annotations

import json
import math
import os
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import tisim
from tests.support import NPB, ROOT
from tests.unit.command_line import CommandLine
from tisim.errors import InputError
from tisim.platform import new
from tisim.traces import Inspection, Trace, check, inspect, pack
from tisim.traces.generate import (
    Halo2D,
    Halo3D,
    Pattern,
    Ring,
    RingAllreduce,
    Sparse,
    Transpose,
    TreeAllreduce,
    Wavefront,
)
from tisim.traces.phases import phases_of

NAS = ("lu.S.4", "cg.S.16", "mg.S.16", "is.S.16", "ft.S.16", "ep.S.16", "lu.S.4.simgrid")
MARKERS = ("init", "finalize", "location", "comm_size")
PATTERNS: tuple[Pattern, ...] = (
    Ring(ranks=5, iterations=7),
    Halo2D(ranks=12, iterations=5, nbytes=(64, 128), imbalance=0.2),
    Halo3D(ranks=27, iterations=9, noise=0.3, allreduce=8),
    Wavefront(ranks=12, iterations=3, planes=5, imbalance=0.1),
    Transpose(ranks=8, iterations=4),
    RingAllreduce(ranks=6, iterations=3),
    TreeAllreduce(ranks=9, iterations=3, noise=0.1),
    Sparse(ranks=20, degree=4, nbytes=(64, 1048576), seed=3),
)


def lines_of(directory: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the rank and the words of each line with an action."""
    for path in sorted(directory.rglob("*")):
        if not path.is_file():
            continue
        for line in path.read_text().splitlines():
            words = line.split()
            if len(words) > 1 and words[0].isdecimal() and not words[1].startswith("#"):
                yield int(words[0]), words[1:]


def agrees_with_check(inspection: Inspection, trace: Trace) -> None:
    report = check(trace)
    assert report.sound
    assert inspection.complete
    assert inspection.unreadable == 0
    assert (inspection.ranks, inspection.dialect, inspection.actions) == (
        report.ranks,
        report.dialect,
        report.actions,
    )
    counted = {count.name: count for count in inspection.by_action if count.name not in MARKERS}
    expected = {count.name: count for count in report.counts if "init" not in count.name.split(",")}
    assert counted.keys() == expected.keys() - {"init, finalize and similar"}
    for name, count in counted.items():
        said = expected[name]
        assert (count.actions, count.messages, count.bytes) == (
            said.actions,
            said.messages,
            said.bytes,
        )
        assert count.amount == pytest.approx(said.amount, rel=1e-9)
    assert sum(count.actions for count in inspection.by_action) == report.actions


def adds_up(inspection: Inspection) -> None:
    """Check that sites, signatures and classes add up to the same calls."""
    computed = {count.name: count for count in inspection.by_action}.get("compute")
    volumes = [site.volumes for site in inspection.sites]
    assert sum(volume.count for volume in volumes) == (computed.actions if computed else 0)
    assert math.fsum(volume.sum for volume in volumes) == pytest.approx(
        computed.amount if computed else 0.0, rel=1e-9
    )
    for site in inspection.sites:
        for values in (site.bytes, site.volumes):
            assert sum(times for _, _, times in values.histogram) == values.count
            if values.count:
                assert values.least <= values.mean * (1 + 1e-12)
                assert values.mean <= values.most * (1 + 1e-12)
                assert values.histogram[0][0] <= values.least < values.histogram[0][1]
                assert values.histogram[-1][0] <= values.most < values.histogram[-1][1]
    assert sum(row.ranks for row in inspection.classes) == inspection.ranks
    by_class = sum(row.ranks * row.calls for row in inspection.classes)
    assert by_class >= sum(signature.calls for signature in inspection.signatures)


def counts_of_lines(directory: Path) -> Counter[str]:
    return Counter(words[0].lower() for _, words in lines_of(directory))


@pytest.mark.parametrize("name", NAS)
def test_real_traces(nas_traces: Path, tmp_path: Path, name: str) -> None:
    pack(nas_traces / name, tmp_path / "x.tit")
    inspection = inspect(tmp_path / "x.tit", statistics=True)
    agrees_with_check(inspection, Trace.open(nas_traces / name))
    adds_up(inspection)
    counted = {count.name.lower(): count.actions for count in inspection.by_action}
    assert counted == counts_of_lines(nas_traces / name)


@pytest.mark.parametrize("name", ["is.A.32", "lu.A.8"])
def test_large_traces(tmp_path: Path, name: str) -> None:
    archive = ROOT / "traces" / f"{name}.tar.xz"
    inspection = inspect(archive, statistics=True)
    agrees_with_check(inspection, Trace.open(archive))
    adds_up(inspection)


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: type(pattern).__name__)
def test_generated_traces(tmp_path: Path, pattern: Pattern) -> None:
    pattern.write(tmp_path / "text")
    inspection = inspect(tmp_path / "text", statistics=True)
    assert not inspection.packed
    agrees_with_check(inspection, Trace.open(tmp_path / "text"))
    adds_up(inspection)
    counted = {count.name: count.actions for count in inspection.by_action}
    assert counted == counts_of_lines(tmp_path / "text")


@pytest.mark.parametrize("iterations", [10, 1000])
def test_a_halo_exchange_is_one_loop(tmp_path: Path, iterations: int) -> None:
    Halo3D(ranks=64, iterations=iterations, allreduce=8).write(tmp_path / "text")
    pack(tmp_path / "text", tmp_path / "halo.tit")
    inspection = inspect(tmp_path / "halo.tit")
    assert inspection.packed
    assert inspection.nbytes == (tmp_path / "halo.tit").stat().st_size
    # The loop may begin in the middle of an iteration.
    for row in inspection.classes:
        assert row.longest_loop in (iterations - 1, iterations)
    main = inspection.loops[0]
    assert main.iterations in (iterations - 1, iterations)
    assert dict(main.actions).keys() == {"compute", "irecv", "isend", "waitall", "allreduce"}
    assert sum(times for _, times in main.actions) == main.calls
    loops = [phase for phase in phases_of(inspection.classes[0]) if phase.iterations > 1]
    assert [phase.iterations for phase in loops] == [inspection.classes[0].longest_loop]
    assert all(phase.whole for phase in phases_of(inspection.classes[0]))


def test_phases_have_all_calls(nas_traces: Path) -> None:
    for name in ("lu.S.4", "mg.S.16"):
        for row in inspect(nas_traces / name).classes:
            if row.outline:
                phases = phases_of(row)
                assert sum(phase.iterations * phase.calls for phase in phases) == row.calls


def test_calls_relative_to_the_rank(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("0 init\n0 send 1 5 100\n0 finalize\n")
    (tmp_path / "b").write_text("1 init\n1 recv 0 5 100\n1 finalize\n")
    inspection = inspect(tmp_path)
    texts = {signature.text: signature.calls for signature in inspection.signatures}
    assert texts == {"init": 2, "finalize": 2, "send rank+1 5 100": 1, "recv 0 5 100": 1}
    assert {site.text for site in inspection.sites} == {
        "init",
        "finalize",
        "send <peer> 5 100",
        "recv <peer> 5 100",
    }


def test_volumes_in_columns_are_read_for_statistics_only(nas_traces: Path, tmp_path: Path) -> None:
    pack(nas_traces / "lu.S.4", tmp_path / "x.tit")
    without = inspect(tmp_path / "x.tit")
    complete = inspect(tmp_path / "x.tit", statistics=True)
    assert not without.complete
    assert complete.complete
    assert without.flops < complete.flops
    counts = [
        [(count.name, count.actions) for count in found.by_action] for found in (without, complete)
    ]
    assert counts[0] == counts[1]


def test_statistics_of_a_site(nas_traces: Path) -> None:
    """The volumes before each kind of call are those in the text."""
    volumes: dict[str, list[float]] = {}
    computed: dict[int, float] = {}
    for rank, words in lines_of(nas_traces / "lu.S.4"):
        if words[0].lower() == "compute":
            computed[rank] = float(words[1])
        elif rank in computed:
            volumes.setdefault(words[0].lower(), []).append(computed.pop(rank))
    inspection = inspect(nas_traces / "lu.S.4", statistics=True)
    for action, expected in volumes.items():
        sites = [
            site.volumes
            for site in inspection.sites
            if f"{site.text} ".lower().startswith(f"{action} ")
        ]
        assert sum(site.count for site in sites) == len(expected)
        assert math.fsum(site.sum for site in sites) == pytest.approx(math.fsum(expected), rel=1e-9)
        filled = [site for site in sites if site.count]
        assert min(site.least for site in filled) == min(expected)
        assert max(site.most for site in filled) == max(expected)
        bins: Counter[float] = Counter()
        for site in filled:
            bins.update({upper: times for _, upper, times in site.histogram})
        assert bins == Counter(
            2.0 ** math.frexp(volume)[1] if volume >= 1 else 1.0 for volume in expected
        )


def test_every_form_of_a_trace(nas_traces: Path, tmp_path: Path) -> None:
    """Text, an archive and a packed file give the same results except for name and kind of file."""
    pack(nas_traces / "cg.S.16", tmp_path / "packed.tit")
    sources = (
        nas_traces / "cg.S.16",
        NPB / "cg.S.16",
        tmp_path / "packed.tit",
    )
    found = [inspect(source, statistics=True).to_dict() for source in sources]
    for said in found:
        del said["name"], said["packed"]
    # Only the directory has the file that lists the others.
    for said in found:
        del said["nbytes"], said["sections"]
    assert all(said == found[0] for said in found)


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    text = "0 open 0 f\n0 write 0 10\n0 close 0\n0 compute 5\n"
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=lambda: (tmp_path / "pipe").write_text(text))
    writer.start()
    inspection = inspect(tmp_path / "pipe")
    writer.join()
    assert (inspection.actions, len(inspection.files)) == (4, 1)


def test_messages_of_type_double(tmp_path: Path) -> None:
    """An `init` with an argument makes double the default type of the subsequent actions."""
    (tmp_path / "x").write_text(
        "0 bcast 100\n1 bcast 100\n0 init 1\n1 init 1\n0 bcast 100\n1 bcast 100\n"
    )
    inspection = inspect(tmp_path / "x")
    sizes = next(site.bytes for site in inspection.sites if site.text == "bcast 100")
    assert (sizes.count, sizes.least, sizes.most, sizes.sum) == (4, 100, 800, 1800)


def test_persistent_requests(tmp_path: Path) -> None:
    """The messages of `start` and `startall` depend on the persistent requests."""
    lines = []
    for rank in range(4):
        to, source = (rank + 1) % 4, (rank - 1) % 4
        lines += [
            f"{rank} send_init {to} 1 {100 + rank}",
            f"{rank} recv_init {source} 1 {100 + source}",
            *(f"{rank} startall 2\n{rank} waitall 2" for _ in range(10)),
            f"{rank} start {rank} {to} 1",
            f"{rank} start {source} {rank} 1",
            f"{rank} waitall 2",
            f"{rank} finalize",
        ]
    (tmp_path / "x").write_text("\n".join(lines) + "\n")
    inspection = inspect(tmp_path / "x", statistics=True)
    agrees_with_check(inspection, Trace.open(tmp_path / "x"))
    assert inspection.messages == 4 * 11


def test_accesses_of_windows_are_messages(tmp_path: Path) -> None:
    """Accesses to MPI_PROC_NULL do not count."""
    lines = []
    for rank in range(4):
        lines += [
            *(f"{rank} win_create 0 4096", f"{rank} win_fence 0"),
            *(f"{rank} put 0 {(rank + 1) % 4} 10 0", f"{rank} put 0 -666 10 0"),
            *(f"{rank} get 0 {rank} 7 6", f"{rank} accumulate 0 {(rank + 2) % 4} {1 + rank} 6"),
            *(f"{rank} win_fence 0", f"{rank} win_free 0"),
        ]
    (tmp_path / "x").write_text("\n".join(lines) + "\n")
    inspection = inspect(tmp_path / "x", statistics=True)
    agrees_with_check(inspection, Trace.open(tmp_path / "x"))
    assert inspection.messages == 4 * 3


def test_actions_of_the_users_own_are_counted(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("0 checkpoint 5\n1 checkpoint 5\n0 barrier\n1 barrier\n")
    inspection = inspect(tmp_path / "x")
    assert {count.name: count.actions for count in inspection.by_action} == {
        "checkpoint": 2,
        "barrier": 2,
    }
    assert inspection.unreadable == 2


def test_no_such_trace(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such"):
        inspect(tmp_path / "none.tit")


def test_the_command(tisim: CommandLine, tmp_path: Path) -> None:
    Halo3D(ranks=27, iterations=50, imbalance=0.1).write(tmp_path / "text")
    pack(tmp_path / "text", tmp_path / "halo.tit")
    ran = tisim("inspect", "--statistics", str(tmp_path / "halo.tit"))
    assert ran.status == 0
    for title in ("bytes by part", "actions", "classes of ranks", "loops", "call signatures"):
        assert f"\n{title}:\n" in ran.out
    assert "\ncall sites:\n" in ran.out
    assert "27 ranks" in ran.out
    ran = tisim("inspect", "--json", "-", str(tmp_path / "text"))
    said = json.loads(ran.out)
    assert said["ranks"] == 27
    assert not said["packed"]
    assert {"loops", "classes", "signatures", "sites", "sections"} <= said.keys()


LINES = """\
0 open 0 shared wc layer=posix
0 file_open 1 shared wc layer=mpi
0 compute 1e9
0 pwrite 0 1000000 0 layer=posix
0 pwrite 0 1000000 5000000 layer=posix
0 file_iwrite_at 1 2000000 0 request=0 layer=mpi
0 isend 0 1 10 request=1
0 irecv 0 1 10 request=2
0 waitall requests=0,1,2 layer=mpi
0 waitall requests=1,2 layer=posix # beneath
0 file_close 1 layer=mpi
0 close 0 layer=posix
"""


def _times(trace: Path) -> tuple[float, float]:
    platform = new.cluster(
        1, bandwidth="1Gbps", latency="1us", speed="1Gf", disk="read=1MBps,write=1MBps"
    )
    upper, lower = (
        tisim.replay(trace, platform=platform, config=tisim.Config({"tisim/io-layer": layer}))
        for layer in ("mpi", "posix")
    )
    return upper.simulated_time, lower.simulated_time


def test_a_replay_takes_one_layer_of_text_and_of_packed_traces(tmp_path: Path) -> None:
    text = tmp_path / "both.txt"
    text.write_text(LINES)
    assert check(tisim.Trace.open(text)).sound
    packed = tmp_path / "both.tit"
    pack(text, packed)
    assert _times(text) == _times(packed)
    for alone, time in zip(("mpi", "posix"), _times(text), strict=True):
        lines = (line.partition(" # ")[0] for line in LINES.splitlines())
        apart = (line.partition(" layer=") for line in lines)
        only = "".join(f"{line}\n" for line, _, layer in apart if layer in ("", alone))
        (tmp_path / f"{alone}.txt").write_text(only)
        assert _times(tmp_path / f"{alone}.txt") == (time, time)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("open 0 a wc layer=hdf5", "the layer 'hdf5' is neither mpi nor posix"),
        ("open 0 a wc layer=", "the layer '' is neither mpi nor posix"),
        ("open a wc layer=posix", "handle"),  # ignored arguments are checked, too
        ("send 0 1 10 layer=mpi", "type 'layer=mpi' is not a number"),
    ],
)
def test_wrong_layers_are_refused(line: str, message: str, tmp_path: Path) -> None:
    trace = tmp_path / "wrong.txt"
    trace.write_text(f"0 {line}\n")
    found = check(tisim.Trace.open(trace)).findings
    assert message in found[0].message
