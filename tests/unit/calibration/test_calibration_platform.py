"""Calibrated values in a platform file, warnings about them, the report and the picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import tisim
from tests.unit.calibration.test_calibration_contention import found_in, written
from tisim.config.table import NetworkModel
from tisim.errors import InputError
from tisim.studies.calibration import Calibration, Measurements, Route, calibrate, read_measurements
from tisim.studies.calibration.platform_file import NOMINAL_HOSTS, PlatformFile, config_block
from tisim.studies.calibration.report import figure, report
from tisim.studies.calibration.simulation import simulate

PLATFORM = """\
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<!-- kept -->
<platform version="4.1">
  <config id="General">
    <prop id="smpi/async_small_thres" value="1"/>
    <prop id="network/crosstraffic" value="0"/>
    <prop id="network/bandwidth-factor" value="0.9"/>
    <prop id="smpi/bw_factor" value="0:0.8"/>
  </config>
  <zone id="world" routing="Full">
    <cluster id="one" prefix="a-" suffix=".x" radical="0-3,8" speed="1Gf" bw="1GBps" lat="1us"/>
    <cluster id="two" prefix="b-" suffix="" radical="0-3" speed="1Gf" bw="1GBps" lat="1us"/>
    <cluster id="slow" prefix="c-" suffix="" radical="0-3" speed="1Gf" bw="1MBps" lat="1us"/>
  </zone>
</platform>
"""
HOSTS = """\
<platform version="4.1">
  <zone id="world" routing="Full">
    <host id="h0" power="1Gf"><prop id="smpi/os" value="0:1:0"/></host>
    <host id="h1" speed="1Gf"/>
  </zone>
