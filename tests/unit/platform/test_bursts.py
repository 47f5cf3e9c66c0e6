"""Links that pass some bytes at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tisim.errors import InputError
from tisim.platform import Platform
from tisim.studies.calibration import simulate

BANDWIDTH, BURST = 1e7, 4500.0
PLAIN = {"network/model": "SMPI", "smpi/lat-factor": "0:1", "smpi/bw-factor": "0:1"}
OVERHEADS = {"smpi/os": "0:0:0", "smpi/ois": "0:0:0", "smpi/or": "0:0:0"}


def platform(folder: Path, burst: str | None, links: str = "") -> Platform:
    prop = "" if burst is None else f'<prop id="tisim/burst" value="{burst}"/>'
    file = folder / "p.xml"
    file.write_text(
        '<platform version="4.1"><cluster id="c" prefix="c-" suffix="" radical="0-3" speed="1Gf"'
        f' bw="10MBps" lat="25us"{links}>{prop}</cluster></platform>'
    )
    return Platform.load(file)


def one_way(platform: Platform, nbytes: int) -> float:
    times = simulate(platform, ("c-0", "c-1"), [nbytes], {**PLAIN, **OVERHEADS})
    return float(times["pingpong"].iloc[0])


def test_a_short_message_passes_at_once(tmp_path: Path) -> None:
    with_burst, without = platform(tmp_path, "4500B"), platform(tmp_path, None)
    assert one_way(without, 1000) == pytest.approx(50e-6 + 1016 / BANDWIDTH, rel=1e-6)
    assert one_way(with_burst, 1000) == pytest.approx(50e-6, rel=1e-6)
    # The bytes of a longer one that exceed the burst take their time.
    saved = one_way(without, 100_000) - one_way(with_burst, 100_000)
    assert saved == pytest.approx(BURST / BANDWIDTH, rel=1e-6)


def test_the_property_is_written_and_survives_changes(tmp_path: Path) -> None:
    original = platform(tmp_path, "4500")
    for changed in (original, original.scaled(links="c_link_2_UP", bandwidth="x2")):
        changed.write(tmp_path / "again.xml")
        again = Platform.load(tmp_path / "again.xml")
        assert set(again.resources.link_burst.tolist()) == {BURST}
        assert one_way(again, 1000) == pytest.approx(50e-6, rel=1e-6)


def test_links_of_all_kinds_may_have_one(tmp_path: Path) -> None:
    file = tmp_path / "p.xml"
    file.write_text(
        '<platform version="4.1"><zone id="z" routing="Full"><host id="c-0" speed="1Gf"/>'
        '<host id="c-1" speed="1Gf"/><link id="l" bandwidth="10MBps" latency="25us"'
        ' sharing_policy="SPLITDUPLEX"><prop id="tisim/burst" value="2kB"/></link>'
        '<link id="m" bandwidth="10MBps" latency="25us"><prop id="tisim/burst" value="1kB"/></link>'
        '<link id="n" bandwidth="10MBps" latency="25us"/>'
        '<route src="c-0" dst="c-1"><link_ctn id="l" direction="UP"/></route>'
        "</zone></platform>"
    )
    found = Platform.load(file)
    bursts = {link.name: found.resources.link_burst[link.index] for link in found.links}
    assert [bursts[name] for name in ("l_UP", "l_DOWN", "m", "n")] == [2000, 2000, 1000, 0]
    # A ping-pong that goes on moves no more than the bandwidth in each direction.
    assert one_way(found, 2984) == pytest.approx(3000 / (2 * BANDWIDTH), rel=1e-6)


def test_a_limiter_has_the_burst_of_its_cluster(tmp_path: Path) -> None:
    limited = platform(tmp_path, "4500", links=' limiter_link="12MBps"')
    assert one_way(limited, 1000) == pytest.approx(50e-6, rel=1e-6)


def test_a_burst_is_a_size(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="tisim/burst"):
        platform(tmp_path, "fast")
