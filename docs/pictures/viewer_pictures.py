"""Takes the screenshots of docs/howto/view.md: pages of the viewer in Chromium (needs selenium).

usage: viewer_pictures.py [DIRECTORY]
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import tisim

ROOT = Path(__file__).resolve().parents[2]
PLATFORM = ROOT / "platforms" / "graphene.xml"
# The chain of causes of a wait of rank 7, with the critical path, in a window of 15 ms.
LU = "#t=1.9925..2.0075&m=1&k=1&tab=selected&s=7@2.002"
# Tests whether the panel has its answer and the critical path, if requested, is drawn.
_IS_COMPLETE = """
  return !/Looking through/.test(document.getElementById('panel').textContent)
    && (!/k=1/.test(location.hash) || document.getElementById('chart').dataset.path > 0)"""
_LONGEST_WAIT = 120  # seconds
# Additional flops of rank 2, once (9.8 ms at 3.68 Gf), and the computation that they precede.
MORE, BEFORE = 36e6, 1000


def delayed(folder: Path) -> Path:
    """Return NAS LU on four ranks, one of which has one computation that takes too long."""
    made = folder / "lu-slow"
    made.mkdir()
    with tarfile.open(ROOT / "traces" / "npb.S.tar.xz") as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is not None and member.name.startswith("lu.S.4/"):
                (made / Path(member.name).name).write_bytes(content.read())
    file = made / "rank-2.txt"
    lines = file.read_text().split("\n")
    places = [place for place, line in enumerate(lines) if re.match(r"\d+ compute ", line)]
    rank, action, flops = lines[places[BEFORE]].split()
    lines[places[BEFORE]] = f"{rank} {action} {float(flops) + MORE:.0f}"
    file.write_text("\n".join(lines))
    return made


def photograph(runs: Sequence[Path], page: str, target: Path, size: tuple[int, int]) -> None:
    """Save a screenshot of the viewer of some runs."""
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for flag in ("headless=new", "no-sandbox", "disable-gpu", "hide-scrollbars"):
        options.add_argument(f"--{flag}")
    driver = Chrome(options, Service(executable_path=shutil.which("chromedriver")))
    command = [sys.executable, "-m", "tisim", "view", *map(str, runs)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as viewer:
        try:
            assert viewer.stdout is not None
            metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            driver.get(viewer.stdout.readline().strip() + page)
            for _ in range(_LONGEST_WAIT):
                time.sleep(1)
                if driver.execute_script(_IS_COMPLETE):
                    break
            driver.save_screenshot(str(target))
        finally:
            driver.quit()
            viewer.send_signal(signal.SIGINT)


def main() -> None:
    """Replay the runs and take screenshots."""
    directory = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "pictures"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        traces = {
            "lu.tir": ROOT / "traces" / "lu.A.8.tar.xz",
            "slow.tir": delayed(folder),
            "even.tir": ROOT / "traces" / "npb.S.tar.xz" / "lu.S.4",
        }
        for run, trace in traces.items():
            tisim.replay(trace, platform=PLATFORM, timeline=folder / run)
        photograph([folder / "lu.tir"], LU, directory / "view-lu.png", (1200, 800))
        both = [folder / "slow.tir", folder / "even.tir"]
        photograph(both, "#tab=differences", directory / "view-two.png", (1400, 800))


if __name__ == "__main__":
    main()
