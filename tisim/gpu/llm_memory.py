"""Memory of a training step on the GPU that needs most.

Activations are those of Korthikanti et al., "Reducing Activation Recomputation in Large Transformer
Models" (arXiv 2205.05198), equations 2 to 6, for other widths of feed-forward networks too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.support.quantities import format_bytes
from tisim.support.tables import align

if TYPE_CHECKING:
    from tisim.gpu.llm import Layout, Model

#: Approximate bytes taken by CUDA, NCCL and fragmentation.
RESERVED = 3e9


def peak_memory(model: Model, layout: Layout) -> dict[str, float]:
    """Return the bytes by use on the first stage, which stores the most micro-batches.

    With the zero-bubble schedule the other stages store as many, for weight gradients.
    """
    t, p, d = layout.tensor, layout.pipeline, layout.copies
    table = model.vocab * model.hidden / t
    experts = model.experts * model.expert_parameters
    expert_params = model.layers * experts / (p * t * layout.expert)
    shared = model.layers * (model.layer_parameters - experts) / (p * t) + table
    parameters = shared + expert_params
    divided = shared / d + expert_params * layout.expert / d
    tokens = layout.micro_batch * model.sequence / layout.context
    whole = t if layout.sequence_parallel else 1
    scores = layout.micro_batch * model.heads * model.sequence**2 / t
    layer = tokens * model.hidden * (10 / whole + 8 / t)
    if layout.expert > 1:
        layer += 4 * tokens * model.top_k * model.hidden  # rows of its experts, and their results
    layer += 4 * tokens * model.top_k * model.ffn / t
    if layout.recompute == "none" and layout.attention == "standard":
        layer += 5 * scores
    kept = 2 * tokens * model.hidden / whole if layout.recompute == "full" else layer
    in_flight = float(min(p, layout.micro_batches))
    if layout.schedule == "gpipe":
        in_flight = layout.micro_batches
    elif layout.schedule == "interleaved":
        in_flight *= 1 + (p - 1) / (p * layout.chunks)
    working = layer + (5 * scores if layout.attention == "standard" else 0)
    logits = 10 * tokens * model.vocab / t if p == 1 else 0.0
    return {
        "parameters": 2 * (divided if layout.zero == 3 else parameters),
        "gradients": layout.gradient_bytes * (divided if layout.zero >= 2 else parameters),
        "optimizer": 12 * (divided if layout.zero else parameters),
        "activations": kept * model.layers / p * in_flight,
        "working": working if layout.recompute != "none" else 0.0,
        "logits": logits,
        "reserved": RESERVED,
    }


def check_memory(model: Model, layout: Layout, memory: float, gpu: str) -> None:
    """Raise InputError, with the table, if a step does not fit into a GPU's memory."""
    check_fit(
        "the step",
        peak_memory(model, layout),
        memory,
        gpu,
        "more --tp, --pp, --cp or --ep, --zero 1, --recompute, --sequence-parallel or a smaller "
        "--micro-batch",
    )


def check_fit(what: str, parts: dict[str, float], memory: float, gpu: str, less: str) -> None:
    """Raise InputError, with the table, if parts do not fit into a GPU's memory."""
    total = sum(parts.values())
    if total <= memory:
        return
    rows = [(name, format_bytes(value)) for name, value in parts.items() if value]
    rows.append(("all", format_bytes(total)))
    table = "\n  ".join(align(rows, 1))
    raise InputError(
        f"{what} does not fit into the {format_bytes(memory)} of a GPU ({gpu}):\n"
        f"  {table}\n"
        f"{less} need less; --no-memory-check writes the graph anyway"
    )
