"""Training steps of language models as graphs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine
from tests.unit.gpu.test_step_run import Plain
from tisim.errors import InputError
from tisim.gpu.llm import MODELS, Layout, Model, read_model, write_step
from tisim.gpu.llm_memory import check_memory, peak_memory
from tisim.gpu.machines import MACHINES
from tisim.gpu.step_graph import Graph, Node, parse_graph
from tisim.gpu.step_machine import STEP_MACHINES, CommunicationPhase
from tisim.gpu.step_run import StepResult, run_step

GPT3 = MODELS["gpt3-175b"]
SMALL = Model("small", 8, 1024, 16, 4096, 50000, 1024)


class Unlimited(Plain):
    """Matrix products take 2 M N K / 1e15 seconds; everything else takes no time."""

    def kernel_times(self, node: Node, dtype: str) -> tuple[float, float]:
        if node.word != "gemm":
            return 0.0, 0.0
        m, n, k = node.numbers[:3]
        return 2 * m * n * k * (node.numbers[3] if node.numbers[3:] else 1) / 1e15, 0.0

    def communication(self, word: str, nbytes: float, ranks: tuple[int, ...]) -> CommunicationPhase:
        return CommunicationPhase(0.0)


def unlimited(layout: Layout, model: Model = SMALL) -> StepResult:
    graph = parse_graph(write_step(model, layout))
    return run_step(graph, Unlimited(MACHINES["a100"], kernel=0.0, launch=0.0))


def total(graph: Graph, word: str, nodes: list[Node] | None = None) -> float:
    """Return the sum of a word's last number in the first program."""
    found = 0.0
    for node in graph.programs[0][2] if nodes is None else nodes:
        if node.word == "do":
            found += node.numbers[0] * total(graph, word, graph.blocks[node.name])
        elif node.word == word:
            found += node.numbers[-1]
    return found


def test_products_of_the_vocabulary_have_16_bit_numbers_with_fp8() -> None:
    products = {}
    for dtype in ("bf16", "fp8"):
        graph = parse_graph(write_step(SMALL, Layout(global_batch=4, dtype=dtype)))
        products[dtype] = unlimited(Layout(global_batch=4, dtype=dtype)).seconds * 1e15
        once = sum(node.numbers[0] for block in graph.blocks.values() for node in block
                   if node.word == "flops")  # fmt: skip
        # A micro-batch: forward, and both gradients.
        expected = 6 * SMALL.vocab * SMALL.hidden * SMALL.sequence if dtype == "fp8" else 0
        assert once == expected
    vocabulary = 4 * 6 * SMALL.vocab * SMALL.hidden * SMALL.sequence
    assert products["bf16"] - products["fp8"] == pytest.approx(vocabulary, rel=1e-9)


def test_attention_in_one_kernel_has_an_efficiency_of_its_own() -> None:
    machine, peak = STEP_MACHINES["h100"], 989.5e12
    for word, efficiency in (("flops", 0.711), ("attention", 0.51)):
        arithmetic, _ = machine.kernel_times(Node(word, "main", "", (1e12, 1e6), 1), "bf16")
        assert arithmetic - machine.kernel == pytest.approx(1e12 / (peak * efficiency))


def test_matrix_products_are_six_flops_a_parameter_and_token() -> None:
    layout = Layout(global_batch=4, attention="flash")
    flops = 6 * SMALL.parameters * 4 * SMALL.sequence
    assert unlimited(layout).seconds == pytest.approx(flops / 1e15, rel=1e-12)
    # Recomputation adds the forward pass of all layers.
    again = 2 * SMALL.layers * SMALL.layer_parameters * 4 * SMALL.sequence
    full = unlimited(replace(layout, recompute="full")).seconds
    assert full == pytest.approx((flops + again) / 1e15, rel=1e-12)


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b"])
def test_the_bubble_of_a_pipeline_is_a_micro_batch_a_stage(schedule: str) -> None:
    model = replace(SMALL, vocab=1)  # all stages are equal
    layout = Layout(pipeline=4, global_batch=8)
    one = 6 * model.layers * model.layer_parameters * model.sequence / 4 / 1e15
    seconds = unlimited(replace(layout, schedule=schedule), model).seconds  # type: ignore[arg-type]
    assert seconds == pytest.approx((8 + 3) * one, rel=1e-3)


