"""Inference: prefill is bound by arithmetic; decoding by reading weights, keys and values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.unit.command_line import CommandLine
from tisim.errors import InputError
from tisim.gpu.llm import MODELS, Model
from tisim.gpu.llm_inference import Serving, serving_memory, write_inference
from tisim.gpu.machines import MACHINES
from tisim.gpu.step_graph import node_counts, parse_graph
from tisim.gpu.step_machine import StepMachine
from tisim.gpu.step_run import run_step

LLAMA = Model("8b", 32, 4096, 32, 14336, 128256, 8192, kv_heads=8, gated=True)
PLAIN = StepMachine(MACHINES["h100"], gemm_efficiency=1.0, memory_efficiency=1.0, kernel=0.0,
                    launch=0.0)  # fmt: skip


def changed(**values: object) -> StepMachine:
    gpu = replace(PLAIN.hardware.gpu, **values)  # type: ignore[arg-type]
    return replace(PLAIN, hardware=replace(PLAIN.hardware, gpu=gpu))


def seconds(serving: Serving, machine: StepMachine = PLAIN, model: Model = LLAMA) -> float:
    return run_step(parse_graph(write_inference(model, serving)), machine).seconds


@pytest.mark.parametrize(("batch", "prompt"), [(1, 1000), (16, 4000)])
def test_a_decoded_token_reads_weights_keys_and_values(batch: int, prompt: int) -> None:
    serving = Serving(batch=batch, prompt=prompt, tokens=101)
    token = (seconds(serving) - seconds(replace(serving, tokens=1))) / 100
    kept = batch * (prompt + 50.5)  # on average
    read = 2 * LLAMA.parameters + 4 * kept * LLAMA.layers * LLAMA.kv_width
    assert token == pytest.approx(read / PLAIN.hardware.gpu.memory_rate, rel=0.02)
    # Twice the arithmetic performance makes no difference.
    fast = changed(peaks={"bf16": 2e15, "fp16": 2e15})
    assert (seconds(serving, fast) - seconds(replace(serving, tokens=1), fast)) / 100 > 0.99 * token


def test_a_prefill_computes_all_parameters_for_each_token() -> None:
    serving = Serving(batch=4, prompt=2048, tokens=1)
    tokens, peak = 4 * 2048, PLAIN.hardware.gpu.peak("bf16")
    products = 2 * (LLAMA.parameters - LLAMA.vocab * LLAMA.hidden) * tokens
    attention = 2 * LLAMA.layers * tokens * 2048 * LLAMA.hidden
    measured = seconds(serving, changed(memory_rate=1e18))
    assert (products + attention) / peak < measured < 1.25 * (products + attention) / peak


def test_gpus_of_a_matrix_add_twice_a_layer() -> None:
    graph = parse_graph(write_inference(LLAMA, Serving(tensor=8, batch=2, prompt=10, tokens=5)))
    for name, rows in (("prefill", 20), ("decode", 2)):
        sums = [node for node in graph.blocks[name] if node.word == "all_reduce"]
        assert [node.numbers for node in sums] == [(2 * rows * LLAMA.hidden,)] * 2
    assert graph.programs[0][2][-1].numbers == (4,)  # the prefill produces the first token
    with pytest.raises(InputError, match="--tp 16 does not divide the heads of keys and values, 8"):
        write_inference(replace(LLAMA, heads=64), Serving(tensor=16))


def test_keys_and_values_are_kept(tisim: CommandLine, tmp_path: Path) -> None:
    parts = serving_memory(MODELS["llama3-70b"], Serving(8, 64, 4096, 4096))
    # 80 layers, 8 heads of 128 numbers, keys and values of 2 bytes: 328 kB per token.
    assert parts["keys and values"] == 64 * 8192 * 80 * 8 * 128 * 4 / 8
    graph = tmp_path / "70b.graph"
    words = ("generate", "inference", "--model", "llama3-70b", "-o", str(graph), "--batch", "64")
    refused = tisim(*words, "--tp", "2")
    assert (refused.status, "this batch does not fit into the 80 GB" in refused.err) == (2, True)
    done = tisim(*words, "--tp", "8", "--prompt", "64", "--tokens", "8")
    assert done.status == 0, done.err
    shown = tisim("step", str(graph), "--machine", "h100", "--set", "launch=0")
    assert shown.status == 0
    assert "interval" not in shown.out  # the measured steps are training steps


def test_prefill_in_pieces_computes_the_same_and_reads_what_was_kept() -> None:
    whole = Serving(batch=4, prompt=4096, tokens=1)
    fast = changed(memory_rate=1e18)
    pieces = seconds(replace(whole, chunk=1024), fast)
    assert pieces == pytest.approx(seconds(whole, fast), rel=0.05)
    # Weights are read four times, stored keys and values 0, 1, 2 and 3 times.
    slow = changed(peaks={"bf16": 1e20, "fp16": 1e20})
    read = 3 * 2 * (LLAMA.parameters - LLAMA.vocab * LLAMA.hidden)
    read += 6 * 4 * 4 * 1024 * LLAMA.layers * LLAMA.kv_width
    more = seconds(replace(whole, chunk=1024), slow) - seconds(whole, slow)
    assert more == pytest.approx(read / PLAIN.hardware.gpu.memory_rate, rel=0.05)


def test_groups_follow_each_other_through_stages() -> None:
    serving = Serving(batch=16, prompt=1000, tokens=101, stages=2)
    token = (seconds(serving) - seconds(replace(serving, tokens=1))) / 100
    # For each of two groups a stage reads its half of the weights, the last stage also those of the
    # logits; and its half of the keys and values.
    kept = 16 * 1050.5 * 4 * LLAMA.layers * LLAMA.kv_width
    read = 2 * (LLAMA.parameters + LLAMA.vocab * LLAMA.hidden) + kept / 2
    assert token == pytest.approx(read / PLAIN.hardware.gpu.memory_rate, rel=0.05)
    for wrong, message in (
        (replace(serving, stages=3), "--pp 3 does not divide the layers, 32"),
        (replace(serving, stages=32), "--pp 32 does not divide the sequences of the batch, 16"),
        (replace(serving, chunk=300), "--chunk 300 does not divide the tokens of a prompt, 1000"),
    ):
        with pytest.raises(InputError, match=message):
            write_inference(LLAMA, wrong)
    halves = serving_memory(LLAMA, serving)
    assert (
        halves["parameters"] == serving_memory(LLAMA, replace(serving, stages=1))["parameters"] / 2
    )


@pytest.mark.parametrize(("stages", "chunk"), [(1, 0), (2, 500)])
def test_keys_and_values_go_to_those_that_decode(stages: int, chunk: int) -> None:
    serving = Serving(8, 16, 1000, 11, stages=stages, chunk=chunk, transfers=True)
    graph = parse_graph(write_inference(LLAMA, serving))
    assert graph.ranks == 16 * stages
    sent = sum(
        nbytes for word, _, nbytes in node_counts(graph) if word == "send"
    )  # plus activations and tokens
    kept = 16 * 1000 * 4 * LLAMA.layers * LLAMA.kv_width
    activations = (stages - 1) * 2 * 16 * (1000 + 10) * LLAMA.hidden
    assert sent == pytest.approx(kept + activations, rel=1e-3)
    together, apart = (
        run_step(parse_graph(write_inference(LLAMA, one)), PLAIN).seconds
        for one in (replace(serving, transfers=False), serving)
    )
    # Each layer's are sent during the prefill of the next layer.
    assert together < apart < 1.05 * together
    slow = replace(PLAIN, hardware=replace(PLAIN.hardware, nic_rate=1e9))
    assert run_step(graph, slow).seconds > kept / (8 * stages * 1e9)
