"""One sound input of each kind, from which hostile ones are made."""

from __future__ import annotations

import gzip
import tarfile
from pathlib import Path

from tests.unit.calibration.test_calibration_disk import IOR_TEXT
from tests.unit.calibration.test_calibration_readers import IMB, OSU_LATENCY, SKAMPI
from tests.unit.command_line import ROOT
from tests.unit.importers.test_damage import WHOLE
from tisim.commands.cli import main

_PROFILE = "0 1\n0.01 0.5\nPERIODICITY 0.5\n"
_STUDY = """\
trace = "ring.tit"
platform = "backbone.xml"
seed = 3
[vary]
bandwidth = ["x1", "x2"]
latency = { small = "x0.5", large = "5us" }
mapping = ["block", "random:2"]
compute_noise = [0.1]
[prices]
"host[*]" = 2.5
"""
_VALIDATION = """\
[[case]]
name = "ring"
trace = "ring.tit"
platform = "backbone.xml"
real = [0.03, 0.04, 0.05]
"""
_FAT_TREE = """\
<?xml version='1.0'?>
<platform version="4.1">
 <zone id="w" routing="Full">
  <cluster id="c" prefix="n" suffix="" radical="0-7" speed="1Gf" bw="1GBps" lat="1us" core="2"
   topology="FAT_TREE" topo_parameters="2;4,2;1,2;1,1">
   <prop id="tisim/disk" value="read=1GBps,write=1GBps"/></cluster>
  <cluster id="d" prefix="m" suffix="" radical="0-7" speed="1Gf" bw="1GBps" lat="1us"
   topology="DRAGONFLY" topo_parameters="2,1;2,1;2,1;1" loopback_bw="1GBps" loopback_lat="0"
   limiter_link="1GBps"/>
  <cluster id="e" prefix="t" suffix="" radical="0-7" speed="1Gf" bw="1GBps" lat="1us"
   topology="TORUS" topo_parameters="2,2,2" sharing_policy="SPLITDUPLEX"/>
  <link id="l" bandwidth="1GBps" latency="1us"><prop id="tisim/burst" value="1MiB"/></link>
  <zoneRoute src="c" dst="d" gw_src="n0" gw_dst="m0"><link_ctn id="l"/></zoneRoute>
  <zoneRoute src="c" dst="e" gw_src="n0" gw_dst="t0"><link_ctn id="l"/></zoneRoute>
 </zone>
</platform>
"""


def write_inputs(directory: Path) -> None:
    """Fill a directory with sound inputs; other files are made of them by tisim itself."""
    for source in ("backbone.xml", "backbone.hosts", "backbone.deploy.xml"):
        (directory / source).write_bytes((ROOT / "platforms" / source).read_bytes())
    ring = ROOT / "traces" / "ring.4"
    texts = {
        "profile.txt": _PROFILE,
        "study.toml": _STUDY,
        "validation.toml": _VALIDATION,
        "fat.xml": _FAT_TREE,
        "skampi.txt": SKAMPI,
        "osu.txt": OSU_LATENCY,
        "imb.txt": IMB,
        "ior.txt": IOR_TEXT,
        "ring.txt": "".join(path.read_text() for path in sorted(ring.iterdir())),
    }
    for name, text in texts.items():
        (directory / name).write_text(text)
    (directory / "ring.txt.gz").write_bytes(gzip.compress((directory / "ring.txt").read_bytes()))
    with tarfile.open(directory / "ring.tar.xz", "w:xz") as tar:
        tar.add(ring, "ring")
    for name, (_, file, whole) in WHOLE.items():
        folder = directory / f"import-{name.replace(' ', '-')}"
        folder.mkdir()
        (folder / file).write_bytes(whole)
    platform = ["--platform", str(directory / "backbone.xml")]
    made = {
        name: str(directory / name) for name in ("ring.tit", "run.tir", "run.json", "sweep.csv")
    }
    files = str(directory / "io.tit")
    for words in (
        ["pack", str(ring), "-o", made["ring.tit"]],
        ["generate", "io", "--ranks", "3", "-o", files],
        ["replay", *platform, "--breakdown", "--json", made["run.json"], made["ring.tit"]],
        ["replay", *platform, "--timeline", made["run.tir"], made["ring.tit"]],
        ["sweep", str(directory / "study.toml"), "--workers", "1", "-o", made["sweep.csv"]],
        *(
            ["generate", "halo2d", "--ranks", n, "-o", str(directory / f"halo.{n}.tit")]
            for n in ("4", "9", "16")
        ),
    ):
        try:
            main(words)
        except SystemExit as ended:
            assert ended.code == 0, words