def test_chunks_divide_the_bubble() -> None:
    model = replace(SMALL, vocab=1)
    layout = Layout(pipeline=4, global_batch=8, schedule="interleaved", chunks=2)
    one = 6 * model.layers * model.layer_parameters * model.sequence / 4 / 1e15
    assert unlimited(layout, model).seconds == pytest.approx((8 + 3 / 2) * one, rel=1e-3)


def test_gradients_of_weights_that_come_later_fill_the_bubble() -> None:
    model = replace(SMALL, vocab=1)
    one = 6 * model.layers * model.layer_parameters * model.sequence / 4 / 1e15
    for batch in (4, 8, 16):
        layout = Layout(pipeline=4, global_batch=batch, schedule="zero-bubble")
        # Forward, backward and weights take a third each: (p - 1) (F + B - W).
        seconds = unlimited(layout, model).seconds
        assert seconds == pytest.approx((batch + 3 / 3) * one, rel=1e-3)
        same = replace(layout, schedule="1f1b")
        assert peak_memory(model, layout) == peak_memory(model, same)


def test_parts_of_a_sequence_meet_in_rings() -> None:
    layout = Layout(data=2, global_batch=4, context=4)
    text = write_step(SMALL, layout)
    graph = parse_graph(text)
    keys = 4 * SMALL.sequence // 4 * SMALL.hidden
    # Keys and values three times forward, and with their gradients backward.
    assert total(graph, "shift") == pytest.approx(2 * SMALL.layers * 3 * (keys + 2 * keys))
    assert total(graph, "all_reduce") == total(parse_graph(write_step(
        SMALL, replace(layout, context=1, data=8, global_batch=16))), "all_reduce")  # fmt: skip
    # All products on four GPUs: a quarter of the time.
    whole = unlimited(replace(layout, context=1)).seconds
    assert unlimited(layout).seconds == pytest.approx(whole / 4)
    assert "communicator cp 4 1" in text
    assert "communicator dp 8 1" in text
    one, four = (peak_memory(SMALL, replace(layout, context=n)) for n in (1, 4))
    assert four["activations"] == one["activations"] / 4
    # Keys arrive during kernels: if the flops take longer, nothing waits for them.
    graph = parse_graph(write_step(replace(SMALL, sequence=65536), replace(layout, data=1)))
    result = run_step(graph, STEP_MACHINES["h100"])
    _, overlapped, exposed, *_ = result.occupations[0]
    assert overlapped > 0
    assert exposed < 0.1 * result.seconds


MIXTURE = replace(SMALL, name="mixture", experts=8, top_k=2, gated=True)


def test_experts_are_shared_and_rows_go_to_them() -> None:
    layout = Layout(tensor=2, data=8, global_batch=8, expert=4, sequence_parallel=True)
    text = write_step(MIXTURE, layout)
    graph = parse_graph(text)
    rows = 2 * SMALL.sequence * SMALL.hidden * 2
    # Round trip, forward and backward; each tensor-parallel GPU has half of the tokens.
    assert total(graph, "all_to_all") == 4 * SMALL.layers * rows // 2
    assert "communicator ep 4 2" in text
    assert "communicator edp 2 8" in text
    own = SMALL.layers * MIXTURE.attention_parameters // 2
    table = 50000 // 2 * SMALL.hidden
    experts = SMALL.layers * 8 * MIXTURE.expert_parameters // (2 * 4)
    reduced = 4 * (own + table + experts) + 12 * SMALL.sequence  # including the loss
    assert total(graph, "all_reduce") == reduced
    # The same products, with more rows for fewer experts.
    alone = unlimited(replace(layout, expert=1), MIXTURE).seconds
    assert unlimited(layout, MIXTURE).seconds == pytest.approx(alone)
    memory, less = (peak_memory(MIXTURE, replace(layout, expert=e)) for e in (1, 4))
    assert less["parameters"] < memory["parameters"] / 2


