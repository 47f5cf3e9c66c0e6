"""Graphs in packed files, alone or beside the trace whose ranks launch them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.tit_reader import read_sections
from tests.unit.command_line import CommandLine
from tisim import InputError
from tisim.gpu.machines import MACHINES
from tisim.gpu.machines_platform import gpu_cluster
from tisim.gpu.step_graph import read_graph
from tisim.traces import Trace
from tisim.traces.graph_files import read_graph_text, write_graph

MODEL = ("--model", "gpt3-175b", "--tp", "8", "--pp", "8", "--recompute", "full")
GRAPH = """graph 1  # the first line
ranks 2
communicator all 2 1
block kernel
  seconds main 2e-3
end
block reduce
  all_reduce side all 1e9
  do kernel 3
end
block wait
  synchronize main
end
"""


def test_a_graph_of_512_gpus_and_1000_micro_batches_is_a_kilobyte(
    tisim: CommandLine, tmp_path: Path
) -> None:
    sizes = ("--dp", "8", "--global-batch", "8000")
    text, packed = str(tmp_path / "g.graph"), str(tmp_path / "g.tit")
    for output in (text, packed):
        assert tisim("generate", "llm", *MODEL, *sizes, "-o", output).status == 0
    assert Path(packed).stat().st_size < 1500
    shown = [json.loads(tisim("step", "--json", "-", file).out) for file in (text, packed)]
    assert shown[0] == shown[1]
    assert tisim("check", packed).out == f"{packed}: sound\n512 ranks, 6,865,058 operations\n"
    inspected = json.loads(tisim("inspect", "--json", "-", packed).out)
    counts = {row["node"]: row for row in inspected["nodes"]}
    messages = 2 * 7 * 64 * 1000  # forwards and backwards between 8 stages of 64 GPUs
    assert counts["send"]["times"] == counts["receive"]["times"] == messages
    assert counts["send"]["bytes"] == pytest.approx(messages * 2 * 2048 * 12288 / 8)
    assert "all_gather" in tisim("inspect", text).out


def test_text_comes_back_byte_by_byte(tisim: CommandLine, tmp_path: Path) -> None:
    graph = tisim.write("g.graph", GRAPH)
    packed, restored = str(tmp_path / "g.tit"), str(tmp_path / "restored")
    assert tisim("pack", graph, "-o", packed).status == 0
    assert tisim("unpack", packed, "-o", restored).status == 0
    assert Path(restored).read_text() == GRAPH
    (section,) = read_sections(Path(packed).read_bytes())
    assert (section.name, section.content()) == ("graph", GRAPH.encode())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("pack", "--volumes", "1e-2", "g.graph", "-o", "x.tit"), "--volumes is for traces"),
        (("pack", "g.graph", "-o", "x"), "needs a name that ends in .tit"),
        (("pack", "wrong.graph", "-o", "x.tit"), "wrong.graph:2: "),
        (("replay", "--platform", "p.xml", "g.tit"), "is a graph of GPUs"),
        (("sweep", "g.tit"), ""),
        (("validate", "g.tit"), ""),
        (("extrapolate", "g.tit", "--to", "8", "-o", "x.tit"), "'tisim step' predicts its time"),
        (("step", "trace.tit"), "is a packed trace without a graph of GPUs"),
    ],
)
def test_what_is_no_trace_or_no_graph_is_refused(
    tisim: CommandLine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    tisim.write("g.graph", GRAPH)
    tisim.write("wrong.graph", "graph 1\nranks none\n")
    write_graph(tmp_path / "g.tit", GRAPH)
    gpu_cluster(replace(MACHINES["a100"], nodes=1)).write(tmp_path / "p.xml")
    assert tisim("pack", tisim.write("t.trace", "0 compute 1\n"), "-o", "trace.tit").status == 0
    refused = tisim(*words)
    assert refused.status == 2
    assert message in refused.err


def test_damaged_files_end_with_one_message(tisim: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "g.tit"
    write_graph(file, GRAPH)
    whole = file.read_bytes()
    cut = [whole[:size] for size in range(len(whole))]
    flipped = [
        whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :]
        for place in range(len(whole))
    ]
    for content in (*cut, *flipped, whole + b"x"):
        file.write_bytes(content)
        with pytest.raises(InputError):
            read_graph(file)
    for command in ("step", "check", "inspect"):
        shown = tisim(command, str(file))
        assert shown.status == 2
        assert shown.err.count("\n") == 1
        assert "is damaged: it has" in shown.err
    file.write_bytes(whole)
    assert read_graph_text(file) == GRAPH


def test_a_trace_carries_the_graph_that_its_ranks_launch(
    tisim: CommandLine, tmp_path: Path
) -> None:
    machine = replace(MACHINES["a100"], nodes=2, gpus=1, nics=1)
    gpu_cluster(machine).write(tmp_path / "p.xml")
    graph = tisim.write("g.graph", GRAPH)
    lines = [f"{rank} launch reduce\n{rank} launch wait\n" for rank in (0, 1)]
    trace = tisim.write("two.trace", "".join(lines))
    packed, again = str(tmp_path / "two.tit"), str(tmp_path / "again.tit")
    assert tisim("pack", trace, "--graph", graph, "-o", packed).status == 0
    assert tisim("pack", packed, "-o", again).status == 0
    words = ("--platform", str(tmp_path / "p.xml"), "--json", "-")
    expected = json.loads(tisim("replay", *words, "--graph", graph, trace).out)
    assert expected["simulated_time"] > 6e-3
    for file in (packed, again):
        shown = json.loads(tisim("replay", *words, file).out)
        assert shown["simulated_time"] == expected["simulated_time"]
    page = ("view", "--static", str(tmp_path / "page"), *words[:2], again)
    assert tisim(*page).status == 0
    assert tisim("check", again).status == 0
    assert "graph (optional)" in tisim("inspect", again).out
    assert tisim("unpack", again, "-o", str(tmp_path / "two")).status == 0
    assert (tmp_path / "two.graph").read_text() == GRAPH
    refused = tisim("pack", packed, "--graph", graph, "-o", again)
    assert (refused.status, "has a graph already" in refused.err) == (2, True)
    unsound = tisim.write("one.trace", lines[0] + "1 launch wait\n")
    assert tisim("pack", unsound, "--graph", graph, "-o", again).status == 0
    assert tisim("check", again).status == 1
    assert Trace.open(again).ranks == 2
