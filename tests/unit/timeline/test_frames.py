"""Runs in the formats of Hatchet and Pipit, and the units of data frames."""

from __future__ import annotations

import importlib.util

import pytest

import tisim
from tests.support import GRAPHENE, LU
from tisim.analysis.timeline.frames import HatchetNode, call_name
from tisim.errors import InputError


@pytest.fixture(scope="module")
def lu() -> tisim.Result:
    return tisim.replay(LU, platform=GRAPHENE, event_log=True)


def walked(node: HatchetNode) -> list[HatchetNode]:
    return [node, *(below for child in node["children"] for below in walked(child))]


def test_a_tree_of_hatchet_has_all_of_the_time(lu: tisim.Result) -> None:
    (root,) = lu.frames.hatchet_literal()
    assert root["metrics"]["time (inc)"] == pytest.approx(lu.finish.sum(), rel=1e-12)
    nodes = walked(root)
    assert sum(node["metrics"]["time"] for node in nodes) == pytest.approx(lu.finish.sum())
    for node in nodes:
        assert node.keys() == {"frame", "metrics", "children"}
        below = sum(child["metrics"]["time (inc)"] for child in node["children"])
        assert node["metrics"]["time (inc)"] == pytest.approx(node["metrics"]["time"] + below)
    (recv,) = (node for node in root["children"] if node["frame"]["name"] == "MPI_Recv")
    states = {child["frame"]["name"]: child["metrics"]["time"] for child in recv["children"]}
    assert states["late sender"] == pytest.approx(lu.breakdown.by_kind["late sender"]["recv"])
    (of_rank,) = lu.frames.hatchet_literal(rank=2)
    assert of_rank["metrics"]["time (inc)"] == pytest.approx(lu.finish[2])
    with pytest.raises(InputError, match="ranks are 0 to 3, not 4"):
        lu.frames.hatchet_literal(rank=4)


def test_events_of_pipit_nest_and_have_every_message(lu: tisim.Result) -> None:
    events = lu.frames.pipit_events()
    assert list(events.columns) == [
        "Timestamp (ns)",
        "Event Type",
        "Name",
        "Process",
        "Attributes",
    ]
    assert events["Timestamp (ns)"].is_monotonic_increasing
    assert events["Timestamp (ns)"].max() == pytest.approx(1e9 * lu.simulated_time)
    for _, of_rank in events.groupby("Process"):
        open_call = None
        for kind, name in zip(of_rank["Event Type"], of_rank["Name"], strict=True):
            if kind == "Enter":
                assert open_call is None
                open_call = name
            elif kind == "Leave":
                assert open_call == name
                open_call = None
        assert open_call is None
    sends = events[events["Name"] == "MpiSend"]
    assert len(sends) == lu.messages_sent.sum()
    sent = sends["Attributes"].map(lambda one: one["msg_length"]).groupby(sends["Process"]).sum()
    assert sent.tolist() == lu.bytes_sent.tolist()
    assert {*sends["Attributes"].iloc[0]} == {"receiver", "msg_tag", "msg_length"}


def test_names_are_those_of_the_functions() -> None:
    names = ["isend", "reducescatter", "comm_split", "file_read_at", "compute", "pread"]
    assert [call_name(name) for name in names] == [
        "MPI_Isend",
        "MPI_Reduce_scatter",
        "MPI_Comm_split",
        "MPI_File_read_at",
        "compute",
        "pread",
    ]


def test_the_libraries_read_them(lu: tisim.Result) -> None:
    if importlib.util.find_spec("hatchet") is None:
        with pytest.raises(InputError, match="hatchet is required but not installed"):
            lu.frames.hatchet()
    else:
        frame = lu.frames.hatchet().dataframe  # type: ignore[attr-defined]
        assert frame["time"].sum() == pytest.approx(lu.finish.sum())
    if importlib.util.find_spec("pipit") is None:
        with pytest.raises(InputError, match="pipit is required but not installed"):
            lu.frames.pipit()
    else:
        matrix = lu.frames.pipit().comm_matrix()  # type: ignore[attr-defined]
        assert matrix.sum() == lu.bytes_sent.sum()


def test_frames_know_their_units(lu: tisim.Result) -> None:
    assert lu.waits.attrs["units"] == {"seconds": "s"}
    assert lu.matrix.attrs["units"] == {"bytes": "B", "collective_bytes": "B"}
    assert lu.states.attrs["units"] == {"start": "s", "end": "s"}
    assert lu.breakdown.by_kind.attrs["units"]["late sender"] == "s"
    assert lu.breakdown.by_rank.attrs["units"]["compute"] == "s"
    assert lu.ranks.attrs["units"]["bytes_sent"] == "B"
    table = lu.links.table.attrs["units"]
    assert table == {"bandwidth": "B/s", "bytes": "B", "mean": "1", "peak": "1", "busy": "1"}
    path = lu.critical_path
    assert path.by_kind.attrs["units"] == {"seconds": "s", "share": "1"}
    assert path.by_rank.attrs["units"] == {"seconds": "s", "transfers": "s"}
    assert path.links.attrs["units"] == {"seconds": "s", "bytes": "B"}
    assert path.gains.attrs["units"] == {"seconds": "s", "share": "1", "speedup": "1"}