</platform>
"""
SETTINGS = {"smpi/async-small-thresh": "100", "smpi/bw-factor": "0:0.5"}


@pytest.fixture
def file(tmp_path: Path) -> PlatformFile:
    path = tmp_path / "platform.xml"
    path.write_text(PLATFORM)
    return PlatformFile.read(path)


def test_settings_replace_older_ones_in_any_spelling(file: PlatformFile, tmp_path: Path) -> None:
    file.configure(SETTINGS)
    file.write(tmp_path / "out.xml")
    config = tisim.Platform.load(tmp_path / "out.xml").config
    assert dict(config) == {"network/crosstraffic": "0", **SETTINGS}
    text = (tmp_path / "out.xml").read_text()
    assert "<!-- kept -->\n<platform" in text
    assert text.count("DOCTYPE platform") == 1


def test_a_config_is_made_where_there_is_none(tmp_path: Path) -> None:
    (tmp_path / "p.xml").write_text(HOSTS)
    file = PlatformFile.read(tmp_path / "p.xml")
    file.configure(SETTINGS)
    lines = file.to_bytes(tmp_path).decode().splitlines()
    assert lines[2:7] == [
        '<platform version="4.1">',
        '  <config id="General">',
        '    <prop id="smpi/async-small-thresh" value="100"/>',
        '    <prop id="smpi/bw-factor" value="0:0.5"/>',
        "  </config>",
    ]


def test_writing_twice_gives_the_same(file: PlatformFile, tmp_path: Path) -> None:
    file.configure(SETTINGS)
    file.write(tmp_path / "1.xml")
    again = PlatformFile.read(tmp_path / "1.xml")
    again.configure(SETTINGS)
    again.write(tmp_path / "2.xml")
    assert (tmp_path / "1.xml").read_bytes() == (tmp_path / "2.xml").read_bytes()


def test_hosts_are_found_in_their_cluster(file: PlatformFile) -> None:
    found = {host: file.cluster_of(host) for host in ("a-8.x", "b-0", "a-4.x", "a-8", "nobody")}
    assert [cluster is not None and cluster.get("id") for cluster in found.values()] == [
        "one",
        "two",
        False,
        False,
        False,
    ]


def test_clusters_of_the_same_links_get_the_same_limiter(
    file: PlatformFile, tmp_path: Path
) -> None:
    assert file.set_limiters(("a-0.x", "a-1.x"), 1.5e9)
    assert file.to_bytes(tmp_path).count(b'limiter_link="1.5e+09Bps"') == 2
    assert not file.set_limiters(("a-0.x", "nobody"), 1.7e9)
    assert b"1.7e+09" not in file.to_bytes(tmp_path)


def test_hosts_with_overheads_of_their_own_are_told(tmp_path: Path) -> None:
    (tmp_path / "p.xml").write_text(HOSTS)
    assert PlatformFile.read(tmp_path / "p.xml").overriding_hosts() == ["h0"]


def test_speeds(tmp_path: Path) -> None:
    (tmp_path / "p.xml").write_text(HOSTS)
    file = PlatformFile.read(tmp_path / "p.xml")
    file.set_all_speeds(2e9)
    assert file.set_speed("h1", 3.5e9)
    assert not file.set_speed("h7", 3.5e9)
    file.write(tmp_path / "out.xml")
    assert [host.speed for host in tisim.Platform.load(tmp_path / "out.xml").hosts] == [2e9, 3.5e9]


def test_files_that_a_platform_names_are_found_from_another_folder(tmp_path: Path) -> None:
    (tmp_path / "p.xml").write_text(HOSTS.replace('speed="1Gf"', 'speed="1Gf" speed_file="s.txt"'))
    (tmp_path / "sub").mkdir()
    content = PlatformFile.read(tmp_path / "p.xml").to_bytes(tmp_path / "sub")
    assert b'speed_file="../s.txt"' in content


def test_the_nominal_platform(tmp_path: Path) -> None:
    file = PlatformFile.nominal(Route(30e-6, 125e6))
    file.write(tmp_path / "p.xml")
    platform = tisim.Platform.load(tmp_path / "p.xml")
    assert tuple(host.name for host in platform.hosts) == NOMINAL_HOSTS
    assert platform.route(*NOMINAL_HOSTS).latency == pytest.approx(30e-6)


def test_the_config_block_can_be_pasted() -> None:
    block = '<config id="General">\n  <prop id="smpi/os" value="0:1:0"/>\n</config>'
    assert config_block({"smpi/os": "0:1:0"}, {}) == block
    assert config_block({"smpi/os": "0:1:0"}, {"network/ordering": "fifo"}) == (
        block + "\n<!-- in the outermost zone or cluster: -->\n"
        '<prop id="tisim/config/network/ordering" value="fifo"/>'
    )


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("<platform>\n<x</platform>", 2, "not XML"),
        ("<deployment/>", None, "must begin with <platform>, not with <deployment>"),
    ],
)
def test_what_is_no_platform(tmp_path: Path, text: str, line: int | None, message: str) -> None:
    (tmp_path / "p.xml").write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        PlatformFile.read(tmp_path / "p.xml")
    assert caught.value.line == line
    with pytest.raises(InputError, match="cannot read the platform"):
        PlatformFile.read(tmp_path / "nowhere.xml")


LATENCY, BANDWIDTH = 1e-6, 8e9


def with_local(folder: Path, extra: float = 0.0) -> Path:
    """Write a file of `tisim benchmark` that includes ping-pongs between two ranks of host a."""
    file = written(folder, shift=1)
    rows = []
    for nbytes in np.unique(np.geomspace(1, 1e6, 30).astype(int)).tolist():
        one_way = LATENCY + nbytes / BANDWIDTH + extra
        rows += [f"pingpong,{nbytes},1,1,{2 * one_way!r},a,a,pair,1"] * 7
    file.write_text(file.read_text() + "\n".join(rows) + "\n")
    return file


def found_with(folder: Path) -> Calibration:
    return found_in(with_local(folder))


def test_the_loopback_is_fitted_and_written(tmp_path: Path) -> None:
    found = found_with(tmp_path)
    assert found.loopback is not None
    assert found.loopback.bandwidth == pytest.approx(BANDWIDTH, rel=0.05)
    assert found.loopback.error < 0.05
    # The factors between hosts do not depend on the loopback.
    (tmp_path / "other").mkdir()
    other = found_in(written(tmp_path / "other", shift=1))
    assert found.factors == other.factors
    assert other.loopback is None
    assert other.to_dict()["loopback"] is None
    # A rank's messages to itself do not use its cable, whether the loopback was measured or not.
    others = other.platform.load().route("host-1", "host-1").links
    assert [link.bandwidth for link in others] == [NetworkModel().loopback_bandwidth]
    found.platform.write(tmp_path / "c.xml")
    text = (tmp_path / "c.xml").read_text()
    assert 'loopback_bw="' in text
    assert '"network/loopback-bw"' in text
    assert any("inside one host" in w or "of the same host" in w for w in found.warnings)


def test_messages_inside_a_host_are_simulated_as_measured(tmp_path: Path) -> None:
    found = found_with(tmp_path)
    sizes = [100, 10_000, 1_000_000]
    times = simulate(found.platform.load(), ("host-1", "host-1"), sizes)["pingpong"].to_numpy()
    assert times == pytest.approx([LATENCY + size / BANDWIDTH for size in sizes], rel=0.1)


Floats = NDArray[np.float64]
SIZES = np.unique(np.geomspace(1, 1e6, 40).astype(int)).astype(np.float64)


def one_way(nbytes: Floats = SIZES) -> Floats:
    return 4e-5 + 8.5e-9 * nbytes


def measured(nbytes: Floats, seconds: Floats, operation: str = "pingpong") -> pd.DataFrame:
    frame = pd.DataFrame({"operation": operation, "bytes": nbytes.astype(int), "seconds": seconds})
    return frame.assign(pairs=1, directions=1, file="made up")


def calibrated(*frames: pd.DataFrame, **options: object) -> Calibration:
    measurements = Measurements(pd.concat(frames, ignore_index=True))
    return calibrate(measurements, bandwidth=125e6, latency=15e-6, **options)  # type: ignore[arg-type]


def warned(calibration: Calibration, words: str) -> bool:
    return any(words in warning for warning in calibration.warnings)


def test_a_good_ping_pong_has_few_warnings() -> None:
    calibration = calibrated(measured(SIZES, one_way()))
    assert [warning.split(":")[0].split(" (")[0] for warning in calibration.warnings] == [
        "no overhead was measured separately",
        "contention was not measured",
        "unsuccessful MPI_Test and MPI_Iprobe were not measured",
        "no ping-pong above 1000000 bytes was measured",
    ]


def test_only_the_polling_that_was_not_measured() -> None:
    tests = measured(np.zeros(3), np.full(3, 1e-6), "test")
    calibration = calibrated(measured(SIZES, one_way()), tests)
    assert warned(calibration, "unsuccessful MPI_Iprobe were not measured")
    assert not warned(calibration, "MPI_Test")


def test_few_sizes_in_a_segment() -> None:
    calibration = calibrated(measured(SIZES, one_way()), breakpoints=[2, 1000])
    assert warned(calibration, "pingpong from 1 to 2 bytes: only 2 sizes were measured")


def test_times_that_do_not_lie_on_a_line() -> None:
    scattered = one_way() * np.where(np.arange(len(SIZES)) % 2, 1.3, 1 / 1.3)
    assert warned(calibrated(measured(SIZES, scattered)), "the residual is 26%")


def test_intra_node_measurements_mixed_in() -> None:
    network = measured(np.repeat(SIZES, 12), np.repeat(one_way(), 12))
    inside = measured(np.repeat(SIZES, 3), np.repeat(one_way() / 20, 3))
    calibration = calibrated(network, inside)
    assert warned(
        calibration, "intra-node measurements mixed in? 20% of the ping-pongs take less than"
    )
    assert not warned(calibrated(network), "intra-node")


def test_a_ping_pong_faster_than_the_wire() -> None:
    assert warned(calibrated(measured(SIZES, one_way() / 20)), "were both processes on one host?")


def test_a_nominal_bandwidth_in_the_wrong_unit() -> None:
    frame = measured(SIZES, one_way())
    calibration = calibrate(Measurements(frame), bandwidth=125, latency=15e-6)
    assert warned(
        calibration, "large messages reach 1.18e+08 bytes/s, the nominal bandwidth is 125"
    )


def test_overheads_that_leave_nothing_for_the_network() -> None:
    send = measured(SIZES, 0.95 * one_way(), "send")
    calibration = calibrated(measured(SIZES, one_way()), send)
    assert warned(calibration, "the overheads alone take at least nine tenths of the ping-pong")
    assert warned(calibration, "not measured: MPI_Isend, MPI_Recv of an arrived message")


def test_transfers_that_contradict_the_ping_pong() -> None:
    transfer = measured(np.array([1e6]), np.array([1e6 / 60e6]), "transfer")
    calibration = calibrated(measured(SIZES, one_way()), transfer)
    assert warned(
        calibration, "single transfers reach 60 MB/s, the last segment of the ping-pong implies"
    )


def test_more_than_two_directions() -> None:
    both = measured(np.array([1e6]), np.array([2e6 / 300e6]), "transfer").assign(directions=2)
    calibration = calibrated(measured(SIZES, one_way()), both)
    assert warned(calibration, "times the bandwidth of one, which is impossible:")
    assert calibration.limiter is None


def test_breakpoints_where_nothing_was_measured() -> None:
    calibration = calibrated(measured(SIZES, one_way()), breakpoints=[1000, 10**7])
    assert warned(calibration, "both sides of 10000000 bytes: these breakpoints are ignored")
    assert calibration.transfer.breakpoints == (1000,)


def test_the_report_has_every_operation_and_breakpoint() -> None:
    eager = SIZES <= 65536
    send = measured(SIZES, np.where(eager, 4e-6 + 2e-10 * SIZES, one_way()), "send")
    calibration = calibrated(measured(SIZES, one_way() + np.where(eager, 0, 2e-4)), send)
    text = report(calibration)
    assert "Transfer: the ping-pong, one way" in text
    assert "Time inside MPI_Send (smpi/os)" in text
    assert "MPI_Send starts to wait for the receiver" in text
    assert all(len(line) <= 100 for line in text.splitlines() if line.startswith("warning"))
    assert text.endswith("\n")


def test_the_picture_shows_the_simulated_ping_pong() -> None:
    calibration = calibrated(measured(np.append(SIZES, 0), np.append(one_way(), 4e-5)))
    (axes,) = figure(calibration).axes
    lines = {line.get_label(): line for line in axes.get_lines()}
    circles = lines["ping-pong simulated on the calibrated platform"]
    sizes, times = circles.get_data()
    assert sizes.min() == 0.5
    assert np.interp(1e6, sizes, times) == pytest.approx(one_way(np.array([1e6]))[0], rel=0.01)
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")


@pytest.mark.parametrize(("spread", "is_said"), [(1.02, False), (2.0, True)])
def test_measurements_under_load_are_not_to_be_used(
    tmp_path: Path, spread: float, is_said: bool
) -> None:
    rows = [
        f"pingpong,{size},{(size * 1e-8 + 1e-5) * spread**step}"
        for size in (1, 3, 9, 30, 99, 300, 999, 3000, 9999)
        for step in (-1, -0.5, 0, 0, 0.5, 1, 1, -1)
    ]
    file = tmp_path / "m.csv"
    file.write_text("\n".join(["operation,bytes,seconds", *rows, ""]))
    first, *others = calibrate(read_measurements([file])).warnings
    assert first.startswith("do not use this calibration") == is_said
    assert bool(others) != is_said
