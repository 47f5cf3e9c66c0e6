"""Tables of layers of SimAI as graphs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine
from tisim.errors import InputError
from tisim.gpu.step_machine import STEP_MACHINES
from tisim.gpu.step_run import run_step
from tisim.gpu.step_simai import read_simai

A100 = replace(STEP_MACHINES["a100"], launch=0.0)
HEAD = "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 all_gpus: 4"


def table(path: Path, *rows: str, head: str = HEAD, count: int | None = None) -> Path:
    path.write_text("\n".join([head, str(len(rows) if count is None else count), *rows]))
    return path


def test_a_step_forwards_and_backwards(tmp_path: Path, tisim: CommandLine) -> None:
    size = 64 << 20
    path = table(
        tmp_path / "t.txt",
        f"a -1 1000000 ALLREDUCE {size} 2000000 ALLREDUCE {size} 3000000 NONE 0 100",
        f"b -1 4000000 NONE 0 5000000 NONE 0 6000000 REDUCESCATTER {size} 100",
    )
    recording = read_simai(path)
    assert recording.graph.ranks == 4
    assert (recording.kernels, recording.collectives) == (6, 3)
    machine = A100.of_ranks(4)
    reduce = machine.communication("all_reduce", size, (0, 1))
    scatter = machine.communication("reduce_scatter", size, (0, 2))
    result = run_step(recording.graph, A100, logs=True)

    # Forwards a's all-reduce is exposed; backwards it goes beside the weights' gradient of a, and
    # that of b's weights beside the inputs' gradient of a: both are shorter than what they slow.
    def slowed(work: float, share: float, beside: float) -> float:
        return work + beside * share

    expected = 1e-3 + reduce.seconds + 4e-3 + 5e-3 + 6e-3
    expected += slowed(2e-3, scatter.sms, scatter.seconds)
    expected += slowed(3e-3, reduce.sms, reduce.seconds)
    assert result.seconds == pytest.approx(expected, rel=1e-9)
    outcome = tisim("step", str(path))
    assert "6 nodes, of which 3 communicate" in outcome.out


def test_groups_of_experts_and_what_is_left_out(tmp_path: Path) -> None:
    head = HEAD.replace("ep: 1 pp: 1", "ep: 2 pp: 2").replace("4", "16")
    row = "a -1 1 ALLTOALL_EP 8192 1 NONE 0 1 ALLREDUCE_DP_EP 4096 100"
    recording = read_simai(table(tmp_path / "t.txt", row, head=head))
    assert recording.graph.communicators == {
        "tp": (2, 1), "dp": (4, 2), "ep": (2, 2), "dpep": (2, 4)
    }  # fmt: skip
    assert sum(recording.lost.values()) == 1


@pytest.mark.parametrize(
    ("rows", "count", "message"),
    [
        ([], 1, "the table has 0 of its 1 layers"),
        (["a -1 1 NONE 0 1 NONE 0 1 NONE 0"], None, "t.txt:3: a layer has 12 columns, not 11"),
        (["a -1 x NONE 0 1 NONE 0 1 NONE 0 1"], None, "t.txt:3: 'x' is not a whole number"),
        (["a -1 1 MAGIC 9 1 NONE 0 1 NONE 0 1"], None, "t.txt:3: no collective 'MAGIC'"),
        (["a -1 0 NONE 0 0 NONE 0 0 NONE 0 1"], None, "no layer of the table takes any time"),
    ],
)
def test_what_is_no_table(tmp_path: Path, rows: list[str], count: int | None, message: str) -> None:
    with pytest.raises(InputError) as error:
        read_simai(table(tmp_path / "t.txt", *rows, count=count))
    assert message in str(error.value)
    with pytest.raises(InputError, match="of 9000000000 ranks; there are 1 to 1,048,576"):
        read_simai(table(tmp_path / "t.txt", *rows, count=count), ranks=9_000_000_000)
    with pytest.raises(InputError, match="3 GPUs are not a whole number of 2 x 1"):
        read_simai(table(tmp_path / "t.txt", *rows, count=count), ranks=3)