def test_collectives_are_where_megatron_puts_them() -> None:
    layout = Layout(tensor=4, data=2, global_batch=8, fp32_gradients=False)
    activation = 2 * SMALL.sequence * SMALL.hidden
    graph = parse_graph(write_step(SMALL, layout))
    table = 50000 // 4 * SMALL.hidden
    small = 12 * SMALL.sequence
    gradients = 2 * (SMALL.layers * SMALL.layer_parameters // 4 + table)
    # Two per layer, forward and backward; embedding forward, loss backward.
    expected = 4 * (activation * (4 * SMALL.layers + 2) + small) + gradients
    assert total(graph, "all_reduce") == expected
    graph = parse_graph(write_step(SMALL, replace(layout, sequence_parallel=True, zero=1)))
    assert total(graph, "all_reduce") == 4 * small
    scattered = 4 * activation * (4 * SMALL.layers + 2) + gradients
    assert total(graph, "reduce_scatter") == scattered
    # Gathered for each product, and again for the gradients of both first ones and the loss.
    gathered = 4 * activation * (2 + 4 * SMALL.layers + 2 * SMALL.layers) + gradients
    assert total(graph, "all_gather") == pytest.approx(gathered, rel=0.02)


def test_overlapped_gradients_are_reduced_once_and_beside_kernels() -> None:
    layout = Layout(tensor=8, data=4, global_batch=16)
    machine = STEP_MACHINES["a100"]
    graphs = [parse_graph(write_step(SMALL, replace(layout, overlap_gradients=overlapped)))
              for overlapped in (False, True)]  # fmt: skip
    assert total(graphs[0], "all_reduce") == total(graphs[1], "all_reduce")
    after, beside = (run_step(graph, machine) for graph in graphs)
    assert after.occupations[0][1] == 0
    assert beside.occupations[0][1] > 0
    assert beside.seconds < after.seconds


@pytest.mark.parametrize(
    "layout",
    [
        Layout(4, 4, 4, 1, 64, "interleaved", 2, sequence_parallel=True, zero=1),
        Layout(8, 1, 8, 2, 64, zero=3),
        Layout(2, 2, 8, 1, 64, "interleaved", 2, overlap_gradients=True, overlap_tensor=True),
        Layout(1, 8, 2, 1, 8, "gpipe", attention="standard", recompute="selective"),
        Layout(1, 8, 2, 1, 2),
        Layout(2, 4, 2, 1, 16, "zero-bubble", zero=1, overlap_gradients=True),
        Layout(2, 2, 2, 1, 16, "interleaved", 2, sequence_parallel=True, context=4, expert=8),
    ],
)
def test_equal_gpus_executed_once_give_the_same_step(layout: Layout) -> None:
    model = replace(MIXTURE if layout.expert > 1 else SMALL, layers=16)
    graph = parse_graph(write_step(model, layout))
    machine = STEP_MACHINES["h100"]
    once, each = run_step(graph, machine), run_step(graph, machine, merge=False)
    assert once.seconds == each.seconds
    assert len(once.ends) <= layout.pipeline


def test_a_large_step_is_a_small_file() -> None:
    text = write_step(GPT3, Layout(8, 8, 8, 1, 8000, attention="standard", recompute="full"))
    assert len(text) <= 20_000
    interleaved = Layout(8, 8, 8, 1, 8000, "interleaved", 3, sequence_parallel=True)
    assert len(write_step(GPT3, interleaved)) <= 20_000


@pytest.mark.parametrize(
    ("layout", "message"),
    [
        (Layout(tensor=3, global_batch=1), "does not divide the heads"),
        (Layout(pipeline=3, global_batch=1), "do not divide 8 layers"),
        (Layout(data=2, global_batch=3), "not a multiple"),
        (Layout(global_batch=0), "not a multiple"),
        (Layout(chunks=2, global_batch=1), "--chunks needs --schedule interleaved"),
        (Layout(pipeline=2, global_batch=2, schedule="interleaved"), "above 1"),
        (Layout(1, 2, 1, 1, 3, "interleaved", 2), "a multiple of --pp"),
        (Layout(pipeline=2, global_batch=2, zero=2), "need --pp 1"),
        (Layout(global_batch=2, sequence_parallel=True), "needs --tp"),
        (Layout(global_batch=2, context=3), "--cp 3 cuts a sequence in 6 parts"),
        (Layout(global_batch=2, context=2, attention="standard"), "needs --attention flash"),
        (Layout(data=2, global_batch=2, expert=2), "does not divide 1 experts"),
        (Layout(global_batch=2, schedule="zero-bubble"), "--pp above 1"),
        (Layout(1, 2, 1, 1, 2, "zero-bubble", recompute="full"), "--recompute full"),
    ],
)
def test_layouts_that_do_not_divide(layout: Layout, message: str) -> None:
    with pytest.raises(InputError, match=message):
        write_step(SMALL, layout)


def test_memory() -> None:
    # Korthikanti et al., table 4 and equation 2: 34 s b h + 5 a s^2 b per layer.
    layout = Layout(global_batch=1, attention="standard")
    s, h, a = GPT3.sequence, GPT3.hidden, GPT3.heads
    parts = peak_memory(GPT3, layout)
    assert parts["activations"] == pytest.approx(96 * (34 * s * h + 5 * a * s * s))
    assert parts["optimizer"] == 12 * GPT3.parameters
    message = r"(?s)does not fit into the 80 GB of a GPU \(a100\).*optimizer"
    with pytest.raises(InputError, match=message):
        check_memory(GPT3, layout, 80e9, "a100")
    check_memory(GPT3, Layout(8, 8, 16, 1, 1536, recompute="full"), 80e9, "a100")


def test_models_of_files(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("layers=2\nhidden=64\nheads=4\nffn=256\nvocab=100\nsequence=32\n")
    assert read_model(str(path)) == Model("mine", 2, 64, 4, 256, 100, 32)
    for text, message in (
        ("layers=2", "lacks hidden"),
        ("wings=2", "no 'wings'"),
        ("layers=0", "layers of a model cannot be 0"),
        ("layers=", "TOML"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            read_model(str(path))
    with pytest.raises(InputError, match="known are gpt3-175b"):
        read_model("gpt9")


def test_the_command_writes_what_step_reads(tisim: CommandLine, tmp_path: Path) -> None:
    path = str(tmp_path / "x.graph")
    sizes = ("--tp", "8", "--pp", "4", "--dp", "2", "--global-batch", "16")
    outcome = tisim("generate", "llm", "--model", "mixtral-8x7b", *sizes, "-o", path)
    assert outcome.status == 0
    assert "64 GPUs" in outcome.out
    assert tisim("step", path, "--machine", "h100").status == 0
    outcome = tisim("generate", "llm", "--model", "gpt3-175b", "--global-batch", "1", "-o", path)
    assert outcome.status == 2
    assert "does not fit" in outcome.err


def test_the_examples_of_the_help_run(
    tisim: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = tisim("generate", "llm", "--help").out.partition("Examples:")[2].replace("\\\n", " ")
    commands = [line.split()[1:] for line in text.splitlines() if line.split()[:1] == ["tisim"]]
    assert [words[0] for words in commands] == ["generate", "generate", "generate", "step"]
    for words in commands:
        assert tisim(*words).status == 0, words


def test_a_stage_that_launches_bound_is_late_by_its_launches() -> None:
    model = Model("small", 32, 512, 8, 2048, 1024, 128)
    machine = replace(STEP_MACHINES["a100"], launch=1e-3)

    def seconds(micro_batches: int) -> float:
        layout = Layout(pipeline=4, global_batch=micro_batches)
        return run_step(parse_graph(write_step(model, layout)), machine).seconds

    # The host thread waits for each message: filling and draining the pipeline takes three
    # micro-batches, as if kernels took as long as their launches.
    each = (seconds(8) - seconds(4)) / 4
    assert seconds(4) / each == pytest.approx(4 + 3, rel=0.05)
