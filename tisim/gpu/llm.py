"""Training steps of large language models as graphs, following Megatron-LM.

Ranks are numbered as in Megatron-LM: tensor-parallel ranks are neighbours, followed by those that
share a sequence, data-parallel ranks, and the stages of the pipeline. Experts are distributed over
neighbouring ranks with the same index in their tensor-parallel groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Literal

from tisim.errors import InputError
from tisim.support.reading import read_text, toml_errors

Schedule = Literal["gpipe", "1f1b", "interleaved", "zero-bubble"]
Recompute = Literal["none", "selective", "full"]
Attention = Literal["standard", "flash"]


@dataclass(frozen=True)
class Model:
    """A transformer that predicts the next token.

    Attributes
    ----------
    layers, hidden, heads, kv_heads, ffn, vocab, sequence
        Number of layers, hidden size, attention heads, key/value heads, width between the two
        matrices of a feed-forward network, vocabulary size, tokens per sequence.
    gated
        Whether a feed-forward network has three matrices.
    experts, top_k
        Feed-forward networks per layer, and the number that process each token.
    """

    name: str
    layers: int
    hidden: int
    heads: int
    ffn: int
    vocab: int
    sequence: int
    kv_heads: int = 0
    gated: bool = False
    experts: int = 1
    top_k: int = 1

    @property
    def kv_width(self) -> int:
        """Width of the keys, and of the values."""
        return self.hidden // self.heads * (self.kv_heads or self.heads)

    @property
    def expert_parameters(self) -> int:
        return (3 if self.gated else 2) * self.hidden * self.ffn

    @property
    def layer_parameters(self) -> int:
        """Parameters of a layer, excluding vectors."""
        return self.attention_parameters + self.experts * self.expert_parameters

    @property
    def attention_parameters(self) -> int:
        return self.hidden * (2 * self.hidden + 2 * self.kv_width)

    @property
    def parameters(self) -> int:
        return self.layers * self.layer_parameters + self.vocab * self.hidden

    def flops(self, sequences: int) -> float:
        """Flops of a step without recomputation (Korthikanti et al., appendix A)."""
        idle = self.layers * (self.experts - self.top_k) * self.expert_parameters
        attention = 2 * self.layers * self.sequence * self.hidden
        return 6.0 * sequences * self.sequence * (self.parameters - idle + attention)


#: Models by name.
MODELS = {
    model.name: model
    for model in (
        Model("gpt3-175b", 96, 12288, 96, 4 * 12288, 51200, 2048),
        Model("llama3-70b", 80, 8192, 64, 28672, 128256, 8192, kv_heads=8, gated=True),
        Model(
            *("mixtral-8x7b", 32, 4096, 32, 14336, 32000, 4096),
            kv_heads=8,
            gated=True,
            experts=8,
            top_k=2,
        ),
    )
}


def read_model(name: str) -> Model:
    """Return a model by name from `MODELS`, or from a TOML file with the attributes of `Model`."""
    if name in MODELS:
        return MODELS[name]
    if not name.endswith(".toml"):
        known = ", ".join(MODELS)
        raise InputError(f"no model {name!r}; known are {known}, or give a file NAME.toml")
    import tomllib

    text = read_text(name, "this model")
    with toml_errors(name, text):
        values = tomllib.loads(text)
    values.setdefault("name", Path(name).stem)
    known_fields = {f.name: f for f in fields(Model)}
    for key, value in values.items():
        if key not in known_fields:
            raise InputError(f"a model has no {key!r}, only {', '.join(known_fields)}", file=name)
        kind = known_fields[key].type
        fits = isinstance(value, {"str": str, "bool": bool}.get(str(kind), int))
        if not fits or (kind == "int" and not 0 < value < 10**9):
            raise InputError(f"{key} of a model cannot be {value!r}", file=name)
    missing = [n for n in ("layers", "hidden", "heads", "ffn", "vocab", "sequence")
               if n not in values]  # fmt: skip
    if missing:
        raise InputError(f"the model lacks {', '.join(missing)}", file=name)
    return Model(**values)


@dataclass(frozen=True)
class Layout:
    """Distribution of a training step over GPUs.

    Attributes
    ----------
    tensor, pipeline, data
        GPUs that share each matrix, pipeline stages, and copies of the model.
    micro_batch, global_batch
        Sequences that a copy processes at once, and sequences per step.
    chunks
        Parts of a stage in the interleaved schedule.
    zero
        ZeRO stage: copies divide the optimizer state (1), also gradients (2), also parameters (3).
    recompute
        Recomputed in the backward pass: nothing, the core of attention, or whole layers.
    sequence_parallel
        Divide the activations that tensor parallelism replicates along the sequence.
    dtype
        Number format of matrices.
    attention
        Separate kernels with dropout, as in Megatron-LM up to 2022, or one fused kernel.
    overlap_gradients
        Reduce the gradients of a layer during the backward pass of the preceding layers.
    overlap_tensor
        Reduce the output of the backward pass of a layer while weight gradients are computed.
    fp32_gradients
        Accumulate gradients in fp32 rather than in 16 bits.
    context
        GPUs that share each sequence.
    expert
        GPUs that share the experts of a layer, among the copies and parts of sequences.
    """

    tensor: int = 1
    pipeline: int = 1
    data: int = 1
    micro_batch: int = 1
    global_batch: int = 0
    schedule: Schedule = "1f1b"
    chunks: int = 1
    zero: int = 0
    recompute: Recompute = "none"
    sequence_parallel: bool = False
    dtype: str = "bf16"
    attention: Attention = "flash"
    overlap_gradients: bool = False
    overlap_tensor: bool = False
    fp32_gradients: bool = True
    context: int = 1
    expert: int = 1

    @property
    def copies(self) -> int:
        """GPUs with the same parameters, except for experts; they sum their gradients."""
        return self.data * self.context

    @property
    def ranks(self) -> int:
        return self.tensor * self.pipeline * self.copies

    @property
    def micro_batches(self) -> int:
        """Micro-batches per copy of the model and step."""
        return self.global_batch // (self.data * self.micro_batch)

    @property
    def gradient_bytes(self) -> int:
        return 4 if self.fp32_gradients else 2

    def check(self, model: Model) -> None:
        """Raise InputError if the model cannot be divided this way."""
        n, layers = self.data * self.micro_batch, self.pipeline * self.chunks
        for holds, message in (
            (model.heads % self.tensor == 0, f"--tp {self.tensor} does not divide the heads"),
            (model.ffn % self.tensor == 0, f"--tp {self.tensor} does not divide the ffn"),
            (
                model.layers % layers == 0,
                f"{layers} stages (--pp times --chunks) do not divide {model.layers} layers",
            ),
            (
                self.global_batch > 0 and self.global_batch % n == 0,
                f"--global-batch {self.global_batch} is not a multiple of --dp times "
                f"--micro-batch, {n}",
            ),
            (
                self.schedule == "interleaved" or self.chunks == 1,
                "--chunks needs --schedule interleaved",
            ),
            (
                self.schedule != "interleaved" or (self.chunks > 1 and self.pipeline > 1),
                "--schedule interleaved needs --pp and --chunks above 1",
            ),
            (
                self.schedule != "interleaved" or self.micro_batches % self.pipeline == 0,
                f"--schedule interleaved needs a multiple of --pp {self.pipeline} micro-batches, "
                f"not {self.micro_batches}",
            ),
            (self.zero < 2 or self.pipeline == 1, "--zero 2 and 3 need --pp 1"),
            (not self.sequence_parallel or self.tensor > 1, "--sequence-parallel needs --tp"),
            (
                self.context == 1 or model.sequence % (2 * self.context) == 0,
                f"--cp {self.context} cuts a sequence in {2 * self.context} parts, which do not "
                f"divide {model.sequence} tokens",
            ),
            (
                self.context == 1 or self.attention == "flash",
                "--cp needs --attention flash",
            ),
            (
                model.experts % self.expert == 0 and self.copies % self.expert == 0,
                f"--ep {self.expert} does not divide {model.experts} experts, or --dp times --cp, "
                f"{self.copies}",
            ),
            (self.expert == 1 or self.zero < 2, "--ep needs --zero 0 or 1"),
            (
                self.expert == 1 or self.tensor == 1 or self.sequence_parallel,
                "--ep with --tp needs --sequence-parallel, as in Megatron-LM",
            ),
            (
                self.schedule != "zero-bubble" or (self.pipeline > 1 and self.recompute != "full"),
                "--schedule zero-bubble needs --pp above 1 and cannot be combined with --recompute "
                "full",
            ),
        ):
            if not holds:
                raise InputError(message)


def write_step(model: Model, layout: Layout) -> str:
    """Return the graph file of a training step."""
    layout.check(model)
    return "\n".join(_Step(model, layout).lines()) + "\n"


Lines = list[str]


def _run_on_stream(stream: str, before: str, after: str, *lines: str) -> Lines:
    """Run lines on another stream once the main one gets there; the main one waits for them."""
    begun = [f"record main {before}", f"wait {stream} {before}", *lines]
    return [*begun, f"record {stream} {after}", f"wait main {after}"]


class _Kernels:
    """The kernels of a GPU for one micro-batch, in a layer and outside of the layers.

    The bytes of kernels other than matrix products are those that they read and write: 2 for a
    16-bit number, 1 for an entry of a dropout mask. Comments name the operations.
    """

    def __init__(self, model: Model, layout: Layout) -> None:
        self.model, self.layout = model, layout
        self.t = layout.tensor
        self.tokens = layout.micro_batch * model.sequence // layout.context
        self.width = model.hidden
        self.qkv = (model.hidden + 2 * model.kv_width) // self.t
        self.out = model.hidden // self.t
        self.head = model.hidden // model.heads
        self.batch = layout.micro_batch * model.heads // self.t
        self.whole = self.tokens * model.hidden // (self.t if layout.sequence_parallel else 1)
        self.part = self.tokens * model.hidden // self.t
        self.scores = self.batch * model.sequence**2 // layout.context
        self.vocab = -(-model.vocab // self.t)
        # Deferred weight gradients, if the schedule defers them.
        self.deferred: Lines | None = [] if layout.schedule == "zero-bubble" else None

    def split_deferred(self, write: Callable[[], Lines]) -> tuple[Lines, Lines]:
        """Return the lines of `write`, and the weight gradients that it defers."""
        if self.deferred is not None:
            self.deferred = []
        return write(), self.deferred or []

    def reduced(self, backward: bool = False, during: Sequence[str] = ()) -> Lines:
        """Sum over tensor-parallel GPUs; `during`: work that does not depend on the result."""
        if self.t == 1:
            return list(during)
        word = "reduce_scatter" if self.layout.sequence_parallel else "all_reduce"
        return self._tensor(word, during if backward and self.layout.overlap_tensor else (), during)

    def gathered(self) -> Lines:
        """Gather the whole sequence, of which each GPU has a part."""
        if not self.layout.sequence_parallel:
            return []
        return self._tensor("all_gather", (), ())

    def _tensor(
        self, word: str, during: Sequence[str], rest: Sequence[str], rows: int = 0
    ) -> Lines:
        nbytes = 2 * (rows or self.tokens) * self.width
        *start, wait = _run_on_stream("tensor", "t", "u", f"{word} tensor tp {nbytes}")
        return [*start, *during, wait] if during else [*start, wait, *rest]

    def forward(self) -> Lines:
        return [
            f"memory main {4 * self.whole}",  # layer norm
            *self.gathered(),
            f"gemm main {self.tokens} {self.qkv} {self.width}",
            f"memory main {4 * self.tokens * self.qkv}",  # bias, or positions
            *self.attention(),
            f"gemm main {self.tokens} {self.width} {self.out}",
            *self.reduced(),
            f"memory main {7 * self.whole}",  # bias, dropout, sum
            f"memory main {4 * self.whole}",  # layer norm
            *self._dispatch(),
            *self._network(),
            *self._combine(),
            f"memory main {7 * self.whole}",
        ]

    def _dispatch(self) -> Lines:
        """Send tokens to their experts, or to the only feed-forward network."""
        if self.layout.expert == 1:
            return [*self.gathered(), *self._permute_rows()]
        rows = self.tokens * self.model.top_k
        own = f"memory main {4 * rows * self.width // self.t}"  # in the order of experts
        spread = self._tensor("all_gather", (), (), rows) if self.t > 1 else []
        return [own, *self._exchange(), *spread, *self._permute_rows()]

    def _combine(self, during: Sequence[str] = (), backward: bool = False) -> Lines:
        """Send tokens back, summed over tensor-parallel GPUs; `during` as in `reduced`."""
        if self.layout.expert == 1:
            if backward:
                return self.reduced(True, [*self._permute_rows(), *during])
            return [*self._permute_rows(), *self.reduced()]
        rows = self.tokens * self.model.top_k
        summed = self._tensor("reduce_scatter", (), (), rows) if self.t > 1 else []
        own = f"memory main {4 * rows * self.width // self.t}"
        return [*during, *self._permute_rows(), *summed, *self._exchange(), own]

    def _permute_rows(self) -> Lines:
        """Permute rows into the order of this GPU's experts, or back into that of tokens."""
        rows = self.tokens * self.model.top_k
        return [f"memory main {4 * rows * self.width}"] if self.model.experts > 1 else []

    def _exchange(self) -> Lines:
        """Send rows to the GPUs that have their experts."""
        nbytes = 2 * self.tokens * self.model.top_k * self.width // self.t
        return _run_on_stream("experts", "m0", "m1", f"all_to_all experts ep {nbytes}")

    def attention(self) -> Lines:
        """Scores, softmax, dropout, their product with the values."""
        s = self.model.sequence
        if self.layout.attention == "flash":
            moved = 2 * (2 * self.part + 2 * self.tokens * self.model.kv_width // self.t)
            return self._ring(2 * self.scores * self.head, moved, self._keys(), 6 * self.part)
        return [
            f"gemm main {s} {s} {self.head} {self.batch}",
            f"memory main {7 * self.scores // 2}",
            f"memory main {5 * self.scores}",
            f"gemm main {s} {self.head} {s} {self.batch}",
            f"memory main {4 * self.part}",
        ]

    def _keys(self) -> int:
        """Bytes of the keys and values of a GPU."""
        return 4 * self.tokens * self.model.kv_width // self.t

    def _ring(self, flops: int, moved: int, exchanged: int, merged: int) -> Lines:
        """Compute attention in one step per GPU of a sequence, each with the keys of another GPU.

        They arrive from the neighbour in a ring during the previous step. Each GPU has a part from
        the front and one from the back of a sequence, which balances the work.
        """
        steps = self.layout.context
        if steps == 1:
            return [f"attention main {flops} {moved}"]
        lines = ["record main k", "wait context k"]
        for step in range(steps):
            if step < steps - 1:
                lines += [f"shift context cp {exchanged}", f"record context k{step}"]
            lines.append(f"attention main {flops // steps} {moved}")
            if step:
                lines.append(f"memory main {merged}")  # merge with previous results
            if step < steps - 1:
                lines.append(f"wait main k{step}")
        return lines

    def _rows(self) -> tuple[int, str, int]:
        """Return tokens per expert, a gemm's suffix for the experts of a GPU, and all tokens."""
        tokens = self.tokens * self.model.top_k
        experts = self.model.experts // self.layout.expert
        return tokens // experts, f" {experts}" if self.model.experts > 1 else "", tokens

    def _network(self) -> Lines:
        rows, batch, tokens = self._rows()
        ffn = self.model.ffn // self.t
        first = (2 if self.model.gated else 1) * ffn
        return [
            f"gemm main {rows} {first} {self.width}{batch}",
            f"memory main {(6 if self.model.gated else 4) * tokens * ffn}",
            f"gemm main {rows} {self.width} {ffn}{batch}",
        ]

    def backward(self) -> Lines:
        again: Lines = []
        if self.layout.recompute == "full":
            again = self.forward()
        elif self.layout.recompute == "selective" and self.layout.attention == "standard":
            again = self.attention()
        rows, batch, tokens = self._rows()
        ffn = self.model.ffn // self.t
        first = (2 if self.model.gated else 1) * ffn
        dropped = f"memory main {7 * self.whole}"  # dropout and bias
        leaving = [f"memory main {10 * self.whole}", f"memory main {6 * self.whole}"]  # norm, sum
        return [
            *again,
            dropped,
            *self._dispatch(),
            f"gemm main {rows} {ffn} {self.width}{batch}",
            *self._gradient(ffn, self.width, rows, batch),
            f"memory main {(10 if self.model.gated else 8) * tokens * ffn}",
            *(self.gathered() if self.layout.expert == 1 else []),
            f"gemm main {rows} {self.width} {first}{batch}",
            *self._combine(self._gradient(self.width, first, rows, batch), backward=True),
            *leaving,
            dropped,
            *self.gathered(),
            f"gemm main {self.tokens} {self.out} {self.width}",
            *self._gradient(self.out, self.width, self.tokens),
            *self._attention_back(),
            f"memory main {2 * self.tokens * self.qkv}",  # bias
            *self.gathered(),
            f"gemm main {self.tokens} {self.width} {self.qkv}",
            *self.reduced(True, self._gradient(self.width, self.qkv, self.tokens)),
            *leaving,
        ]

    def _attention_back(self) -> Lines:
        s, heads = self.model.sequence, self.batch
        moved = 4 * self.part + 4 * self.tokens * self.qkv
        if self.layout.attention == "flash":
            # Keys, values and their gradients travel around the ring.
            return self._ring(5 * self.scores * self.head, moved, 2 * self._keys(), 6 * self.part)
        return [
            f"gemm main {s} {self.head} {s} {heads}",
            f"gemm main {s} {s} {self.head} {heads}",
            f"memory main {5 * self.scores}",  # dropout
            f"memory main {5 * self.scores}",  # softmax
            f"gemm main {s} {self.head} {s} {heads}",
            f"gemm main {s} {self.head} {s} {heads}",
            f"memory main {moved}",
        ]

    def _gradient(self, m: int, n: int, k: int, batch: str = "") -> Lines:
        """Compute a weight gradient and add it to the previous ones; empty if it is deferred."""
        experts = int(batch or 1)
        moved = (2 * self.layout.gradient_bytes if self.layout.fp32_gradients else 6) * m * n
        line = f"gemm main {m} {n} {k} {experts} {moved * experts}"
        if m == self.vocab:
            line = self._vocabulary_gemm(m, n, k, moved)
        if self.deferred is None:
            return [line]
        self.deferred.append(line)
        return []

    def embedding(self) -> Lines:
        return [f"memory main {6 * self.part}", *self.reduced(), f"memory main {5 * self.whole}"]

    def embedding_back(self) -> Lines:
        return [*self.gathered(), f"memory main {8 * self.part}"]

    def loss(self) -> Lines:
        small = _run_on_stream("tensor", "t", "u", f"all_reduce tensor tp {12 * self.tokens}")
        logits = self.tokens * self.vocab
        return [
            f"memory main {4 * self.whole}",
            *self.gathered(),
            self._vocabulary_gemm(self.tokens, self.vocab, self.width),
            # To fp32; maximum; subtract it; exponentials; their sum; divide by it.
            *(f"memory main {nbytes * logits}" for nbytes in (6, 4, 8, 8, 4, 8)),
            *(small if self.t > 1 else []),
        ]

    def loss_back(self) -> Lines:
        logits = self.tokens * self.vocab
        return [
            f"memory main {8 * logits}",
            f"memory main {6 * logits}",  # as 16-bit numbers
            *self.gathered(),
            self._vocabulary_gemm(self.tokens, self.width, self.vocab),
            *self.reduced(True, self._gradient(self.vocab, self.width, self.tokens)),
            f"memory main {10 * self.whole}",
        ]

    def _vocabulary_gemm(self, m: int, n: int, k: int, moved: int = 0) -> str:
        """Multiply with the vocabulary's matrix, which has 16-bit numbers where others have 8."""
        if self.layout.dtype != "fp8":
            return f"gemm main {m} {n} {k}" + (f" 1 {moved}" if moved else "")
        return f"flops main {2 * m * n * k} {2 * (m * k + k * n + m * n) + moved}"


class _Step:
    def __init__(self, model: Model, layout: Layout) -> None:
        self.model, self.layout = model, layout
        self.kernels = _Kernels(model, layout)
        self.blocks: dict[tuple[str, ...], str] = {}
        self.text: Lines = []
        self.layers = model.layers // (layout.pipeline * layout.chunks)
        # Parameters of a layer on a GPU: those that all copies have, and those of experts.
        experts = model.experts * model.expert_parameters if layout.expert > 1 else 0
        self.shared_params = (model.layer_parameters - experts) // layout.tensor
        self.expert_params = experts // (layout.tensor * layout.expert)

    def lines(self) -> Lines:
        model, layout = self.model, self.layout
        t, p, d = layout.tensor, layout.pipeline, layout.copies
        self.text = ["graph 1"]
        more = f", cp {layout.context}" if layout.context > 1 else ""
        more += f", ep {layout.expert}" if layout.expert > 1 else ""
        self.text.append(f"# {model.name}: tp {t}, pp {p}, dp {layout.data}{more}, "
                         f"{layout.micro_batches} micro-batches of {layout.micro_batch}, "
                         f"{layout.schedule}")  # fmt: skip
        self.text += [f"ranks {layout.ranks}", f"dtype {layout.dtype}"]
        if t > 1:
            self.text.append(f"communicator tp {t} 1")
        if d > 1:
            self.text.append(f"communicator dp {d} {t}")
        if layout.context > 1:
            self.text.append(f"communicator cp {layout.context} {t}")
        if layout.expert > 1:
            self.text.append(f"communicator ep {layout.expert} {t}")
        if d > layout.expert > 1:
            self.text.append(f"communicator edp {d // layout.expert} {t * layout.expert}")
        if p > 1:
            self.text.append(f"communicator ends 2 {(p - 1) * t * d}")
        self._layer_blocks()
        for stage in range(p):
            program = self._program(stage)
            self.text.append(f"program {stage * t * d}-{(stage + 1) * t * d - 1}")
            self.text += [*program, "end"]
        return self.text

    def _block(self, name: str, lines: Sequence[str]) -> str:
        """Write a block, unless one with these lines exists; return its name."""
        key = tuple(lines)
        if key not in self.blocks:
            self.blocks[key] = name if name not in self.blocks.values() else (
                f"{name}{len(self.blocks)}")  # fmt: skip
            self.text += [f"block {self.blocks[key]}", *lines, "end"]
        return self.blocks[key]

    def _layer_blocks(self) -> None:
        layout, kernels = self.layout, self.kernels
        copies = layout.copies > 1
        reduce = ["record main g", "wait data g", *self._reduced(1, layout.gradient_bytes)]
        divided = copies and layout.zero >= 2
        forward, (backward, weights) = kernels.forward(), kernels.split_deferred(kernels.backward)
        if layout.zero == 3 and copies:
            # The next layer's parameters are gathered while this one computes.
            gather = ["wait main p", "record main q", "wait data q",
                      f"all_gather data dp {2 * self.shared_params}", "record data p"]  # fmt: skip
            forward, backward = [*gather, *forward], [*gather, *backward]
        if divided:
            backward = [*backward, *reduce]
        self._block("forward", forward)
        self._block("backward", backward)
        ends = weights or backward
        if weights:
            self._block("weights", weights)
        if copies and layout.overlap_gradients and not divided:
            self._block("weights_last" if weights else "backward_last", [*ends, *reduce])

    def _reduced(self, layers: int, nbytes: int, more: int = 0) -> Lines:
        """Sum the gradients of `layers` layers, and `more` other numbers, among copies."""
        word = "reduce_scatter" if self.layout.zero else "all_reduce"
        return self._data_parallel_collectives(word, layers, nbytes, more)

    def _data_parallel_collectives(self, word: str, layers: int, nbytes: int, more: int) -> Lines:
        """Return a collective of all copies, and one of the copies with the same experts."""
        lines = []
        if count := layers * self.shared_params + more:
            lines.append(f"{word} data dp {count * nbytes}")
        if layers and self.expert_params and self.layout.copies > self.layout.expert:
            lines.append(f"{word} data edp {layers * self.expert_params * nbytes}")
        return lines

    def _forward(self, first: bool, last: bool) -> str:
        lines = [*(self.kernels.embedding() if first else []), f"do forward {self.layers}"]
        return self._block("f", [*lines, *(self.kernels.loss() if last else [])])

    def _backward(self, first: bool, last: bool, ends: bool) -> str:
        overlapped = ends and self._overlaps and self.kernels.deferred is None
        layer = "backward_last" if overlapped else "backward"
        loss, _ = self.kernels.split_deferred(self.kernels.loss_back)
        lines = [*(loss if last else []), f"do {layer} {self.layers}"]
        return self._block("b", [*lines, *(self.kernels.embedding_back() if first else [])])

    @property
    def _overlaps(self) -> bool:
        """True if gradients are summed in the last backward pass of each layer."""
        layout = self.layout
        return layout.overlap_gradients and layout.copies > 1 and layout.zero < 2

    def _weights(self, last: bool, ends: bool) -> str:
        """Compute the weight gradients that a backward pass has deferred."""
        layer = "weights_last" if ends and self._overlaps else "weights"
        _, loss = self.kernels.split_deferred(self.kernels.loss_back)
        return self._block("w", [*(loss if last else []), f"do {layer} {self.layers}"])

    def _message(self, word: str, forward: bool, wait: bool, start: bool = True) -> Lines:
        """Return a message on its direction's stream, optionally its start and a wait for it."""
        stream = f"{word[0]}{'f' if forward else 'b'}"
        stride = self.layout.tensor * self.layout.copies
        offset = stride if (word == "send") == forward else -stride
        nbytes = 2 * self.kernels.tokens * self.kernels.width // self.layout.tensor
        lines = [f"record main {stream}0", f"wait {stream} {stream}0"] if start else []
        # Between two stages both directions connect the same ranks: gradients have a tag.
        tag = "" if forward else " 1"
        lines += [f"{word} {stream} {offset} {nbytes}{tag}", f"record {stream} {stream}1"]
        return [*lines, f"wait main {stream}1"] if wait else lines

    def _whole(self) -> Lines:
        """Gather a received tensor, of which each tensor-parallel GPU has received a part."""
        if self.layout.sequence_parallel or self.layout.tensor == 1:
            return []
        return self.kernels._tensor("all_gather", (), ())

    def _get(self, forward: bool, sent: Sequence[str] = ()) -> Lines:
        """Receive concurrently with `sent`; the host thread waits."""
        lines = [*sent, *self._message("receive", forward, True)]
        if sent:
            lines.append(f"wait main s{'b' if forward else 'f'}1")
        return [*lines, "synchronize main", *self._whole()]

    def _put(self, forward: bool) -> Lines:
        return [*self._message("send", forward, True), "synchronize main"]

    def _exchange(self, forward: bool) -> Lines:
        """Send forward and receive from there, or the reverse, concurrently."""
        return self._get(not forward, self._message("send", forward, False))

    def _receive(self, forward: bool, start: bool) -> Lines:
        """Receive without blocking the host thread."""
        return [*self._message("receive", forward, True, start), *self._whole()]

    def _async_pass(
        self, name: str, work: str, first: bool, last: bool, *, start: bool = False
    ) -> str:
        """Return the block of a forward (``warm``) or backward pass with asynchronous messages."""
        forward = name == "warm"
        get = [] if (first if forward else last) else self._receive(forward, start)
        put = [] if (last if forward else first) else self._message("send", forward, False)
        return self._block(name, [*get, f"do {work}", *put])

    def _program(self, stage: int) -> Lines:
        layout = self.layout
        first, last = stage == 0, stage == layout.pipeline - 1
        if layout.schedule == "interleaved":
            tokens = list(self._interleaved(stage))
        elif layout.schedule == "zero-bubble":
            tokens = list(self._zero_bubble(stage, first, last))
        else:
            tokens = list(self._plain(stage, first, last))
        return [*self._compressed(tokens), *self._end(stage, first, last)]

    def _plain(self, stage: int, first: bool, last: bool) -> Iterator[str]:
        """Yield the blocks of GPipe or 1F1B in order; the host thread waits for each message."""
        layout, n = self.layout, self.layout.micro_batches
        f = f"do {self._forward(first, last)}"
        get_f = [] if first else self._get(True)
        put_f = [] if last else self._put(True)
        get_b = [] if last else self._get(False)
        put_b = [] if first else self._put(False)
        warm = self._block("warm", [*get_f, f, *put_f])

        def back(ends: bool) -> str:
            return f"do {self._backward(first, last, ends)}"

        ahead = n if layout.schedule == "gpipe" else min(layout.pipeline - 1 - stage, n)
        yield from [warm] * ahead
        if ahead < n:
            turn = [] if last else self._exchange(True)
            if get_f:
                yield self._block("get", get_f)
            steady = [f, *turn, back(False), *([] if first else self._exchange(False))]
            yield from [self._block("steady", steady)] * (n - ahead - 1)
            yield self._block("final", [f, *turn, back(ahead == 0), *put_b])
        for i in range(ahead):
            yield self._block("cool", [*get_b, back(i == ahead - 1), *put_b])

    def _zero_bubble(self, stage: int, first: bool, last: bool) -> Iterator[str]:
        """Yield the blocks of ZB-H1 (Qi et al., "Zero bubble pipeline parallelism", 2023).

        1F1B in which weight gradients are deferred by as many micro-batches as there are preceding
        stages, so that all stages store as much as the first. Messages are asynchronous.
        """
        layout, n = self.layout, self.layout.micro_batches
        f = self._async_pass("warm", self._forward(first, last), first, last, start=True)
        b = self._async_pass("cool", self._backward(first, last, False), first, last, start=True)
        weights = [self._weights(last, k == n - 1) for k in (0, n - 1)]
        ahead = min(layout.pipeline - 1 - stage, n)
        done = 0
        yield from [f] * ahead
        for k in range(n):
            if ahead + k < n:
                yield f
            yield b
            if k >= stage:
                done += 1
                yield weights[done == n]
        yield from [weights[0]] * (n - 1 - done)
        if done < n:
            yield weights[1]

    def _interleaved(self, stage: int) -> Iterator[str]:
        """Yield the blocks of the interleaved schedule: chunks in turn, asynchronous messages."""
        p, v, n = self.layout.pipeline, self.layout.chunks, self.layout.micro_batches
        total = n * v
        ahead = total if n == p else min((p - stage - 1) * 2 + (v - 1) * p, total)

        def forward(k: int) -> str:
            chunk = k % (p * v) // p
            first, last = stage == 0 and chunk == 0, stage == p - 1 and chunk == v - 1
            return self._async_pass("warm", self._forward(first, last), first, last)

        def backward(k: int) -> str:
            chunk = v - 1 - k % (p * v) // p
            first, last = stage == 0 and chunk == 0, stage == p - 1 and chunk == v - 1
            # Each chunk reduces its gradients in its last backward pass.
            ends = k >= total - p * v and k % p == p - 1
            return self._async_pass("cool", self._backward(first, last, ends), first, last)

        yield from map(forward, range(ahead))
        for k in range(total - ahead):
            yield forward(ahead + k)
            yield backward(k)
        yield from map(backward, range(total - ahead, total))

    def _compressed(self, names: list[str]) -> Lines:
        """Return lines that execute these blocks in order; repetitions become blocks."""
        lines: Lines = []
        at = 0
        while at < len(names):
            best, times = 1, 1
            for period in range(1, min(len(names) - at, 4 * self.layout.pipeline * 8) // 2 + 1):
                if names[at] != names[at + period]:
                    continue
                pattern, count = names[at : at + period], 1
                while names[at + count * period : at + (count + 1) * period] == pattern:
                    count += 1
                if count > 1 and count * period > best * times:
                    best, times = period, count
                if 2 * best * times > len(names) - at:
                    break  # others could gain little more
            if times == 1:
                lines.append(f"do {names[at]}")
            elif best == 1:
                lines.append(f"do {names[at]} {times}")
            else:
                inner = self._compressed(names[at : at + best])
                lines.append(f"do {self._block('turn', inner)} {times}")
            at += best * times
        return lines

    def _end(self, stage: int, first: bool, last: bool) -> Lines:
        """Sum the gradients of the embedding and among copies, then run the optimizer."""
        layout, model = self.layout, self.model
        d, grad = layout.copies, layout.gradient_bytes
        table = self.kernels.vocab * model.hidden if first or last else 0
        layers = self.layers * layout.chunks
        lines: Lines = []
        if d > 1:
            overlapped = layout.overlap_gradients or layout.zero >= 2
            reduced = self._reduced(0 if overlapped else layers, grad, table)
            lines += _run_on_stream("data", "g", "r", *reduced)
        if layout.pipeline > 1 and table:
            lines += _run_on_stream("ends", "e", "o", f"all_reduce ends ends {table * grad}")
        shared, experts = layers * self.shared_params + table, layers * self.expert_params
        own = shared + experts
        if layout.zero:
            own = shared // d + experts * layout.expert // d
        # Norm; fp16 gradients to fp32; Adam on fp32 parameters, mean and variance.
        moved = grad + 30 + (0 if layout.fp32_gradients else 6)
        lines.append(f"memory main {own * moved}")
        if layout.zero and d > 1 and layout.zero < 3:
            gathered = self._data_parallel_collectives("all_gather", layers, 2, table)
            lines += _run_on_stream("data", "z", "y", *gathered)
        return lines
