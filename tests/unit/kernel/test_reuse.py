"""The same input gives the same bytes: again, in threads, in other processes."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import tisim
from tests.oracle.cases import Case

ROOT = Path(__file__).resolve().parents[3]
GRAPHENE = ROOT / "platforms" / "graphene.xml"


def untimed(text: str) -> str:
    return re.sub(r'"wall_time": [^,]*,', "", text)


@pytest.fixture(scope="module")
def inputs(nas_traces: Path) -> dict[str, Any]:
    platform = tisim.Platform.load(GRAPHENE)
    return {
        "trace": tisim.Trace.open(nas_traces / "mg.S.16"),
        "platform": platform,
        "deployment": tisim.Deployment.cyclic(platform, 16),
        "config": tisim.Config({"smpi/coll-selector": "mvapich2"}),
    }


def test_threads_share_what_is_made_once(inputs: dict[str, Any]) -> None:
    alone = untimed(tisim.replay(**inputs).to_json())

    def run(_: int) -> str:
        return untimed(tisim.replay(**inputs).to_json())

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(run, range(8))) == {alone}


def test_threads_share_a_platform_whose_routes_are_looked_up(tmp_path: Path) -> None:
    """Routes of such platforms are computed on demand and remembered."""
    case = next(
        drawn
        for drawn in (Case.draw(seed, families=("dijkstra",)) for seed in range(50))
        if drawn.program.ranks >= 12
    )
    case.write(tmp_path)

    def run(platform: tisim.Platform) -> str:
        result = tisim.replay(
            tmp_path / "traces", platform=platform, hosts=case.hosts, config=case.config
        )
        return untimed(result.to_json())

    alone = run(tisim.Platform.load(tmp_path / "platform.xml"))
    shared = tisim.Platform.load(tmp_path / "platform.xml")
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(run, [shared] * 8)) == {alone}


def test_processes_with_other_hash_seeds_give_the_same_bytes(
    inputs: dict[str, Any], nas_traces: Path
) -> None:
    command = [sys.executable, "-m", "tisim", "replay", "--platform", str(GRAPHENE)]
    command += ["--config", "smpi/coll-selector=mvapich2", "--json", "-"]
    command += [str(nas_traces / "mg.S.16")]
    texts = set()
    for seed in ("1", "2"):
        run = subprocess.run(
            command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True
        )
        assert run.returncode == 0, run.stderr
        texts.add(untimed(run.stdout))
    assert len(texts) == 1
    assert json.loads(texts.pop()) == json.loads(untimed(tisim.replay(**inputs).to_json()))
