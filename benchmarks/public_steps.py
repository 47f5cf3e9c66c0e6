"""Predict published training steps, none of which was used for a fit.

``python -m benchmarks.public_steps`` prints the figures of docs/ai_validation.md, in a minute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from benchmarks.training_steps import Step, errors, held_by_intervals
from tisim.gpu.llm import MODELS, Layout, Model, write_step
from tisim.gpu.step_graph import parse_graph
from tisim.gpu.step_machine import STEP_MACHINES

_GPT3, _LLAMA3 = MODELS["gpt3-175b"], MODELS["llama3-70b"]


def _gpt(name: str, layers: int, hidden: int, heads: int, vocab: int = 51200) -> Model:
    return replace(
        _GPT3, name=name, layers=layers, hidden=hidden, heads=heads, ffn=4 * hidden, vocab=vocab
    )


def _llama(name: str, layers: int, hidden: int, heads: int, ffn: int, kv_heads: int = 0) -> Model:
    model = replace(_LLAMA3, name=name, layers=layers, hidden=hidden, heads=heads, ffn=ffn)
    return replace(model, vocab=32000, sequence=4096, kv_heads=kv_heads)


def selene_steps() -> Iterator[Step]:
    """1.7 to 1,008 billion parameters on 32 to 3,072 A100, arXiv 2104.04473.

    Teraflop/s per GPU are those of table 1, flops those of its equation 3; micro-batch sizes and
    chunks those of Megatron-LM's ``examples/sc21/run_table_1.sh``.
    """
    for name, layers, hidden, heads, tensor, pipeline, gpus, batch, micro, chunks, teraflops in (
        ("1.7B", 24, 2304, 24, 1, 1, 32, 512, 16, 1, 137),
        ("3.6B", 30, 3072, 32, 2, 1, 64, 512, 16, 1, 138),
        ("7.5B", 36, 4096, 32, 4, 1, 128, 512, 16, 1, 142),
        ("18.4B", 40, 6144, 48, 8, 1, 256, 1024, 8, 1, 135),
        ("39.1B", 48, 8192, 64, 8, 2, 512, 1536, 4, 1, 138),
        ("76.1B", 60, 10240, 80, 8, 4, 1024, 1792, 2, 3, 140),
        ("145.6B", 80, 12288, 96, 8, 8, 1536, 2304, 2, 2, 148),
        ("310.1B", 96, 16384, 128, 8, 16, 1920, 2160, 1, 2, 155),
        ("529.6B", 105, 20480, 128, 8, 35, 2520, 2520, 1, 3, 163),
        ("1008B", 128, 25600, 160, 8, 64, 3072, 3072, 1, 1, 163),
    ):
        layout = Layout(
            *(tensor, pipeline, gpus // (tensor * pipeline), micro, batch),
            schedule="interleaved" if chunks > 1 else "1f1b",
            chunks=chunks,
            recompute="full",
            attention="standard",
            dtype="fp16",
        )
        flops = 96.0 * batch * 2048 * layers * hidden**2
        flops *= 1 + 2048 / (6 * hidden) + 51200 / (16 * layers * hidden)
        yield _step(_gpt(name, layers, hidden, heads), layout, flops / (teraflops * 1e12 * gpus))


def nemo_steps() -> Iterator[Step]:
    """Pre-training on DGX H100 with FP8: NVIDIA/NeMo, docs/source/performance, container 24.07."""
    for model, gpus, batch, micro, sequence, tensor, pipeline, context, chunks, rate in (
        (_gpt("GPT3-5B", 24, 4096, 32), 64, 2048, 4, 2048, 1, 1, 1, 1, 22521),
        (_gpt("GPT3-20B", 44, 6144, 48), 64, 256, 2, 2048, 2, 1, 1, 1, 5851),
        (_GPT3, 128, 256, 1, 2048, 4, 8, 1, 6, 726),
        (_GPT3, 512, 2048, 2, 2048, 4, 8, 1, 6, 782),
        (_llama("LLAMA2-7B", 32, 4096, 32, 11008), 8, 128, 1, 4096, 1, 1, 1, 1, 16847),
        (_llama("LLAMA2-13B", 40, 5120, 40, 13824), 16, 128, 1, 4096, 1, 4, 1, 10, 8646),
        (_llama("LLAMA2-70B", 80, 8192, 64, 28672, 8), 64, 128, 1, 4096, 4, 4, 1, 20, 1707),
        (
            replace(_llama("LLAMA3-8B", 32, 4096, 32, 14336, 8), vocab=128256),
            *(8, 128, 1, 8192, 1, 1, 2, 1, 12036),
        ),
        (_LLAMA3, 64, 128, 1, 8192, 4, 4, 2, 5, 1533),
        (_gpt("Nemotron-8B", 32, 4096, 32, 256000), 64, 256, 4, 4096, 2, 1, 1, 1, 12701),
        (_gpt("Nemotron-22B", 40, 6144, 48, 256000), 64, 256, 2, 4096, 2, 4, 1, 10, 4256),
        (
            replace(_gpt("Nemotron-340B", 96, 18432, 96, 256000), kv_heads=8),
            *(128, 32, 1, 4096, 8, 8, 1, 12, 322),
        ),
    ):
        layout = Layout(
            *(tensor, pipeline, gpus // (tensor * pipeline * context), micro, batch),
            schedule="interleaved" if chunks > 1 else "1f1b",
            chunks=chunks,
            zero=1,
            sequence_parallel=tensor > 1,
            dtype="fp8",
            overlap_gradients=True,
            overlap_tensor=True,
            fp32_gradients=False,
            context=context,
        )
        yield _step(replace(model, sequence=sequence), layout, batch * sequence / (rate * gpus))


def _step(model: Model, layout: Layout, seconds: float) -> Step:
    graph = parse_graph(write_step(model, layout))
    return Step(f"{model.name}, {layout.ranks} GPUs", layout.ranks, graph, seconds)


def _report(what: str, steps: Sequence[Step], machine: str) -> None:
    found = errors(steps, STEP_MACHINES[machine])
    for step, error in zip(steps, found, strict=True):
        predicted = step.seconds * (1 + error)
        print(f"| {step.name} | {step.seconds:.4g} | {predicted:.4g} | {error:+.1%} |")
    held = sum(held_by_intervals(steps, STEP_MACHINES[machine]))
    print(f"{what}: mean of |error| {np.abs(found).mean():.1%}, mean {found.mean():+.1%}, ", end="")
    print(f"intervals hold {held} of {len(steps)}")


def main() -> None:
    _report("A100, fp16", list(selene_steps()), "a100")
    _report("H100, FP8", list(nemo_steps()), "h100")


if __name__ == "__main__":
    main()
