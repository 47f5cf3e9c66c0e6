"""Decisions of the MPI library: measured, written into the platform, and replayed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.support import platform_file
from tests.unit.calibration.test_calibration_contention import BANDWIDTH, written
from tests.unit.command_line import CommandLine
from tisim.errors import InputError
from tisim.platform import Platform, new
from tisim.studies.calibration import calibrate, read_measurements
from tisim.studies.calibration.library import LibraryFacts, library_facts
from tisim.studies.calibration.platform_file import PlatformFile
from tisim.studies.uncertainty.bootstrap import draw_sets

OPEN_MPI = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4"
IN_ORDER = {
    "network/ordering": "fifo",
    "tisim/jitter-start": "0.0003",
    "tisim/jitter-size": "0.005",
    "network/crosstraffic": "no",
    "network/send-buffer": "180000",
}
#: The same, with a round trip of 20 us for short messages, as in `measured`.
MEASURED = {**IN_ORDER, "tisim/jitter-barrier": "8.01e-05"}
NBYTES = 1 << 15
DELAY = 2e-3  # of a network with a long latency relative to its bandwidth


def measured(folder: Path, *, first: float, library: str = OPEN_MPI) -> Path:
    """Write a file of `tisim benchmark`; the first of 8 messages arrives after `first` of 2 ms."""
    file = written(folder, shift=1.0)
    rows = [
        f"arrival,{NBYTES},1,1,{seconds},a,b,pair,{messages}\n"
        for messages, seconds in ((1, 0.002 * first), (8, 0.002))
    ]
    comment = f"# library: {library}\n" if library else ""
    file.write_text(comment + file.read_text() + "".join(rows))
    return file


@pytest.mark.parametrize(
    ("name", "selector"),
    [
        (OPEN_MPI, "openmpi-4.1"),
        ("Open MPI v5.0.3, package: x", "openmpi-5.0"),
        ("MPICH Version:\t4.0.2", "mpich-4"),
        ("MPICH Version:\t3.4.1", "mpich"),
        ("MVAPICH2 Version      :\t2.3.7", "mvapich2"),
        ("Intel(R) MPI Library 2021.6 for Linux* OS", "impi"),
        ("Open MPI v1.10.7", None),
        ("Cray MPICH", None),
        (None, None),
    ],
)
def test_the_selector_of_a_library(name: str | None, selector: str | None) -> None:
    assert LibraryFacts(name, None).selector == selector


def test_ranks_notice_within_four_round_trips_that_a_barrier_is_over(tmp_path: Path) -> None:
    file = measured(tmp_path, first=0.1)
    trips = [f"pingpong,{nbytes},1,1,4e-5,a,b,pair,1\n" for nbytes in (1, 8)]
    lines = [line for line in file.read_text().splitlines(True) if "pingpong" not in line]
    file.write_text("".join([*lines, *trips]))
    facts = library_facts(read_measurements([file]))
    assert facts.round_trip == pytest.approx(4e-5)
    assert facts.options()["tisim/jitter-barrier"] == "0.00016"
    assert "tisim/jitter-barrier" not in LibraryFacts(OPEN_MPI, 0.1).options()


def test_receivers_of_mpich_acknowledge_what_they_have_read() -> None:
    found = LibraryFacts("MPICH Version: 4.0.2", 0.1).options()
    expected = {
        **IN_ORDER,
        "smpi/coll-selector": "mpich-4",
        "smpi/rendezvous": "put-ack",
        "smpi/rma": "mpich",
    }
    del expected["network/send-buffer"]
    assert found == expected
    assert "smpi/rendezvous" not in LibraryFacts("MPICH Version: 4.0.2", 0.9).options()
    assert "smpi/rma" not in LibraryFacts(OPEN_MPI, 0.9).options()


@pytest.mark.parametrize(("library", "trips"), [(OPEN_MPI, 3), ("MPICH Version: 4.0.2", 5)])
def test_control_messages_of_a_rendezvous_take_their_own_time(
    tmp_path: Path, library: str, trips: int
) -> None:
    """A rendezvous takes 3 or 5 latencies, one of them for the body."""
    file = measured(tmp_path, first=0.1, library=library)
    is_timed = ("pingpong", "idle_pingpong", "stream")
    lines = [line for line in file.read_text().splitlines() if not line.startswith(is_timed)]
    for nbytes in np.unique(np.geomspace(1, 1e6, 40).astype(int)).tolist():
        waits = nbytes > NBYTES
        one_way = (trips if waits else 1) * DELAY + nbytes / BANDWIDTH
        end = "a,b,pair,1"
        lines += [f"pingpong,{nbytes},1,1,{2 * one_way!r},{end}"] * 7
        lines += [f"send,{nbytes},1,1,{one_way if waits else 1e-6!r},{end}"] * 7
    file.write_text("\n".join([*lines, ""]))
    calibration = calibrate(
        read_measurements([file]), bandwidth=BANDWIDTH, latency=DELAY / 2, nodes=4
    )
    assert calibration.failing().empty
    errors = calibration.errors()
    assert errors[errors["operation"] == "pingpong"]["error"].abs().max() < 0.01
    assert [factor.latency for factor in calibration.factors] == pytest.approx([1, 1], rel=0.05)
    for drawn in draw_sets(calibration, 2).sets:
        last = drawn["smpi/lat-factor"].rpartition(":")[2]
        assert float(last) == pytest.approx(1, rel=0.05)


def test_a_calibrated_platform_has_what_was_measured(tmp_path: Path) -> None:
    calibration = calibrate(read_measurements([measured(tmp_path, first=0.15)]), nodes=4)
    calibration.platform.write(tmp_path / "p.xml")
    assert calibration.to_dict()["library"] == OPEN_MPI
    expected = {"smpi/coll-selector": "openmpi-4.1", "smpi/rma": "openmpi", **MEASURED}
    assert calibration.to_dict()["options"] == expected
    platform = Platform.load(tmp_path / "p.xml")
    assert expected.items() <= platform.config.items()
    # SimGrid rejects options that it does not know.
    config = (tmp_path / "p.xml").read_text().partition("</config>")[0]
    assert not [name for name in expected if name in config]


@pytest.mark.parametrize(
    ("first", "library", "options"),
    [
        (1.0, OPEN_MPI, {"smpi/coll-selector": "openmpi-4.1", "network/ordering": "fair"}),
        (0.2, "", MEASURED),
        (0.2, "Another MPI", MEASURED),
    ],
)
def test_options_that_follow(
    tmp_path: Path, first: float, library: str, options: dict[str, str]
) -> None:
    calibration = calibrate(read_measurements([measured(tmp_path, first=first, library=library)]))
    assert calibration.library.options() == options


def test_without_either_nothing_is_set(tmp_path: Path) -> None:
    calibration = calibrate(read_measurements([written(tmp_path, shift=1.0)]))
    assert calibration.library.options() == {}
    assert "smpi/coll-selector is not set" in calibration.library.text()


def test_tests_and_probes_cost_what_was_measured(tmp_path: Path) -> None:
    path = measured(tmp_path, first=0.2, library=OPEN_MPI)
    polled = ("test,0,1,1,1e-6", "test,0,1,1,3e-6", "test,0,1,1,9e-3", "iprobe,0,1,1,2e-6")
    rest = ",a,b,pair,1"
    path.write_text(path.read_text().rstrip() + "\n" + "\n".join(row + rest for row in polled))
    calibrate(read_measurements([path])).platform.write(tmp_path / "p.xml")
    config = Platform.load(tmp_path / "p.xml").config
    assert config["smpi/test"] == "3e-06" and config["smpi/iprobe"] == "2e-06"
    assert config["smpi/grow-injected-times"] == "no"


def test_work_in_memory_costs_what_the_nearest_size_does(tmp_path: Path) -> None:
    path = measured(tmp_path, first=0.2, library=OPEN_MPI)
    rows = ("copy,100,1,1,1e-7", "copy,100,1,1,3e-7", "copy,100,1,1,9", "copy,10000,1,1,1e-5")
    rows += ("copy,0,1,1,1e-7", "combine,0,1,1,1e-7")  # no bytes: no time per byte
    rest = ",a,b,pair,1"
    path.write_text(path.read_text().rstrip() + "\n" + "\n".join(row + rest for row in rows))
    calibrate(read_measurements([path])).platform.write(tmp_path / "p.xml")
    config = Platform.load(tmp_path / "p.xml").config
    assert config["smpi/copy"] == "0:0:3e-09;1000:0:1e-09"
    assert "smpi/combine" not in config


def test_measurements_of_two_libraries_are_refused(tmp_path: Path) -> None:
    files = []
    for number, library in enumerate((OPEN_MPI, "MPICH Version: 4.0.2")):
        folder = tmp_path / str(number)
        folder.mkdir()
        files.append(measured(folder, first=0.2, library=library))
    with pytest.raises(InputError, match="different MPI libraries"):
        read_measurements(files)


def test_a_replay_uses_them_below_the_command_line(tisim: CommandLine) -> None:
    """Two messages in order: the first receive ends earlier than if they shared the link."""
    trace = tisim.trace(
        "init; Isend 1 0 1000000; Isend 1 0 1000000; waitall; finalize",
        "init; recv 0 0 1000000; compute 1e9; recv 0 0 1000000; finalize",
    )
    plain = tisim.write("plain.xml", _platform(""))
    with_options = tisim.write("options.xml", _platform("fifo"))
    fair, fifo = (
        tisim.replay("--json", "-", *more, trace, platform=plain).out
        for more in ((), ("--config", "network/ordering=fifo"))
    )
    assert _time(fair) != _time(fifo)
    assert _time(tisim.replay("--json", "-", trace, platform=with_options).out) == _time(fifo)
    overridden = ("--config", "network/ordering=fair", trace)
    assert _time(tisim.replay("--json", "-", *overridden, platform=with_options).out) == _time(fair)


def _time(text: str) -> float:
    return float(json.loads(text)["simulated_time"])


def _platform(ordering: str) -> str:
    prop = f'<prop id="tisim/config/network/ordering" value="{ordering}"/>' if ordering else ""
    return (
        '<platform version="4.1"><cluster id="c" prefix="c-" suffix="" radical="0-1" speed="1Gf" '
        f'bw="100MBps" lat="4us">{prop}</cluster></platform>'
    )


def test_a_property_of_an_inner_zone_is_refused(tmp_path: Path) -> None:
    platform_file(
        tmp_path, f'<zone id="z" routing="Full">{_platform("fifo")[24:-11]}</zone>', name="p.xml"
    )
    with pytest.raises(InputError, match="must be a property of the outermost zone"):
        Platform.load(tmp_path / "p.xml")


def test_a_wrong_value_is_named_with_its_line(tisim: CommandLine) -> None:
    platform = tisim.write("p.xml", _platform("sorted").replace("<prop", "\n<prop"))
    outcome = tisim.replay(tisim.trace("init; finalize"), platform=platform)
    assert outcome.status == 2
    assert "p.xml:2: option network/ordering" in outcome.err


@pytest.mark.parametrize("pfs", [None, "servers=1,read=1GBps,write=1GBps"])
def test_a_new_platform_carries_them_over(tmp_path: Path, pfs: str | None) -> None:
    (tmp_path / "m.xml").write_text(_platform("fifo"))
    made = new.cluster(8, calibrated=tmp_path / "m.xml", pfs=pfs)
    made.write(tmp_path / "new.xml")
    again = Platform.load(tmp_path / "new.xml")
    assert [(item.key, item.in_zone) for item in again.config_items] == [("network/ordering", True)]


def test_older_options_of_a_zone_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "p.xml").write_text(_platform("fair"))
    file = PlatformFile.read(tmp_path / "p.xml")
    assert file.set_options({"network/ordering": "fifo"})
    assert dict(file.load().config) == {"network/ordering": "fifo"}
