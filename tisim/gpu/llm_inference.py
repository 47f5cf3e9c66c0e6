"""Inference of large language models as graphs: prefill of a batch of prompts, and decoding.

Prefill computes all tokens of the prompts at once. Decoding computes one token of each sequence,
for which it reads all weights and the keys and values of all previous tokens. Tensor-parallel GPUs
sum their parts twice per layer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tisim.errors import InputError
from tisim.gpu.llm_memory import RESERVED

if TYPE_CHECKING:
    from tisim.gpu.llm import Model

_DONE = ("record main done", "wait out done")


@dataclass(frozen=True)
class Serving:
    """A batch of sequences that are served together.

    Attributes
    ----------
    tensor
        GPUs that share each matrix.
    batch, prompt, tokens
        Number of sequences, tokens per prompt, and tokens generated per sequence.
    dtype
        Number format of matrices; keys and values have 16 bits.
    stages
        Pipeline stages.
    chunk
        Tokens of a prompt that are computed at once; 0: all.
    transfers
        Whether separate GPUs decode, to which those of the prefill send keys and values.
    """

    tensor: int = 1
    batch: int = 1
    prompt: int = 1024
    tokens: int = 128
    dtype: str = "bf16"
    stages: int = 1
    chunk: int = 0
    transfers: bool = False

    @property
    def piece(self) -> int:
        """Tokens of a prompt that are computed at once."""
        return self.chunk or self.prompt

    def check(self, model: Model) -> None:
        """Raise InputError if the model cannot be divided this way."""
        kv_heads = model.kv_heads or model.heads
        for what, number in (
            ("heads", model.heads),
            ("ffn", model.ffn),
            ("heads of keys and values", kv_heads),
        ):
            if number % self.tensor:
                raise InputError(f"--tp {self.tensor} does not divide the {what}, {number}")
        for option, by, what, number in (
            ("--pp", self.stages, "layers", model.layers),
            ("--pp", self.stages, "sequences of the batch", self.batch),
            ("--chunk", self.piece, "tokens of a prompt", self.prompt),
        ):
            if number % by:
                raise InputError(f"{option} {by} does not divide the {what}, {number}")


def write_inference(model: Model, serving: Serving) -> str:
    """Return the graph file of a prefill and of the decoding of all subsequent tokens.

    Each decoded token and each piece of a prompt reads the average number of keys and values, so
    that the total is exact. With stages, the batch is divided into as many groups, which follow
    each other through the stages: the last one sends the tokens of a group to the first.
    """
    serving.check(model)
    t, stages = serving.tensor, serving.stages
    batch, pieces = serving.batch // stages, serving.prompt // serving.piece
    rows = batch * serving.piece
    # The prefill produces the first token.
    steps = serving.tokens - 1
    instances = 2 if serving.transfers else 1
    lines = ["graph 1", "inference"]
    lines += [f"# {model.name}: {serving.batch} sequences, {serving.prompt} tokens, "
              f"{serving.tokens} more"]  # fmt: skip
    lines += [f"ranks {instances * t * stages}", f"dtype {serving.dtype}"]
    lines += [f"communicator tp {t} 1"] if t > 1 else []
    # Half of a prompt's scores are masked; a piece reads the keys and values of earlier pieces.
    flops = 2 * rows * serving.prompt * model.hidden // t
    kept = 4 * rows * model.kv_width // t
    lines += _layer("prefill", model, serving, rows, flops, kept * (pieces - 1) // 2)
    if serving.transfers:
        lines[-1:] = ["record main kept", "wait kv kept", f"send kv {t * stages} {kept}", "end"]
    read = round(batch * (serving.prompt + serving.tokens / 2))
    lines += _layer("decode", model, serving, batch, 4 * read * model.hidden // t,
                    4 * read * model.kv_width // t)  # fmt: skip
    everything: list[str] = []
    for stage in range(stages):
        layers = model.layers // stages
        piece = [*_into(model, serving, stage, rows, False), f"do prefill {layers}"]
        last = [*piece, *_out_of(model, serving, stage, rows, batch)]
        first = [*piece, *(_out_of(model, serving, stage, rows, 0))]
        token = [*_into(model, serving, stage, batch, True), f"do decode {layers}",
                 *_out_of(model, serving, stage, batch, batch)]  # fmt: skip
        answers = [f"receive in {(stages - 1) * t} {4 * batch} 1"] * stages
        prefill = [*first * (pieces - 1), *last] * stages
        decode = [f"do token{stage} {steps}"] if steps else []
        lines += [f"block token{stage}", *token * stages, "end"]
        ranks = [f"program {(i * stages + stage) * t}-{(i * stages + stage + 1) * t - 1}"
                 for i in range(instances)]  # fmt: skip
        ends = answers if stages > 1 and not stage else []
        if serving.transfers:
            came = [f"receive kv {-t * stages} {kept}"] * (stages * pieces * layers)
            # The last stage also has the first tokens, and passes them on.
            is_last = stages > 1 and steps and stage == stages - 1
            decode = [*(_back(serving, batch) * stages if is_last else []), *decode]
            everything += [ranks[0], *prefill, *ends, "end"]
            everything += [ranks[1], *came, "record kv arrived", "wait main arrived", *decode,
                           *(ends if steps else []), "end"]  # fmt: skip
        else:
            everything += [ranks[0], *prefill, *decode, *ends, "end"]
    return "\n".join([*lines, *everything]) + "\n"


def _into(model: Model, serving: Serving, stage: int, rows: int, decodes: bool) -> list[str]:
    """Return the input of a stage: tokens, or activations of the previous stage."""
    t, came = serving.tensor, ["record in came", "wait main came"]
    if stage:
        return [f"receive in {-t} {2 * rows * model.hidden // t}", *came]
    embedded = [f"memory main {4 * rows * model.hidden}"]
    if decodes and serving.stages > 1:
        return [f"receive in {(serving.stages - 1) * t} {4 * rows} 1", *came, *embedded]
    return embedded


def _out_of(model: Model, serving: Serving, stage: int, rows: int, made: int) -> list[str]:
    """Return the output of a stage: activations, or the tokens of the logits, if any."""
    t = serving.tensor
    if stage < serving.stages - 1:
        return [*_DONE, f"send out {t} {2 * rows * model.hidden // t}"]
    if not made:
        return []
    back = _back(serving, made) if serving.stages > 1 else []
    return [*_logits(model, serving, made), *back]


def _back(serving: Serving, made: int) -> list[str]:
    """Tokens that the last stage sends to the first."""
    return [*_DONE, f"send out {-(serving.stages - 1) * serving.tensor} {4 * made} 1"]


def _layer(
    name: str, model: Model, serving: Serving, rows: int, flops: int, read: int
) -> list[str]:
    """Return a layer on `rows` tokens, whose attention reads `read` bytes of keys and values."""
    t, h = serving.tensor, model.hidden
    qkv, ffn = (h + 2 * model.kv_width) // t, model.ffn // t
    first = (2 if model.gated else 1) * ffn
    own = rows * model.top_k  # rows of experts
    # Experts whose weights are read: not all of them if there are few tokens.
    used = min(model.experts, own)
    many = f" {used}" if model.experts > 1 else ""
    each = -(-own // used)
    summed = [f"all_reduce main tp {2 * rows * h}"] if t > 1 else []
    return [
        f"block {name}",
        f"memory main {4 * rows * h}",  # norm
        f"gemm main {rows} {qkv} {h}",
        f"memory main {4 * rows * qkv}",  # positions; keys and values are stored
        f"attention main {flops} {read + 2 * rows * (qkv + h // t)}",
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


def _logits(model: Model, serving: Serving, batch: int) -> list[str]:
    """Compute the next token of `batch` sequences."""
    t = serving.tensor
    all_of_them = [f"all_gather main tp {2 * batch * model.vocab}"] if t > 1 else []
    return [f"gemm main {batch} {-(-model.vocab // t)} {model.hidden}", *all_of_them,
            f"memory main {10 * batch * model.vocab}"]  # fmt: skip


def serving_memory(model: Model, serving: Serving) -> dict[str, float]:
    """Return the bytes of a GPU by use."""
    t, stages = serving.tensor, serving.stages
    weights = 2.0 if serving.dtype in ("fp16", "bf16") else 1.0 if serving.dtype == "fp8" else 4.0
    length = serving.prompt + serving.tokens
    rows = serving.batch * serving.piece / stages
    kept = 4.0 * serving.batch * length * model.layers * model.kv_width
    return {
        "parameters": weights * (model.parameters + model.vocab * model.hidden) / (t * stages),
        "keys and values": kept / (t * stages),
        "activations": 2.0 * rows * (2 * model.hidden + 3 * model.ffn / t),
        "reserved": RESERVED,
    }
