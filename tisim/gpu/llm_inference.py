"""Inference of large language models as graphs: a batch of prompts, and tokens one by one.

Prefill computes all tokens of the prompts at once, decode one token of each sequence, for which it
reads all weights and the keys and values of all tokens before. GPUs that share each matrix add
their parts twice a layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.gpu.llm_memory import RESERVED

if TYPE_CHECKING:
    from tisim.gpu.llm import Model


@dataclass(frozen=True)
class Serving:
    """Sequences that are served together.

    Attributes
    ----------
    tensor
        GPUs that share each matrix.
    batch, prompt, tokens
        Sequences, tokens of each prompt, and tokens that are made of each after it.
    dtype
        Of matrices; keys and values have 16 bits.
    """

    tensor: int = 1
    batch: int = 1
    prompt: int = 1024
    tokens: int = 128
    dtype: str = "bf16"

    def check(self, model: Model) -> None:
        """Raise InputError where the model cannot be divided so."""
        kv_heads = model.kv_heads or model.heads
        for what, number in (
            ("heads", model.heads),
            ("ffn", model.ffn),
            ("heads of keys and values", kv_heads),
        ):
            if number % self.tensor:
                raise InputError(f"--tp {self.tensor} does not divide the {what}, {number}")


def write_inference(model: Model, serving: Serving) -> str:
    """The graph file of a prefill and of the decoding of all tokens after it.

    A decoded token reads as many keys and values as there are in the mean, so that all together
    read what they do.
    """
    serving.check(model)
    t, batch = serving.tensor, serving.batch
    prompt = batch * serving.prompt
    # The first token comes of the prefill.
    steps = serving.tokens - 1
    context = serving.prompt + serving.tokens / 2
    lines = ["graph 1", "inference"]
    lines += [f"# {model.name}: {batch} sequences, {serving.prompt} tokens, {serving.tokens} more"]
    lines += [f"ranks {t}", f"dtype {serving.dtype}"]
    lines += [f"communicator tp {t} 1"] if t > 1 else []
    # Half of the scores of a prompt are masked.
    flops = 2 * prompt * serving.prompt * model.hidden // t
    lines += _layer("prefill", model, serving, prompt, flops, 0)
    kept = round(batch * context)
    read = 4 * kept * model.kv_width // t
    lines += _layer("decode", model, serving, batch, 4 * kept * model.hidden // t, read)
    lines += ["block token", f"memory main {4 * batch * model.hidden}",
              f"do decode {model.layers}", *_logits(model, serving), "end"]  # fmt: skip
    lines += [f"program 0-{t - 1}", f"memory main {4 * prompt * model.hidden}",
              f"do prefill {model.layers}", *_logits(model, serving)]  # fmt: skip
    lines += [f"do token {steps}"] if steps else []
    return "\n".join([*lines, "end"]) + "\n"


def _layer(
    name: str, model: Model, serving: Serving, rows: int, flops: int, read: int
) -> list[str]:
    """A layer on so many tokens, whose attention reads so many bytes of keys and values."""
    t, h = serving.tensor, model.hidden
    qkv, ffn = (h + 2 * model.kv_width) // t, model.ffn // t
    first = (2 if model.gated else 1) * ffn
    own = rows * model.top_k  # of experts
    # Those experts whose weights are read: with few tokens not all.
    used = min(model.experts, own)
    many = f" {used}" if model.experts > 1 else ""
    each = -(-own // used)
    summed = [f"all_reduce main tp {2 * rows * h}"] if t > 1 else []
    return [
        f"block {name}",
        f"memory main {4 * rows * h}",  # norm
        f"gemm main {rows} {qkv} {h}",
        f"memory main {4 * rows * qkv}",  # positions, and keys and values are kept
        f"flops main {flops} {read + 2 * rows * (qkv + h // t)}",
        f"gemm main {rows} {h} {h // t}",
        *summed,
        f"memory main {8 * rows * h}",  # sum, norm
        f"gemm main {each} {first} {h}{many}",
        f"memory main {2 * own * (first + ffn)}",
        f"gemm main {each} {h} {ffn}{many}",
        *summed,
        f"memory main {6 * rows * h}",  # sum
        "end",
    ]


def _logits(model: Model, serving: Serving) -> list[str]:
    """The next token of each sequence."""
    t, batch = serving.tensor, serving.batch
    all_of_them = [f"all_gather main tp {2 * batch * model.vocab}"] if t > 1 else []
    return [f"gemm main {batch} {-(-model.vocab // t)} {model.hidden}", *all_of_them,
            f"memory main {10 * batch * model.vocab}"]  # fmt: skip


def serving_memory(model: Model, serving: Serving) -> dict[str, float]:
    """Bytes of a GPU by what they hold."""
    t = serving.tensor
    weights = 2.0 if serving.dtype in ("fp16", "bf16") else 1.0 if serving.dtype == "fp8" else 4.0
    length = serving.prompt + serving.tokens
    rows = serving.batch * serving.prompt
    return {
        "parameters": weights * (model.parameters + model.vocab * model.hidden) / t,
        "keys and values": 4.0 * serving.batch * length * model.layers * model.kv_width / t,
        "activations": 2.0 * rows * (2 * model.hidden + 3 * model.ffn / t),
        "reserved": RESERVED,
    }
