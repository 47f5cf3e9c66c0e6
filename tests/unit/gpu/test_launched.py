"""Ranks of a trace that launch blocks of a graph, compared with calculations by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine
from tisim import InputError, Result, TisimError, replay
from tisim.analysis.timeline.streams import OCCUPATIONS
from tisim.gpu.launched import LaunchedGraph
from tisim.gpu.machines import MACHINES
from tisim.gpu.machines_platform import gpu_cluster, machine_of
from tisim.gpu.step_graph import parse_graph
from tisim.gpu.step_machine import STEP_MACHINES
from tisim.gpu.step_run import run_step

# Two nodes of one GPU and one interface each.
MACHINE = replace(MACHINES["a100"], nodes=2, gpus=1, nics=1)
STEP = replace(STEP_MACHINES["a100"], hardware=MACHINE)
LAUNCH = STEP.launch
BYTES = 1e9
CONFIG = {
    "network/crosstraffic": False,
    "network/latency-factor": 1.0,
    "network/bandwidth-factor": 1.0,
}
GRAPH = f"""graph 1
ranks 2
communicator all 2 1
block kernel
  seconds main 2e-3
end
block reduce
  all_reduce side all {BYTES}
end
block wait
  synchronize main
  synchronize side
end
"""


def finishes(folder: Path, graph: str, *ranks: str, **options: object) -> list[float]:
    """Return the finish times of two ranks on the machine."""
    return [float(each) for each in finished(folder, graph, *ranks, **options).column("finish")]


def finished(folder: Path, graph: str, *ranks: str, **options: object) -> Result:
    """Replay two ranks on the machine."""
    files = []
    for rank, lines in enumerate(ranks):
        words = [line.strip() for line in lines.strip().split("\n")]
        file = folder / f"rank-{rank}"
        file.write_text("".join(f"{rank} {line}\n" for line in ("init", *words, "finalize")))
        files.append(file)
    (folder / "g.graph").write_text(graph)
    return replay(
        files,
        platform=gpu_cluster(MACHINE),
        config=CONFIG,
        gpus=LaunchedGraph(folder / "g.graph"),
        **options,  # type: ignore[arg-type]
    )


def test_a_kernel_runs_while_its_rank_waits_for_a_message(tmp_path: Path) -> None:
    send = "sleep 1e-3\nsend 0 0 1000"
    alone = finishes(tmp_path, GRAPH, "recv 1 0 1000", send)[0]
    assert 1e-3 < alone < 1.1e-3
    # The host thread waits for the message and then for the kernel, which began before it arrived.
    own = "launch kernel\nrecv 1 0 1000\nlaunch wait"
    assert finishes(tmp_path, GRAPH, own, send)[0] == pytest.approx(LAUNCH + 2e-3, abs=2e-9)
    # A rank waits for a kernel only if its trace says so.
    own = "launch kernel\nrecv 1 0 1000"
    assert finishes(tmp_path, GRAPH, own, send)[0] == pytest.approx(alone, abs=2e-9)
    own = "recv 1 0 1000\nlaunch kernel 3\nlaunch wait"
    third = alone + LAUNCH + 3 * 2e-3
    assert finishes(tmp_path, GRAPH, own, send)[0] == pytest.approx(third, abs=2e-9)


def test_dates_of_one_gpu_do_not_move_the_clock_of_another(tmp_path: Path) -> None:
    graph = GRAPH + "block long\n  seconds main 10e-3\nend\n"
    # Earlier dates occur while the first kernel runs, and at its end the next one is later.
    ends = finishes(
        tmp_path,
        graph,
        "launch long\nsleep 11e-3\nlaunch kernel\nlaunch wait",
        "sleep 1e-3\nlaunch kernel\nlaunch wait\nsleep 2e-3\nlaunch long 2\nlaunch wait",
    )
    assert ends[0] == pytest.approx(2 * LAUNCH + 13e-3, abs=2e-9)
    assert ends[1] == pytest.approx(2 * LAUNCH + 25e-3, abs=2e-9)


def test_a_collective_alone_takes_as_long_as_in_a_step(tmp_path: Path) -> None:
    call = STEP.communication("all_reduce", BYTES, (0, 1))
    own = "launch reduce\nlaunch wait"
    ends = finishes(tmp_path, GRAPH, own, f"sleep 0.1\n{own}")
    assert ends == [pytest.approx(0.1 + LAUNCH + call.seconds, abs=1e-8)] * 2


def test_a_message_and_a_collective_share_an_interface(tmp_path: Path) -> None:
    call = STEP.communication("all_reduce", BYTES, (0, 1))
    platform = gpu_cluster(MACHINE)
    assert machine_of(platform) == MACHINE
    rate = MACHINE.nic_rate  # for a message alone
    channels = call.between * rate / STEP.between_rate  # on the interface, as its efficiency
    size = 2 * BYTES
    ends = finishes(
        tmp_path,
        GRAPH,
        f"launch reduce\nsend 1 0 {size:.0f}\nlaunch wait",
        f"launch reduce\nrecv 0 0 {size:.0f}\nlaunch wait",
    )
    alone = finishes(tmp_path, GRAPH, f"send 1 0 {size:.0f}", f"recv 0 0 {size:.0f}")
    message = LAUNCH + alone[1] - size / rate  # begin of the message's bytes
    moves = LAUNCH + call.latency  # begin of the collective's bytes
    assert message < moves
    each = rate / (channels + 1)  # equal shares for each channel and the message
    left = size - (moves - message) * rate
    over = moves + call.bytes / each  # end of the collective
    assert left / each > over - moves
    expected = over + (left - (over - moves) * each) / rate
    assert ends[1] == pytest.approx(expected, abs=1e-7)
    assert expected > 1.3 * alone[1]


def test_launches_go_beside_custom_actions_and_timelines(tmp_path: Path) -> None:
    own = "launch kernel\nlaunch wait"
    file = tmp_path / "run.csv"
    ends = finishes(tmp_path, GRAPH, own, own, timeline=file)
    assert ends == [pytest.approx(LAUNCH + 2e-3, abs=2e-9)] * 2
    assert "launch" in file.read_text()


@pytest.mark.parametrize(
    ("own", "other", "message"),
    [
        ("launch nothing", "compute 1", "has no block 'nothing'"),
        ("launch kernel 0", "compute 1", "launch needs a block"),
        ("launch kernel 9999999999", "compute 1", "a number of launches below 1e9"),
        ("launch reduce\nlaunch wait", "compute 1", "all_reduce all 1e\\+09 of line 8"),
        ("launch reduce", "compute 1", "all_reduce all 1e\\+09 of line 8"),
        ("recv 1 0 8", "launch kernel", "rank 0: recv waits for a message from rank 1"),
    ],
)
def test_what_does_not_fit_is_said(tmp_path: Path, own: str, other: str, message: str) -> None:
    with pytest.raises(TisimError, match=message):
        finishes(tmp_path, GRAPH, own, other)


def test_collectives_that_do_not_meet_are_found(tmp_path: Path) -> None:
    graph = GRAPH + "block gather\n  all_gather side all 8\nend\n"
    with pytest.raises(InputError, match=r"all_gather all 8 meets all_reduce all 1e\+09|all_"):
        finishes(tmp_path, graph, "launch reduce\nlaunch wait", "launch gather\nlaunch wait")


def test_check_and_replay_from_the_command_line(tisim: CommandLine, tmp_path: Path) -> None:
    graph = tisim.write("g.graph", GRAPH)
    both = "0 launch reduce\n0 launch wait\n1 launch wait\n"
    trace = tisim.write("two.trace", f"{both}1 launch reduce\n1 launch wait\n")
    gpu_cluster(MACHINE).write(tmp_path / "p.xml")
    checked = tisim("check", "--graph", graph, trace)
    assert checked.status == 0
    assert "launch" in checked.out
    words = ("--platform", str(tmp_path / "p.xml"), "--json", "-", trace)
    shown = tisim("replay", "--graph", graph, *words)
    assert json.loads(shown.out)["simulated_time"] > 0.04
    refused = tisim("replay", *words)
    assert refused.status == 2
    assert "give --graph FILE" in refused.err
    refused = tisim("replay", "--graph", graph, "--uncertainty", "3", *words)
    assert (refused.status, "--uncertainty does not support --graph:" in refused.err) == (2, True)
    trace = tisim.write("one.trace", both)
    checked = tisim("check", "--graph", graph, trace)
    assert checked.status == 1
    assert "all_reduce all 1e+09 of line 8" in checked.out


def test_run_files_show_streams_below_ranks(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow.parquet")
    from tests.unit.gpu.test_step_run_file import lanes_of  # which needs it too

    file = tmp_path / "run.tir"
    own = "launch kernel 2\nlaunch reduce\nlaunch wait"
    ends = finishes(tmp_path, GRAPH, own, f"sleep 0.01\n{own}", timeline=file, event_log=True)
    info, _, seconds, last = lanes_of(file)
    assert info["lanes"] == ["0", "1", "0 main", "0 side", "1 main", "1 side"]
    assert info["host_of"] == [0, 1, 0, 0, 1, 1]
    assert info["end"] == max(ends)
    assert last == [*ends, *[max(ends)] * 4]
    assert seconds[2, "compute"] == pytest.approx(4e-3)
    # The collective begins when the other rank has arrived, and slows down its kernels.
    assert seconds[3, "wait at N x N"] == pytest.approx(0.01)
    assert seconds[3, "transfer"] == pytest.approx(seconds[5, "transfer"])
    assert seconds[4, "compute"] > 4.05e-3


def test_exports_and_breakdowns_have_streams(tmp_path: Path) -> None:
    """Each format shows the streams, and GPUs do the same as in a step of the same blocks."""
    files = [tmp_path / f"run.{suffix}" for suffix in ("csv", "perfetto-trace", "prv")]
    own = "launch kernel 2\nlaunch reduce\nlaunch wait"
    result = finished(tmp_path, GRAPH, own, f"sleep 0.01\n{own}", timeline=files, event_log=True)
    table = result.streams
    assert table.groupby(["rank", "stream", "node"]).size().to_dict() == {
        (rank, *what): count
        for rank in (0, 1)
        for what, count in ((("main", "seconds"), 2), (("side", "all_reduce all"), 1))
    }
    reduced = table[table["node"] == "all_reduce all"].set_index("rank")
    assert reduced["start"][0] == reduced["start"][1] == reduced["arrival"][1]
    assert reduced["start"][0] == pytest.approx(reduced["arrival"][0] + 0.01)
    lines = (tmp_path / "run.streams.csv").read_text().splitlines()
    assert lines[0] == "rank,stream,node,line,arrival,start,end"
    assert len(lines) == 1 + len(table)
    assert f"0,side,all_reduce all,8,{reduced['arrival'][0]:.12f}" in "\n".join(lines)
    # Paraver: threads of a rank, whose states are sorted by begin.
    records = (tmp_path / "run.prv").read_text().splitlines()
    assert records[0].endswith(":2(1,1):1:2(3:1,3:2)")
    dates = [int(line.split(":")[5]) for line in records[1:]]
    assert dates == sorted(dates)
    kernels = [line.split(":") for line in records if line.startswith("1:1:1:1:2:")]
    assert [(int(end) - int(begin), state) for *_, begin, end, state in kernels] == [
        (2_000_000, "1")
    ] * 2
    moves = [line.split(":")[6:] for line in records if line.startswith("1:1:1:1:3:")]
    assert [state for _, state in moves] == ["5", "13"]
    assert "rank 1, stream side\n" in (tmp_path / "run.row").read_text()
    slices = (tmp_path / "run.perfetto-trace").read_bytes()
    assert slices.count(b"rank 0, stream main") == 1
    # Perfetto has one slice per node, and one for the wait of rank 0.
    assert (slices.count(b"seconds"), slices.count(b"wait for peers: all_reduce all")) == (4, 1)
    occupations = result.require_event_log().occupations
    assert occupations.sum(axis=1).to_list() == [pytest.approx(table["end"].max())] * 2
    assert occupations.loc[0, "waiting"] == pytest.approx(0.01 - 4e-3, abs=2e-4)
    assert occupations.loc[1, "overlapped"] > 3.8e-3 > 2e-4 > occupations.loc[1, "compute"]
    step = f"{GRAPH}program 0-1\n  do kernel 2\n  do reduce\n  do wait\nend\n"
    alone = run_step(parse_graph(step), STEP)
    both = finished(tmp_path, GRAPH, own, own, event_log=True)
    found = both.require_event_log().occupations
    for state, seconds in zip(OCCUPATIONS, alone.occupations[0], strict=True):
        assert found[state].to_list() == [pytest.approx(seconds, abs=1e-6)] * 2
    gpus = both.to_dict()["breakdown"]["gpus"]
    assert gpus["exposed"] == pytest.approx(2 * found["exposed"][0])


def test_the_breakdown_says_what_gpus_do(tisim: CommandLine, tmp_path: Path) -> None:
    graph = tisim.write("g.graph", GRAPH)
    own = "launch kernel\n{0} launch reduce\n{0} launch wait\n"
    trace = tisim.write("t.trace", "".join(f"{rank} {own}".format(rank) for rank in (0, 1)))
    gpu_cluster(MACHINE).write(tmp_path / "p.xml")
    words = ("--platform", str(tmp_path / "p.xml"), "--graph", graph, trace)
    shown = tisim("replay", "--breakdown", "--timeline", str(tmp_path / "r.csv"), *words)
    rows = shown.out.split("GPU activity, % of the simulated time\n")[1].splitlines()
    assert rows[0].split() == ["rank", "compute", "overlapped", "exposed", "waiting", "idle"]
    assert [row.split()[0] for row in rows[1:4]] == ["all", "0", "1"]
    assert sum(map(float, rows[1].split()[1:])) == pytest.approx(100, abs=0.3)
    assert "r.streams.csv" in shown.err
