"""The spellings of before the event log had its name still work, and say the new one."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import tisim

ROOT = Path(__file__).resolve().parents[3]
RING = ROOT / "traces/ring.4"
GRAPHENE = ROOT / "platforms/graphene.xml"


def test_record_is_event_log() -> None:
    with pytest.warns(DeprecationWarning, match=r"replay\(event_log=True\)"):
        result = tisim.replay(RING, platform=GRAPHENE, record=True)
    assert result.event_log is not None
    with pytest.warns(DeprecationWarning, match=r"event_log"):
        result = tisim.replay(RING, platform=GRAPHENE, record=False)
    assert result.event_log is None


def test_recorded_and_known_of_a_result() -> None:
    result = tisim.replay(RING, platform=GRAPHENE, event_log=True)
    with pytest.warns(DeprecationWarning, match=r"Result\.event_log"):
        assert result.recorded is result.event_log
    with pytest.warns(DeprecationWarning, match=r"Result\.require_event_log\(\)"):
        assert result.known() is result.event_log


@pytest.mark.parametrize(
    ("old", "module", "new"),
    [
        ("Recorded", "tisim.analysis.timeline", "EventLog"),
        ("Session", "tisim.analysis.timeline", "EventCapture"),
        ("Recording", "tisim.analysis.timeline.capture", "EventPlayback"),
        ("Breakdown", "tisim.analysis.timeline.event_log", "Breakdown"),
        ("CriticalPath", "tisim.analysis.timeline.critical_path", "CriticalPath"),
        ("Links", "tisim.analysis.timeline.links", "Links"),
        ("STATES", "tisim.analysis.timeline.columns", "STATES"),
        ("WAITS", "tisim.analysis.timeline.columns", "WAITS"),
    ],
)
def test_names_of_tisim_recording(old: str, module: str, new: str) -> None:
    recording = importlib.import_module("tisim.recording")
    with pytest.warns(DeprecationWarning, match=rf"{module}\.{new}"):
        value = getattr(recording, old)
    assert value is getattr(importlib.import_module(module), new)


def test_there_is_no_other_name_in_tisim_recording() -> None:
    recording = importlib.import_module("tisim.recording")
    with pytest.raises(AttributeError, match="anything"):
        _ = recording.anything


@pytest.mark.parametrize("name", ["Comparison", "Difference", "RankDifference", "compare"])
def test_names_of_tisim_sweep_comparison(name: str) -> None:
    old = importlib.import_module("tisim.studies.sweep.comparison")
    with pytest.warns(DeprecationWarning, match=rf"use tisim\.compare\.{name}"):
        value = getattr(old, name)
    assert value is getattr(importlib.import_module("tisim.analysis.compare"), name)
